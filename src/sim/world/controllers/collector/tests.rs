//! What is collected once its owner or its node is gone.

use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::scenario::{ClusterFault, FleetFault, NodeSetup, NodeSpec};
use crate::sim::world::store::{DeleteOptions, Propagation};
use crate::sim::world::tests::{AGENT, BY, counters, run, small};

/// The DaemonSet stays in deletion while a policy refuses the writes that remove its finalizer; then these writes are tried again.
fn stays_until_templates_are_admitted(world: &mut World) {
    run(world, 1);
    assert_eq!(world.store().count(Kind::DaemonSet), 1);
    world.inject(&ClusterFault::AdmitTemplates { namespace: "edge".into() }.into());
    run(world, 1);
    assert_eq!(world.store().count(Kind::DaemonSet), 0);
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
        spec: NodeSpec { name: "node-a-02".into(), site: "a".into(), ..Default::default() },
        images: Vec::new(),
    };
    world.join(&setup);
    run(&mut world, 2);
    assert_eq!((world.serving("edge", "agent"), counters(&world).desired), (20, 20), "a new node gets its pod");
}

#[test]
fn a_deleted_daemonset_takes_everything_with_it() {
    let mut world = small();
    world.delete(AGENT, &DeleteOptions::default(), BY).unwrap();
    run(&mut world, 1);
    assert_eq!((world.store().count(Kind::Pod), world.store().count(Kind::ControllerRevision)), (0, 0));
    let mut world = small();
    let foreground = DeleteOptions { propagation: Propagation::Foreground, ..DeleteOptions::default() };
    world.delete(AGENT, &foreground, BY).unwrap();
    assert!(world.store().get(AGENT.0, AGENT.1, AGENT.2).is_some(), "its pods go first");
    run(&mut world, 1);
    assert_eq!((world.store().count(Kind::Pod), world.store().count(Kind::DaemonSet)), (0, 0));
    let mut world = small();
    let orphan = DeleteOptions { propagation: Propagation::Orphan, ..DeleteOptions::default() };
    world.delete(AGENT, &orphan, BY).unwrap();
    run(&mut world, 1);
    assert_eq!((world.store().count(Kind::Pod), world.store().count(Kind::DaemonSet)), (20, 0));
}

/// One policy writes a digest into every written template, and another one refuses that template: so the write that removes a finalizer is refused
/// too.
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
    stays_until_templates_are_admitted(&mut world);
}

/// Dependents are orphaned in the end, although a policy refused that at first.
#[test]
fn the_collector_tries_again_what_a_policy_refuses() {
    let mut world = small();
    let refuse = ClusterFault::RefuseTemplates { namespace: "edge".into(), image: None, why: "not now".into() };
    world.inject(&refuse.into());
    world.inject(&ClusterFault::PinImages { namespace: "edge".into() }.into());
    world.inject(&ClusterFault::DeleteDaemonSet { daemon_set: "edge/agent".into(), orphan: true }.into());
    stays_until_templates_are_admitted(&mut world);
}
