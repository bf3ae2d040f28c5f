//! Kubelets that evict updated pods, because their nodes are short of something, in the middle of a rollout. The DaemonSet's controller makes other pods at
//! once, whose restarts begin at zero.

use std::time::{Duration, Instant};

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::sim::world::scenario::FleetFault;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::fixture::{DS, GOOD, RolloutFixture, SOON, scenario};
use crate::support::program::{node_of, text};

/// A rollout with one updated node of twenty, and a driver that has let all others go. Each pod serves for 20 s before it counts.
fn under_way(name: &str) -> Option<(RolloutFixture, String)> {
    let fixture = RolloutFixture::with(name, scenario(StrategyKind::OnDelete))?;
    let operator = fixture.operator();
    operator.ok(&["adopt", DS, "--max-unavailable", "1", "--soak", "10s", "--yes"]);
    operator.ok(&["set-image", DS, &format!("agent={}", GOOD[1]), "--yes"]);
    operator.ok(&["drive", DS, "--to", "1", "--until", "held", "--timeout", "120s", "--yes"]);
    let updated = operator.status(DS).at_target().remove(0);
    operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    Some((fixture, updated))
}

#[test]
fn a_node_whose_pods_are_evicted_again_and_again_halts_the_rollout() {
    let Some((fixture, updated)) = under_way("evicted") else { return };
    let operator = fixture.operator();
    let mut driver = operator.drive(DS, &[]);
    driver.until("you drive it now");
    for times in 1..=3 {
        operator.until_status(DS, "the node has a pod that is ready", SOON, |status| {
            let node = node_of(status, &updated);
            node["atTarget"] == true && matches!(node["state"].as_str(), Some("soaking" | "updated"))
        });
        fixture.hollow.fault(FleetFault::EvictAll(updated.as_str().into()));
        println!("evicted {times}×");
        std::thread::sleep(Duration::from_secs(3));
    }
    driver.until("evicted by kubelet on 1 node");
    let status = operator.status(DS);
    let node = node_of(&status.0, &updated);
    println!("{} {} {}", node["name"], node["state"], node["why"]);
    assert_eq!(status.0["halt"]["nodes"], json!([updated]));
    assert!(status.at_target().len() < 10, "{:?}", status.at_target());
    driver.end();
    println!("{}", driver.seen());
}

#[test]
fn a_node_whose_disk_is_full_for_a_while_does_not_halt_the_rollout() {
    let Some((fixture, updated)) = under_way("disk-full") else { return };
    let operator = fixture.operator();
    let mut driver = operator.drive(DS, &[]);
    driver.until("you drive it now");
    fixture.hollow.fault(FleetFault::DiskFull(updated.as_str().into()));
    fixture.hollow.fault(FleetFault::EvictAll(updated.as_str().into()));
    let begun = Instant::now();
    // Longer than the time after which a pod fails that its kubelet rejects for another reason.
    while begun.elapsed() < Duration::from_secs(45) {
        let status = operator.status(DS);
        let node = node_of(&status.0, &updated);
        println!(
            "after {:?}: {}, {}; {}, {:?}",
            begun.elapsed(),
            node["state"],
            node["why"],
            status.0["phase"],
            status.at_target().len()
        );
        assert_eq!(status.0["halt"], Value::Null);
        std::thread::sleep(Duration::from_secs(5));
    }
    let known = operator.status(DS);
    assert!(node_of(&known.0, &updated)["why"].as_str().unwrap().contains("evicted by kubelet"), "{}", known.0);
    fixture.hollow.fault(FleetFault::DiskFree(updated.as_str().into()));
    let before = known.at_target().len();
    operator.until_status(DS, "the rollout goes on", SOON, |status| {
        let nodes = status["nodes"].as_array().unwrap();
        nodes.iter().filter(|node| node["atTarget"] == true).count() > before + 2
    });
    driver.signal(Signal::INT);
    driver.end();
    println!("{}", driver.seen());
    assert!(!driver.seen().contains("halted"), "{}", driver.seen());
}

/// The pods that were evicted are gone when a one-shot command looks, and when the next driver begins.
#[test]
fn who_looks_after_evictions_judges_the_node_as_the_driver_does() {
    let Some((fixture, updated)) = under_way("evicted-before") else { return };
    let operator = fixture.operator();
    let mut driver = operator.drive(DS, &[]);
    driver.until("you drive it now");
    let evict = |times: u64| {
        fixture.hollow.fault(FleetFault::EvictAll(updated.as_str().into()));
        operator.until_status(DS, "a status tells of the eviction, and its next pod is ready", SOON, |status| {
            let node = node_of(status, &updated);
            println!("{times}: {}, {}, {}", node["state"], node["why"], node["restarted"]);
            node["restarted"]["evictions"] == times && node["serves"] == true
        })
    };
    evict(1);
    let status = evict(2);
    let node = node_of(&status, &updated);
    assert_eq!((&node["state"], &node["restarts"]), (&json!("soaking"), &json!(0)), "{node:#}");
    let held: Vec<String> = operator.status(DS).at_target();
    let told = text(&operator.run(&["diagnose", DS]));
    println!("{told}");
    assert!(told.contains("evicted"), "{told}");

    driver.signal(Signal::KILL);
    let mut next = operator.drive(DS, &[]);
    next.until("you drive it now");
    std::thread::sleep(Duration::from_secs(20));
    assert_eq!(operator.status(DS).at_target(), held, "after two within ten minutes no serving pod is replaced");
    fixture.hollow.fault(FleetFault::EvictAll(updated.as_str().into()));
    next.until("evicted by kubelet on 1 node");
    next.end();
    println!("{}", next.seen());
    assert!(next.seen().contains("3 evictions"), "{}", next.seen());
}
