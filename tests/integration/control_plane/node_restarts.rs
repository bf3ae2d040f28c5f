//! Machines that lose their power, and are back within seconds, in the middle of a rollout. They stay Ready: only their pods tell of it, with a restart of
//! each container.

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::sim::world::scenario::FleetFault;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::fixture::{DS, GOOD, RolloutFixture, SOON, scenario};

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
