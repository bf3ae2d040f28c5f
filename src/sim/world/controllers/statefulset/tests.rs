//! One node after the other, as Kubernetes' own controller has it.

use serde_json::json;

use crate::engine::model::Str;
use crate::engine::model::facts::PodPhase;
use crate::engine::model::template::Template;
use crate::engine::rules::warm_pod::WarmPodOwner;
use crate::engine::rules::warm_set::warm_set;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Body, Object};
use crate::sim::world::scenario::{ClusterFault, FleetFault, RegistryImage};
use crate::sim::world::store::DeleteOptions;
use crate::sim::world::tests::{BY, run, small};

const IMAGE: &str = "registry.example/warm:1";

/// A StatefulSet for three nodes, as pre-warming makes it.
fn with_set(image: RegistryImage) -> (World, Str) {
    let mut world = small();
    world.inject(&FleetFault::Publish(Box::new(image)).into());
    let nodes: Vec<Str> = world.store().list(Kind::Node).take(3).map(|node| node.meta.name.clone()).collect();
    let template = Template::from_json(json!({"spec": {"containers": [{"name": "agent", "image": IMAGE}]}}));
    let owner = WarmPodOwner { namespace: "edge", name: "agent", uid: "0f-1" };
    let (name, set) = warm_set(&owner, &nodes, &template, "r");
    let body = json!({"spec": set["spec"]});
    world.create(Object::new("edge", &name, Body::Other(Kind::StatefulSet, body.into())), BY).unwrap();
    (world, name)
}

/// Its pods: on which node, and whether they are ready.
fn pods(world: &World, set: &str) -> Vec<(Option<Str>, bool)> {
    let of_it = |object: &&std::sync::Arc<Object>| object.meta.name.starts_with(&format!("{set}-"));
    let pods = world.store().list_in(Kind::Pod, "edge").filter(of_it).filter_map(|object| object.pod());
    pods.map(|pod| (pod.node.clone(), pod.ready().is_some())).collect()
}

#[test]
fn the_next_pod_is_made_once_the_last_one_is_ready_and_each_gets_a_node_of_its_own() {
    let (mut world, set) = with_set(RegistryImage::new(IMAGE, 1_000_000));
    let mut most_unready = 0;
    world.advance_until(std::time::Duration::from_secs(300), |world| {
        let pods = pods(world, &set);
        most_unready = most_unready.max(pods.iter().filter(|(_, ready)| !ready).count());
        pods.len() == 3 && pods.iter().all(|(_, ready)| *ready)
    });
    let nodes: std::collections::BTreeSet<_> = pods(&world, &set).into_iter().map(|(node, _)| node.unwrap()).collect();
    assert_eq!((most_unready, nodes.len()), (1, 3), "{nodes:?}");
    world.delete((Kind::StatefulSet, "edge", &set), &DeleteOptions::default(), BY).unwrap();
    run(&mut world, 1);
    assert!(pods(&world, &set).is_empty(), "its pods go with it");
}

#[test]
fn a_pod_that_never_becomes_ready_holds_up_the_rest() {
    let (mut world, set) = with_set(RegistryImage { distroless: true, ..RegistryImage::new(IMAGE, 1_000_000) });
    run(&mut world, 20);
    assert_eq!(pods(&world, &set).len(), 1);
}

#[test]
fn a_refusal_is_told_in_an_event_and_tried_again() {
    let (mut world, set) = with_set(RegistryImage::new(IMAGE, 1_000_000));
    let refuse = ClusterFault::RefusePods { namespace: "edge".into(), why: "exceeded quota: q".into() };
    world.inject(&refuse.into());
    run(&mut world, 1);
    let told = |world: &World| {
        let events = world.store().list_in(Kind::Event, "edge").filter_map(|object| object.event());
        events.filter(|event| &*event.reason == "FailedCreate" && *event.involved.name == *set).count()
    };
    assert!(told(&world) > 0);
    world.inject(&ClusterFault::AdmitPods { namespace: "edge".into() }.into());
    run(&mut world, 20);
    assert_eq!(pods(&world, &set).len(), 3);
    assert!(world.store().list_in(Kind::Pod, "edge").all(|pod| pod.pod().unwrap().status.phase == PodPhase::Running));
}
