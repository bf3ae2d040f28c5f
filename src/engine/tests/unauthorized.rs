//! The API server does not accept the credentials any more: a token ran out or was revoked. That says nothing of what was asked for.

use super::*;
use crate::engine::model::command::{CommandId, Unsettled};
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind};
use crate::engine::model::notice::Notice;

const WHY: &str = "update lease rolldeck-agent: 401 Unauthorized: the API server does not accept the credentials";

/// One turn in which writes that `refused` picks are answered with 401. Returns how the command was settled.
fn turn(
    (console, fake): (&mut FakeConsole, &mut FakeCluster),
    id: CommandId,
    refused: impl Fn(&Effect) -> bool,
) -> Option<Result<String, Unsettled>> {
    console.hear(fake);
    for (write, effect) in console.engine.decide(fake.now) {
        let outcome = if refused(&effect) {
            Err(EffectError { kind: EffectErrorKind::Unauthorized, message: WHY.into(), dry_run: false })
        } else {
            fake.apply(effect)
        };
        console.engine.outcome(write, outcome, fake.now);
    }
    fake.reconcile();
    fake.wait(1);
    console.engine.take_notices().into_iter().find_map(|notice| match notice {
        Notice::Settled { id: settled, result } if settled == id => Some(result),
        _ => None,
    })
}

#[test]
fn a_command_that_cannot_be_recorded_fails_and_is_not_refused() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    let id = console.engine.command(Command::Adopt, fake.now).unwrap();
    let settled = turn((&mut console, &mut fake), id, |_| true);
    assert!(matches!(&settled, Some(Err(Unsettled::Unauthorized(why))) if why == WHY), "{settled:?}");
    assert!(console.engine.is_at_rest(), "nothing of it is tried again");
}

/// The record was written when the token ran out. The command ends, and says what stays.
#[test]
fn a_command_that_is_half_done_says_what_stays() {
    for (command, left) in [
        (Command::Adopt, "the rollout is recorded, and its controller still replaces pods: `adopt` tries again"),
        (Command::Pause { why: None }, "the pause is recorded, and does not stop its controller"),
    ] {
        let mut fake = FakeCluster::rolling(4, 1);
        if let Command::Pause { .. } = command {
            fake.set_template(crate::engine::fake_cluster::template("agent:v2"));
        }
        let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
        let id = console.engine.command(command.clone(), fake.now).unwrap();
        let patches = |effect: &Effect| matches!(effect, Effect::PatchDaemonSet { .. });
        let settled = (0..10).find_map(|_| turn((&mut console, &mut fake), id, patches));
        let Some(Err(Unsettled::Unauthorized(why))) = settled else { panic!("{command:?}: {settled:?}") };
        assert!(why.starts_with(&format!("{WHY}; ")) && why.contains(left), "{why}");
    }
}

/// A driver that holds the lease goes on trying: it neither gives the change up nor pauses the rollout, as it does for a refusal.
#[test]
fn a_driver_carries_the_change_out_once_somebody_has_logged_in() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    let id = console.engine.command(Command::SetImage(images), fake.now).unwrap();
    let patches = |effect: &Effect| matches!(effect, Effect::PatchDaemonSet { .. });
    for _ in 0..20 {
        assert_eq!(turn((&mut console, &mut fake), id, patches), None);
    }
    let failing = |alarm: &Alarm| matches!(alarm, Alarm::WriteFailing { why, lease_refused: false } if &**why == WHY);
    assert!(console.snapshot(&fake).alarms.iter().any(failing), "{:?}", console.snapshot(&fake).alarms);
    let settled = (0..60).find_map(|_| turn((&mut console, &mut fake), id, |_| false));
    assert!(matches!(settled, Some(Ok(_))), "{settled:?}");
    assert!(!matches!(console.snapshot(&fake).phase, Phase::Paused(_)));
}

/// No node counts as one whose deletion is refused, which would end `drive --until held` with exit code 6.
#[test]
fn a_deletion_without_credentials_is_not_refused_and_is_made_later() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    let none = CommandId(u64::MAX);
    for _ in 0..20 {
        turn((&mut console, &mut fake), none, |effect| matches!(effect, Effect::DeletePod { .. }));
    }
    let snapshot = console.snapshot(&fake);
    let refused = |alarm: &Alarm| matches!(alarm, Alarm::DeletionRefused { .. } | Alarm::DeletionsRefused { .. });
    assert!(!snapshot.alarms.iter().any(refused), "{:?}", snapshot.alarms);
    console.run_for(&mut fake, 200);
    assert_eq!(fake.at("hash2"), 4);
}

/// A driver that cannot renew its lease ends as where a role is missing, and renews it as soon as it can.
#[test]
fn a_lease_that_cannot_be_renewed_is_renewed_soon_after_the_login() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    let none = CommandId(u64::MAX);
    for _ in 0..30 {
        turn((&mut console, &mut fake), none, |effect| matches!(effect, Effect::WriteLease { .. }));
    }
    let snapshot = console.snapshot(&fake);
    let failing = |alarm: &Alarm| matches!(alarm, Alarm::WriteFailing { lease_refused: true, .. });
    assert!(snapshot.alarms.iter().any(failing), "{:?}", snapshot.alarms);
    for _ in 0..5 {
        turn((&mut console, &mut fake), none, |_| false);
    }
    assert!(matches!(console.snapshot(&fake).driver, DriverView::You { lapsed: false, .. }));
}
