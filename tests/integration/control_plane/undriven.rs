//! A rollout whose partition lets nodes go has no driver: a command for something else does not carry the rollout on without saying so.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::fixture::DS;
use super::played::{PlayedNodes, V2};
use crate::support::program::text;

/// The uids of the DaemonSet's pods, by node; pods for pre-warming are not among them.
fn serving(made: &PlayedNodes) -> BTreeMap<String, String> {
    let pods = made.sandbox.pods();
    let of_daemon_set = |pod: &&Value| pod["metadata"]["ownerReferences"][0]["controller"] == Value::Bool(true);
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    pods.iter()
        .filter(of_daemon_set)
        .map(|pod| (words(&pod["spec"]["nodeName"]), words(&pod["metadata"]["uid"])))
        .collect()
}

fn pods_for_pre_warming(made: &PlayedNodes) -> usize {
    let warm = |pod: &&Value| pod["metadata"]["ownerReferences"][0]["controller"] != Value::Bool(true);
    made.sandbox.pods().iter().filter(warm).count()
}

fn strategy(made: &PlayedNodes) -> String {
    let daemon_set = made.sandbox.admin().get(&made.sandbox.path("daemonsets.apps", "agent")).ok();
    daemon_set["spec"]["updateStrategy"]["type"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn pre_warming_that_is_cancelled_does_not_carry_it_on() {
    let Some(made) = PlayedNodes::new("undriven-cancel", 5) else { return };
    made.roll_out_to("1");
    let mut warms = made.operator.start(&["prewarm", DS, "--yes"]);
    made.until("pods for pre-warming are made", |made| pods_for_pre_warming(made) > 0);
    warms.signal(Signal::KILL);
    warms.end();
    // From here on four nodes may be updated, and nobody drives.
    made.operator.ok(&["step", DS, "--to", "100%", "--yes"]);
    let (before, warm) = (serving(&made), pods_for_pre_warming(&made));
    assert_eq!(before.len(), 5, "{before:?}");
    assert!(warm > 0, "they are still there");

    // Until the Lease runs out nobody knows whether the killed driver is alive, and the preview says so.
    let said = made.said(&["prewarm", DS, "--cancel", "--dry-run"]);
    assert!(said.contains("holds the lease: if it is alive it carries this out"), "{said}");
    let cancelled = made.operator.run(&["prewarm", DS, "--cancel", "--yes"]);
    let said = text(&cancelled);
    println!("{said}");
    assert_eq!(cancelled.status.code(), Some(3), "{said}");
    assert!(said.contains("that would carry on the rollout, where 4 nodes are in line"), "{said}");
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(serving(&made), before, "not one pod of the DaemonSet went");

    // The next driver carries on both the cancellation and the rollout.
    let mut driver = made.drive();
    made.until("no pod for pre-warming is left", |made| pods_for_pre_warming(made) == 0);
    assert!(driver.end().success(), "{}", driver.seen());
    assert_eq!(made.kubelet.count(V2), 5);
}

/// A release is recorded and not carried out yet: `status` says who asked and what helps, and the next driver says that it hands the DaemonSet back.
#[test]
fn a_release_that_nobody_carries_out_is_told_and_carried_out_by_whoever_drives() {
    let Some(made) = PlayedNodes::new("undriven-release", 5) else { return };
    made.roll_out_to("1");
    let mut killed = made.drive();
    killed.signal(Signal::KILL);
    killed.end();
    let asked = made.operator.run(&["release", DS, "--early", "--yes", "--timeout", "3s"]);
    let said = text(&asked);
    println!("{said}");
    assert_eq!(asked.status.code(), Some(3), "{said}");
    assert!(said.contains("the release is recorded, and not carried out yet after 3 s"), "{said}");
    assert!(said.contains("drive") && said.contains("carries it out") && said.contains("calls it off"), "{said}");
    assert_eq!(strategy(&made), "OnDelete");

    // The Lease has run out after this.
    std::thread::sleep(Duration::from_secs(15));
    let status = made.said(&["status", DS]);
    println!("{status}");
    assert!(status.contains("waits    releasing, as tester"), "{status}");
    assert!(status.contains("drive") && status.contains("nobody is seen driving"), "{status}");
    let refused = made.operator.run(&["prewarm", DS, "--yes"]);
    assert_eq!(refused.status.code(), Some(6), "{}", text(&refused));
    let mut driver = made.operator.drive(DS, &[]);
    driver.until("releasing, as tester");
    assert_eq!(driver.end().code(), Some(3), "its controller goes on, with the nodes that are left: {}", driver.seen());
    made.until("its controller goes on", |made| made.kubelet.count(V2) == 5);
    assert_eq!(strategy(&made), "RollingUpdate");
}

/// The driver was killed, and the next one waits until its Lease has run out. Meanwhile a colleague asks for another image, and is told that no pod is
/// replaced before a step: what the waiting one was asked for before that is not made.
#[test]
fn a_drive_that_waits_for_the_lease_does_not_roll_out_what_others_ask_for_meanwhile() {
    let Some(made) = PlayedNodes::new("undriven-waits", 5) else { return };
    made.roll_out_to("1");
    let mut killed = made.drive();
    made.until("it drives", |made| made.said(&["status", DS]).contains(" drives"));
    killed.signal(Signal::KILL);
    killed.end();
    let before = serving(&made);
    let mut waits = made.operator.start(&["drive", DS, "--to", "100%", "--yes", "--timeout", "60s"]);
    std::thread::sleep(Duration::from_secs(3));
    let v3 = format!("agent={}3", V2.trim_end_matches('2'));
    let asked = made.operator.run(&["set-image", DS, &v3, "--yes", "--timeout", "60s"]);
    println!("{}", text(&asked));
    let (code, errors) = (waits.end().code(), waits.errors());
    println!("{}{errors}", waits.seen());
    assert_eq!(code, Some(6), "{}{errors}", waits.seen());
    assert!(errors.contains("while this command waited for the lease somebody asked for another template"), "{errors}");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(serving(&made), before, "not one pod was replaced");
}
