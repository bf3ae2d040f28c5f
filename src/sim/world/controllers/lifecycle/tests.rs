//! Nodes that fall silent, and what becomes of them and their pods.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, Taint};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::TaintEffect;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::scenario::{ClusterFault, ControllerVariant, FleetFault, built_in};
use crate::sim::world::tests::{MINUTE, counters, pods, run, small};

#[test]
fn a_silent_node_is_unknown_tainted_and_comes_back() {
    for (variant, grace) in [(ControllerVariant::V1_20, 40), (ControllerVariant::Current, 50)] {
        let mut world = World::new(&built_in("small").unwrap().with_controller(variant), 2);
        let node: Str = "node-b-05".into();
        let before = pods(&world);
        let fact = |world: &World| world.store().find(Kind::Node, "", &node).unwrap().node_fact().unwrap();
        world.inject(&FleetFault::Cut(node.clone()).into());
        let cut_at = world.now();
        assert!(world.advance_until(MINUTE * 2, |world| fact(world).ready == ConditionStatus::Unknown));
        let silent_for = world.now().since(cut_at).as_secs();
        assert!((grace - 10..=grace + 5).contains(&silent_for), "{variant:?}: {silent_for} s");
        world.advance_by(Duration::from_secs(1));
        let taints: Vec<_> = fact(&world).taints.iter().map(|taint| (taint.key.to_string(), taint.effect)).collect();
        let unreachable = "node.kubernetes.io/unreachable".to_owned();
        assert_eq!(taints, [(unreachable.clone(), TaintEffect::NoSchedule), (unreachable, TaintEffect::NoExecute)]);
        assert_eq!(fact(&world).not_ready_why.as_deref(), Some("NodeStatusUnknown"));
        assert_eq!(world.serving("edge", "agent"), 19, "its pod counts as not ready");
        assert_eq!((counters(&world).desired, counters(&world).misscheduled), (19, 1), "and the node is not counted");
        let name = world.pods_of("edge", "agent")[&node][0].meta.name.clone();
        assert!(world.fleet().serves(&name), "though the container runs on");
        world.inject(&FleetFault::Restore(node.clone()).into());
        run(&mut world, 1);
        assert!(fact(&world).taints.is_empty() && fact(&world).ready == ConditionStatus::True);
        assert_eq!((world.serving("edge", "agent"), pods(&world)), (20, before), "the same pod, ready again");
        assert_eq!(counters(&world).desired, 20);
    }
}

#[test]
fn a_pod_deleted_on_an_unreachable_node_waits_for_it() {
    let mut world = small();
    let node: Str = "node-a-04".into();
    let before = pods(&world)[&node].clone();
    world.inject(&FleetFault::Cut(node.clone()).into());
    world.inject(&ClusterFault::DeletePods { daemon_set: "edge/agent".into(), node: node.clone() }.into());
    run(&mut world, 10);
    let pod = &world.pods_of("edge", "agent")[&node][0];
    assert!(pod.meta.uid == before.1 && pod.meta.is_deleting(), "nobody can confirm its end");
    world.inject(&FleetFault::Restore(node.clone()).into());
    run(&mut world, 1);
    assert_ne!(pods(&world)[&node].1, before.1);
    assert_eq!(world.serving("edge", "agent"), 20);
}

#[test]
fn taints_and_labels_move_pods() {
    let mut world = small();
    let taint = |effect| Taint { key: "maintenance".into(), value: "".into(), effect };
    let node: Str = "node-a-02".into();
    world.inject(&ClusterFault::Taint { node: node.clone(), taint: taint(TaintEffect::NoSchedule) }.into());
    run(&mut world, 1);
    assert_eq!((counters(&world).desired, counters(&world).misscheduled), (19, 1), "it may stay");
    world.inject(&ClusterFault::Taint { node: node.clone(), taint: taint(TaintEffect::NoExecute) }.into());
    run(&mut world, 1);
    assert_eq!((pods(&world).len(), counters(&world).misscheduled), (19, 0), "it has to go");
    world.inject(&ClusterFault::Untaint { node: node.clone(), key: "maintenance".into() }.into());
    run(&mut world, 1);
    assert_eq!(world.serving("edge", "agent"), 20);
    world.inject(&ClusterFault::Cordon(node.clone()).into());
    run(&mut world, 1);
    assert_eq!(counters(&world).desired, 20, "a cordoned node keeps its agent");
    assert!(!world.store().find(Kind::Node, "", &node).unwrap().node_fact().unwrap().taints.is_empty());
}

#[test]
fn a_saturated_link_starves_leases_and_recovers() {
    let mut scenario = built_in("factory").unwrap();
    scenario.faults.clear();
    scenario.daemon_sets[0].max_unavailable = IntOrPercent::Percent(100);
    scenario.daemon_sets[0].images = BTreeMap::from([("agent".into(), "registry.factory.example/agent:v1".into())]);
    let mut world = World::new(&scenario, 1);
    let images = BTreeMap::from([("agent".to_owned(), "registry.factory.example/agent:v2".to_owned())]);
    world.inject(&ClusterFault::SetImages { daemon_set: "factory/agent".into(), images }.into());
    let mut most_silent = 0;
    for _ in 0..240 {
        world.advance_by(Duration::from_secs(10));
        let silent =
            world.store().list(Kind::Node).filter(|node| node.node_fact().unwrap().ready != ConditionStatus::True);
        most_silent = most_silent.max(silent.count());
    }
    assert!(most_silent > 10, "{most_silent} nodes silent at once, with no fault injected");
    assert_eq!(world.serving("factory", "agent"), 120, "in the end every image has come");
}
