//! In the middle of a rollout, other people and tools change its pods, its template and its rights.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use super::fixture::{DS, grants};
use super::played::{PlayedNodes, V1, V2};
use crate::support::program::{Operator, text};

fn pod_of(made: &PlayedNodes, node: &str) -> String {
    let pods = made.sandbox.pods();
    let pod = pods.iter().find(|pod| pod["spec"]["nodeName"] == json!(node)).expect("the pod of the node");
    pod["metadata"]["name"].as_str().expect("a name").to_owned()
}

/// Asks the API server to evict the pod of this node, as an autoscaler or a descheduler does.
fn evict(made: &PlayedNodes, node: &str) {
    let name = pod_of(made, node);
    let path = format!("{}/eviction", made.sandbox.path("pods", &name));
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": name, "namespace": made.sandbox.namespace()}});
    made.sandbox.admin().request(Method::POST, &path, Some(&eviction)).expect("an answer").ok();
}

/// The controller makes an evicted pod's successor from the new template, whatever the partition keeps. The driver says so, and the node counts as
/// updated.
#[test]
fn pods_that_are_evicted_get_the_new_revision_and_the_driver_says_so() {
    let Some(made) = PlayedNodes::new("others-evicted", 5) else { return };
    made.roll_out_to("1");
    let mut driver = made.drive();
    let node = &made.nodes[4];
    evict(&made, node);
    made.until_status("two are updated", |status| status["counts"]["updated"] == json!(2));
    let words = format!("the pod of {node} was evicted through the Eviction API");
    driver.until(&words);
    made.until_status("it is told to everybody", |status| status.to_string().contains(&words));
    let status = made.said(&["status", DS]);
    println!("{status}");
    assert!(status.contains("held: no further node may be updated: 2 are, and 1 may be"), "{status}");
    // A kubelet fails a pod because its disk is full or its node shuts down; the controller replaces the pod.
    let node = &made.nodes[3];
    made.kubelet.sleep_on(&[node]);
    let path = made.sandbox.path("pods", &pod_of(&made, node));
    let failed = json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "low on ephemeral-storage"}});
    made.sandbox.admin().patch(&format!("{path}/status"), &failed).ok();
    driver.until(&format!("the pod of {node} failed (Evicted) and its controller replaces it"));
    made.kubelet.sleep_on(&[]);
    made.until_status("three are updated", |status| status["counts"]["updated"] == json!(3));
    // A pod that the rollout has updated: its next one is at the target as well, and is charged to others until it is available. Before a lease's length is over,
    // the process that drove before may have deleted it as far as this driver knows.
    std::thread::sleep(Duration::from_secs(16));
    let updated = made.operator.status(DS).at_target().remove(0);
    evict(&made, &updated);
    driver.until(&format!("the pod of {updated} was evicted through the Eviction API, as autoscalers and deschedulers do, after its update"));
    made.until_status("three are updated again", |status| status["counts"]["updated"] == json!(3));
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    assert!(driver.end().success(), "{}", driver.seen());
    assert_eq!(made.kubelet.count(V2), 5);
    let log = made.said(&["log", DS]);
    println!("{log}");
    assert_eq!(log.matches("deschedulers do: its next pod").count(), 1, "{log}");
    assert_eq!(log.matches("and its controller replaces it: its next pod").count(), 1, "{log}");
}

/// Two drivers begin while nobody drives. One gets the Lease; the other one names the first and ends without waiting for the first to finish.
#[test]
fn of_two_who_begin_to_drive_at_once_the_second_is_told_who_drives() {
    let Some(made) = PlayedNodes::new("others-race", 5) else { return };
    made.roll_out_to("1");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut drivers = [made.operator.drive(DS, &[]), made.operator.drive(DS, &[])];
    let mut codes = drivers.each_mut().map(|driver| driver.end().code());
    for driver in &mut drivers {
        let errors = driver.errors();
        println!("{}{errors}", driver.seen());
    }
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(7)]);
    assert_eq!((made.kubelet.count(V2), made.kubelet.most_down()), (5, 1));
}

/// A colleague takes the rollout back with `kubectl rollout undo` while somebody drives. A roll back then leads to the revision that the rollout came
/// from, not to the one that the colleague gave up, although that is the newest other one.
#[test]
fn after_kubectl_rollout_undo_a_roll_back_goes_the_same_way() {
    let Some(made) = PlayedNodes::new("others-undo", 6) else { return };
    made.roll_out_to("3");
    let before = made.kubelet.running();
    let mut driver = made.drive();
    let namespace = made.sandbox.namespace();
    made.sandbox.admin().kubectl_ok(["rollout", "undo", "ds/agent", "-n", namespace]);
    assert_eq!(driver.end().code(), Some(4), "it pauses by itself: {}", driver.seen());
    let status = made.said(&["status", DS]);
    println!("{status}");
    let alarm = "in the middle of the rollout: agent v2 → v1, where the rollout came from";
    assert!(status.contains(alarm), "{status}");
    let resume = made.said(&["resume", DS, "--dry-run"]);
    println!("{resume}");
    assert!(resume.contains("Rolls out the template as somebody else changed it: agent v2 → v1"), "{resume}");
    let undo = made.said(&["undo", DS, "--dry-run"]);
    println!("{undo}");
    assert!(undo.contains("3 nodes are not at that revision") && !undo.contains("PATCH"), "{undo}");
    made.operator.ok(&["undo", DS, "--yes"]);
    let mut driver = made.drive();
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    println!("{}", driver.seen());
    assert_eq!(made.kubelet.count(V1), 6);
    let after = made.kubelet.running();
    let same = made.nodes.iter().filter(|node| before.get(*node) == after.get(*node)).count();
    assert_eq!(same, 3, "only the pods that had left it are replaced");
}

/// Somebody rolls back before any node was updated: all nodes are at the revision at once, and no status may have shown that it led back. The driver, of
/// which a script may wait, does not end as if the image were on every node.
#[test]
fn a_roll_back_before_the_first_node_is_no_success_of_the_driver() {
    let Some(made) = PlayedNodes::new("others-undo-first", 4) else { return };
    made.operator.ok(&["set-image", DS, &format!("agent={V2}"), "--yes"]);
    let mut driver = made.drive();
    driver.until("held");
    made.operator.ok(&["undo", DS, "--yes"]);
    let (code, errors) = (driver.end().code(), driver.errors());
    println!("{}{errors}", driver.seen());
    assert_eq!(code, Some(4), "{}", driver.seen());
    assert!(errors.contains("rolled back") && !driver.seen().contains("complete and handed back"), "{errors}");
    let status = made.until_status("nothing is recorded any more", |status| status["phase"] == json!("idle"));
    println!("{}", made.said(&["status", DS]));
    assert_eq!(status["lastRollout"]["ended"], json!("rolledBack"), "{}", status["lastRollout"]);
    assert_eq!(made.kubelet.count(V1), 4);
}

/// The driver's user loses its rights in the middle of a rollout, and gets them again. Meanwhile the driver says which right is missing and starts
/// nothing; afterwards it goes on by itself.
#[test]
fn a_driver_whose_rights_are_taken_away_says_so_and_goes_on_once_it_has_them_again() {
    let Some(made) = PlayedNodes::new("others-revoked", 4) else { return };
    made.roll_out_to("1");
    let grants = grants(made.sandbox.namespace());
    let user = made.sandbox.user("bob", &grants);
    let operator = Operator::new(user.kubeconfig(), made.sandbox.namespace());
    let mut driver = operator.drive(DS, &[]);
    driver.until("you drive it now");
    user.revoke(made.sandbox.admin());
    driver.until("a write keeps failing: update lease rolldeck-agent");
    made.operator.ok_or_not(&["step", DS, "--to", "100%", "--yes"]);
    driver.until("you drove: the lease ran out");
    let status = made.said(&["status", DS]);
    println!("{status}");
    assert!(status.contains("nobody is seen driving") && status.contains(", 1 of 4 updated"), "{status}");
    let refused = text(&operator.run(&["pause", DS, "--yes"]));
    assert!(refused.contains("you may not see DaemonSet `agent`") && refused.contains("Role"), "{refused}");
    user.grant(made.sandbox.admin(), &grants);
    assert!(driver.end().success(), "{}", driver.seen());
    println!("{}", driver.seen());
    assert_eq!((made.kubelet.count(V2), made.kubelet.most_down()), (4, 1));
}

/// A colleague changes the template while nobody drives, so nobody pauses the rollout. A step is refused until somebody resumes with one of the two
/// templates; whoever resumes need not drive first.
#[test]
fn a_template_that_is_changed_while_nobody_drives_waits_for_a_resume() {
    let Some(made) = PlayedNodes::new("others-set-env", 6) else { return };
    made.roll_out_to("2");
    let namespace = made.sandbox.namespace();
    made.sandbox.admin().kubectl_ok(["set", "env", "ds/agent", "LEVEL=debug", "-n", namespace]);
    let status = made.until_status("the change is seen", |status| {
        status["templateRevision"].is_string() && status["templateRevision"] != status["to"]["hash"]
    });
    assert_eq!(status["to"]["number"], json!(2), "{status:#}");
    let status = made.said(&["status", DS]);
    println!("{status}");
    assert!(status.contains("the template was changed by kubectl-set in the middle of the rollout"), "{status}");
    let history = made.said(&["history", DS]);
    println!("{history}");
    let line = |number: &str| history.lines().find(|line| line.starts_with(number)).unwrap_or_default().to_owned();
    assert!(line("2").contains("target of the rollout") && line("3").contains("current"), "{history}");
    assert!(line("1").contains("undo leads here"), "{history}");
    let diff = made.said(&["diff", DS]);
    println!("{diff}");
    assert!(diff.contains("from revision 2 (2 pods, target of the rollout) to revision 3 (0 pods, current)"), "{diff}");
    let step = made.operator.run(&["step", DS, "--to", "4", "--yes"]);
    println!("{}", text(&step));
    assert_eq!(step.status.code(), Some(6));
    assert!(
        text(&step).contains("somebody else changed the template in the middle of the rollout: containers[agent].env")
    );
    let resumed = made.operator.ok(&["resume", DS, "--yes"]);
    println!("{resumed}");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut driver = made.drive();
    assert!(driver.end().success(), "{}", driver.seen());
    println!("{}", driver.seen());
    let pods = made.sandbox.pods();
    let with_it = pods.iter().filter(|pod| pod["spec"]["containers"][0]["env"][0]["value"] == json!("debug")).count();
    assert_eq!((with_it, made.kubelet.most_down()), (6, 1));
}

/// A colleague changes the template, which ends the driver, and takes the change back with `kubectl rollout undo`, which nobody records. `status`
/// reports both changes, and the rollout stays paused until somebody resumes.
#[test]
fn a_template_that_is_changed_and_put_back_in_the_middle_stays_paused_and_both_are_told() {
    let Some(made) = PlayedNodes::new("others-put-back", 6) else { return };
    made.roll_out_to("2");
    let namespace = made.sandbox.namespace();
    let mut driver = made.drive();
    made.sandbox.admin().kubectl_ok(["set", "env", "ds/agent", "LEVEL=debug", "-n", namespace]);
    assert_eq!(driver.end().code(), Some(4), "{}", driver.seen());
    made.sandbox.admin().kubectl_ok(["rollout", "undo", "ds/agent", "-n", namespace]);
    made.until_status("it is put back", |status| {
        status["templateRevision"].is_string() && status["templateRevision"] == status["to"]["hash"]
    });
    let status = made.said(&["status", DS]);
    println!("{status}");
    assert!(status.contains("the template was changed, and put back to the target of the rollout, 2 of 6"), "{status}");
    let resumed = made.operator.ok(&["resume", DS, "--yes"]);
    println!("{resumed}");
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut driver = made.drive();
    assert!(driver.end().success(), "{}", driver.seen());
    println!("{}", driver.seen());
    println!("{}", made.said(&["history", DS]));
    assert_eq!((made.kubelet.count(V2), made.kubelet.most_down()), (6, 1));
}
