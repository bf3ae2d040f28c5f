//! The DaemonSet's own controller has replaced every old pod, most new pods cannot pull their image, and somebody brakes. Whoever goes on from there takes
//! no node down beside those, and mends those first.

use std::cell::Cell;
use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::DS;
use super::played::{PlayedNodes, V1, V2};
use crate::support::control_plane::eventually;

const V3: &str = "registry.test/agent:v3";
/// How long the test watches for something that must not happen.
const QUIET: Duration = Duration::from_secs(3);

/// Its controller rolls out an image that only the first two of six nodes can pull. It may take down all at once.
fn cascade(name: &str) -> Option<PlayedNodes> {
    let fixture = PlayedNodes::new(name, 6)?;
    let broken: Vec<&str> = fixture.nodes[2..].iter().map(String::as_str).collect();
    fixture.kubelet.sleep_on(&broken);
    fixture.patch(&json!({"spec": {
        "updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}},
        "template": {"spec": {"containers": [{"name": "agent", "image": V2}]}},
    }}));
    let admin = fixture.sandbox.admin();
    let of_broken = |pod: &&Value| pod["spec"]["nodeName"].as_str().is_some_and(|node| broken.contains(&node));
    eventually("every old pod is gone, and the new ones fail", Duration::from_secs(120), || {
        let pods = fixture.sandbox.pods();
        let mut failing = 0;
        for pod in pods.iter().filter(of_broken) {
            let path = fixture.sandbox.path("pods", pod["metadata"]["name"].as_str().unwrap());
            if !pod["metadata"]["deletionTimestamp"].is_null() {
                let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}});
                let _ = admin.request(reqwest::Method::DELETE, &path, Some(&options));
            } else if pod["spec"]["containers"][0]["image"] == V2 {
                let waiting = json!({"reason": "ImagePullBackOff", "message": "Back-off pulling image: not found"});
                let container = json!({
                    "name": "agent", "image": V2, "imageID": "", "ready": false, "restartCount": 0, "started": false,
                    "state": {"waiting": waiting},
                });
                admin.patch(&format!("{path}/status"), &json!({"status": {"containerStatuses": [container]}})).ok();
                failing += 1;
            }
        }
        (failing == 4 && fixture.kubelet.count(V2) == 2).then_some(())
    });
    Some(fixture)
}

#[test]
fn what_its_controller_took_down_is_charged_after_the_brake_and_mended_before_anything_else_goes() {
    let Some(fixture) = cascade("braked") else { return };
    fixture.operator.ok(&["pause", DS, "--yes"]);
    let status =
        fixture.until_status("it is braked", |status| status["strategy"] == "OnDelete" || status["phase"] == "paused");
    let budget = &status["budget"];
    println!("{budget:#}");
    assert_eq!((&budget["charged"], &budget["preExisting"]), (&json!(4), &json!(0)), "{status:#}");
    assert_eq!(budget["replacedBy"], "controller");

    let serving = fixture.kubelet.running();
    fixture.operator.ok(&["set-image", DS, &format!("agent={V3}"), "--max-unavailable", "1", "--yes"]);
    fixture.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut driver = fixture.drive();
    fixture.until("a pod that failed is replaced", |fixture| {
        fixture.sandbox.pods().iter().any(|pod| !pod["metadata"]["deletionTimestamp"].is_null())
    });
    std::thread::sleep(QUIET);
    assert_eq!(fixture.kubelet.running(), serving, "who serves is left alone: {}", driver.seen());

    let least = Cell::new(serving.len());
    fixture.kubelet.sleep_on(&[]);
    fixture.until("it is done", |fixture| {
        least.set(least.get().min(fixture.kubelet.running().len()));
        fixture.kubelet.count(V3) == 6
    });
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
    println!("{}", driver.seen());
    assert_eq!(least.get(), 2, "no fewer served than when it was braked");
}

/// Somebody sets the strategy back while nobody drives, and the controller goes on with the new revision. Who rolls back then stops it first: what was seen
/// only now does not pause the roll back away.
#[test]
fn a_roll_back_after_the_strategy_was_set_back_stops_the_controller_first() {
    let Some(fixture) = PlayedNodes::new("set-back", 6) else { return };
    let live = || fixture.sandbox.admin().get(&fixture.sandbox.path("daemonsets.apps", "agent")).ok();
    let image = format!("agent={V2}");
    fixture.operator.ok(&["set-image", DS, &image, "--max-unavailable", "1", "--soak", "0s", "--yes"]);
    fixture.operator.ok(&["step", DS, "--to", "1", "--yes"]);
    fixture.operator.ok(&["drive", DS, "--until", "held", "--yes"]);
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}});
    fixture.patch(&json!({"spec": {"updateStrategy": rolling}}));
    let said = fixture.operator.ok(&["undo", DS, "--yes"]);
    println!("{said}");
    let live = live();
    assert_eq!(live["spec"]["updateStrategy"]["type"], "OnDelete", "{live:#}");
    assert_eq!(live["spec"]["template"]["spec"]["containers"][0]["image"], V1);
    let at_v2 = fixture.kubelet.count(V2);
    std::thread::sleep(QUIET);
    let then = fixture.kubelet.count(V2);
    assert!(then <= at_v2 + 1 && then < 6, "its controller was stopped: {at_v2} at the new revision, then {then}");
    let mut driver = fixture.drive();
    fixture
        .until("every node is back", |fixture| fixture.kubelet.count(V2) == 0 && fixture.kubelet.running().len() == 6);
    assert_eq!(driver.end().code(), Some(0), "{}", driver.seen());
}
