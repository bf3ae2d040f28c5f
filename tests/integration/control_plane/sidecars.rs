//! Sidecars: init containers with `restartPolicy: Always`. The API server accepts them and adds what it adds, and kubelets keep them running.

use std::time::Duration;

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::sim::world::scenario::RegistryImage;
use serde_json::json;

use super::fixture::{DS, GOOD, RolloutFixture, SOON, quick, scenario};
use crate::support::program::node_of;

const CRASHES: &str = "registry.test/proxy:crash";

/// The same rollout with a sidecar that stays up, and then with one that crashes again and again once it has started.
#[test]
fn a_sidecar_that_keeps_running_lets_its_pod_start_and_one_that_crashes_halts_the_rollout() {
    let crashes = RegistryImage { crashes_after: Some(Duration::from_secs(5)), ..quick(CRASHES) };
    let scenario = scenario(StrategyKind::OnDelete).with_image(crashes);
    let Some(fixture) = RolloutFixture::with("sidecars", scenario) else { return };
    let operator = fixture.operator();
    operator.ok(&["adopt", DS, "--max-unavailable", "2", "--yes"]);
    let path = fixture.sandbox.path("daemonsets.apps", "agent");
    let deploy = |sidecar: &str| {
        let containers = json!({
            "initContainers": [
                {"name": "proxy", "image": sidecar, "restartPolicy": "Always"},
                {"name": "setup", "image": GOOD[1], "command": ["true"]},
            ],
            "containers": [{"name": "agent", "image": GOOD[1]}],
        });
        fixture.sandbox.admin().patch(&path, &json!({"spec": {"template": {"spec": containers}}})).ok();
        operator.ok(&["resume", DS, "--yes"]);
    };
    deploy(GOOD[0]);
    operator.ok(&["drive", DS, "--to", "2", "--until", "held", "--timeout", "120s", "--yes"]);
    let updated = operator.status(DS).at_target();
    assert_eq!(updated.len(), 2, "pods with a sidecar start and are updated");

    deploy(CRASHES);
    let mut driver = operator.start(&["drive", DS, "--to", "1", "--timeout", "300s", "--yes"]);
    let ended = driver.end();
    let errors = driver.errors();
    println!("{}\n{errors}", driver.seen());
    assert_eq!(ended.code(), Some(4), "it halts");
    let halted = operator.until_status(DS, "the rollout is halted", SOON, |status| status["halt"].is_object());
    let node = node_of(&halted, halted["halt"]["nodes"][0].as_str().unwrap());
    println!("{}", node["why"]);
    assert_eq!(node["cause"], "crash loop", "{node}");
    let said = node["message"].as_str().unwrap();
    assert!(said.contains("proxy ended with exit 1"), "the sidecar is named: {said}");
}
