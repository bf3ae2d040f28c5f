//! Three nodes of a DaemonSet without a rollout lose the network: no node is a suspect. `status` of the DaemonSet and the list of all DaemonSets
//! agree.

use std::time::Duration;

use serde_json::json;

use super::fixture::{DS, NODES};
use super::suspects::fixture;
use crate::support::control_plane::eventually;
use crate::support::program::text;

const SOON: Duration = Duration::from_secs(120);
/// Longer than the test takes.
const FOR_GOOD: Duration = Duration::from_secs(3600);

#[test]
fn without_a_rollout_nodes_that_are_down_are_not_suspects() {
    let Some(fixture) = fixture("idle-down") else { return };
    let operator = &fixture.operator;
    let lost = &fixture.nodes[..3];
    lost.iter().for_each(|node| fixture.cut(node, FOR_GOOD));
    fixture.witness.until("their pods are not ready", SOON, |witness| witness.unavailable() == 3);
    let status = eventually("the three are seen", SOON, || {
        let status = operator.status(DS);
        (status.nodes(|node| node["state"] == "node down").len() == 3).then_some(status)
    });
    assert_eq!(status.0["phase"], "idle");
    let counts = &status.0["counts"];
    assert_eq!([&counts["nodes"], &counts["available"], &counts["failed"]], [&json!(NODES), &json!(17), &json!(0)]);
    let budget = &status.0["budget"];
    assert_eq!(
        [&budget["charged"], &budget["suspect"], &budget["node"]],
        [&json!(0), &json!(0), &json!(3)],
        "{budget}"
    );
    assert_eq!(status.nodes(|node| node["blame"] == "node"), lost);
    let said = text(&operator.run(&["status", DS]));
    assert!(said.contains("idle, 3 nodes down, 17 of 20 available"), "{said}");
    assert!(said.contains("down 0 of 2 + 3 by themselves"), "{said}");
    assert!(!said.contains("suspect"), "{said}");

    let row = || operator.json(&["status", "-o", "json"])["items"][0].clone();
    eventually("the list says that three are down", SOON, || {
        let state = row()["state"].as_str().unwrap_or_default().to_owned();
        ["3 unavailable", "3 misscheduled"].contains(&state.as_str()).then_some(())
    });
}
