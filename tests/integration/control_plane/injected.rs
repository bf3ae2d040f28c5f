//! A mesh or an agent of the platform injects sidecars into pods as they are created; the template does not name them.

use std::time::Instant;

use super::fixture::{DS, GOOD, MISSING, NODES, RolloutFixture, SOON, assert_within_budget};
use super::mutating::MutatingPolicy;
use crate::support::control_plane::eventually;
use crate::support::program::text;

/// Pods that are created from now on get a second container, `mesh-proxy`, with this image.
fn inject<'a>(fixture: &'a RolloutFixture, image: &str) -> MutatingPolicy<'a> {
    let container = format!("Object.spec.containers{{name: 'mesh-proxy', image: '{image}'}}");
    let patch = format!("[JSONPatch{{op: 'add', path: '/spec/containers/-', value: {container}}}]");
    let policy = MutatingPolicy::set(fixture, "mesh", "true", &patch);
    let path = format!("{}?dryRun=All", fixture.sandbox.path("pods", ""));
    let pod =
        serde_json::json!({"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "p", "image": "p:1"}]}});
    // The API server follows a deleted policy for a moment still, so the check asks for the image too.
    let injected = || fixture.sandbox.admin().post(&path, &pod).body["spec"].to_string().contains(image);
    eventually("the policy is followed", SOON, || injected().then_some(()));
    policy
}

/// The injection begins in the middle of a rollout, with an image that does not exist. Every pod that is created from then on fails, also one of the
/// old revision. So the halt, the diagnosis and the preview of the roll back say that a roll back does not help.
#[test]
fn what_is_injected_and_fails_is_not_blamed_on_the_revision() {
    let Some(fixture) = RolloutFixture::new("injected") else { return };
    let operator = fixture.operator();
    let began = Instant::now();
    operator.ok(&["set-image", DS, &format!("agent={}", GOOD[1]), "--yes"]);
    operator.ok(&["drive", DS, "--to", "2", "--until", "held", "--timeout", "120s"]);
    let policy = inject(&fixture, MISSING);
    let mut drive = operator.drive(DS, &["--to", "6"]);
    assert_eq!(drive.end().code(), Some(4), "{}", drive.seen());
    assert!(drive.seen().contains("image not found (mesh-proxy, not in the template) on "), "{}", drive.seen());
    let diagnosed = operator.ok_or_not(&["diagnose", DS]);
    println!("{diagnosed}");
    assert!(diagnosed.contains("image not found: mesh-proxy, which is not in the template"), "{diagnosed}");
    assert!(diagnosed.contains("neither a roll back nor another image helps"), "{diagnosed}");
    assert!(!diagnosed.contains("give the DaemonSet an image that is there"), "{diagnosed}");
    let preview = text(&operator.run(&["undo", DS, "--dry-run"]));
    println!("{preview}");
    assert!(preview.contains("is mesh-proxy, which is not in the template"), "{preview}");
    assert!(fixture.witness.deletes_since(began).len() <= 4, "two updated, two that failed");

    // The injected image is corrected: pods that are created from now on run, and the rollout completes.
    drop(policy);
    let _corrected = inject(&fixture, GOOD[0]);
    for pod in fixture.sandbox.pods() {
        if pod["spec"]["containers"].to_string().contains(MISSING) {
            let name = pod["metadata"]["name"].as_str().expect("its name");
            fixture.sandbox.admin().delete(&fixture.sandbox.path("pods", name)).ok();
        }
    }
    operator.ok(&["resume", DS, "--yes"]);
    operator.ok(&["drive", DS, "--to", "100%", "--timeout", "180s"]);
    fixture.until("all are updated, with the injected container", |witness| witness.serving(":v2").len() == NODES);
    assert_within_budget(&fixture, began);
}
