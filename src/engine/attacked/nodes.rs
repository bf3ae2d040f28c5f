//! Who is down, and whose doing it is.

use super::record;
use crate::engine::command::{Command, Step};
use crate::engine::lab::{Console, Lab};
use crate::engine::quantity::IntOrPercent;
use crate::engine::snapshot::Blame;
use crate::engine::tuning::{Limit, Tuning};

/// Under `strict` a pod that was down before uses up the whole budget.
#[test]
fn what_is_down_by_itself_is_replaced_first_where_it_leaves_no_room_for_others() {
    let mut lab = Lab::rolling(3, 1);
    lab.set_ready("n2", false);
    let mut console = Console::open(&lab, "ops");
    let tuning =
        Tuning { strict: Some(true), max_unavailable: Some(Limit::At(IntOrPercent::Int(1))), ..Tuning::default() };
    console.ask(&mut lab, Command::Tune(tuning)).unwrap();
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 60);
    assert_eq!(lab.deleted.first().map(|node| &**node), Some("n2"));
    assert_eq!(lab.at("hash2"), 3);
}

/// A driver takes what was down before the rollout and is killed right after: the next one counts it as its doing.
#[test]
fn what_was_down_before_and_is_taken_is_our_doing_for_the_next_driver_too() {
    let mut lab = Lab::rolling(1, 1);
    lab.set_ready("n1", false);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    ops.hear(&lab);
    ops.engine.command(Command::Step(Step::Partition(IntOrPercent::Int(0))), lab.now).unwrap();
    for _ in 0..1000 {
        // Killed in the very moment in which the deletion has arrived.
        let effects = ops.engine.decide(lab.now);
        for (id, effect) in effects {
            let outcome = lab.apply(effect);
            ops.engine.outcome(id, outcome, lab.now);
        }
        if !lab.deleted.is_empty() {
            break;
        }
        lab.reconcile();
        ops.hear(&lab);
    }
    assert_eq!(lab.deleted, ["n1".into()]);
    lab.slow = true;
    lab.wait(60);
    lab.reconcile();
    let mut next = Console::open(&lab, "eve");
    let snapshot = next.snapshot(&lab);
    let row = snapshot.nodes.iter().find(|row| &*row.name == "n1").unwrap();
    assert_eq!(row.blame, Some(Blame::Rollout), "{row:?}");
    assert!(record(&lab).progress.down_before.is_empty());
}

/// Rolled back, and given another image before what was taken down has recovered.
#[test]
fn what_was_taken_down_counts_under_the_next_target_too() {
    let mut lab = Lab::rolling(4, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 2);
    console.run_for(&mut lab, 5);
    lab.slow = true;
    console.ask(&mut lab, Command::Undo { to: None }).unwrap();
    console.run_for(&mut lab, 5);
    assert_eq!((lab.at("hash1"), lab.down()), (4, 2), "back at the old revision, and not ready yet");
    let deleted = lab.deleted.len();
    console.set_image(&mut lab, "agent:v3");
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 5);
    let more: Vec<_> = lab.deleted[deleted..].to_vec();
    assert!(more.iter().all(|node| **node == *"n1" || **node == *"n2"), "others still serve: {more:?}");
    assert_eq!(lab.down(), 2);
}

/// Somebody deploys the old image in the middle, and the rollout goes on to that.
#[test]
fn a_node_that_goes_down_after_its_update_is_suspect_whatever_the_target_is() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 1);
    console.run_for(&mut lab, 20);
    assert_eq!(lab.at("hash2"), 2);
    console.set_image(&mut lab, "agent:v1");
    console.partition(&mut lab, 1);
    console.run_for(&mut lab, 20);
    assert_eq!((lab.at("hash1"), lab.deleted.len()), (2, 3), "one went back, one never left");
    let updated = lab.deleted.last().unwrap().clone();
    lab.set_node_ready(&updated, false);
    console.run_for(&mut lab, 2);
    let blame = |console: &mut Console, lab: &Lab, name: &str| {
        let snapshot = console.snapshot(lab);
        snapshot.nodes.iter().find(|node| &*node.name == name).and_then(|node| node.blame)
    };
    assert_eq!(blame(&mut console, &lab, &updated), Some(Blame::Suspect));
    console.run_for(&mut lab, 301);
    assert!(console.snapshot(&lab).halt.is_some());
    // One that had that revision all along is not.
    let untouched = lab.nodes.keys().find(|name| !lab.deleted.contains(*name)).unwrap().clone();
    lab.set_node_ready(&untouched, false);
    console.run_for(&mut lab, 2);
    assert_eq!(blame(&mut console, &lab, &untouched), Some(Blame::Node));
}
