//! A DaemonSet that surges, on its real controller: how `status` shows the surge, how the brake stops it, and which budget adopting it needs.

use std::time::{Duration, Instant};

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::sim::world::scenario::Scenario;
use serde_json::json;

use super::fixture::{BUDGET, DS, GOOD, MISSING, NODES, RolloutFixture, assert_within_budget, scenario};
use crate::support::program::text;

const V2: &str = "agent=registry.test/agent:v2";

/// `maxUnavailable: 0, maxSurge: 1`: no node is ever down.
fn surging() -> Scenario {
    let mut scenario = scenario(StrategyKind::RollingUpdate);
    scenario.daemon_sets[0].max_unavailable = IntOrPercent::Int(0);
    scenario.daemon_sets[0].max_surge = IntOrPercent::Int(1);
    scenario
}

#[test]
fn a_surging_daemonset_is_adopted_only_with_an_explicit_budget() {
    let Some(fixture) = RolloutFixture::with("surge-adopted", surging()) else { return };
    let operator = fixture.operator();
    let (began, before) = (Instant::now(), fixture.daemon_set()["spec"].to_string());
    for line in [&["adopt", DS][..], &["set-image", DS, V2, "--yes"], &["drive", DS, "--image", V2, "--yes"]] {
        let refused = operator.run(line);
        assert_eq!(refused.status.code(), Some(6), "{line:?}: {}", text(&refused));
        let said = text(&refused);
        assert!(said.contains("surges (maxSurge 1)") && said.contains("max-unavailable"), "{line:?}: {said}");
    }
    assert_eq!(fixture.daemon_set()["spec"].to_string(), before, "nothing was changed");
    assert_eq!(operator.status(DS).0["maxSurge"], 1);

    let said = operator.ok(&["set-image", DS, V2, "--max-unavailable", "2", "--yes"]);
    assert!(said.contains("which OnDelete cannot: each node is down while its pod is replaced, at most 2"), "{said}");
    let mut driver = operator.drive(DS, &["--to", "100%"]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    assert_within_budget(&fixture, began);
    let strategy = &fixture.daemon_set()["spec"]["updateStrategy"];
    assert_eq!(*strategy, json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}));
}

/// The new pod's image cannot be pulled: its node has an old pod that serves and a new one that never will. The brake sets `OnDelete`, under which
/// the real controller keeps the older of two pods and deletes the other.
#[test]
fn a_surge_in_progress_is_shown_and_braked_without_losing_a_pod() {
    let Some(fixture) = RolloutFixture::with("surge-braked", surging()) else { return };
    let operator = fixture.operator();
    // A pod's creation time has whole seconds; between two pods of the same second the controller decides by name.
    std::thread::sleep(Duration::from_millis(1100));
    let began = Instant::now();
    fixture.deploy(MISSING);
    fixture.until("a second pod fails beside one that serves", |witness| {
        !witness.pull_failed().is_empty() || !witness.deletes_since(began).is_empty()
    });
    let status = operator.status(DS);
    assert_eq!(status.0["phase"], "rolled by its controller");
    assert_eq!(
        (&status.0["counts"]["available"], &status.0["counts"]["updated"]),
        (&json!(NODES), &json!(0)),
        "{status:?}"
    );
    assert_eq!(status.0["budget"]["charged"], 0, "nobody is down: {}", status.0["budget"]);
    let surged = status.nodes(|node| ["pulling", "pull failed", "failed"].contains(&node["state"].as_str().unwrap()));
    assert_eq!(surged.len(), 1, "{status:?}");
    let both =
        status.nodes(|node| node["name"] == surged[0].as_str() && node["serves"] == true && node["blame"].is_null());
    assert_eq!(both, surged);

    operator.ok(&["pause", DS, "--yes"]);
    fixture.until("the controller keeps the older pod", |witness| {
        let deleted = witness.deletes_since(began);
        deleted.iter().any(|delete| delete.pod.image == MISSING) && witness.serving(":v1").len() == NODES
    });
    let after = operator.status(DS);
    assert_eq!((&after.0["phase"], &after.0["counts"]["available"]), (&json!("paused"), &json!(NODES)));
    assert!(
        fixture.witness.deletes_since(began).iter().all(|delete| delete.pod.image == MISSING),
        "no serving pod went"
    );
    assert_eq!(fixture.witness.worst_since(began), 0, "never a node down");

    // The DaemonSet is resumed only with an explicit budget.
    let refused = operator.run(&["resume", DS]);
    assert_eq!(refused.status.code(), Some(6), "{}", text(&refused));
    operator.ok(&["tune", DS, "--max-unavailable", &BUDGET.to_string(), "--yes"]);
    let mut driver = operator.drive(DS, &["--image", V2, "--to", "100%"]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    assert_within_budget(&fixture, began);
}

/// Adopted in the middle of a surge: the driver leaves a node with two pods to the controller, and updates the others.
#[test]
fn a_driver_that_adopts_in_the_middle_of_a_surge_finishes_it() {
    let Some(fixture) = RolloutFixture::with("surge-middle", surging()) else { return };
    let operator = fixture.operator();
    let began = Instant::now();
    fixture.deploy(GOOD[1]);
    fixture.until("some nodes serve v2", |witness| witness.serving(":v2").len() >= 3);
    operator.ok(&["adopt", DS, "--max-unavailable", "1"]);
    let mut driver = operator.drive(DS, &["--to", "100%"]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.witness.serving(":v2").len(), NODES);
    assert!(fixture.witness.worst_since(began) <= 1, "{} were down", fixture.witness.worst_since(began));
}
