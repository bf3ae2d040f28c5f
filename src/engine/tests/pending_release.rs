//! A release that was asked for, and whose driver went away before it was carried out: whoever looks, and whoever drives next, is told.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, PrewarmCommand, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::prewarm::PrewarmSource;
use crate::engine::model::record::ORIGINAL_STRATEGY;
use crate::engine::model::time::UtcTime;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::{Alarm, Phase};

fn is_released(fake: &FakeCluster) -> bool {
    fake.daemonset.annotations.get(ORIGINAL_STRATEGY).is_none()
}

/// Six nodes, one of them updated, and nobody drives any more.
fn one_updated() -> FakeCluster {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut driver = FakeConsole::open(&fake, "ops");
    driver.set_image(&mut fake, "agent:v2");
    driver.partition(&mut fake, 5);
    driver.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 1);
    fake
}

/// The same, and a release that ada has asked for and that nobody carries out.
fn asked_for() -> FakeCluster {
    let mut fake = one_updated();
    let mut ada = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    ada.run(&mut fake);
    ada.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
    ada.run(&mut fake);
    drop(ada);
    fake.wait(40);
    assert!(!is_released(&fake), "nobody has carried it out");
    fake
}

#[test]
fn whoever_looks_is_told_who_asked_and_that_somebody_has_to_drive() {
    let mut fake = asked_for();
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    eve.run(&mut fake);
    let snapshot = eve.snapshot(&fake);
    assert!(matches!(&snapshot.phase, Phase::Releasing(by) if &*by.by == "ada@bastion"), "{:?}", snapshot.phase);
    let guidance = snapshot.guidance().expect("it waits");
    assert_eq!(
        (&*guidance.waits, &*guidance.remedies),
        (
            "releasing, as ada@bastion asked 40s ago, nobody is seen driving: waits for its original update strategy to be restored",
            &[Remedy::Drive][..]
        )
    );
    // Once it is known that nobody drives.
    eve.run_for(&mut fake, 20);
    let guidance = eve.snapshot(&fake).guidance().expect("it waits");
    assert_eq!(
        (&*guidance.waits, &*guidance.remedies),
        ("releasing, as ada@bastion asked 1m ago: waits for somebody to drive", &[Remedy::Drive][..])
    );
}

/// Whoever drives next carries the release out, and halts nothing.
#[test]
fn what_fails_before_it_is_handed_back_halts_nobody() {
    let waits = |alarm: &Alarm| matches!(alarm, Alarm::HaltWaits { .. });
    for released in [false, true] {
        let mut fake = if released { asked_for() } else { one_updated() };
        fake.wait(40);
        let updated = fake.deleted[0].clone();
        (0..5).for_each(|_| fake.restart(&updated));
        fake.crash(&updated);
        let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        eve.run_for(&mut fake, 700);
        let snapshot = eve.snapshot(&fake);
        assert_eq!(
            (snapshot.counts.failed, snapshot.alarms.iter().any(waits)),
            (1, !released),
            "{:?}",
            snapshot.alarms
        );
    }
    let mut fake = one_updated();
    let updated = fake.deleted[0].clone();
    (0..5).for_each(|_| fake.restart(&updated));
    fake.crash(&updated);
    fake.begin_deletion();
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    eve.run_for(&mut fake, 700);
    let snapshot = eve.snapshot(&fake);
    assert!(!snapshot.alarms.iter().any(waits), "nobody halts what is being deleted: {:?}", snapshot.alarms);
}

#[test]
fn who_drives_is_told_that_it_is_handed_back_and_what_that_costs() {
    let mut fake = asked_for();
    let mut eve = FakeConsole::open(&fake, "eve");
    eve.run_for(&mut fake, 20);
    let drive = Command::Drive(Takeover::IfFree);
    let preview = eve.engine.preview(&drive, fake.now).unwrap();
    let Phase::Releasing(by) = eve.snapshot(&fake).phase else { panic!("nothing is asked for") };
    let at = UtcTime { at: by.at, now: fake.now };
    assert_eq!(
        preview.effects,
        [
            "ops@bastion/9 is gone: its lease has run out.",
            &format!("Carries out the release that ada@bastion asked for at {at}; a pause calls it off."),
            "5 pods are not at the current revision: once released, its controller replaces them by itself.",
            "Restores the original update strategy and drops the rollout's record.",
            "This process becomes the driver until the DaemonSet is handed back.",
        ]
    );
    assert_eq!(preview.danger, Danger::Serious);
    assert!(preview.calls.iter().any(|call| call.ends_with("(updateStrategy restored)")), "{:?}", preview.calls);
    assert!(!preview.calls.iter().any(|call| call.contains("OnDelete")), "{:?}", preview.calls);

    // What is pre-warmed would go with it.
    let start = PrewarmCommand::Start {
        source: PrewarmSource::Template,
        nodes: Default::default(),
        limits: Default::default(),
        method: Default::default(),
    };
    let refused = eve.engine.preview(&Command::Prewarm(start), fake.now).unwrap_err().to_string();
    assert!(refused.contains("it is being handed back, as ada@bastion asked"), "{refused}");

    eve.ask(&mut fake, drive).unwrap();
    eve.run_for(&mut fake, 20);
    assert!(is_released(&fake));
}

#[test]
fn a_pause_calls_it_off() {
    let mut fake = asked_for();
    let mut eve = FakeConsole::open(&fake, "eve");
    eve.run_for(&mut fake, 20);
    eve.ask(&mut fake, Command::Pause { why: None }).unwrap();
    eve.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    eve.run_for(&mut fake, 20);
    assert!(!is_released(&fake));
    assert!(matches!(eve.snapshot(&fake).phase, Phase::Paused(_)));
}
