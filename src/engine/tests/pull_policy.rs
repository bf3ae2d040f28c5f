//! Admission that makes kubelets ask the registry for images that are on their nodes (`AlwaysPullImages`).

use std::time::Duration;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::facts::{ListedImage, PodFact};
use crate::engine::model::node::ImageState;
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
    fake.change_node("n3", |node| node.images = vec![ListedImage { name: "agent:v2".into(), bytes: 1 }]);
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
    fake.change_pod("n2", always);
    let mut late = FakeConsole::open(&fake, "later");
    assert_eq!(image_of(&mut late, &fake, "n3").0, ImageState::Unknown);
}
