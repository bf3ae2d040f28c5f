//! The API server refuses to have the Lease written: a role was taken away, credentials ran out, or a policy forbids it.

use super::*;
use crate::engine::model::Str;
use crate::engine::model::command::Early;
use crate::engine::model::command::Unsettled;
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::notice::Notice;
use crate::engine::model::quantity::IntOrPercent;

const WHY: &str = "replacing lease rolldeck-agent: leases \"rolldeck-agent\" is forbidden: no leases today";

fn lease_refused(console: &mut FakeConsole, fake: &FakeCluster) -> Option<Str> {
    console.snapshot(fake).alarms.iter().find_map(|alarm| match alarm {
        Alarm::WriteFailing { why, lease_refused: true } => Some(why.clone()),
        _ => None,
    })
}

/// The command of which nothing was saved is refused as a whole, and is not tried again.
#[test]
fn a_command_whose_record_may_not_be_written_is_refused() {
    let fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    let id = console.engine.command(Command::Adopt, fake.now).unwrap();
    for (write, _effect) in console.engine.decide(fake.now) {
        let error = EffectError { kind: EffectErrorKind::Forbidden, message: WHY.into(), dry_run: false };
        console.engine.outcome(write, Err(error), fake.now);
    }
    console.engine.decide(fake.now);
    let settled = console.engine.take_notices().into_iter().find_map(|notice| match notice {
        Notice::Settled { id: settled, result } if settled == id => Some(result),
        _ => None,
    });
    assert!(matches!(&settled, Some(Err(Unsettled::Refused(why))) if why == WHY), "{settled:?}");
    assert!(console.engine.is_at_rest(), "nothing of it is tried again");
}

/// A driver that cannot renew its lease any more starts nothing, says why, and goes on once it can.
#[test]
fn a_driver_whose_renewals_are_refused_says_so_until_they_are_accepted() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    assert_eq!(lease_refused(&mut console, &fake), None);
    fake.refuses_lease = Some(WHY.into());
    console.run_for(&mut fake, 40);
    assert_eq!(lease_refused(&mut console, &fake).as_deref(), Some(WHY));
    assert!(matches!(console.snapshot(&fake).driver, DriverView::You { lapsed: true, .. }));
    let deleted = fake.deleted.len();
    assert!((1..20).contains(&deleted), "{deleted}");
    console.run_for(&mut fake, 60);
    assert_eq!(fake.deleted.len(), deleted, "nothing is started without the lease");
    fake.refuses_lease = None;
    console.run_for(&mut fake, 120);
    assert_eq!((lease_refused(&mut console, &fake), fake.at("hash2")), (None, 20));
}

/// The brake needs no record. That its pause could not be recorded is said: nothing then keeps somebody else from driving.
#[test]
fn a_brake_whose_pause_may_not_be_recorded_says_so() {
    let mut fake = FakeCluster::rolling(4, 1);
    fake.refuses_lease = Some(WHY.into());
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    let said = console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    let begins = "OnDelete is set: its controller replaces no pod any more; no pause is recorded: ";
    assert!(said.starts_with(begins) && said.ends_with("no leases today; `release` hands it back"), "{said}");
    assert_eq!(console.snapshot(&fake).strategy, StrategyKind::OnDelete);
}

/// Asks for a command while a policy refuses every change of the DaemonSet, and returns the answer. `late`: the answer about the Lease comes last.
fn asked_under_a_policy(fake: &mut FakeCluster, command: Command, late: bool) -> Result<String, Unsettled> {
    let mut console = FakeConsole::open_as(fake, "ops", Role::OneShot);
    let id = console.engine.command(command, fake.now).unwrap();
    for _ in 0..20 {
        console.hear(fake);
        let mut writes: Vec<_> = console.engine.decide(fake.now).into_iter().collect();
        if late {
            writes.reverse();
        }
        for (write, effect) in writes {
            let outcome = match effect {
                Effect::PatchDaemonSet { .. } => {
                    let message = "patching daemonset agent: denied by policy".into();
                    Err(EffectError { kind: EffectErrorKind::Forbidden, message, dry_run: false })
                }
                other => fake.apply(other),
            };
            console.engine.outcome(write, outcome, fake.now);
        }
        fake.wait(1);
        for notice in console.engine.take_notices() {
            if let Notice::Settled { id: settled, result } = notice
                && settled == id
            {
                // A process that ends gives the lease back.
                console.ask(fake, Command::StopDriving).unwrap();
                return result;
            }
        }
    }
    panic!("never settled")
}

/// The record is written before the DaemonSet. A refusal is one for each command, and says what stays of it; the command that it names takes that back.
#[test]
fn who_is_refused_half_way_learns_what_stays_and_takes_it_back() {
    let records =
        "the rollout is recorded, and its controller still replaces pods: `adopt` tries again, `release` drops";
    let pauses = "the pause is recorded, and does not stop its controller, which still replaces pods: `pause` tries again, `release --early` drops";
    let may = "what was asked for may be recorded all the same, and does not stop its controller";
    for (command, late, says) in [
        (Command::Adopt, false, records),
        (Command::Pause { why: None }, false, pauses),
        (Command::Pause { why: None }, true, may),
    ] {
        let mut fake = FakeCluster::rolling(6, 1);
        if let Command::Pause { .. } = command {
            fake.set_template(crate::engine::fake_cluster::template("agent:v2"));
        }
        let original = fake.daemonset.strategy.raw.clone();
        let refused = asked_under_a_policy(&mut fake, command.clone(), late);
        let Err(Unsettled::Refused(why)) = refused else { panic!("{command:?}: {refused:?}") };
        assert!(why.starts_with("patching daemonset agent: denied by policy; ") && why.contains(says), "{why}");
        let record = |fake: &FakeCluster| fake.lease.as_ref().is_some_and(|lease| matches!(lease.record, Ok(Some(_))));
        assert!(record(&fake), "{command:?}");
        let mut console = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        let early = if command == Command::Adopt { Early::Refuse } else { Early::Accept };
        console.ask(&mut fake, Command::Release(early)).unwrap();
        assert!(!record(&fake), "{command:?}");
        assert_eq!(fake.daemonset.strategy.raw, original);
    }
}

/// It is said to be so already, and written: what a late watch shows may not hold any more.
#[test]
fn a_step_or_pause_that_is_asked_for_again_is_confirmed() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    console.set_image(&mut fake, "agent:v2");
    let step = || Command::Step(Step::Updated(IntOrPercent::Percent(10)));
    let pause = |why: &str| Command::Pause { why: Some(why.into()) };
    assert!(!console.ask(&mut fake, step()).unwrap().contains("as before"));
    let said = console.ask(&mut fake, step()).unwrap();
    assert_eq!(said, "2 of 20 nodes may be updated, partition keeps 18, as before");
    console.ask(&mut fake, pause("slow")).unwrap();
    let said = console.ask(&mut fake, pause("slow")).unwrap();
    assert_eq!(said, "it was paused already, with this reason: no update starts");
    let said = console.ask(&mut fake, pause("the link is down")).unwrap();
    assert!(said.contains("the new reason is noted"), "{said}");
    // Bob resumes and steps back, and the watch of this console does not show it yet.
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    console.mute(Watched::Lease);
    bob.ask(&mut fake, Command::Resume).unwrap();
    bob.ask(&mut fake, Command::Step(Step::Updated(IntOrPercent::Int(1)))).unwrap();
    console.engine.command(pause("the link is down"), fake.now).unwrap();
    console.engine.command(step(), fake.now).unwrap();
    console.unmute(&fake, Watched::Lease);
    console.run_for(&mut fake, 5);
    let said: Vec<_> = std::mem::take(&mut console.settled).into_iter().map(|(_, said)| said).collect();
    assert!(said.iter().any(|said| matches!(said, Err(why) if why.contains("the partition was set to"))), "{said:?}");
    assert!(bob.snapshot(&fake).paused.is_some(), "{said:?}");
}
