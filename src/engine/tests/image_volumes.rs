//! Image volumes: an image that no container runs, and that a pod needs all the same.

use super::*;
use crate::engine::model::Str;
use crate::engine::model::facts::{ClusterEvent, ListedImage, NodeFact, PodFact};
use crate::engine::model::node::ImageState;
use crate::engine::model::pull::{Evidence, PullFailure, PullState};
use crate::engine::model::settings::Tuning;
use crate::engine::model::template::Template;

const AGENT: &str = "r.example/agent:v1";

fn models(version: &str) -> Str {
    format!("r.example/models:{version}").into()
}

/// Only what the volume mounts differs from version to version.
fn template(version: &str) -> Template {
    Template::from_json(json!({"spec": {
        "containers": [{"name": "models", "image": AGENT, "volumeMounts": [{"name": "models", "mountPath": "/models"}]}],
        "volumes": [
            {"name": "models", "image": {"reference": &*models(version), "pullPolicy": "IfNotPresent"}},
            {"name": "etc", "hostPath": {"path": "/etc"}},
        ],
    }}))
}

/// Three nodes at `v1`; the template has `v2`.
fn changed() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::new(0, json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}));
    fake.set_template(template("v1"));
    fake.reconcile();
    fake.add_nodes((1..=3).map(|nth| format!("n{nth}").into()));
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 2);
    fake.set_template(template("v2"));
    fake.reconcile();
    console.run_for(&mut fake, 2);
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 2);
    assert!(fake.deleted.is_empty(), "before the first step");
    (fake, console)
}

/// What is known of the volume's image on a node, and all in all.
fn known(console: &mut FakeConsole, fake: &FakeCluster, node: &str) -> (PullState, ImageState) {
    let snapshot = console.snapshot(fake);
    let view = snapshot.nodes.iter().find(|view| &*view.name == node).unwrap();
    let pull = view.images.iter().find(|pull| &*pull.container == "volume/models").unwrap();
    assert_eq!(pull.image, models("v2"));
    (pull.state.clone(), view.image)
}

/// Says something of a node's pod that names no container, as kubelets do of image volumes.
fn say(console: &mut FakeConsole, fake: &FakeCluster, node: &str, reason: &str, message: &str, version: u64) {
    let pod = fake.pods.values().find(|pod| pod.node.as_deref() == Some(node)).unwrap();
    let event = ClusterEvent {
        version: Some(version),
        object: pod.uid.clone(),
        node: Some(node.into()),
        container: None,
        reason: reason.into(),
        message: message.into(),
        at: fake.now,
        first_at: None,
        count: 1,
        ..ClusterEvent::default()
    };
    console.engine.observe(Event::Cluster(Box::new(event)), fake.now);
}

fn lists(fake: &mut FakeCluster, console: &mut FakeConsole, node: &str, image: &Str) {
    let listed = [ListedImage { name: AGENT.into(), bytes: 1 }, ListedImage { name: image.clone(), bytes: 1 }];
    let fact = NodeFact { images: listed.into(), ..fake.nodes[node].clone() };
    fake.nodes.insert(node.into(), fact.clone());
    console.engine.observe(Event::Node(Box::new(fact)), fake.now);
}

#[test]
fn a_node_lacks_the_volumes_image_although_its_container_keeps_its_own() {
    let (mut fake, mut console) = changed();
    assert_eq!(known(&mut console, &fake, "n1"), (PullState::Unknown, ImageState::Unknown));
    lists(&mut fake, &mut console, "n2", &models("v1"));
    assert_eq!(known(&mut console, &fake, "n2"), (PullState::Unknown, ImageState::Unknown), "it has another one");
    lists(&mut fake, &mut console, "n3", &models("v2"));
    let present = PullState::Present { by: Evidence::NodeStatus, pull: None };
    assert_eq!(known(&mut console, &fake, "n3"), (present, ImageState::Present));
}

#[test]
fn a_node_waits_for_the_volumes_image_where_images_are_required() {
    let (mut fake, mut console) = changed();
    lists(&mut fake, &mut console, "n3", &models("v2"));
    let required = Tuning { require_image: Some(true), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(required)).unwrap();
    fake.refuses_warm = Some("exceeded quota".into());
    // Of the other two nodes the partition keeps one.
    console.partition(&mut fake, 1);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.deleted, [Str::from("n3")]);
    let snapshot = console.snapshot(&fake);
    let waits = snapshot.guidance().map(|guidance| guidance.waits).unwrap_or_default();
    assert_eq!(waits, "waits for 1 node: without the image yet (n1)", "said at the top, where nothing else moves");
}

#[test]
fn events_that_name_no_container_tell_of_the_volume_and_its_pod_proves_it() {
    let (mut fake, mut console) = changed();
    let wait = |pod: &mut PodFact| {
        pod.ready = false;
        for container in pod.containers.iter_mut() {
            container.image_present = false;
            container.ready = false;
            container.state = ContainerState::Waiting { reason: "ContainerCreating".into(), message: None };
        }
    };
    fake.slow = true;
    console.partition(&mut fake, 2);
    console.run_for(&mut fake, 3);
    let node = fake.deleted[0].clone();
    fake.change_pod(&node, wait);
    console.run_for(&mut fake, 1);
    let image = models("v2");
    say(&mut console, &fake, &node, "Pulling", &format!("Pulling image \"{image}\""), 10);
    assert!(matches!(known(&mut console, &fake, &node), (PullState::Pulling { .. }, ImageState::Pulling { .. })));
    let refused = format!("Failed to pull image \"{image}\": rpc error: code = NotFound desc = {image}: not found");
    say(&mut console, &fake, &node, "Failed", &refused, 11);
    let (state, all) = known(&mut console, &fake, &node);
    assert!(matches!(state, PullState::Failed { why: PullFailure::NotFound, .. }), "{state}");
    assert_eq!(all, ImageState::Failed);
    fake.change_pod(&node, |pod| pod.containers.iter_mut().for_each(|container| container.image_present = true));
    console.run_for(&mut fake, 1);
    let present = PullState::Present { by: Evidence::ImageId, pull: None };
    assert_eq!(known(&mut console, &fake, &node), (present, ImageState::Present));
}
