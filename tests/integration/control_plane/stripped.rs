//! Admission that removes annotations which it does not know, also the one in which an adoption saves the original update strategy.

use std::time::{Duration, Instant};

use serde_json::json;

use super::fixture::{DS, GOOD, NODES, RolloutFixture, SOON};
use super::mutating::MutatingPolicy;
use crate::support::control_plane::eventually;
use crate::support::program::text;

const PATCH: &str = "object.metadata.annotations.filter(key, key.startsWith('rolldeck.io/')).map(key, \
                     JSONPatch{op: 'remove', path: '/metadata/annotations/' + jsonpatch.escapeKey(key)})";

/// Removes annotations of rolldeck from the DaemonSet in every write from now on.
fn stripping(fixture: &RolloutFixture) -> MutatingPolicy<'_> {
    let rule = json!({"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["daemonsets"]});
    let policy = MutatingPolicy::of(fixture, "strip", &rule, "has(object.metadata.annotations)", PATCH);
    until_stripped(fixture, true);
    policy
}

/// Waits until the API server follows the policy, or does not any more.
fn until_stripped(fixture: &RolloutFixture, stripped: bool) {
    let path = format!("{}?dryRun=All", path(fixture));
    let annotated = json!({"metadata": {"annotations": {"rolldeck.io/probe": "1", "probe": "1"}}});
    eventually("the policy is followed, or over", SOON, || {
        let answer = fixture.sandbox.admin().patch(&path, &annotated).ok();
        (answer["metadata"]["annotations"]["rolldeck.io/probe"].is_null() == stripped).then_some(())
    });
}

fn path(fixture: &RolloutFixture) -> String {
    fixture.sandbox.path("daemonsets.apps", "agent")
}

fn strategy(fixture: &RolloutFixture) -> serde_json::Value {
    fixture.daemon_set()["spec"]["updateStrategy"].clone()
}

/// No pod is replaced, the reason is told, the DaemonSet is not written over and over, and a release restores the strategy that it had, which by then only the
/// record knows: whether admission begins that before the adoption or after it.
#[test]
fn an_original_strategy_that_admission_does_not_let_be_saved_is_not_lost() {
    let Some(fixture) = RolloutFixture::new("stripped") else { return };
    let operator = fixture.operator();
    let (began, original) = (Instant::now(), strategy(&fixture));
    assert_eq!(original["type"], "RollingUpdate");
    let flags = ["--image", &format!("agent={}", GOOD[1]), "--to", "100%", "--yes", "--timeout", "40s"];
    for late in [false, true] {
        if late {
            operator.ok(&["adopt", DS]);
        }
        let policy = stripping(&fixture);
        if late {
            // Any write of the DaemonSet removes it.
            let nothing = json!({"metadata": {"annotations": {"touched": "1"}}});
            fixture.sandbox.admin().patch(&path(&fixture), &nothing).ok();
        }
        let generation = || fixture.daemon_set()["metadata"]["resourceVersion"].to_string();
        let drive = operator.run(&[&["drive", DS], &flags[..]].concat());
        let said = text(&drive);
        assert!(!drive.status.success(), "{said}");
        assert!(said.contains("removes the annotation rolldeck.io/original-update-strategy"), "{said}");
        assert_eq!(fixture.witness.serving(":v1").len(), NODES, "{said}");
        let status = text(&operator.run(&["status", DS]));
        println!("{status}");
        let before = generation();
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(before, generation(), "nobody writes it now");
        let released = operator.ok(&["release", DS, "--early", "--yes", "--timeout", "60s"]);
        assert!(released.contains("the original update strategy is restored"), "{released}");
        assert_eq!(strategy(&fixture), original);
        drop(policy);
        until_stripped(&fixture, false);
    }
    assert!(fixture.witness.deletes_since(began).is_empty());
}
