//! In the middle of a rollout somebody deletes or edits the rollout's objects by hand, or restarts its pods with kubectl.

use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::DS;
use super::played::{PlayedNodes, V2};
use crate::support::program::text;

fn strategy(made: &PlayedNodes) -> Value {
    let path = made.sandbox.path("daemonsets.apps", "agent");
    made.sandbox.admin().get(&path).ok()["spec"]["updateStrategy"].clone()
}

/// P9: somebody removes only the annotation with the original strategy, and `OnDelete` stays. The release restores the strategy from before the
/// adoption.
#[test]
fn the_original_strategy_outlives_its_annotation() {
    let Some(made) = PlayedNodes::new("by-hand-annotation", 5) else { return };
    let before = strategy(&made);
    made.roll_out_to("1");
    let mut driver = made.drive();
    made.patch(&json!({"metadata": {"annotations": {"rolldeck.io/original-update-strategy": null}}}));
    std::thread::sleep(Duration::from_secs(2));
    let status = made.said(&["status", DS]);
    println!("{status}");
    assert!(status.contains("OnDelete (ours), was RollingUpdate, maxUnavailable 1"), "{status}");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    made.until("every node is updated", |made| made.kubelet.count(V2) == 5);
    assert!(driver.end().success(), "{}", driver.seen());
    assert_eq!(strategy(&made), before);
}

/// The Lease is deleted, and with it partition, budgets and gates. The driver says so and ends; it does not go on with a record that others make.
#[test]
fn a_driver_whose_lease_is_deleted_says_so_and_ends() {
    let Some(made) = PlayedNodes::new("by-hand-lease", 5) else { return };
    made.roll_out_to("1");
    let mut driver = made.drive();
    made.sandbox.admin().delete(&made.sandbox.path("leases.coordination.k8s.io", "rolldeck-agent")).ok();
    let ended = driver.end();
    println!("{}", driver.seen());
    assert_eq!(ended.code(), Some(1));
    let status = made.said(&["status", DS]);
    println!("{status}");
    assert!(status.contains("the Lease was deleted, and with it what was asked for"), "{status}");
    // A step makes a new record, and the next driver carries it out.
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut driver = made.drive();
    made.until("every node is updated", |made| made.kubelet.count(V2) == 5);
    assert!(driver.end().success(), "{}", driver.seen());
}

/// The controller creates the template's deleted revision again. A deleted revision that only old pods have is lost, and the preview of a step says
/// so.
#[test]
fn revisions_that_are_deleted_hold_nothing_up() {
    let Some(made) = PlayedNodes::new("by-hand-revisions", 5) else { return };
    made.roll_out_to("1");
    let mut driver = made.drive();
    let list = made.sandbox.path("controllerrevisions.apps", "");
    for number in [2, 1] {
        let revisions = made.sandbox.admin().get(&list).ok();
        let mut revisions = revisions["items"].as_array().expect("a list").iter();
        let one = revisions.find(|revision| revision["revision"] == json!(number)).expect("the revision");
        let name = one["metadata"]["name"].as_str().expect("a name");
        made.sandbox.admin().delete(&made.sandbox.path("controllerrevisions.apps", name)).ok();
        // The new revision's number is one more than the greatest of the others, so the earlier revision has to be there until then.
        made.until_status("the revision of the template is there again", |status| status["to"]["number"] == json!(2));
    }
    let step = made.said(&["step", DS, "--to", "100%", "--dry-run"]);
    println!("{step}");
    assert!(step.contains("is gone, which the nodes had before: nothing rolls back to it"), "{step}");
    let refused = text(&made.operator.run(&["undo", DS, "--yes"]));
    assert!(refused.contains("the cluster keeps no earlier revision"), "{refused}");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    made.until("every node is updated", |made| made.kubelet.count(V2) == 5);
    assert!(driver.end().success(), "{}", driver.seen());
}

/// The way to a restart that the documents give, two times: nobody has asked for the template until the `resume`, which `status` offers.
#[test]
fn a_restart_by_kubectl_goes_node_by_node() {
    let Some(fixture) = PlayedNodes::new("restart", 4) else { return };
    for restarted_at in ["2026-11-30T09:00:00Z", "2026-11-30T09:05:00Z"] {
        let before = fixture.kubelet.running();
        assert_eq!(before.len(), 4, "{before:?}");
        fixture.operator.ok(&["adopt", DS]);
        // As `kubectl rollout restart` does.
        let annotations = json!({"kubectl.kubernetes.io/restartedAt": restarted_at});
        fixture.patch(&json!({"spec": {"template": {"metadata": {"annotations": annotations}}}}));
        // Between the revision that its controller makes and the generation that it says to have observed, nobody knows yet that the template is another one.
        let offers = |remedy: &Value| remedy["remedy"].as_str().is_some_and(|remedy| remedy.starts_with("resume"));
        fixture.until_status("its revision is seen, and a resume is offered", |status| {
            let next = status["next"].as_array().into_iter().flatten();
            status["to"]["number"] != status["from"]["number"] && next.into_iter().any(offers)
        });
        assert_eq!(fixture.kubelet.running(), before, "no pod is replaced by itself");
        fixture.operator.ok(&["resume", DS, "--yes"]);
        fixture.operator.ok(&["drive", DS, "--to", "100%", "--timeout", "120s", "--yes"]);
        let after = fixture.kubelet.running();
        assert!(after.len() == 4 && after.iter().all(|(node, pod)| before[node] != *pod), "{before:?} {after:?}");
    }
}
