//! Machines that lose their power, and are back within seconds, in the middle of a rollout. They stay Ready: only their pods tell of it, with a restart of
//! each container. And machines that are shut down gracefully, whose pods are lost.

use std::time::{Duration, Instant};

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::sim::world::scenario::FleetFault;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::fixture::{DS, GOOD, RolloutFixture, SOON, scenario};
use super::played::{PlayedNodes, V2};

/// Two of three updated nodes are restarted while a driver drives. Their pods have an init container and two main ones: three restarts each, which is more
/// than the two that `--max-restarts` allows to a pod.
#[test]
fn machines_that_are_restarted_in_the_middle_of_a_rollout_do_not_halt_it() {
    let Some(fixture) = RolloutFixture::with("rebooted", scenario(StrategyKind::OnDelete)) else { return };
    let operator = fixture.operator();
    operator.ok(&["adopt", DS, "--max-unavailable", "2", "--yes"]);
    let containers = json!({
        "initContainers": [{"name": "setup", "image": GOOD[1], "command": ["true"]}],
        "containers": [{"name": "agent", "image": GOOD[1]}, {"name": "sidecar", "image": GOOD[1]}],
    });
    let path = fixture.sandbox.path("daemonsets.apps", "agent");
    fixture.sandbox.admin().patch(&path, &json!({"spec": {"template": {"spec": containers}}})).ok();
    operator.ok(&["resume", DS, "--yes"]);
    operator.ok(&["drive", DS, "--to", "3", "--until", "held", "--timeout", "120s", "--yes"]);
    let updated = operator.status(DS).at_target();
    assert_eq!(updated.len(), 3);

    operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let mut driver = operator.drive(DS, &[]);
    driver.until("you drive it now");
    for node in &updated[..2] {
        fixture.hollow.fault(FleetFault::PowerOff(node.as_str().into()));
        fixture.hollow.fault(FleetFault::PowerOn(node.as_str().into()));
    }
    let all_went = operator.until_status(DS, "the other nodes are updated", SOON, |status| {
        let nodes = status["nodes"].as_array().into_iter().flatten();
        nodes.clone().filter(|node| node["state"] == "updated").count() == 18
            && nodes.filter(|node| node["restarts"] == 3).count() == 2
    });
    println!("{:#}", all_went["timeline"]);
    driver.signal(Signal::INT);
    driver.end();
    assert!(!driver.seen().contains("fail"), "{}", driver.seen());
    let watched: Vec<&Value> =
        all_went["nodes"].as_array().unwrap().iter().filter(|node| node["restarts"] == 3).collect();
    for node in watched {
        println!("{}: {}, {}", node["name"], node["state"], node["why"]);
        assert!(updated[..2].iter().any(|name| node["name"] == **name));
        assert_eq!(
            (&node["restartsWithNode"], &node["restarted"]["times"]),
            (&json!(2), &json!(1)),
            "one restart counts"
        );
        assert_eq!((&node["state"], &node["restarted"]["end"]), (&json!("soaking"), &json!("withItsNode")));
    }
}

/// A kubelet that shuts down gracefully ends its pods, and admits none that its controller makes instead. The pauses between those grow, so that the last
/// failed one is still there when the node is up again: the rollout goes on beside it, and counts the node once it has its pod.
#[test]
fn a_node_that_shuts_down_gracefully_does_not_halt_the_rollout() {
    let Some(made) = PlayedNodes::new("shutdown", 6) else { return };
    made.roll_out_to("1");
    let updated = made.operator.status(DS).at_target().remove(0);
    made.kubelet.sleep_on(&[&updated]);
    made.operator.ok(&["step", DS, "--to", "3", "--yes"]);
    let mut driver = made.drive();
    let pod_there = || {
        let pods = made.sandbox.pods();
        pods.into_iter().find(|pod| pod["spec"]["nodeName"] == *updated && pod["status"]["phase"] != "Failed")
    };
    let mut reason = "Terminated";
    let begun = Instant::now();
    let mut lost = 0;
    // The pause after the seventh is 32 s, longer than the time that a pod has which its kubelet rejects for another reason.
    while lost < 7 {
        if let Some(pod) = pod_there() {
            let path =
                format!("{}/{}/status", made.sandbox.path("pods", ""), pod["metadata"]["name"].as_str().unwrap());
            let ready = json!({"type": "Ready", "status": "False", "reason": "PodFailed"});
            let message = "Pod was rejected as the node is shutting down.";
            let status = json!({"phase": "Failed", "reason": reason, "message": message, "conditions": [ready]});
            made.sandbox.admin().patch(&path, &json!({"status": status})).ok();
            (reason, lost) = ("NodeShutdown", lost + 1);
            println!("pod {lost} is lost after {:.1?}", begun.elapsed());
        }
        assert!(begun.elapsed() < SOON, "{lost} pods were made");
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_secs(25));
    let status = made.operator.status(DS);
    let shown = status.0["nodes"].as_array().unwrap().iter().find(|node| node["name"] == *updated).unwrap();
    println!("{}: {}, {}", shown["name"], shown["state"], shown["why"]);
    assert!(shown["why"].as_str().unwrap().contains("node was shut down"), "{shown}");
    assert_eq!((&status.0["phase"], &status.0["halt"]), (&json!("running"), &Value::Null), "{:#}", status.0["phase"]);
    made.kubelet.sleep_on(&[]);
    made.until("each of three nodes has the new image", |made| {
        made.kubelet.running().len() == 6 && made.kubelet.count(V2) >= 3
    });
    driver.signal(Signal::INT);
    driver.end();
    assert!(!driver.seen().contains("HALTED") && !driver.seen().contains("halted"), "{}", driver.seen());
    println!("{}", driver.seen());
}
