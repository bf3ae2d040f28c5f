//! Every old pod is down, and the rollout brings the mend: one node whose new pod fails for good does not keep the others from it.

use super::*;
use crate::engine::model::settings::Gates;

/// Six nodes without a ready pod, of which the first one's new pod never becomes ready. `threshold`: that many failures halt.
fn mended(threshold: u32) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(6, 2);
    for node in 1..=6 {
        fake.set_ready(&format!("n{node}"), false);
    }
    let mut console = FakeConsole::open(&fake, "ops");
    let gates = Tuning { failure_threshold: Some(IntOrPercent::Int(threshold)), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(gates)).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    fake.slow = true;
    while fake.at("hash2") == 0 {
        console.run_for(&mut fake, 1);
    }
    fake.slow = false;
    (fake, console)
}

#[test]
fn a_failed_node_below_the_threshold_does_not_keep_the_mend_from_the_others() {
    let (mut fake, mut console) = mended(3);
    let grace = u64::from(Gates::default().progress_deadline_secs.0);
    console.run_for(&mut fake, grace / 2);
    assert_eq!(fake.deleted.len(), 1, "the first one may still show that the image is good");
    console.run_for(&mut fake, grace);
    assert_eq!(fake.at("hash2"), 6, "{:?}", console.snapshot(&fake).alarms);
    assert!(fake.down() <= 2);
}

#[test]
fn a_failed_node_that_an_operator_accepted_does_not_keep_the_mend_from_the_others() {
    let (mut fake, mut console) = mended(1);
    let grace = u64::from(Gates::default().progress_deadline_secs.0);
    console.run_for(&mut fake, grace + 60);
    assert!(console.snapshot(&fake).halt.is_some());
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash2"), 6, "{:?}", console.snapshot(&fake).alarms);
}
