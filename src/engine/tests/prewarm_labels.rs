//! Pods for pre-warming from which admission takes the labels by which they are found again.

use super::prewarm::{image, start, state};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::prewarm::{PrewarmNodes, PrewarmState, PrewarmWait};

#[test]
fn pods_without_our_labels_are_deleted_and_no_more_are_made_before_a_retry() {
    let mut fake = FakeCluster::rolling(20, 1);
    (fake.holds_images, fake.strips_warm_labels, fake.keeps_warm_pods) = (false, true, true);
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 2), fake.now).unwrap();
    console.run_for(&mut fake, 20);
    assert_eq!(fake.unlabelled.len(), 2, "their deletion is refused, and tried again");
    fake.keeps_warm_pods = false;
    console.run_for(&mut fake, 600);
    assert_eq!((fake.warm_made, fake.unlabelled.len()), (2, 0), "those that were sent at once");
    let PrewarmState::Waiting(PrewarmWait::Refused(said)) = state(&mut console, &fake, "n3") else { panic!() };
    assert!(said.starts_with("admission removed label rolldeck.io/prewarm, without which"), "{said}");
    fake.strips_warm_labels = false;
    console.ask(&mut fake, Command::Prewarm(PrewarmCommand::Retry)).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes().len(), 2);
}
