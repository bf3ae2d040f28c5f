//! A rollout whose record stays when it is over (`finish=keep`): its end is told, once.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, Takeover};
use crate::engine::model::rollout_event::RolloutEventKind;
use crate::engine::model::step_ahead::NoStep;
use crate::engine::report::last_rollout::RolloutEnd;

/// What was told of ends: whether each was one of a roll back.
fn ends(console: &mut FakeConsole, fake: &FakeCluster) -> Vec<bool> {
    let timeline = console.snapshot(fake).timeline;
    let told = timeline.iter().filter_map(|event| match event.kind {
        RolloutEventKind::Complete { back, .. } => Some(back),
        _ => None,
    });
    told.collect()
}

#[test]
fn the_end_is_told_once_whoever_drives_on() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.keep(&mut fake);
    ops.partition(&mut fake, 0);
    ops.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash2"), ends(&mut ops, &fake)), (4, vec![false]));
    // A node that comes later gets the revision, and is no rollout.
    fake.add_nodes(["n5".into()]);
    fake.reconcile();
    ops.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash2"), ends(&mut ops, &fake)), (5, vec![false]));
    // Nor is a driver that comes later.
    ops.ask(&mut fake, Command::StopDriving).unwrap();
    let mut next = FakeConsole::open(&fake, "next");
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.run_for(&mut fake, 20);
    assert_eq!(ends(&mut next, &fake), Vec::<bool>::new());

    next.ask(&mut fake, Command::Undo { to: None }).unwrap();
    next.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash1"), ends(&mut next, &fake)), (5, vec![true]));
    // What is handed back after its end was not handed back early.
    next.ask(&mut fake, Command::Release(Early::Refuse)).unwrap();
    next.run_for(&mut fake, 10);
    let last = next.snapshot(&fake).last_rollout().expect("the last rollout");
    assert_eq!(last.ended, RolloutEnd::RolledBack);
}

/// Nodes that went down between two rollouts are not what the second one took down, whichever way it goes: they do not take its budget.
#[test]
fn who_went_down_after_a_kept_rollout_takes_nothing_from_the_budget_of_the_next_roll_back() {
    for dead in [true, false] {
        let mut fake = FakeCluster::rolling(8, 2);
        let mut ops = FakeConsole::open(&fake, "ops");
        ops.set_image(&mut fake, "agent:v2");
        ops.keep(&mut fake);
        ops.partition(&mut fake, 0);
        ops.run_for(&mut fake, 120);
        assert_eq!(fake.at("hash2"), 8);
        for node in ["n7", "n8"] {
            if dead { fake.set_node_ready(node, false) } else { fake.set_ready(node, false) }
        }
        ops.run_for(&mut fake, 1_800);
        ops.set_image(&mut fake, "agent:v3");
        ops.partition(&mut fake, 5);
        ops.run_for(&mut fake, 120);
        assert_eq!(fake.at("hash3"), 3, "dead: {dead}");
        ops.ask(&mut fake, Command::Undo { to: None }).unwrap();
        ops.run_for(&mut fake, 200);
        assert_eq!(fake.at("hash2"), 8, "dead: {dead}: {:?}", ops.snapshot(&fake).alarms);
    }
}

/// A roll back that is over is not under way: what is asked for next is answered by what is there.
#[test]
fn a_kept_roll_back_that_is_complete_does_not_go_back_any_more() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.keep(&mut fake);
    ops.partition(&mut fake, 2);
    ops.run_for(&mut fake, 60);
    ops.ask(&mut fake, Command::Undo { to: None }).unwrap();
    ops.run_for(&mut fake, 60);
    assert_eq!(ends(&mut ops, &fake), vec![true]);
    let again = ops.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    assert!(again.contains("revision 2 is the one that was rolled back from"), "{again}");
    let step = ops.snapshot(&fake).plan.next;
    assert_eq!(step, Some(Err(NoStep::AllUpdated)));
}
