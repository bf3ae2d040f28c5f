//! Release on real controllers: the DaemonSet controller deletes pods on nodes that should no longer run them, once it rolls by itself.
//!
//! ```text
//!   20 nodes, all serve ──▶ 5 are tainted NoSchedule: their pods may stay ──▶ all others are updated ──▶ release?
//! ```

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fixture::{DS, NODES, RolloutFixture, assert_within_budget};
use crate::support::program::text;

const V2: &str = "agent=registry.test/agent:v2";
const QUIET: Duration = Duration::from_secs(5);

fn taint(fixture: &RolloutFixture, node: &str, taints: &Value) {
    let path = format!("/api/v1/nodes/{node}");
    fixture.sandbox.admin().patch(&path, &json!({"spec": {"taints": taints}})).ok();
}

fn strategy(fixture: &RolloutFixture) -> Value {
    fixture.daemon_set()["spec"]["updateStrategy"]["type"].clone()
}

#[test]
fn the_end_of_a_rollout_removes_no_serving_pod() {
    let Some(fixture) = RolloutFixture::new("release-tainted") else { return };
    let operator = fixture.operator();
    let began = Instant::now();
    let tainted: BTreeSet<String> = fixture.nodes[15..].iter().cloned().collect();
    for node in &tainted {
        taint(&fixture, node, &json!([{"key": "m", "value": "x", "effect": "NoSchedule"}]));
    }
    // The controller still counts the tainted nodes: after a taint, the controller of 1.36 looks at a node only where it has to create or delete a
    // pod.
    let mut driver = operator.drive(DS, &["--image", V2, "--to", "100%"]);
    fixture.until("fifteen serve v2", |witness| witness.serving(":v2").len() == 15);
    driver.until("the release waits: it would remove 5 serving pods for good");
    std::thread::sleep(QUIET);
    assert_eq!(fixture.witness.serving(":v1"), tainted, "they go on serving");
    assert_eq!(strategy(&fixture), "OnDelete", "and it is not handed back");

    let status = operator.status(DS);
    assert_eq!(status.0["phase"], "complete");
    assert_eq!((&status.0["counts"]["misscheduled"], &status.0["counts"]["removedByRelease"]), (&json!(5), &json!(5)));
    assert_eq!(status.0["alarms"][0]["type"], "releaseWaits");
    let named: BTreeSet<String> = status
        .nodes(|node| node["ineligible"] == "taint m=x:NoSchedule not tolerated" && node["serves"] == true)
        .into_iter()
        .collect();
    assert_eq!(named, tainted);
    let said = text(&operator.run(&["status", DS]));
    assert!(said.contains("complete, the release waits") && said.contains("its old pod serves: "), "{said}");
    let refused = operator.run(&["release", DS]);
    assert_eq!(refused.status.code(), Some(6), "{}", text(&refused));
    assert!(text(&refused).contains("have 5 serving pods"), "{}", text(&refused));
    let unasked = operator.run(&["release", DS, "--early"]);
    assert_eq!(unasked.status.code(), Some(6), "nobody is there to be asked: {}", text(&unasked));
    assert!(text(&unasked).contains("The controller deletes 5 serving pods on nodes that"), "{}", text(&unasked));
    assert_eq!(fixture.witness.serving(":v1"), tainted);

    // A node that loses its taint is updated; the five nodes lose theirs one after the other.
    for node in &tainted {
        taint(&fixture, node, &json!([]));
        fixture.until("it serves v2", |witness| witness.serving(":v2").contains(node));
    }
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(strategy(&fixture), "RollingUpdate");
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    assert_within_budget(&fixture, began);
}

/// After an early release the real controller deletes the pods on tainted nodes and creates none there.
#[test]
fn an_early_release_removes_the_serving_pods_that_were_named() {
    let Some(fixture) = RolloutFixture::new("release-meant") else { return };
    let operator = fixture.operator();
    let tainted: BTreeSet<String> = fixture.nodes[17..].iter().cloned().collect();
    for node in &tainted {
        taint(&fixture, node, &json!([{"key": "m", "value": "x", "effect": "NoSchedule"}]));
    }
    let mut driver = operator.drive(DS, &["--image", V2, "--to", "100%"]);
    driver.until("the release waits: it would remove 3 serving pods for good");
    operator.ok(&["release", DS, "--early", "--yes"]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    fixture.until("the controller has removed them", |witness| {
        let pods = witness.pods();
        tainted.iter().all(|node| !pods.contains_key(node))
    });
    std::thread::sleep(QUIET);
    assert!(fixture.witness.pods().keys().all(|node| !tainted.contains(node)), "none comes back");
    assert_eq!(fixture.witness.serving(":v2").len(), NODES - tainted.len());
}
