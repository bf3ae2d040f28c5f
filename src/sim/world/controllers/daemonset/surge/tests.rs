//! The modelled controller with `maxSurge` does what Kubernetes 1.36's own did (`tests/integration/control_plane/surge.rs`).

use std::sync::Arc;

use crate::engine::model::facts::{DaemonSetCounters, StrategyKind, Taint};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::template::TaintEffect;
use crate::sim::world::World;
use crate::sim::world::object::Object;
use crate::sim::world::scenario::{ClusterFault, DaemonSetPlan, FleetFault, built_in};
use crate::sim::world::store::{DeleteOptions, Propagation};
use crate::sim::world::tests::{AGENT, BY, MINUTE, counters, pods, run, set_image, set_strategy, worst};

fn surging() -> World {
    let mut scenario = built_in("small").unwrap();
    let plan = &mut scenario.daemon_sets[0];
    (plan.max_unavailable, plan.max_surge) = (IntOrPercent::Int(0), IntOrPercent::Int(2));
    World::new(&scenario, 1)
}

/// How many nodes have two pods that are not terminating.
fn doubled(world: &World) -> usize {
    let live = |pods: &Vec<Arc<Object>>| pods.iter().filter(|pod| !pod.meta.is_deleting()).count();
    world.pods_of("edge", "agent").values().filter(|pods| live(pods) > 1).count()
}

#[test]
fn every_node_gets_the_new_pod_and_none_is_ever_down() {
    let mut world = surging();
    let nodes = counters(&world).desired as usize;
    set_image(&mut world, "v2");
    assert_eq!(worst(&mut world, MINUTE * 20), 0);
    let Counters { updated, available } = Counters::of(&world);
    assert_eq!((updated, available, doubled(&world)), (nodes, nodes, 0));
}

#[test]
fn an_image_that_cannot_be_pulled_stops_at_max_surge_nodes_and_costs_none() {
    let mut world = surging();
    let nodes = counters(&world).desired as usize;
    set_image(&mut world, "nowhere");
    assert_eq!(worst(&mut world, MINUTE * 10), 0);
    let Counters { updated, available } = Counters::of(&world);
    assert_eq!((updated, available, doubled(&world)), (0, nodes, 2), "the oldest pod of each node is what counts");
    // A node whose old pod is not ready gets a new pod outside of the surge, and the old one is deleted.
    let before = pods(&world);
    let node = before.keys().next().unwrap().clone();
    world.inject(&FleetFault::ProbesFail(node.clone()).into());
    run(&mut world, 2);
    assert_ne!(pods(&world)[&node].0, before[&node].0);

    // Under OnDelete the older of two pods stays, ready or not.
    set_strategy(&mut world, StrategyKind::OnDelete);
    run(&mut world, 2);
    assert_eq!(doubled(&world), 0);
}

#[test]
fn pods_on_nodes_that_should_not_run_them_go_once_enough_serve_elsewhere() {
    let mut world = surging();
    let nodes = counters(&world).desired as usize;
    let node = pods(&world).keys().next().unwrap().clone();
    let taint = Taint { key: "m".into(), value: "x".into(), effect: TaintEffect::NoSchedule };
    world.inject(&ClusterFault::Taint { node: node.clone(), taint }.into());
    run(&mut world, 5);
    assert!(pods(&world).contains_key(&node), "at the current revision it stays");
    set_image(&mut world, "v2");
    run(&mut world, 20);
    assert!(!pods(&world).contains_key(&node));
    assert_eq!(Counters::of(&world).updated, nodes - 1);
}

/// An adopted pod that is ready did not become ready just now: a request for a sync after its `minReadySeconds` would displace the request that the
/// new pod needs.
#[test]
fn pods_that_are_adopted_do_not_keep_the_controller_from_the_new_one() {
    let mut scenario = built_in("small").unwrap();
    scenario.nodes.truncate(1);
    let plan = &mut scenario.daemon_sets[0];
    (plan.max_unavailable, plan.max_surge) = (IntOrPercent::Int(0), IntOrPercent::Int(1));
    plan.min_ready_secs = 20;
    let plan = plan.clone();
    let mut world = World::new(&scenario, 1);
    let orphan = DeleteOptions { propagation: Propagation::Orphan, ..DeleteOptions::default() };
    world.delete(AGENT, &orphan, BY).unwrap();
    run(&mut world, 1);
    let changed = DaemonSetPlan { grace_secs: plan.grace_secs + 1, ..plan };
    world.inject(&ClusterFault::CreateDaemonSet(Box::new(changed)).into());
    run(&mut world, 20);
    let Counters { updated, available } = Counters::of(&world);
    assert_eq!((updated, available, doubled(&world)), (1, 1, 0));
}

/// The counters of the DaemonSet's status.
struct Counters {
    updated: usize,
    available: usize,
}

impl Counters {
    fn of(world: &World) -> Self {
        let DaemonSetCounters { updated, available, .. } = counters(world);
        Self { updated: updated as usize, available: available as usize }
    }
}
