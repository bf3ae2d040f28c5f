//! While a rollout runs, somebody edits or deletes the DaemonSet with kubectl, and somebody else uses the command line.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::DS;
use super::played::{PlayedNodes, V1, V2, counts};
use crate::support::control_plane::daemon_set;

const QUIET: Duration = Duration::from_secs(3);

fn roll_all_at_once(fixture: &PlayedNodes) {
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}});
    fixture.patch(&json!({"spec": {"updateStrategy": strategy}}));
}

/// The commands that `status` offers, one a line.
fn offered(status: &Value) -> String {
    let next = status["next"].as_array().into_iter().flatten();
    next.filter_map(|next| next["command"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The kinds of the alarms.
fn alarms(status: &Value) -> Vec<&str> {
    status["alarms"].as_array().into_iter().flatten().filter_map(|alarm| alarm["type"].as_str()).collect()
}

/// The controller removes the pods of nodes that the template no longer selects, whatever the update strategy.
#[test]
fn nodes_that_a_changed_node_selector_takes_away_are_counted_out_and_come_back_with_a_roll_back() {
    let Some(fixture) = PlayedNodes::new("selected", 6) else { return };
    for (nth, node) in fixture.nodes.iter().enumerate() {
        let zone = if nth % 2 == 0 { "a" } else { "b" };
        fixture.patch_node(node, &json!({"metadata": {"labels": {"zone": zone}}}));
    }
    fixture.roll_out_to("2");
    let mut driver = fixture.drive();
    let before = fixture.kubelet.running();
    fixture.patch(&json!({"spec": {"template": {"spec": {"nodeSelector": {"zone": "a"}}}}}));
    assert_eq!(driver.end().code(), Some(4), "it pauses by itself: {}", driver.seen());
    fixture.until("the pods of three nodes are gone", |fixture| fixture.sandbox.pods().len() == 3);
    let status = fixture.until_status("three are left", |status| counts(status).1 == 3);
    assert_eq!((counts(&status), &status["phase"]), ((1, 3), &json!("paused")), "{status:#}");
    let alarms = status["alarms"].to_string();
    println!("{alarms}\n{}", status["next"]);
    assert!(
        alarms.contains("the template was changed by ") && alarms.contains("nodeSelector.zone: added a"),
        "{status:#}"
    );
    assert!(alarms.contains("3 nodes no longer run it: "), "{status:#}");
    assert!(status["next"].to_string().contains("its controller makes pods on 3 nodes at once"), "{status:#}");
    let after = fixture.kubelet.running();
    assert!(after.iter().all(|(node, pod)| before.get(node) == Some(pod)), "rolldeck replaced none");

    // The edited template is a new revision, and none of the three nodes is updated to it.
    let preview = fixture.said(&["resume", DS, "--yes"]);
    assert!(preview.contains("No node is in line: a step lets the next one go."), "{preview}");
    let preview = fixture.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    assert!(preview.contains("3 nodes more may be updated"), "{preview}");
    assert_eq!(counts(&fixture.operator.status(DS).0), (0, 3));
    let undo = fixture.said(&["undo", DS, "--yes"]);
    assert!(undo.contains("That revision runs on 3 nodes more: its controller makes the pods there at once"), "{undo}");
    let mut driver = fixture.drive();
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.kubelet.count(V1), 6);
}

/// A driver is there, pauses when the strategy changes, and ends. `resume` then sets OnDelete although nobody drives. The rollout's budget stays that
/// of the update strategy that was saved first.
#[test]
fn a_strategy_that_replaces_all_at_once_is_braked_by_resuming_and_is_no_budget_of_the_rollout() {
    let Some(fixture) = PlayedNodes::new("at-once", 5) else { return };
    fixture.roll_out_to("1");
    let all: Vec<&str> = fixture.nodes.iter().map(String::as_str).collect();
    let mut driver = fixture.drive();
    fixture.kubelet.sleep_on(&all);
    roll_all_at_once(&fixture);
    assert_eq!(driver.end().code(), Some(4), "it pauses by itself: {}", driver.seen());
    let status =
        fixture.until_status("its controller has deleted all old pods", |status| status["budget"]["charged"] == 4);
    assert_eq!(status["phase"], "paused", "{status:#}");
    let commands = offered(&status);
    assert!(commands.contains(" adopt ") && commands.contains(" resume "), "{commands}");
    let said = fixture.said(&["resume", DS, "--yes"]);
    assert!(said.contains("PATCH daemonsets/agent (updateStrategy OnDelete"), "{said}");
    assert!(said.contains("OnDelete is set again; resumed"), "{said}");
    let undriven = "nobody drives: what is under way finishes, nothing more is started";
    let status = fixture.until_status("it waits for nothing but a driver", |status| status["blocker"] == undriven);
    assert_eq!(status["strategy"], "OnDelete", "{status:#}");
    assert_eq!(alarms(&status), ["ownLimitChanged"], "{status:#}");
    assert_eq!(status["budget"]["maxUnavailable"], 1, "{status:#}");

    fixture.kubelet.sleep_on(&[]);
    fixture.operator.ok(&["drive", DS, "--timeout", "120s", "--yes"]);
    assert_eq!(fixture.kubelet.count(V2), 5);
    let daemonset = fixture.sandbox.admin().get(&fixture.sandbox.path("daemonsets.apps", "agent")).ok();
    assert_eq!(daemonset["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], 1, "what was there at first");
}

/// The API server accepts another `maxUnavailable` beside `OnDelete`. It raises no budget, and both the alarm and the driver say that it is not kept.
#[test]
fn a_limit_that_somebody_changes_under_on_delete_is_said_before_a_release_drops_it() {
    let Some(fixture) = PlayedNodes::new("own-limit", 4) else { return };
    fixture.roll_out_to("1");
    fixture.patch(&json!({"spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 3}}}}));
    let status = fixture.until_status("it is seen", |status| !alarms(status).is_empty());
    assert_eq!(
        (&status["strategy"], &status["budget"]["maxUnavailable"]),
        (&json!("OnDelete"), &json!(1)),
        "{status:#}"
    );
    let said = status["alarms"][0].to_string();
    assert!(said.contains("maxUnavailable was changed from 1 to 3 by "), "{said}");
    let seen = fixture.said(&["drive", DS, "--to", "100%", "--timeout", "120s", "--yes"]);
    assert!(seen.contains("with maxUnavailable 1; 3, as somebody has set it since, is not kept"), "{seen}");
    let daemonset = fixture.sandbox.admin().get(&fixture.sandbox.path("daemonsets.apps", "agent")).ok();
    assert_eq!(daemonset["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], 1, "what was there at first");
    let log = fixture.said(&["log", DS]);
    assert!(log.contains("3, as somebody has set it since, is not kept"), "{log}");
}

/// Nobody drives, so nobody pauses the rollout. The command that `status` offers sets OnDelete again.
#[test]
fn a_strategy_that_is_changed_back_while_nobody_drives_is_braked_by_what_is_offered() {
    let Some(fixture) = PlayedNodes::new("undriven", 4) else { return };
    fixture.roll_out_to("1");
    let all: Vec<&str> = fixture.nodes.iter().map(String::as_str).collect();
    fixture.kubelet.sleep_on(&all);
    roll_all_at_once(&fixture);
    let status = fixture.until_status("it is seen", |status| !status["alarms"].to_string().eq("[]"));
    assert_eq!(status["phase"], "rolled by its controller");
    let commands = offered(&status);
    assert!(commands.contains(" adopt ") && !commands.contains(" resume "), "{commands}");
    let refused = fixture.operator.run(&["resume", DS, "--yes"]);
    assert_eq!(refused.status.code(), Some(6), "it is not paused");
    fixture.operator.ok(&["adopt", DS, "--yes"]);
    let status = fixture.operator.status(DS).0;
    assert_eq!(status["strategy"], "OnDelete", "{status:#}");
    assert_eq!(alarms(&status), ["ownLimitChanged"], "{status:#}");
    assert!(offered(&status).is_empty() || !offered(&status).contains(" resume "), "{status:#}");
    fixture.kubelet.sleep_on(&[]);
    fixture.operator.ok(&["drive", DS, "--to", "100%", "--timeout", "120s", "--yes"]);
    assert_eq!(fixture.kubelet.count(V2), 4);
}

/// Somebody runs `kubectl delete --cascade=orphan` and applies the same manifest again, while a headless driver and other commands are at work.
#[test]
fn a_driver_ends_with_its_daemonset_and_the_next_one_of_that_name_is_not_rolled() {
    let Some(fixture) = PlayedNodes::new("made-anew", 4) else { return };
    fixture.roll_out_to("2");
    let mut driver = fixture.drive();
    let path = fixture.sandbox.path("daemonsets.apps", "agent");
    let orphan = json!({"propagationPolicy": "Orphan"});
    fixture.sandbox.admin().request(Method::DELETE, &path, Some(&orphan)).ok();
    assert_eq!(driver.end().code(), Some(5));
    assert!(driver.errors().contains("DaemonSet `agent` in namespace"), "it says which");
    for untrue in ["idle", "its controller drives", "unavailable"] {
        assert!(!driver.seen().contains(untrue), "{untrue}: {}", driver.seen());
    }
    let gone = fixture.said(&["step", DS, "--to", "100%", "--yes"]);
    assert!(gone.contains("there is no DaemonSet `agent`"), "{gone}");

    fixture.sandbox.create_daemon_set(daemon_set("agent", V1));
    fixture.until("the new one runs everywhere", |fixture| fixture.kubelet.count(V1) == 4);
    let status = fixture.until_status("it is seen", |status| counts(status) == (4, 4));
    assert_eq!((&status["phase"], &status["adopted"]), (&json!("idle"), &json!(false)), "{status:#}");
    let refused = fixture.operator.run(&["step", DS, "--to", "100%", "--yes"]);
    assert_eq!(refused.status.code(), Some(6), "no rollout is recorded");
    std::thread::sleep(QUIET);
    assert_eq!(fixture.kubelet.count(V1), 4);
}

/// Somebody deletes the namespace while a headless driver waits for a pod; the API server refuses to create that pod in a namespace that ends.
#[test]
fn commands_and_drivers_in_a_namespace_that_is_deleted_end_with_what_was_deleted() {
    let Some(fixture) = PlayedNodes::new("ending", 4) else { return };
    fixture.roll_out_to("1");
    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/backup"]}});
    fixture.sandbox.admin().post(&fixture.sandbox.path("configmaps", ""), &held).ok();
    let mut driver = fixture.operator.drive(DS, &["--to", "100%"]);
    driver.until("you drive it now");
    let namespace = format!("/api/v1/namespaces/{}", fixture.sandbox.namespace());
    fixture.sandbox.admin().request(Method::DELETE, &namespace, None).ok();
    let said = fixture.said(&["set-image", DS, "agent=registry.test/agent:v3", "--yes"]);
    println!("{said}");
    assert!(!said.contains("somebody asked for something else"), "nobody did: {said}");
    assert_eq!(driver.end().code(), Some(5), "{}", driver.seen());
    assert!(driver.errors().contains("was deleted"));
    println!("{}", driver.seen());
    for untrue in ["idle", "complete"] {
        assert!(!driver.seen().contains(untrue), "{untrue}: {}", driver.seen());
    }
    let free = json!({"metadata": {"finalizers": []}});
    fixture.sandbox.admin().patch(&fixture.sandbox.path("configmaps", "held"), &free).ok();
}
