//! Somebody sets the strategy back under a rollout: its controller takes nodes down beyond the budget. Once `OnDelete` is set again, those are not called ours.

use serde_json::{Value, json};

use super::fixture::DS;
use super::played::{PlayedNodes, V2};

/// Of how many nodes the budget says that they are down for the rollout, and of how many of these that its controller or others took them down.
fn down(status: &Value) -> (u64, u64) {
    let count = |what: &str| status["budget"][what].as_u64().unwrap_or_else(|| panic!("no {what} in {status:#}"));
    (count("rollout"), count("byControllerOrOthers"))
}

#[test]
fn what_its_controller_took_down_is_not_called_ours_afterwards() {
    let Some(made) = PlayedNodes::new("set-back", 8) else { return };
    let nodes: Vec<&str> = made.nodes.iter().map(String::as_str).collect();
    made.operator.ok(&["set-image", DS, &format!("agent={V2}"), "--max-unavailable", "1", "--soak", "60s", "--yes"]);
    made.operator.ok(&["step", DS, "--to", "8", "--yes"]);
    made.kubelet.sleep_on(&nodes);
    let mut driver = made.drive();
    made.until_status("the driver takes one node down", |status| status["budget"]["rollout"] == 1);
    made.patch(&json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 4}}}}));
    let let_loose = made.until_status("its controller takes more down", |status| down(status).0 == 4);
    assert_eq!(let_loose["budget"]["replacedBy"], "both", "{:#}", let_loose["budget"]);
    driver.end();
    println!("{}", driver.seen());
    made.operator.ok(&["pause", DS, "--yes"]);
    // The old pods end, the new ones are made and start.
    let stopped = made.until_status("OnDelete is set", |status| status["budget"]["replacedBy"] == "rolldeck");
    assert_eq!(down(&stopped), (4, 3), "{:#}", stopped["budget"]);
    made.kubelet.sleep_on(&[]);
    made.until("the new pods run", |made| made.kubelet.count(V2) == 4);
    let soak = made.until_status("they soak", |status| status["budget"]["soaking"] == 4);
    println!("{}", made.said(&["status", DS]));
    assert_eq!(down(&soak), (4, 3), "{:#}", soak["budget"]);
    // Whoever drives next reads it in the record.
    made.operator.ok(&["resume", DS, "--yes"]);
    let driver = made.drive();
    let driven = made.until_status("it is driven", |status| status["driver"]["state"] != "nobody");
    assert_eq!(down(&driven), (4, 3), "{:#}", driven["budget"]);
    let status = made.said(&["status", DS]);
    assert!(status.contains(" 1 ours") && status.contains(", 3 by its controller or others"), "{status}");
    drop(driver);
}
