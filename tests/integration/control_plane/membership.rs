//! In the middle of a rollout nodes go and come: node objects are deleted and registered again under the same name, or nodes with new names join.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::fixture::DS;
use super::played::{PlayedNodes, V1, V2, counts};

/// How long the test watches for something that must not happen.
const QUIET: Duration = Duration::from_secs(3);

fn state(status: &Value, node: &str) -> String {
    let nodes = status["nodes"].as_array().expect("nodes");
    let found = nodes.iter().find(|entry| entry["name"] == node);
    found.map(|entry| entry["state"].as_str().unwrap_or_default().to_owned()).unwrap_or_default()
}

/// `kubectl delete node` deletes the last node that is not updated; then its kubelet restarts, registers the node again and goes on with its pods.
/// Without that node all others are updated. If the rollout completed then, the DaemonSet would be handed back to its strategy and nobody would
/// update the node.
#[test]
fn a_rollout_waits_for_the_last_node_while_that_registers_again() {
    let Some(fixture) = PlayedNodes::new("registers", 4) else { return };
    fixture.patch(&json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}));
    fixture.roll_out_to("3");
    let before = fixture.kubelet.running();
    let last = fixture.nodes[3].clone();
    let mut driver = fixture.drive();
    fixture.delete_node(&last);
    let status = fixture.until_status("it is seen to be gone", |status| counts(status) == (3, 3));
    let waits = format!("waits for {last}: its node is not there, its old pod still is");
    assert_eq!((&status["phase"], &status["blocker"]), (&json!("held"), &json!(waits)));
    std::thread::sleep(QUIET);
    assert_eq!(fixture.operator.status(DS).0["phase"], "held", "it is not complete");

    fixture.register(&last);
    let status = fixture.until_status("it is there again", |status| counts(status) == (3, 4));
    assert_eq!((&status["phase"], state(&status, &last)), (&json!("held"), "outdated".to_owned()));
    assert_eq!(fixture.kubelet.running(), before, "all pods are the same");
    fixture.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert!(driver.seen().contains("idle, 4 of 4 updated"), "{}", driver.seen());
    assert_eq!(fixture.kubelet.count(V2), 4);
    assert!(fixture.kubelet.most_down() <= 1, "{} were down", fixture.kubelet.most_down());
}

/// Machines are set up anew: their nodes are gone for longer than the cluster keeps the pods of deleted nodes. One of the nodes was updated, one
/// waited, and one was being updated at that moment.
#[test]
fn nodes_that_were_away_for_long_come_back_with_the_new_pod_and_are_counted_once() {
    let Some(fixture) = PlayedNodes::new("anew", 6) else { return };
    fixture.roll_out_to("2");
    let [updated, other, busy, stays, waits, last] = &fixture.nodes[..] else { panic!("six nodes") };
    assert_eq!(fixture.operator.status(DS).at_target(), [updated.clone(), other.clone()]);
    fixture.kubelet.sleep_on(&[busy]);
    let mut driver = fixture.drive();
    fixture.operator.ok(&["step", DS, "--to", "3", "--yes"]);
    fixture.until_status("it is being updated", |status| state(status, busy) == "terminating");
    let before = fixture.kubelet.running();
    for node in [updated, waits, busy] {
        fixture.delete_node(node);
    }
    let status = fixture.until_status("three are left", |status| counts(status).1 == 3);
    assert_eq!(counts(&status), (1, 3));
    let charged = &status["budget"]["charged"];
    assert_eq!((&status["phase"], charged), (&json!("held"), &json!(1)), "it may be back in a moment: {status:#}");
    assert_eq!(status["blocker"], "held: no further node may be updated");
    // The pod garbage collector waits 40 s and looks every 20 s. Beside many other tests it took 110 s, and beside builds more than 300 s.
    fixture.until_within("the cluster has collected their pods", Duration::from_secs(540), |fixture| {
        fixture.sandbox.pods().len() == 3
    });
    let status = fixture.operator.status(DS).0;
    assert_eq!((counts(&status), &status["phase"]), ((1, 3), &json!("held")));

    for node in [updated, waits, busy] {
        fixture.register(node);
    }
    fixture.kubelet.sleep_on(&[]);
    let status = fixture.until_status("they are updated", |status| counts(status) == (4, 6));
    assert_eq!(status["phase"], "held", "{status:#}");
    assert_eq!(status["blocker"], "held: no further node may be updated: 4 are, and 3 may be");
    let after = fixture.kubelet.running();
    for node in [other, stays, last] {
        assert_eq!(after.get(node), before.get(node), "{node} keeps its pod");
    }
    fixture.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.kubelet.count(V2), 6);
    assert!(!driver.seen().contains("somebody else"), "their pods went with their nodes: {}", driver.seen());
}

/// A node that joins gets a pod of the newest template, whatever the partition. From then on it is counted as updated, and a roll back replaces its
/// pod.
#[test]
fn nodes_that_join_are_counted_as_updated_and_a_roll_back_takes_them_along() {
    let Some(fixture) = PlayedNodes::new("joins", 4) else { return };
    let named = |number: usize| format!("{}-n{number}", fixture.sandbox.namespace());
    fixture.operator.ok(&["set-image", DS, &format!("agent={V2}"), "--yes"]);
    fixture.register(&named(5));
    let status = fixture.until_status("one joined before the first step", |status| counts(status) == (1, 5));
    assert_eq!(state(&status, &named(5)), "updated");
    // The node that joined is one of the two.
    fixture.operator.ok(&["drive", DS, "--to", "2", "--until", "held", "--timeout", "120s"]);
    assert_eq!(counts(&fixture.operator.status(DS).0), (2, 5));
    fixture.register(&named(6));
    fixture.until_status("one joined after the step", |status| counts(status) == (3, 6));
    let before = fixture.kubelet.running();

    let preview = fixture.said(&["undo", DS, "--dry-run"]);
    assert!(preview.contains("3 nodes are not at that revision"), "{preview}");
    fixture.operator.ok(&["undo", DS, "--yes"]);
    fixture.register(&named(7));
    let status = fixture.until_status("one joined in the roll back", |status| counts(status) == (4, 7));
    assert_eq!(state(&status, &named(7)), "updated", "it gets what is gone back to");
    let mut driver = fixture.drive();
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert!(driver.seen().contains("idle, 7 of 7 updated"), "{}", driver.seen());
    assert_eq!(fixture.kubelet.count(V1), 7);
    let kept = before.iter().filter(|(node, was)| fixture.kubelet.running().get(*node) == Some(was)).count();
    assert_eq!(kept, 3, "those that never left it keep their pod");
}

/// A machine is entered and never started: its node is not Ready, and no kubelet takes up the pod that the controller makes there. The rollout did not
/// take it down, so it is charged with nothing, halts nothing, and the others are updated.
#[test]
fn a_node_that_joins_and_never_becomes_ready_is_not_laid_on_the_rollout() {
    let Some(fixture) = PlayedNodes::new("never-ready", 4) else { return };
    // As agents of a node do. Without it no pod is made there: nothing of a DaemonSet's own tolerates `not-ready` with `NoSchedule`.
    fixture.patch(&json!({"spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}));
    fixture.until_status("its controller has made all pods anew", |status| {
        counts(status) == (4, 4) && status["phase"] == "idle" && status["to"]["number"] == 2
    });
    fixture.roll_out_to("2");
    let late = format!("{}-late", fixture.sandbox.namespace());
    fixture.kubelet.sleep_on(&[&late]);
    let not_ready = json!({"type": "Ready", "status": "False", "reason": "KubeletNotReady"});
    let node = json!({
        "metadata": {"name": late, "labels": fixture.sandbox.node_selector()},
        "status": {"conditions": [not_ready]},
    });
    fixture.sandbox.admin().post("/api/v1/nodes", &node).ok();
    fixture.until("its controller has made a pod there", |fixture| fixture.sandbox.pods().len() == 5);
    fixture.operator.ok(&["tune", DS, "--suspect-grace", "3s", "--yes"]);
    let drive = fixture.drive();
    fixture.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let status = fixture.until_status("the others are updated", |status| counts(status) == (4, 5));
    std::thread::sleep(QUIET + QUIET);
    let now = fixture.operator.status(DS).0;
    assert_eq!((&now["halt"], &now["budget"]["charged"]), (&json!(null), &json!(0)), "{status:#} {now:#}");
    assert_eq!(state(&now, &late), "node down", "{now:#}");
    drive.signal(Signal::INT);
    assert!(!drive.seen().contains("after its update"), "{}", drive.seen());
}

/// The driver's process stands still while an operator rolls back from the command line; once it runs again, it goes on with the roll back.
#[test]
fn a_driver_that_stood_still_goes_on_with_what_was_asked_for_meanwhile() {
    let Some(fixture) = PlayedNodes::new("stood-still", 5) else { return };
    fixture.roll_out_to("1");
    let mut driver = fixture.drive();
    driver.signal(Signal::STOP);
    let said = fixture.said(&["step", DS, "--to", "3", "--yes"]);
    assert!(said.contains("if it is alive it carries it out, if not `rolldeck drive"), "{said}");
    std::thread::sleep(Duration::from_secs(17));
    let status = fixture.operator.status(DS).0;
    let blocker = status["blocker"].as_str().unwrap_or_default();
    assert!(blocker.starts_with("nobody is seen driving: "), "{blocker}");
    // The stopped driver's Lease has run out, so the command writes the template itself.
    let said = fixture.said(&["undo", DS, "--yes"]);
    assert!(said.contains("roll back: template is that of revision 1"), "{said}");
    assert!(said.to_lowercase().contains("nobody drives: "), "{said}");
    assert_eq!(fixture.operator.status(DS).0["blocker"], "nobody drives: 1 node may be updated, and nothing moves");
    let before = fixture.kubelet.running();
    driver.signal(Signal::CONT);
    let end = driver.end();
    println!("{}", driver.seen());
    assert_eq!(end.code(), Some(4), "it was rolled back while it drove");
    assert!(driver.seen().contains("idle, 5 of 5 updated"), "{}", driver.seen());
    let after = fixture.kubelet.running();
    let kept = before.iter().filter(|(node, was)| after.get(*node) == Some(was)).count();
    assert_eq!((kept, fixture.kubelet.count(V1)), (4, 5), "the step that was asked for before is not carried out");
}

/// Its Node object is deleted while its pod is replaced, and its kubelet registers again: it is as much down meanwhile, and no other node gets its place.
#[test]
fn a_node_that_is_gone_for_a_moment_while_it_is_updated_keeps_its_place_in_the_budget() {
    let Some(fixture) = PlayedNodes::new("moment", 4) else { return };
    let busy = fixture.nodes[0].clone();
    fixture.kubelet.sleep_on(&[&busy]);
    fixture.operator.ok(&["set-image", DS, &format!("agent={V2}"), "--max-unavailable", "1", "--yes"]);
    fixture.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut driver = fixture.drive();
    fixture.until_status("it is being updated", |status| state(status, &busy) == "terminating");
    fixture.delete_node(&busy);
    let status = fixture.until_status("it is gone", |status| counts(status).1 == 3);
    assert_eq!(status["budget"]["charged"], 1, "{status:#}");
    std::thread::sleep(QUIET);
    assert_eq!(fixture.kubelet.count(V2), 0, "no other node is taken: {}", driver.seen());
    fixture.register(&busy);
    fixture.kubelet.sleep_on(&[]);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.kubelet.count(V2), 4);
}
