//! Whole clusters in virtual time.

mod surge;

use std::collections::{BTreeMap, BTreeSet};

use super::scenario::{ClusterFault, ControllerVariant, DaemonSetPlan, FleetFault, built_in};
use super::*;
use crate::engine::model::facts::{ContainerState, DaemonSetCounters, StrategyKind, Taint};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::TaintEffect;
use crate::engine::model::template::Template;

const BY: Writer<'static> = Writer::named("test");
const MINUTE: Duration = Duration::from_secs(60);
const AGENT: (Kind, &str, &str) = (Kind::DaemonSet, "edge", "agent");

fn small() -> World {
    World::new(&built_in("small").unwrap(), 1)
}

fn image(version: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("agent".to_owned(), format!("registry.example/agent:{version}"))])
}

fn set_image(world: &mut World, version: &str) {
    let fault = ClusterFault::SetImages { daemon_set: "edge/agent".into(), images: image(version) };
    world.inject(&fault.into());
}

fn set_strategy(world: &mut World, kind: StrategyKind) {
    let fault = ClusterFault::SetStrategy { daemon_set: "edge/agent".into(), kind, max_unavailable: None };
    world.inject(&fault.into());
}

fn counters(world: &World) -> DaemonSetCounters {
    world.store().find(AGENT.0, AGENT.1, AGENT.2).unwrap().daemon_set().unwrap().status.counters
}

/// Hash and uid of the pod on each node; terminating ones left out.
fn pods(world: &World) -> BTreeMap<Str, (Str, Str)> {
    let live = |pods: Vec<Arc<Object>>| pods.into_iter().find(|pod| !pod.meta.is_deleting());
    let of = |pod: Arc<Object>| (pod.meta.revision_hash().unwrap().clone(), pod.meta.uid.clone());
    world.pods_of("edge", "agent").into_iter().filter_map(|(node, pods)| Some((node, of(live(pods)?)))).collect()
}

fn revisions(world: &World) -> Vec<(i64, Str)> {
    let mut all: Vec<_> = world
        .store()
        .list(Kind::ControllerRevision)
        .map(|object| (object.revision().unwrap().number, object.meta.name.clone()))
        .collect();
    all.sort();
    all
}

fn run(world: &mut World, minutes: u32) {
    world.advance_by(MINUTE * minutes);
}

/// Lets time pass, and says how many nodes were not serving at worst.
fn worst(world: &mut World, span: Duration) -> usize {
    let mut worst = 0;
    let nodes = world.store().count(Kind::Node);
    world.advance_until(span, |world| {
        worst = worst.max(nodes - world.serving("edge", "agent"));
        false
    });
    worst
}

#[test]
fn a_scenario_begins_with_everything_running() {
    let world = small();
    assert_eq!(world.serving("edge", "agent"), 20);
    let set = world.store().find(AGENT.0, AGENT.1, AGENT.2).unwrap();
    let want = DaemonSetCounters { desired: 20, current: 20, ready: 20, updated: 20, available: 20, misscheduled: 0 };
    assert_eq!(counters(&world), want);
    assert_eq!(set.daemon_set().unwrap().status.observed_generation, set.meta.generation);
    for node in world.store().list(Kind::Node) {
        let fact = node.node_fact().unwrap();
        assert!(fact.ready == ConditionStatus::True && fact.taints.is_empty(), "{fact:?}");
        assert!(fact.images.iter().any(|image| &**image == "registry.example/agent:v1"), "{fact:?}");
    }
    let fact = world.pods_of("edge", "agent").into_values().next().unwrap()[0].pod_fact().unwrap();
    assert!(fact.ready && fact.containers[0].image_present, "{fact:?}");
}

#[test]
fn a_history_is_there_to_go_back_to() {
    let world = World::new(&built_in("factory").unwrap(), 1);
    let numbers: Vec<i64> = revisions(&world)
        .into_iter()
        .filter(|(_, name)| name.starts_with("agent-"))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(world.serving("factory", "agent"), 120);
}

#[test]
fn a_rolling_update_stays_within_its_budget() {
    for variant in [ControllerVariant::V1_20, ControllerVariant::V1_21Bug, ControllerVariant::Current] {
        let mut world = World::new(&built_in("small").unwrap().with_controller(variant), 3);
        set_image(&mut world, "v2");
        assert_eq!(worst(&mut world, MINUTE * 5), 2, "{variant:?}");
        assert_eq!(counters(&world).updated, 20, "{variant:?}");
        assert_eq!(world.serving("edge", "agent"), 20, "{variant:?}");
    }
}

#[test]
fn a_percentage_is_rounded_up() {
    let mut world = small();
    let max_unavailable = Some(IntOrPercent::Percent(11));
    let daemon_set: Str = "edge/agent".into();
    let kind = StrategyKind::RollingUpdate;
    world.inject(&ClusterFault::SetStrategy { daemon_set, kind, max_unavailable }.into());
    set_image(&mut world, "v2");
    assert_eq!(worst(&mut world, MINUTE * 5), 3);
}

#[test]
fn on_delete_nothing_moves_until_somebody_deletes() {
    let mut world = small();
    set_strategy(&mut world, StrategyKind::OnDelete);
    let before = pods(&world);
    set_image(&mut world, "v2");
    run(&mut world, 5);
    assert_eq!(pods(&world), before);
    assert_eq!((counters(&world).updated, counters(&world).ready), (0, 20));
    let (node, _) = before.first_key_value().unwrap();
    world.inject(&ClusterFault::DeletePods { daemon_set: "edge/agent".into(), node: node.clone() }.into());
    run(&mut world, 1);
    let after = pods(&world);
    let changed: Vec<_> = before.keys().filter(|node| before[*node] != after[*node]).collect();
    assert_eq!(changed, [node]);
    assert_eq!((counters(&world).updated, counters(&world).ready), (1, 20));
}

#[test]
fn a_finalizer_keeps_a_pod_that_has_ended() {
    let mut world = small();
    let (node, daemon_set) = (Str::from("node-a-01"), Str::from("edge/agent"));
    let finalizer = Str::from("example.com/hold");
    let there =
        |world: &World| world.pods_of("edge", "agent")[&node].iter().map(|pod| pod.pod_fact().unwrap()).collect();
    let add =
        ClusterFault::AddFinalizer { daemon_set: daemon_set.clone(), node: node.clone(), finalizer: finalizer.clone() };
    world.inject(&add.into());
    let before: Vec<crate::engine::model::facts::PodFact> = there(&world);
    assert!(before[0].finalizers.is_empty(), "they are of note once it is to go");
    world.inject(&ClusterFault::DeletePods { daemon_set: daemon_set.clone(), node: node.clone() }.into());
    run(&mut world, 2);
    let kept: Vec<crate::engine::model::facts::PodFact> = there(&world);
    assert_eq!((kept.len(), &kept[0].uid, kept[0].deletion_grace_secs), (1, &before[0].uid, Some(0)));
    assert_eq!(*kept[0].finalizers, *std::slice::from_ref(&finalizer));
    world.inject(&ClusterFault::RemoveFinalizer { daemon_set, node: node.clone(), finalizer }.into());
    run(&mut world, 1);
    let after: Vec<crate::engine::model::facts::PodFact> = there(&world);
    assert!(after[0].uid != before[0].uid && after[0].ready && after[0].bound);
}

#[test]
fn a_pod_that_ends_is_not_replaced_before_it_is_gone() {
    let mut world = small();
    let node: Str = "node-a-01".into();
    world.inject(&ClusterFault::DeletePods { daemon_set: "edge/agent".into(), node: node.clone() }.into());
    let there = |world: &World| world.pods_of("edge", "agent").get(&node).map_or(0, Vec::len);
    let mut gone_for_a_moment = false;
    world.advance_until(MINUTE, |world| {
        assert!(there(world) <= 1, "one at a time");
        gone_for_a_moment |= there(world) == 0;
        false
    });
    assert!(gone_for_a_moment);
    assert_eq!(world.serving("edge", "agent"), 20);
}

#[test]
fn a_roll_back_finds_its_revision_again() {
    let mut world = small();
    set_strategy(&mut world, StrategyKind::OnDelete);
    let before = pods(&world);
    let first = revisions(&world).remove(0).1;
    set_image(&mut world, "v2");
    run(&mut world, 1);
    assert_eq!(revisions(&world).len(), 2);
    set_image(&mut world, "v1");
    run(&mut world, 1);
    let after = revisions(&world);
    assert_eq!(after.len(), 2, "no third revision");
    assert_eq!(after[1], (3, first), "the same name, a higher number");
    assert_eq!(pods(&world), before);
    assert_eq!(counters(&world).updated, 20, "untouched pods count as updated at once");
}

#[test]
fn old_revisions_go_when_there_are_too_many_but_none_that_is_in_use() {
    let mut scenario = built_in("small").unwrap();
    scenario.daemon_sets[0].history_limit = 1;
    let mut world = World::new(&scenario, 1);
    let first = revisions(&world).remove(0).1;
    set_strategy(&mut world, StrategyKind::OnDelete);
    for version in ["v2", "v3", "missing"] {
        set_image(&mut world, version);
        run(&mut world, 1);
    }
    let left = revisions(&world);
    assert_eq!(left.len(), 2, "the current one, and one more");
    assert_eq!(left[0].1, first, "all pods are still at the oldest");
}

/// The failure that this project exists to prevent: measured on real control planes, 1.20.2 and 1.36.3.
#[test]
fn flapping_pods_defeat_the_budget() {
    for variant in [ControllerVariant::V1_20, ControllerVariant::V1_21Bug, ControllerVariant::Current] {
        let mut scenario = built_in("cascade").unwrap().with_controller(variant);
        scenario.faults.clear();
        let mut world = World::new(&scenario, 5);
        let old = pods(&world);
        world.inject(&ClusterFault::SetImages { daemon_set: "edge/agent".into(), images: image("v2") }.into());
        run(&mut world, 2);
        let down = |world: &World| 20 - world.serving("edge", "agent");
        assert_eq!(down(&world), 2, "{variant:?}: with every node healthy it stops at its budget");
        for want in [8, 14, 20] {
            let now = pods(&world);
            let still_old = old.iter().filter(|(node, pod)| now.get(*node) == Some(pod));
            let flapping: Vec<Str> = still_old.map(|(node, _)| node.clone()).take(6).collect();
            for node in &flapping {
                world.inject(&FleetFault::ProbesFail(node.clone()).into());
            }
            world.advance_by(Duration::from_secs(3));
            for node in &flapping {
                world.inject(&FleetFault::ProbesPass(node.clone()).into());
            }
            run(&mut world, 1);
            assert_eq!(down(&world), want, "{variant:?}");
        }
    }
}

#[test]
fn the_cascade_scenario_takes_every_node_down() {
    for variant in [ControllerVariant::V1_20, ControllerVariant::Current] {
        let mut world = World::new(&built_in("cascade").unwrap().with_controller(variant), 5);
        world.inject(&ClusterFault::SetImages { daemon_set: "edge/agent".into(), images: image("v2") }.into());
        // After the last flap, and before pulls are tried again: during a pull no reason is given.
        run(&mut world, 14);
        assert_eq!(world.serving("edge", "agent"), 0, "{variant:?}");
        let reasons: Vec<Str> = world
            .pods_of("edge", "agent")
            .values()
            .map(|pods| match &pods[0].pod_fact().unwrap().containers[0].state {
                ContainerState::Waiting { reason, message } => {
                    assert!(message.as_ref().unwrap().contains("agent:v2: not found"), "{message:?}");
                    reason.clone()
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(reasons.iter().all(|reason| ["ErrImagePull", "ImagePullBackOff"].contains(&&**reason)), "{reasons:?}");
    }
}

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
        assert_eq!(fact(&world).ready_reason.as_deref(), Some("NodeStatusUnknown"));
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
fn a_node_that_loses_power_restarts_its_containers() {
    let mut world = small();
    let node: Str = "node-a-02".into();
    let before = pods(&world);
    world.inject(&FleetFault::PowerOff(node.clone()).into());
    run(&mut world, 3);
    assert_eq!(world.serving("edge", "agent"), 19);
    world.inject(&FleetFault::PowerOn(node.clone()).into());
    run(&mut world, 2);
    assert_eq!((world.serving("edge", "agent"), pods(&world)), (20, before), "the same pod");
    let fact = world.pods_of("edge", "agent")[&node][0].pod_fact().unwrap();
    assert_eq!(fact.containers[0].restarts, 1);
}

#[test]
fn power_and_network_may_come_and_go_in_any_order() {
    let mut world = small();
    let node: Str = "node-a-02".into();
    let ready = |world: &World| world.store().find(Kind::Node, "", &node).unwrap().node_fact().unwrap().ready;
    // The network comes back while it boots.
    for fault in [FleetFault::Cut(node.clone()), FleetFault::PowerOff(node.clone())] {
        world.inject(&fault.into());
    }
    run(&mut world, 3);
    world.inject(&FleetFault::PowerOn(node.clone()).into());
    world.advance_by(Duration::from_secs(5));
    world.inject(&FleetFault::Restore(node.clone()).into());
    run(&mut world, 2);
    assert_eq!((ready(&world), world.serving("edge", "agent")), (ConditionStatus::True, 20));
    // It loses power again while it boots.
    world.inject(&FleetFault::PowerOff(node.clone()).into());
    run(&mut world, 2);
    world.inject(&FleetFault::PowerOn(node.clone()).into());
    world.advance_by(Duration::from_secs(5));
    world.inject(&FleetFault::PowerOff(node.clone()).into());
    run(&mut world, 5);
    assert_eq!((ready(&world), world.serving("edge", "agent")), (ConditionStatus::Unknown, 19));
}

#[test]
fn a_machine_that_is_replaced_takes_over_the_pods_of_its_name() {
    let mut world = small();
    let node: Str = "node-a-02".into();
    let before = pods(&world);
    world.inject(&FleetFault::Leave(node.clone()).into());
    run(&mut world, 2);
    assert_eq!(world.serving("edge", "agent"), 19);
    let spec = scenario::NodeSpec { name: node, site: "a".into(), ..Default::default() };
    world.join(&NodeSetup { spec, images: Vec::new() });
    run(&mut world, 1);
    assert_eq!((world.serving("edge", "agent"), pods(&world)), (20, before));
}

#[test]
fn pods_of_a_node_that_is_gone_for_good_are_collected() {
    let mut world = small();
    world.inject(&FleetFault::Leave("node-a-02".into()).into());
    world.inject(&ClusterFault::DeleteNode("node-a-02".into()).into());
    run(&mut world, 3);
    assert!(!world.pods_of("edge", "agent").contains_key("node-a-02"));
    assert_eq!(counters(&world).desired, 19);
    let setup = NodeSetup {
        spec: scenario::NodeSpec { name: "node-a-02".into(), site: "a".into(), ..Default::default() },
        images: Vec::new(),
    };
    world.join(&setup);
    run(&mut world, 2);
    assert_eq!((world.serving("edge", "agent"), counters(&world).desired), (20, 20), "a new node gets its pod");
}

#[test]
fn a_full_disk_refuses_pods_until_there_is_room() {
    let mut world = small();
    let began = world.store().revision();
    let node: Str = "node-a-02".into();
    world.inject(&FleetFault::DiskFull(node.clone()).into());
    world.inject(&FleetFault::EvictAll(node.clone()).into());
    run(&mut world, 2);
    let made = world.store().changes_since(Kind::Pod, began).unwrap();
    let made = made.filter(|change| change.kind == store::ChangeKind::Added).count();
    assert!((4..12).contains(&made), "the controller tries again and again, at longer and longer intervals: {made}");
    assert_eq!(world.serving("edge", "agent"), 19);
    world.inject(&FleetFault::DiskFree(node).into());
    run(&mut world, 4);
    assert_eq!(world.serving("edge", "agent"), 20);
}

#[test]
fn a_crashing_image_restarts_at_longer_and_longer_intervals() {
    let mut world = small();
    set_image(&mut world, "crash");
    let restarts = |world: &World| -> u32 {
        let facts = world.pods_of("edge", "agent").into_values().flatten().map(|pod| pod.pod_fact().unwrap());
        facts.map(|fact| fact.containers.first().map_or(0, |container| container.restarts)).max().unwrap()
    };
    run(&mut world, 1);
    let after_one = restarts(&world);
    assert!((2..=4).contains(&after_one), "{after_one}");
    run(&mut world, 9);
    assert!((5..=9).contains(&restarts(&world)), "{}", restarts(&world));
    let last_end =
        |fact: crate::engine::model::facts::PodFact| fact.containers.first().and_then(|one| one.last_end.clone());
    let ends: Vec<_> = world
        .pods_of("edge", "agent")
        .into_values()
        .flatten()
        .filter_map(|pod| last_end(pod.pod_fact().unwrap()))
        .collect();
    assert!(!ends.is_empty() && ends.iter().all(|end| &**end == "Error"), "{ends:?}");
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

#[test]
fn an_agent_that_tolerates_everything_is_counted_on_silent_nodes_too() {
    let mut scenario = built_in("small").unwrap();
    scenario.daemon_sets[0].tolerates = scenario::Tolerates::Everything;
    let mut world = World::new(&scenario, 1);
    world.inject(&FleetFault::Cut("node-a-02".into()).into());
    run(&mut world, 2);
    assert_eq!((counters(&world).desired, counters(&world).ready), (20, 19));
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
fn a_pod_that_fits_nowhere_says_why() {
    let mut world = small();
    let template = Template::from_json(serde_json::json!({"spec": {
        "containers": [{"name": "x", "image": "registry.example/agent:v1"}],
        "nodeSelector": {"canary": "true"},
    }}));
    for node in ["node-a-01", "node-b-01", "node-b-02"] {
        let taint = Taint { key: "busy".into(), value: "yes".into(), effect: TaintEffect::NoSchedule };
        world.inject(&ClusterFault::Taint { node: node.into(), taint }.into());
    }
    let pod = object::Pod { template, ..Default::default() };
    world.create(Object::new("edge", "loose", object::Body::Pod(pod)), BY).unwrap();
    world.advance_by(Duration::from_secs(5));
    let fact = |world: &World| world.store().find(Kind::Pod, "edge", "loose").unwrap().pod_fact().unwrap();
    assert_eq!(fact(&world).reason.as_deref(), Some("Unschedulable"));
    assert_eq!(
        fact(&world).message.as_deref().unwrap().split(" preemption").next().unwrap(),
        "0/20 nodes are available: 17 node(s) didn't match Pod's node affinity/selector, 3 node(s) had untolerated taint \
         {busy: yes}."
    );
    world.inject(&ClusterFault::Untaint { node: "node-b-01".into(), key: "busy".into() }.into());
    run(&mut world, 1);
    assert_eq!(fact(&world).node.as_deref(), Some("node-b-01"));
    assert!(fact(&world).ready);
}

#[test]
fn a_pod_on_a_node_that_stays_down_is_evicted_unless_a_daemonset_made_it() {
    let mut world = small();
    let template = Template::from_json(serde_json::json!({"spec": {
        "containers": [{"name": "x", "image": "registry.example/agent:v1"}],
        "nodeSelector": {"kubernetes.io/hostname": "node-a-02"},
    }}));
    let pod = object::Pod { template, ..Default::default() };
    world.create(Object::new("edge", "loose", object::Body::Pod(pod)), BY).unwrap();
    run(&mut world, 1);
    world.inject(&FleetFault::Cut("node-a-02".into()).into());
    let deleting = |world: &World| world.store().find(Kind::Pod, "edge", "loose").unwrap().meta.is_deleting();
    run(&mut world, 5);
    assert!(!deleting(&world), "it is given five minutes");
    run(&mut world, 2);
    assert!(deleting(&world));
    assert!(!world.pods_of("edge", "agent")["node-a-02"][0].meta.is_deleting());
}

#[test]
fn a_daemonset_adopts_what_matches_and_lets_go_what_does_not() {
    let mut world = small();
    let node: Str = "node-a-02".into();
    let before = world.pods_of("edge", "agent")[&node][0].clone();
    let relabel = |world: &mut World, app: &str| {
        let at = (Kind::Pod, "edge", &*before.meta.name);
        world.modify(at, Part::Main, BY, |object| object.meta.set_label("app", Some(app))).unwrap();
        run(world, 1);
        world.store().find(Kind::Pod, "edge", &before.meta.name).cloned()
    };
    let released = relabel(&mut world, "other").unwrap();
    assert!(released.meta.owners.is_empty(), "let go");
    let replacement = world.pods_of("edge", "agent")[&node][0].clone();
    assert_ne!(replacement.meta.uid, before.meta.uid, "and replaced");
    let adopted = relabel(&mut world, "agent");
    let left = &world.pods_of("edge", "agent")[&node];
    assert_eq!((left.len(), &left[0].meta.uid), (1, &before.meta.uid), "of two on a node, the older stays");
    assert_eq!(adopted.unwrap().meta.controller(), before.meta.controller());
}

#[test]
fn a_deleted_daemonset_takes_everything_with_it() {
    let mut world = small();
    world.delete(AGENT, &DeleteOptions::default(), BY).unwrap();
    run(&mut world, 1);
    assert_eq!((world.store().count(Kind::Pod), world.store().count(Kind::ControllerRevision)), (0, 0));
    let mut world = small();
    let foreground = DeleteOptions { propagation: store::Propagation::Foreground, ..DeleteOptions::default() };
    world.delete(AGENT, &foreground, BY).unwrap();
    assert!(world.store().get(AGENT.0, AGENT.1, AGENT.2).is_some(), "its pods go first");
    run(&mut world, 1);
    assert_eq!((world.store().count(Kind::Pod), world.store().count(Kind::DaemonSet)), (0, 0));
    let mut world = small();
    let orphan = DeleteOptions { propagation: store::Propagation::Orphan, ..DeleteOptions::default() };
    world.delete(AGENT, &orphan, BY).unwrap();
    run(&mut world, 1);
    assert_eq!((world.store().count(Kind::Pod), world.store().count(Kind::DaemonSet)), (20, 0));
}

#[test]
fn a_daemonset_that_is_made_anew_adopts_the_revisions_of_the_one_before_it() {
    let mut world = small();
    let plan = built_in("small").unwrap().daemon_sets[0].clone();
    set_image(&mut world, "v2");
    run(&mut world, 20);
    let before = revisions(&world);
    let orphan = DeleteOptions { propagation: store::Propagation::Orphan, ..DeleteOptions::default() };
    world.delete(AGENT, &orphan, BY).unwrap();
    run(&mut world, 1);
    let owners = |world: &World| -> BTreeSet<Option<Str>> {
        world.store().list(Kind::ControllerRevision).map(|object| object.meta.controller().cloned()).collect()
    };
    assert_eq!((revisions(&world), owners(&world)), (before.clone(), [None].into()));
    let images = image("v2");
    world.inject(&ClusterFault::CreateDaemonSet(Box::new(DaemonSetPlan { images, ..plan })).into());
    run(&mut world, 1);
    let set = world.store().find(AGENT.0, AGENT.1, AGENT.2).unwrap().meta.uid.clone();
    assert_eq!((revisions(&world), owners(&world)), (before.clone(), [Some(set)].into()));
    set_image(&mut world, "v3");
    run(&mut world, 1);
    let newest = before.last().unwrap().0;
    assert_eq!(revisions(&world).last().unwrap().0, newest + 1, "it goes on counting");
}

/// A policy writes a digest into whatever is written, and another one refuses that: also the write that takes off a finalizer.
#[test]
fn whoever_holds_a_daemonset_tries_again_until_it_may_let_it_go() {
    let mut world = small();
    let hold = |held| ClusterFault::HoldDaemonSet { daemon_set: "edge/agent".into(), held };
    world.inject(&hold(true).into());
    world.inject(&ClusterFault::DeleteDaemonSet { daemon_set: "edge/agent".into(), orphan: true }.into());
    let set = world.store().find(AGENT.0, AGENT.1, AGENT.2).unwrap().clone();
    let image = set.daemon_set().unwrap().spec.template.images().first().cloned();
    let refuse = ClusterFault::RefuseTemplates { namespace: "edge".into(), image, why: "not this image".into() };
    world.inject(&refuse.into());
    world.inject(&ClusterFault::PinImages { namespace: "edge".into() }.into());
    world.inject(&hold(false).into());
    run(&mut world, 1);
    assert_eq!(world.store().count(Kind::DaemonSet), 1);
    world.inject(&ClusterFault::AdmitTemplates { namespace: "edge".into() }.into());
    run(&mut world, 1);
    assert_eq!(world.store().count(Kind::DaemonSet), 0);
}

/// `ClaimPods` goes on with what it claimed: nothing is made beside a pod that was just adopted.
#[test]
fn a_daemonset_that_is_made_anew_makes_no_pods_beside_those_that_it_adopts() {
    let mut world = small();
    let plan = built_in("small").unwrap().daemon_sets[0].clone();
    let before = pods(&world);
    let orphan = DeleteOptions { propagation: store::Propagation::Orphan, ..DeleteOptions::default() };
    world.delete(AGENT, &orphan, BY).unwrap();
    run(&mut world, 1);
    world.inject(&ClusterFault::CreateDaemonSet(Box::new(plan)).into());
    let mut most = 0;
    world.advance_until(MINUTE, |world| {
        most = most.max(world.store().count(Kind::Pod));
        false
    });
    assert_eq!((most, pods(&world)), (before.len(), before));
}

/// Its label is taken away after it has failed, while the controller stands still: it is let go, and the node gets a new one.
#[test]
fn a_failed_pod_that_is_let_go_is_replaced() {
    let mut world = small();
    let node = pods(&world).keys().next().unwrap().clone();
    world.inject(&ClusterFault::StopController.into());
    world.inject(&FleetFault::EvictAll(node.clone()).into());
    run(&mut world, 1);
    let labels = [("app".to_owned(), String::new())].into();
    let unlabel = ClusterFault::LabelPods { daemon_set: "edge/agent".into(), node: node.clone(), labels };
    world.inject(&unlabel.into());
    world.inject(&ClusterFault::StartController.into());
    run(&mut world, 2);
    assert!(world.pods_of("edge", "agent").contains_key(&node));
    assert_eq!(counters(&world).available, 20);
}

/// Orphaned dependents are let go in the end, although a policy refused that at first.
#[test]
fn the_collector_tries_again_what_a_policy_refuses() {
    let mut world = small();
    let refuse = ClusterFault::RefuseTemplates { namespace: "edge".into(), image: None, why: "not now".into() };
    world.inject(&refuse.into());
    world.inject(&ClusterFault::PinImages { namespace: "edge".into() }.into());
    world.inject(&ClusterFault::DeleteDaemonSet { daemon_set: "edge/agent".into(), orphan: true }.into());
    run(&mut world, 1);
    assert_eq!(world.store().count(Kind::DaemonSet), 1);
    world.inject(&ClusterFault::AdmitTemplates { namespace: "edge".into() }.into());
    run(&mut world, 1);
    assert_eq!(world.store().count(Kind::DaemonSet), 0);
}

#[test]
fn a_controller_with_a_stale_view_never_makes_two_pods_for_a_node() {
    let mut world = small();
    world.set_controller_lag(Duration::from_secs(2));
    set_image(&mut world, "v2");
    world.advance_until(MINUTE * 10, |world| {
        for (node, pods) in world.pods_of("edge", "agent") {
            assert!(pods.len() <= 1, "{node}");
        }
        false
    });
    assert_eq!(counters(&world).updated, 20);
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let play = |seed: u64| {
        let mut world = World::new(&built_in("cascade").unwrap(), seed);
        world.inject(&ClusterFault::SetImages { daemon_set: "edge/agent".into(), images: image("v2") }.into());
        run(&mut world, 15);
        (world.digest(), world.store().revision())
    };
    assert_eq!(play(7), play(7));
    assert_ne!(play(7).0, play(8).0);
}

#[test]
fn how_time_is_cut_makes_no_difference() {
    let mut in_one = small();
    let mut in_many = small();
    for world in [&mut in_one, &mut in_many] {
        set_image(world, "v2");
    }
    run(&mut in_one, 2);
    for _ in 0..1200 {
        in_many.advance_by(Duration::from_millis(100));
    }
    assert_eq!(in_one.digest(), in_many.digest());
}

/// Whatever happens to machines, network, disks and objects: once it is over, everything runs again.
#[test]
fn every_world_recovers() {
    for seed in 0..18 {
        let variants = [ControllerVariant::V1_20, ControllerVariant::V1_21Bug, ControllerVariant::Current];
        let scenario = built_in("small").unwrap().with_controller(variants[seed as usize % 3]);
        let mut world = World::new(&scenario, seed);
        let mut rng = fastrand::Rng::with_seed(seed);
        let nodes: Vec<Str> = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        let mut story = Vec::new();
        for _ in 0..40 {
            let fault = misfortune(nodes[rng.usize(..nodes.len())].clone(), &mut rng);
            story.push(format!("{:?} {fault:?}", world.now()));
            world.inject(&fault);
            world.advance_by(Duration::from_millis(rng.u64(0..40_000)));
        }
        set_image(&mut world, "v2");
        set_strategy(&mut world, StrategyKind::RollingUpdate);
        for node in &nodes {
            for fault in [FleetFault::PowerOn, FleetFault::Restore, FleetFault::ProbesPass, FleetFault::DiskFree] {
                world.inject(&fault(node.clone()).into());
            }
        }
        run(&mut world, 30);
        let counters = counters(&world);
        let well = world.serving("edge", "agent") == 20 && counters.updated == 20 && counters.available == 20;
        assert!(well, "seed {seed}: {counters:?}\n{}", story.join("\n"));
        for node in world.store().list(Kind::Node) {
            let fact = node.node_fact().unwrap();
            assert!(fact.ready == ConditionStatus::True && fact.taints.is_empty(), "seed {seed}: {fact:?}");
        }
    }
}

fn misfortune(node: Str, rng: &mut fastrand::Rng) -> Fault {
    let faults = [
        FleetFault::PowerOff,
        FleetFault::PowerOn,
        FleetFault::Cut,
        FleetFault::Restore,
        FleetFault::ProbesFail,
        FleetFault::ProbesPass,
        FleetFault::DiskFull,
        FleetFault::DiskFree,
        FleetFault::EvictAll,
    ];
    let daemon_set: Str = "edge/agent".into();
    match rng.usize(..faults.len() + 4) {
        0 => ClusterFault::DeletePods { daemon_set, node }.into(),
        1 => ClusterFault::SetImages {
            daemon_set,
            images: image(["v1", "v2", "v3", "missing", "crash"][rng.usize(..5)]),
        }
        .into(),
        2 => {
            let kind = if rng.bool() { StrategyKind::OnDelete } else { StrategyKind::RollingUpdate };
            ClusterFault::SetStrategy { daemon_set, kind, max_unavailable: None }.into()
        }
        3 => ClusterFault::Compact.into(),
        nth => faults[nth - 4](node).into(),
    }
}
