//! The DaemonSet controller in a whole cluster: budgets, revisions, adoption.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::{ContainerState, StrategyKind};
use crate::engine::model::quantity::IntOrPercent;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::scenario::{ClusterFault, ControllerVariant, DaemonSetPlan, FleetFault, Tolerates, built_in};
use crate::sim::world::store::{DeleteOptions, Propagation};
use crate::sim::world::tests::{
    AGENT, BY, MINUTE, counters, image, pods, revisions, run, set_image, set_strategy, small, worst,
};
use crate::sim::world::write::WrittenPart;

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
fn an_agent_that_tolerates_everything_is_counted_on_silent_nodes_too() {
    let mut scenario = built_in("small").unwrap();
    scenario.daemon_sets[0].tolerates = Tolerates::Everything;
    let mut world = World::new(&scenario, 1);
    world.inject(&FleetFault::Cut("node-a-02".into()).into());
    run(&mut world, 2);
    assert_eq!((counters(&world).desired, counters(&world).ready), (20, 19));
}

#[test]
fn a_daemonset_adopts_what_matches_and_lets_go_what_does_not() {
    let mut world = small();
    let node: Str = "node-a-02".into();
    let before = world.pods_of("edge", "agent")[&node][0].clone();
    let relabel = |world: &mut World, app: &str| {
        let at = (Kind::Pod, "edge", &*before.meta.name);
        world.modify(at, WrittenPart::Main, BY, |object| object.meta.set_label("app", Some(app))).unwrap();
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
fn a_daemonset_that_is_made_anew_adopts_the_revisions_of_the_one_before_it() {
    let mut world = small();
    let plan = built_in("small").unwrap().daemon_sets[0].clone();
    set_image(&mut world, "v2");
    run(&mut world, 20);
    let before = revisions(&world);
    let orphan = DeleteOptions { propagation: Propagation::Orphan, ..DeleteOptions::default() };
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

/// `ClaimPods` goes on with what it claimed: nothing is made beside a pod that was just adopted.
#[test]
fn a_daemonset_that_is_made_anew_makes_no_pods_beside_those_that_it_adopts() {
    let mut world = small();
    let plan = built_in("small").unwrap().daemon_sets[0].clone();
    let before = pods(&world);
    let orphan = DeleteOptions { propagation: Propagation::Orphan, ..DeleteOptions::default() };
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
