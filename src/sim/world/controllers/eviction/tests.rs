//! Pods on nodes that stay down.

use crate::engine::model::disruption::PodDisruption;
use crate::engine::model::template::Template;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Body, Object, Pod};
use crate::sim::world::scenario::FleetFault;
use crate::sim::world::tests::{BY, run, small};

#[test]
fn a_pod_on_a_node_that_stays_down_is_evicted_unless_a_daemonset_made_it() {
    let mut world = small();
    let template = Template::from_json(serde_json::json!({"spec": {
        "containers": [{"name": "x", "image": "registry.example/agent:v1"}],
        "nodeSelector": {"kubernetes.io/hostname": "node-a-02"},
    }}));
    let pod = Pod { template, ..Default::default() };
    world.create(Object::new("edge", "loose", Body::Pod(pod)), BY).unwrap();
    run(&mut world, 1);
    world.inject(&FleetFault::Cut("node-a-02".into()).into());
    let deleting = |world: &World| world.store().find(Kind::Pod, "edge", "loose").unwrap().meta.is_deleting();
    run(&mut world, 5);
    assert!(!deleting(&world), "it is given five minutes");
    run(&mut world, 2);
    assert!(deleting(&world));
    let told = world.store().find(Kind::Pod, "edge", "loose").unwrap().pod_fact().unwrap().disruption;
    assert_eq!(told, Some(PodDisruption::NoExecuteTaint));
    assert!(!world.pods_of("edge", "agent")["node-a-02"][0].meta.is_deleting());
}
