//! The page of a rollout whose record is gone: what it offers works.

use super::console::TestConsole;
use super::fixtures::preview;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::event::Event;
use crate::engine::model::settings::{Secs, Setting, Tuning};
use crate::engine::report::snapshot::{Alarm, Snapshot};
use crate::tui::message::ConsoleEffect;

/// What the console sees that drove: once the Lease was deleted, and once somebody has recorded the rollout anew.
fn recorded_anew() -> [Snapshot; 2] {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    fake.slow = true;
    console.run(&mut fake);
    fake.lease = None;
    console.engine.observe(Event::LeaseGone(None), fake.now);
    console.run_for(&mut fake, 2);
    let gone = console.snapshot(&fake);
    let tuning = Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() };
    let adopt = Command::Tuned { tuning, command: Box::new(Command::Adopt) };
    FakeConsole::open_as(&fake, "ben", Role::OneShot).ask(&mut fake, adopt).unwrap();
    [gone, FakeConsole::open(&fake, "ops").snapshot(&fake)]
}

#[test]
fn to_drive_is_refused_until_there_is_a_record_and_not_after() {
    let [gone, anew] = recorded_anew();
    let narrow = TestConsole::on(gone.clone(), 80, 24).screen();
    assert!(narrow.contains("nothing is driven: no record is left of the rollout"), "{narrow}");
    assert!(narrow.contains("went with it"), "what a lost record takes along is told to its end: {narrow}");
    let limits = TestConsole::on(gone.clone(), 80, 24).typed("A").typed("L").screen();
    assert!(limits.contains("[ Begin a new record ]") && !limits.contains("[ Change ]"), "{limits}");
    let warns = "a new one begins with the defaults: where it had others, set them first (flags of `adopt`).";
    let warned = Preview { warnings: vec![warns.into()], ..preview(Danger::Serious) };
    let step = TestConsole::on(gone.clone(), 120, 40).typed("A").typed("S").answered(warned).screen();
    assert!(step.contains("where it had others, set them first (L)."), "{step}");
    let screen = TestConsole::on(gone, 120, 40).typed("A").typed("D").screen();
    assert!(screen.contains("no record is left of the rollout; its limits"), "{screen}");
    assert!(screen.contains("L sets its limits, which begins a new record"), "{screen}");
    assert!(screen.contains("no record is left of the rollout: L sets its limits, which begins a new one"), "{screen}");
    let screen = TestConsole::on(anew, 120, 40).typed("A").typed("D").screen();
    assert!(screen.contains("[ Drive ]") || screen.contains("[>Drive<]"), "{screen}");
}

/// Who deleted it is in no watch; that this console drives no more, and what leads to driving again, is told.
#[test]
fn a_console_that_drove_tells_that_its_lease_was_deleted() {
    let [gone, anew] = recorded_anew();
    for (width, height, said) in [
        (40, 12, "Lease deleted 2s ago; drives no more"),
        (80, 24, "Lease deleted 2s ago; drives no more"),
        (120, 40, "Lease deleted 2s ago: this console drives no more   A arms: L begins a new record, then D drives"),
        (200, 50, "by whom is not known; this console does not drive any more   A arms: L begins a new record, then D"),
    ] {
        let screen = TestConsole::on(gone.clone(), width, height).screen();
        assert!(screen.contains(said), "{width}x{height}:\n{screen}");
        assert!(screen.contains("L sets its limits, which begin"), "{width}x{height}:\n{screen}");
        let screen = TestConsole::on(anew.clone(), width, height).screen();
        assert!(!screen.contains("Lease deleted"), "{width}x{height}:\n{screen}");
    }
    // Somebody drives another record meanwhile.
    let driven = Snapshot { timeline: gone.timeline, ..super::fixtures::running() };
    let screen = TestConsole::on(driven, 120, 40).screen();
    assert!(!screen.contains("Lease deleted"), "{screen}");
}

/// Once the limits are set as the alarm advises, there is a record again: what is left to do is to drive, not to begin a new rollout.
#[test]
fn a_console_that_has_begun_a_new_record_is_told_to_drive() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    fake.lease = None;
    console.engine.observe(Event::LeaseGone(None), fake.now);
    console.run_for(&mut fake, 2);
    console.ask(&mut fake, Command::Tune(Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() })).unwrap();
    let screen = TestConsole::on(console.snapshot(&fake), 120, 40).typed("A").screen();
    assert!(screen.contains("D drives it"), "{screen}");
    assert!(!screen.contains("Lease deleted") && !screen.contains("I begins a new rollout"), "{screen}");
}

/// The footer offers what ends that, and greys what is refused until then; a key that is pressed anyway says what ends it.
#[test]
fn nothing_else_is_offered_while_the_record_cannot_be_read() {
    let mut snapshot = super::fixtures::running();
    snapshot.alarms = vec![Alarm::RecordUnreadable { why: "annotation rolldeck.io/rollout: not JSON".into() }];
    for key in ["S", "U", "I", "C"] {
        let screen = TestConsole::on(snapshot.clone(), 200, 50).typed("A").typed(key).screen();
        assert!(screen.contains("cannot be read, and nothing is started"), "{key}:\n{screen}");
        assert!(screen.contains("L begins a new one, R releases"), "{key}:\n{screen}");
    }
    let screen = TestConsole::on(snapshot, 200, 50).typed("A").typed("L").screen();
    assert!(screen.contains("[ Begin a new record ]"), "{screen}");
}

#[test]
fn settings_of_a_record_that_is_not_there_are_not_shown_as_in_force() {
    let [gone, _] = recorded_anew();
    let console = TestConsole::on(gone, 120, 40);
    let screen = console.screen();
    assert!(screen.contains("a new record begins with partition"), "{screen}");
    assert!(!screen.contains(" allowed,") && !screen.contains("pull slots 0 of"), "{screen}");
    let screen = console.typed("A").typed("C").screen();
    assert!(screen.contains("no record is left, nor whether it was paused or halted"), "{screen}");
}

/// The limits that a form shows are asked for as they are, where nobody has set any since an earlier record was lost.
#[test]
fn limits_are_confirmed_as_they_are_shown() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.lease = None;
    console.engine.observe(Event::LeaseGone(None), fake.now);
    console.run_for(&mut fake, 2);
    let asked = |snapshot: Snapshot| {
        let console = TestConsole::on(snapshot, 120, 40).typed("AL");
        let asked = console.effects.iter().rev().find_map(|effect| match effect {
            ConsoleEffect::Ask { command, .. } => Some(command.clone()),
            _ => None,
        });
        asked.unwrap()
    };
    let missing = asked(console.snapshot(&fake));
    assert_eq!(missing.tuning().named().count(), Setting::ALL.len());
    FakeConsole::open_as(&fake, "ben", Role::OneShot).ask(&mut fake, Command::Adopt).unwrap();
    let mut eve = FakeConsole::open(&fake, "eve");
    let lost = eve.snapshot(&fake);
    let screen = TestConsole::on(lost.clone(), 120, 40).screen();
    assert!(screen.contains("L sets or confirms its limits"), "{screen}");
    let as_shown = asked(lost);
    assert_eq!(as_shown.tuning().named().count(), Setting::ALL.len());
    assert!(eve.ask(&mut fake, as_shown).unwrap().starts_with("all settings are confirmed as they are"));
    assert!(!eve.snapshot(&fake).limits_are_lost());
}
