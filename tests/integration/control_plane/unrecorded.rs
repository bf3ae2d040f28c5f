//! No record of a rollout exists, because its Lease was deleted or because the controller rolls: the first single command records which template its
//! operator saw.

use serde_json::json;

use super::fixture::DS;
use super::played::{PlayedNodes, V1, V2};
use crate::support::program::text;

const V3: &str = "registry.test/agent:v3";

fn delete_lease(made: &PlayedNodes) {
    made.sandbox.admin().delete(&made.sandbox.path("leases.coordination.k8s.io", "rolldeck-agent")).ok();
}

fn deploy(made: &PlayedNodes, image: &str) {
    let namespace = made.sandbox.namespace();
    made.sandbox.admin().kubectl_ok(["set", "image", "ds/agent", &format!("agent={image}"), "-n", namespace]);
}

#[test]
fn what_is_deployed_after_a_step_without_a_record_waits_for_a_resume() {
    let Some(made) = PlayedNodes::new("unrecorded-step", 6) else { return };
    made.roll_out_to("2");
    // At once, as the order of Events of the same second is to be known.
    made.operator.ok(&["tune", DS, "--max-restarts", "3", "--yes"]);
    made.operator.ok(&["select", DS, "strict=true", "--yes"]);
    delete_lease(&made);
    let status = made.said(&["status", DS]);
    println!("{status}");
    assert!(status.contains("no record is left of the rollout; its limits"), "{status}");
    // Who drove has told its limits in an Event: the command that begins a record anew names those that were not the defaults.
    assert!(status.contains("says in Events, it had max-restarts=3 soak=0s and the other defaults"), "{status}");
    let adopt = status.lines().find_map(|line| line.split_once("rolldeck adopt ")).expect("it is offered").1;
    let (limits, _) = adopt.split_once(" --context").expect("its flags come first");
    assert_eq!(limits, "--max-restarts 3 --soak 0s");
    let step = text(&made.operator.run(&["step", DS, "--to", "4", "--yes"]));
    println!("{step}");
    assert!(
        step.contains("No record is left of the rollout; as whoever drove since ")
            && step.contains(" it had max-restarts=3 soak=0s"),
        "{step}"
    );
    // Until somebody sets limits, `status` says that the rollout has those of a new record; the command that it advises sets those of the lost one.
    let lost = made.said(&["status", DS]);
    assert!(lost.contains("the record of the rollout was lost, and "), "{lost}");
    assert!(lost.contains(&format!("tune {limits} --context")), "{lost}");
    let tune = ["tune", DS, "--yes"].into_iter().chain(limits.split(' ')).collect::<Vec<_>>();
    println!("{}", made.operator.ok(&tune));
    let set = made.said(&["status", DS]);
    assert!(!set.contains("was lost"), "{set}");
    deploy(&made, V3);
    made.until_status("the change is seen", |status| {
        status["templateRevision"].is_string() && status["templateRevision"] != status["to"]["hash"]
    });
    let status = made.said(&["status", DS]);
    println!("{status}");
    assert!(status.contains("the template was changed by kubectl-set in the middle of the rollout"), "{status}");
    let mut driver = made.operator.drive(DS, &[]);
    assert_eq!(driver.end().code(), Some(4), "{}", driver.seen());
    println!("{}", driver.seen());
    assert_eq!((made.kubelet.count(V1), made.kubelet.count(V2), made.kubelet.count(V3)), (4, 2, 0));
    made.operator.ok(&["resume", DS, "--yes"]);
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut driver = made.drive();
    assert!(driver.end().success(), "{}", driver.seen());
    assert_eq!((made.kubelet.count(V3), made.kubelet.most_down()), (6, 1));
}

/// The controller rolls v2 out, somebody pauses that, and somebody else deploys v3 before the rollout goes on.
#[test]
fn what_is_deployed_under_the_brake_is_named_to_whoever_resumes() {
    let Some(made) = PlayedNodes::new("unrecorded-brake", 6) else { return };
    made.kubelet.sleep_on(&made.nodes.iter().map(String::as_str).collect::<Vec<_>>());
    deploy(&made, V2);
    made.until("its controller replaces", |made| {
        made.sandbox.pods().iter().any(|pod| pod["metadata"]["deletionTimestamp"].is_string())
    });
    made.operator.ok(&["pause", DS, "--yes"]);
    made.kubelet.sleep_on(&[]);
    deploy(&made, V3);
    made.until_status("the change is seen", |status| {
        status["templateRevision"].is_string() && status["templateRevision"] != status["to"]["hash"]
    });
    println!("{}", made.said(&["status", DS]));
    let resume = made.said(&["resume", DS, "--dry-run"]);
    println!("{resume}");
    assert!(resume.contains("Rolls out the template as somebody else changed it: agent v2 → v3"), "{resume}");
    let resumed = text(&made.operator.run(&["resume", DS, "--yes"]));
    println!("{resumed}");
    assert!(resumed.contains(" made after "), "{resumed}");
}

/// In the middle of a rollout somebody writes a record that nobody can read: its driver ends and leaves that as it is, nothing else is accepted, and an
/// adoption begins a record in its place. The node that is down counts against the budget.
#[test]
fn a_record_that_cannot_be_read_ends_the_driver_and_is_replaced_by_an_adoption() {
    let Some(made) = PlayedNodes::new("unreadable", 6) else { return };
    let lease = made.sandbox.path("leases.coordination.k8s.io", "rolldeck-agent");
    made.roll_out_to("2");
    made.kubelet.sleep_on(&made.nodes.iter().map(String::as_str).collect::<Vec<_>>());
    let mut driver = made.operator.drive(DS, &["--to", "4"]);
    made.until("a third pod is to go", |made| {
        made.sandbox.pods().iter().any(|pod| pod["metadata"]["deletionTimestamp"].is_string())
    });
    let garbage = json!({"metadata": {"annotations": {"rolldeck.io/rollout": "{garbage"}}});
    made.sandbox.admin().patch(&lease, &garbage).ok();
    assert_eq!(driver.end().code(), Some(1), "{}", driver.seen());
    let errors = driver.errors();
    println!("{errors}");
    assert!(errors.contains("cannot be read any more") && errors.contains("`rolldeck adopt "), "{errors}");
    let left = made.sandbox.admin().get(&lease).ok();
    assert_eq!(left["metadata"]["annotations"]["rolldeck.io/rollout"], "{garbage");
    for refused in [&["pause", DS, "--yes"][..], &["step", DS, "--to", "100%", "--yes"], &["drive", DS]] {
        let answer = made.operator.run(refused);
        assert_eq!(answer.status.code(), Some(6), "{refused:?}: {}", text(&answer));
    }
    println!("{}", text(&made.operator.run(&["adopt", DS, "--max-unavailable", "1", "--yes"])));
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    made.kubelet.sleep_on(&[]);
    let mut driver = made.drive();
    assert!(driver.end().success(), "{}", driver.seen());
    assert_eq!((made.kubelet.count(V2), made.kubelet.most_down()), (6, 1));
}
