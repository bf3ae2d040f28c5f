//! In the middle of a rollout, some nodes' pods do not end although they are deleted, or may not be deleted.

use std::time::{Duration, Instant};

use serde_json::json;

use super::fixture::DS;
use super::played::{PlayedNodes, V1, V2, counts};
use super::refused::Policy;

const QUIET: Duration = Duration::from_secs(3);

/// A PodDisruptionBudget that allows no disruption does not hold a deletion up, and the preview of the step says so. A finalizer holds the deletion
/// up, and `status` names it.
#[test]
fn a_finalizer_holds_a_rollout_within_its_budget_and_is_named_and_a_disruption_budget_does_not() {
    let Some(fixture) = PlayedNodes::new("kept", 5) else { return };
    let budget = json!({
        "metadata": {"name": "none"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "agent"}}},
    });
    let path = format!("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", fixture.sandbox.namespace());
    fixture.sandbox.admin().post(&path, &budget).ok();
    let set_finalizers = |fixture: &PlayedNodes, finalizers: &[&str]| {
        for pod in fixture.sandbox.pods() {
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
            if [&fixture.nodes[1], &fixture.nodes[3]].into_iter().any(|kept| *kept == node) {
                let path = fixture.sandbox.path("pods", pod["metadata"]["name"].as_str().expect("a name"));
                let _ = fixture.sandbox.admin().patch(&path, &json!({"metadata": {"finalizers": finalizers}}));
            }
        }
    };
    set_finalizers(&fixture, &["example.com/drain"]);
    fixture.operator.ok(&["set-image", DS, &format!("agent={V2}"), "--yes"]);
    let step = fixture.said(&["step", DS, "--to", "100%", "--yes"]);
    assert!(step.contains("PodDisruptionBudgets are bypassed"), "{step}");
    let mut driver = fixture.drive();
    let status = fixture.until_status("one pod is kept", |status| {
        status["nodes"].to_string().contains("kept by finalizer example.com/drain")
    });
    assert_eq!((counts(&status), &status["budget"]["charged"]), ((1, 5), &json!(1)), "{status:#}");
    std::thread::sleep(QUIET);
    assert_eq!(fixture.kubelet.count(V1), 3, "nothing else is deleted meanwhile");
    // A roll back does not help against the finalizer: only the updated node is not at the old revision.
    let undo = fixture.said(&["undo", DS, "--dry-run"]);
    assert!(undo.contains("1 node is not at that revision"), "{undo}");
    for _ in 0..2 {
        set_finalizers(&fixture, &[]);
    }
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    assert_eq!(fixture.kubelet.count(V2), 5);
    assert!(fixture.kubelet.most_down() <= 1, "{} were down", fixture.kubelet.most_down());
}

/// A policy refuses every deletion of a pod: the driver goes on trying and says why nothing moves. A roll back from the command line says the same
/// until deletions are admitted again.
#[test]
fn a_rollout_and_a_roll_back_whose_deletions_are_refused_say_so_and_go_on_later() {
    let Some(fixture) = PlayedNodes::new("no-deletions", 4) else { return };
    fixture.roll_out_to("2");
    let admin = fixture.sandbox.admin();
    let policy = Policy::set(admin, fixture.sandbox.namespace(), "DELETE", "request.userInfo.username != 'admin'");
    // The API server enforces the policy a moment later.
    std::thread::sleep(QUIET);
    let mut driver = fixture.drive();
    fixture.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let refused = |status: &serde_json::Value| status["alarms"].to_string().contains("not today");
    let status = fixture.until_status("it says what refuses", refused);
    println!("{}", fixture.said(&["status", DS, "--nodes"]));
    println!("{}", fixture.said(&["diagnose", DS]));
    assert_eq!((counts(&status), &status["budget"]["charged"]), ((2, 4), &json!(0)), "{status:#}");
    fixture.operator.ok(&["undo", DS, "--yes"]);
    let first = fixture.nodes[0].clone();
    let status = fixture.until_status("so it does of the roll back", |status| {
        let alarms = status["alarms"].to_string();
        alarms.contains("not today") && alarms.contains(&format!("refused on {first} and 1 more"))
    });
    println!("{}", fixture.said(&["status", DS, "--nodes"]));
    assert_eq!((counts(&status), &status["budget"]["charged"]), ((2, 4), &json!(0)), "{status:#}");
    fixture.operator.ok(&["pause", DS]);
    drop(policy);
    std::thread::sleep(QUIET);
    fixture.operator.ok(&["resume", DS, "--yes"]);
    let resumed = Instant::now();
    fixture.until("whoever resumes has them tried again at once", |fixture| fixture.kubelet.count(V1) > 2);
    assert!(resumed.elapsed() < Duration::from_secs(20), "{:?}", resumed.elapsed());
    assert_eq!(driver.end().code(), Some(4), "it was rolled back while it drove: {}", driver.seen());
    println!("{}", driver.seen());
    assert_eq!(fixture.kubelet.count(V1), 4);
}
