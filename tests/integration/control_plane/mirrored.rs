//! A policy of the platform lets new pods pull from a mirror: the images of pods are not those of the template.

use std::time::Instant;

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::sim::world::scenario::{PullError, RegistryImage};

use super::fixture::{DS, GOOD, MISSING, NODES, RolloutFixture, SOON, assert_within_budget, quick, scenario};
use super::mutating::MutatingPolicy;
use crate::support::control_plane::eventually;

const MIRROR: &str = "mirror.test/cache/";

/// The fixture with a registry that serves the images under the mirror's name as well.
fn fixture() -> Option<RolloutFixture> {
    let mut scenario = scenario(StrategyKind::RollingUpdate);
    for image in GOOD {
        let name = image.replace("registry.test/", MIRROR);
        scenario = scenario.with_image(RegistryImage { bytes: 300_000_000, ..quick(&name) });
    }
    let missing = "mirror.test/cache/agent:missing";
    RolloutFixture::with(
        "mirrored",
        scenario.with_image(RegistryImage { error: Some(PullError::NotFound), ..quick(missing) }),
    )
}

/// New pods pull from the mirror from now on.
fn mirror(fixture: &RolloutFixture) -> MutatingPolicy<'_> {
    let patch = "[JSONPatch{op: 'replace', path: '/spec/containers/0/image', value: \
                 object.spec.containers[0].image.replace('registry.test/', 'mirror.test/cache/')}]";
    let policy = MutatingPolicy::set(fixture, "mirror", "true", patch);
    let path = format!("{}?dryRun=All", fixture.sandbox.path("pods", ""));
    let pod =
        serde_json::json!({"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "p", "image": GOOD[0]}]}});
    let mirrored = || fixture.sandbox.admin().post(&path, &pod).body["spec"].to_string().contains(MIRROR);
    eventually("the policy is followed", SOON, || mirrored().then_some(()));
    policy
}

/// Such a rollout goes as any other, with its images brought first. Where the mirror lacks an image, the diagnosis names the mirror: the registry that
/// the template names may have it.
#[test]
fn images_that_admission_takes_from_a_mirror() {
    let Some(fixture) = fixture() else { return };
    let operator = fixture.operator();
    let began = Instant::now();
    let _policy = mirror(&fixture);
    operator.ok(&["set-image", DS, &format!("agent={}", GOOD[1]), "--require-image", "--yes"]);
    operator.ok(&["drive", DS, "--to", "10", "--until", "held", "--timeout", "180s"]);
    let status = operator.ok_or_not(&["status", DS]);
    assert!(status.contains("images   present on 10 of 20"), "{status}");
    operator.ok(&["drive", DS, "--to", "100%", "--timeout", "180s"]);
    fixture.until("all are updated", |witness| witness.serving(":v2").len() == NODES);

    operator.ok(&["set-image", DS, &format!("agent={MISSING}"), "--yes"]);
    let mut drive = operator.drive(DS, &["--to", "2"]);
    assert_eq!(drive.end().code(), Some(4), "{}", drive.seen());
    let diagnosed = operator.ok_or_not(&["diagnose", DS]);
    println!("{diagnosed}");
    assert!(
        diagnosed.contains(&format!("image not found: {MISSING}, pulled as mirror.test/cache/agent:missing")),
        "{diagnosed}"
    );
    assert!(diagnosed.contains("look at mirror.test, and whether it has this image"), "{diagnosed}");
    assert!(!diagnosed.contains("push the image"), "{diagnosed}");
    assert_within_budget(&fixture, began);
}
