//! A resume with somebody else's template begins a rollout: what was accepted, seen or complete before is not about it.

use super::*;
use crate::engine::model::record::HaltingGate;
use crate::engine::model::rollout_event::RolloutEventKind;

/// Of twenty nodes one has failed at v2, and somebody sets v3, which fails as well.
fn halted_then_changed() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 5);
    fake.broken.extend(["agent:v2".into(), "agent:v3".into()]);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 19);
    console.run_for(&mut fake, 900);
    assert!(console.snapshot(&fake).halt.is_some());
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    (fake, console)
}

/// An operator accepted that v2 fails on a node. That v3 fails there, too, is news, and says something of v3.
#[test]
fn what_was_accepted_of_the_revision_before_is_not_accepted_of_somebody_elses() {
    let (mut fake, mut console) = halted_then_changed();
    let resume = console.engine.preview(&Command::Resume, fake.now).unwrap();
    assert!(!resume.effects.iter().any(|line| line.contains("on this one")), "{:?}", resume.effects);
    console.ask(&mut fake, Command::Resume).unwrap();
    console.partition(&mut fake, 19);
    console.run_for(&mut fake, 900);
    assert_eq!(console.engine.progress.acknowledged_failures, [].into());
    let snapshot = console.snapshot(&fake);
    let halt = snapshot.halt.as_ref().expect("v3 fails on the node on which v2 failed");
    assert_eq!(halt.gate, HaltingGate::FailureThreshold);
    assert_eq!(fake.deleted.len(), 2, "no other node was tried");
}

/// The driver is gone when it is resumed: whoever drives next begins the rollout of somebody else's template, too.
#[test]
fn whoever_drives_next_accepts_nothing_of_the_revision_before_either() {
    let (mut fake, mut console) = halted_then_changed();
    drop(console.ask(&mut fake, Command::StopDriving));
    console.run_for(&mut fake, 60);
    drop(console);
    let mut one_shot = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    one_shot.ask(&mut fake, Command::Resume).unwrap();
    one_shot.run_for(&mut fake, 5);
    drop(one_shot);
    let mut next = FakeConsole::open(&fake, "eve");
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.partition(&mut fake, 19);
    next.run_for(&mut fake, 900);
    assert!(next.snapshot(&fake).halt.is_some(), "v3 fails on the node on which v2 failed");
}

/// A rollout that was complete and kept its record has another one after it, with somebody else's template, which somebody puts back half-way. An
/// `undo` without a revision would lead to the template that was given up.
#[test]
fn after_a_kept_rollout_somebody_elses_roll_back_is_seen_as_one() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.keep(&mut fake);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    for (image, keep) in [("agent:v3", 3), ("agent:v2", 6)] {
        fake.set_template(template(image));
        fake.reconcile();
        console.run_for(&mut fake, 5);
        console.ask(&mut fake, Command::Resume).unwrap();
        assert!(console.snapshot(&fake).phase != Phase::Complete, "{image}");
        console.partition(&mut fake, keep);
        console.run_for(&mut fake, 60);
    }
    let refused = console.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    assert!(refused.contains("leads to where it came from"), "{refused}");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    let told = console.snapshot(&fake).timeline;
    let ends = told.iter().filter(|event| matches!(event.kind, RolloutEventKind::Complete { .. }));
    assert_eq!(ends.count(), 2, "each rollout has an end: {told:?}");
}
