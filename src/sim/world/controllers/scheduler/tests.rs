//! Pods that no controller bound to a node.

use std::time::Duration;

use crate::engine::model::facts::Taint;
use crate::engine::model::template::{TaintEffect, Template};
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Body, Object, Pod};
use crate::sim::world::scenario::ClusterFault;
use crate::sim::world::tests::{BY, run, small};

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
    let pod = Pod { template, ..Default::default() };
    world.create(Object::new("edge", "loose", Body::Pod(pod)), BY).unwrap();
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
