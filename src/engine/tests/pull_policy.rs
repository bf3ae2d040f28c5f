//! Admission that makes kubelets ask the registry for images that are on their nodes (`AlwaysPullImages`).

use std::time::Duration;

use super::prewarm::{image, start, state};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::event::Event;
use crate::engine::model::facts::{ListedImage, PodFact};
use crate::engine::model::node::ImageState;
use crate::engine::model::prewarm::{PrewarmNodes, PrewarmState};
use crate::engine::model::pull::PullState;

fn always(pod: &mut PodFact) {
    pod.always_pulled = ["agent".into()].into();
}

fn image_of(console: &mut FakeConsole, fake: &FakeCluster, node: &str) -> (ImageState, bool) {
    let snapshot = console.snapshot(fake);
    let view = snapshot.nodes.iter().find(|it| *it.name == *node).unwrap();
    (view.image, matches!(view.images[0].state, PullState::Unknown))
}

#[test]
fn the_pod_that_was_made_last_tells_what_admission_does() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    fake.set_strategy(serde_json::json!({"type": "OnDelete"}));
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    fake.change_node("n3", |node| node.images = [ListedImage { name: "agent:v2".into(), bytes: 1 }].into());
    console.run(&mut fake);
    assert_eq!(image_of(&mut console, &fake, "n3"), (ImageState::Present, false), "its kubelet lists the image");

    fake.change_pod("n1", always);
    console.run(&mut fake);
    assert_eq!(image_of(&mut console, &fake, "n3"), (ImageState::Unknown, true), "its next pod asks the registry");

    let later = fake.now + Duration::from_secs(60);
    fake.change_pod("n2", |pod| pod.created_at = later);
    console.run(&mut fake);
    assert_eq!(image_of(&mut console, &fake, "n3"), (ImageState::Present, false), "newer pods are left alone");

    let mut late = FakeConsole::open(&fake, "late");
    assert_eq!(image_of(&mut late, &fake, "n3").0, ImageState::Present, "in whatever order pods are told");
    // Pods are dated in whole seconds: one more of that second tells nothing against it.
    fake.change_pod("n2", always);
    fake.change_pod("n3", |pod| pod.created_at = later);
    let mut late = FakeConsole::open(&fake, "later");
    assert_eq!(image_of(&mut late, &fake, "n3").0, ImageState::Unknown);

    // Watches are read side by side: pods may be known before their DaemonSet and its revisions.
    let mut pods_first = FakeConsole::open(&FakeCluster::rolling(0, 1), "pods first");
    pods_first.engine.observe(Event::DaemonSetGone(None), fake.now);
    let facts = fake.pods.values().cloned().map(|pod| Event::Pod(Box::new(pod)));
    for event in facts.collect::<Vec<_>>() {
        pods_first.engine.observe(event, fake.now);
    }
    for event in fake.revisions.iter().cloned().map(|revision| Event::Revision(Box::new(revision))).collect::<Vec<_>>()
    {
        pods_first.engine.observe(event, fake.now);
    }
    pods_first.engine.observe(Event::DaemonSet(Box::new(fake.daemonset.clone())), fake.now);
    for event in fake.nodes.values().cloned().map(|node| Event::Node(Box::new(node))).collect::<Vec<_>>() {
        pods_first.engine.observe(event, fake.now);
    }
    assert_eq!(image_of(&mut pods_first, &fake, "n3").0, ImageState::Unknown);
}

/// Every pod uses the images that are to be brought: a pod that is made for them would be deleted at once, and made again.
#[test]
fn nothing_is_brought_to_a_node_whose_own_pod_uses_it() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    ["n1", "n2", "n3"].into_iter().for_each(|node| fake.change_pod(node, always));
    console.run(&mut fake);
    console.engine.command(start(image("v1"), PrewarmNodes::All, 2), fake.now).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!(fake.warm_nodes(), [""; 0]);
    assert_eq!(state(&mut console, &fake, "n1"), PrewarmState::Present);
}
