//! Pods fail while nobody drives: `status` says so, the next driver halts, and a resume accepts the failures.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::fixture::DS;
use super::played::{PlayedNodes, V2};
use crate::support::program::Driving;

/// Makes the image pull of a pod fail, as its node's kubelet would report it.
fn fails(made: &PlayedNodes, pod: &str) {
    let message = format!("rpc error: code = NotFound desc = failed to pull and unpack image \"{V2}\": not found");
    let state = json!({"waiting": {"reason": "ErrImagePull", "message": message}});
    let containers = json!([{
        "name": "agent", "image": V2, "imageID": "", "ready": false, "restartCount": 0, "state": state,
    }]);
    let (admin, path) = (made.sandbox.admin(), made.sandbox.path("pods", pod));
    let status = json!({"status": {"phase": "Pending", "containerStatuses": containers}});
    admin.patch(&format!("{path}/status"), &status).ok();
    // By these Events a program that looks for the first time knows for how long the pull has failed.
    let seen = admin.get(&path).ok();
    let about = json!({"kind": "Pod", "apiVersion": "v1", "namespace": made.sandbox.namespace(), "name": pod,
        "uid": seen["metadata"]["uid"], "fieldPath": "spec.containers{agent}"});
    let tells = [
        ("Pulling", format!("Pulling image \"{V2}\"")),
        ("Failed", format!("Failed to pull image \"{V2}\": {message}")),
    ];
    for (nth, (reason, words)) in tells.into_iter().enumerate() {
        let now = &seen["metadata"]["creationTimestamp"];
        let event = json!({"metadata": {"name": format!("{pod}.{nth}")}, "involvedObject": about, "type": "Warning",
            "reason": reason, "message": words, "source": {"component": "kubelet"},
            "firstTimestamp": now, "lastTimestamp": now, "count": 1});
        admin.post(&made.sandbox.path("events", ""), &event).ok();
    }
}

/// Two nodes have new pods that are not ready, and the driver goes on. Returns the driver, the nodes and the pods.
fn two_new_pods(made: &PlayedNodes) -> (Driving, Vec<String>, [String; 2]) {
    let nodes: Vec<&str> = made.nodes.iter().map(String::as_str).collect();
    made.kubelet.sleep_on(&nodes);
    made.operator.ok(&[
        "set-image",
        DS,
        &format!("agent={V2}"),
        "--max-unavailable",
        "2",
        "--max-pulling",
        "2",
        "--yes",
    ]);
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let before = made.operator.status(DS);
    let driver = made.drive();
    let going = made.until_status("two pods are deleted", |status| {
        status["nodes"].as_array().unwrap().iter().filter(|node| node["state"] == "terminating").count() == 2
    });
    let going: Vec<String> = crate::support::program::Status(going).nodes(|node| node["state"] == "terminating");
    for node in &going {
        let pod = made.sandbox.path("pods", before.pod(node).unwrap());
        made.sandbox.admin().delete(&format!("{pod}?gracePeriodSeconds=0")).ok();
    }
    made.until("both nodes have new pods", |made| made.operator.status(DS).at_target().len() == 2);
    let status = made.operator.status(DS);
    let pods = [&going[0], &going[1]].map(|node| status.pod(node).unwrap().to_owned());
    (driver, going, pods)
}

#[test]
fn what_failed_while_nobody_drove_is_accepted_by_who_resumes() {
    let Some(made) = PlayedNodes::new("accepted", 4) else { return };
    let (mut driver, going, [first, second]) = two_new_pods(&made);
    fails(&made, &first);
    driver.until("halted");
    driver.signal(Signal::TERM);
    driver.end();
    fails(&made, &second);
    made.until_status("both count as failed", |status| status["counts"]["failed"] == 2);
    let preview = made.said(&["resume", DS, "--dry-run"]);
    for node in &going {
        assert!(preview.contains(&format!("{node}: image not found")), "{preview}");
    }
    made.operator.ok(&["resume", DS, "--yes"]);
    let driver = made.drive();
    std::thread::sleep(Duration::from_secs(20));
    let status = made.operator.status(DS).0;
    assert_ne!(status["phase"], "halted", "{status:#}\n{}", driver.seen());
}

/// A killed driver cannot halt the rollout: until somebody drives, `status` says so and how to go back.
#[test]
fn what_fails_once_the_driver_is_killed_is_told_and_halts_who_drives_next() {
    let Some(made) = PlayedNodes::new("undriven", 4) else { return };
    let (mut driver, _, pods) = two_new_pods(&made);
    driver.signal(Signal::KILL);
    driver.end();
    pods.iter().for_each(|pod| fails(&made, pod));
    made.until_status("it is told that nobody halts it", |status| {
        status["alarms"].as_array().is_some_and(|alarms| alarms.iter().any(|alarm| alarm["type"] == "haltWaits"))
    });
    let status = made.said(&["status", DS]);
    assert!(status.contains("image not found on 2 nodes") && status.contains("not halted"), "{status}");
    assert!(status.contains("rolldeck undo"), "{status}");
    let mut next = made.drive();
    next.end();
    assert!(next.seen().contains("halted 0s ago: image not found on 2 nodes"), "{}", next.seen());
    let halted = made.operator.status(DS).0;
    assert_eq!(halted["phase"], "halted", "{halted:#}");
    let types: Vec<&str> =
        halted["alarms"].as_array().unwrap().iter().filter_map(|alarm| alarm["type"].as_str()).collect();
    assert_eq!(types, ["halted"], "{halted:#}");
}
