//! Who is down, and whose doing it is.

use super::record;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Step};
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::node::Blame;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Tuning};

/// Under `strict` a pod that was down before uses up the whole budget.
#[test]
fn what_is_down_by_itself_is_replaced_first_where_it_leaves_no_room_for_others() {
    let mut fake = FakeCluster::rolling(3, 1);
    fake.set_ready("n2", false);
    let mut console = FakeConsole::open(&fake, "ops");
    let tuning =
        Tuning { strict: Some(true), max_unavailable: Some(Limit::At(IntOrPercent::Int(1))), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(tuning)).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.deleted.first().map(|node| &**node), Some("n2"));
    assert_eq!(fake.at("hash2"), 3);
}

/// A driver takes what was down before the rollout and is killed right after: the next one counts it as its doing.
#[test]
fn what_was_down_before_and_is_taken_is_our_doing_for_the_next_driver_too() {
    let mut fake = FakeCluster::rolling(1, 1);
    fake.set_ready("n1", false);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.hear(&fake);
    ops.engine.command(Command::Step(Step::Partition(IntOrPercent::Int(0))), fake.now).unwrap();
    for _ in 0..1000 {
        // Killed in the very moment in which the deletion has arrived.
        let effects = ops.engine.decide(fake.now);
        for (id, effect) in effects {
            let outcome = fake.apply(effect);
            ops.engine.outcome(id, outcome, fake.now);
        }
        if !fake.deleted.is_empty() {
            break;
        }
        fake.reconcile();
        ops.hear(&fake);
    }
    assert_eq!(fake.deleted, ["n1".into()]);
    fake.slow = true;
    fake.wait(60);
    fake.reconcile();
    let mut next = FakeConsole::open(&fake, "eve");
    let snapshot = next.snapshot(&fake);
    let row = snapshot.nodes.iter().find(|row| &*row.name == "n1").unwrap();
    assert_eq!(row.blame, Some(Blame::Rollout), "{row:?}");
    assert!(record(&fake).progress.down_before.is_empty());
}

/// A node goes down after its update while nodes cannot be watched: the time that it may stay down counts from when it went
/// down, as the cluster says, not from when that is seen. Found by the attack (seed 444019767).
#[test]
fn a_node_that_fell_unseen_has_been_down_since_then() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.engine.observe(Event::Skew(0), fake.now);
    ops.set_image(&mut fake, "agent:v2");
    ops.partition(&mut fake, 3);
    ops.run_for(&mut fake, 10);
    assert_eq!(fake.at("hash2"), 1);
    ops.mute(Watched::Nodes);
    let down = WatchHealth::Down { since: fake.now, why: "the connection was reset".into() };
    ops.engine.observe(Event::Watch(Watched::Nodes, down), fake.now);
    fake.set_node_ready("n1", false);
    ops.run_for(&mut fake, 290);
    ops.engine.observe(Event::Watch(Watched::Nodes, WatchHealth::Live), fake.now);
    ops.unmute(&fake, Watched::Nodes);
    ops.run_for(&mut fake, 5);
    assert!(ops.snapshot(&fake).halt.is_none(), "a node may be down for five minutes");
    ops.run_for(&mut fake, 10);
    assert!(ops.snapshot(&fake).halt.is_some());
}

/// Rolled back, and given another image before what was taken down has recovered.
#[test]
fn what_was_taken_down_counts_under_the_next_target_too() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 2);
    console.run_for(&mut fake, 5);
    fake.slow = true;
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!((fake.at("hash1"), fake.down()), (4, 2), "back at the old revision, and not ready yet");
    let deleted = fake.deleted.len();
    console.set_image(&mut fake, "agent:v3");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    let more: Vec<_> = fake.deleted[deleted..].to_vec();
    assert!(more.iter().all(|node| **node == *"n1" || **node == *"n2"), "others still serve: {more:?}");
    assert_eq!(fake.down(), 2);
}

/// Somebody deploys the old image in the middle, and the rollout goes on to that.
#[test]
fn a_node_that_goes_down_after_its_update_is_suspect_whatever_the_target_is() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 1);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 2);
    console.set_image(&mut fake, "agent:v1");
    console.partition(&mut fake, 1);
    console.run_for(&mut fake, 20);
    assert_eq!((fake.at("hash1"), fake.deleted.len()), (2, 3), "one went back, one never left");
    let updated = fake.deleted.last().unwrap().clone();
    fake.set_node_ready(&updated, false);
    console.run_for(&mut fake, 2);
    let blame = |console: &mut FakeConsole, fake: &FakeCluster, name: &str| {
        let snapshot = console.snapshot(fake);
        snapshot.nodes.iter().find(|node| &*node.name == name).and_then(|node| node.blame)
    };
    assert_eq!(blame(&mut console, &fake, &updated), Some(Blame::Suspect));
    console.run_for(&mut fake, 301);
    assert!(console.snapshot(&fake).halt.is_some());
    // One that had that revision all along is not.
    let untouched = fake.nodes.keys().find(|name| !fake.deleted.contains(*name)).unwrap().clone();
    fake.set_node_ready(&untouched, false);
    console.run_for(&mut fake, 2);
    assert_eq!(blame(&mut console, &fake, &untouched), Some(Blame::Node));
}
