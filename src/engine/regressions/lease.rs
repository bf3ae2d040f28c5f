//! The lease and its record: answers that are late or lost, conflicts, and processes that stood still.

use std::time::Duration;

use super::{record, stand_still};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, CommandId, Step};
use crate::engine::model::config::Role;
use crate::engine::model::driver::DriverView;
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind};
use crate::engine::model::event::{Event, Watched};
use crate::engine::model::facts::ContainerState;
use crate::engine::model::facts::LeaseFact;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{OnFailure, Tuning};

/// Somebody deletes the lease, and the answer to a renewal comes later than the news of that.
#[test]
fn a_lease_that_is_gone_is_not_brought_back_by_a_late_answer() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.wait(4);
    let (id, renewal) = console.engine.decide(fake.now).pop().unwrap();
    assert!(matches!(renewal, Effect::WriteLease { .. }));
    let answer = fake.apply(renewal);
    console.hear(&fake);
    fake.lease = None;
    console.engine.observe(Event::LeaseGone(None), fake.now);
    console.engine.outcome(id, answer, fake.now);
    console.run_for(&mut fake, 10);
    let driver = console.snapshot(&fake).driver;
    assert!(!matches!(driver, DriverView::You { .. }), "there is nothing that it could drive by: {driver:?}");
    console.set_image(&mut fake, "agent:v3");
    assert!(fake.lease.is_some(), "what is asked then begins anew");
}

/// The lease is deleted and made anew by a pause. A write that conflicts shows that to the driver, whose watch is late and tells of
/// the old one after that. Found by the attack (seed 777010967).
#[test]
fn a_late_watch_does_not_bring_back_the_lease_before_this_one() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 3);
    let old = fake.lease.clone().unwrap();
    console.mute(Watched::Lease);
    let mut new = old.clone();
    let version = old.resource_version.parse::<u64>().unwrap() + 1_000;
    (new.uid, new.resource_version) = ("another".into(), version.to_string().into());
    console.engine.learn(Event::Lease(Box::new(new.clone())), fake.now);
    assert_eq!(console.engine.lock.resource_version(), Some(new.resource_version.clone()));
    console.engine.observe(Event::Lease(Box::new(old)), fake.now);
    assert_eq!(console.engine.lock.resource_version(), Some(new.resource_version.clone()));
    // Nor does the news that the old one was deleted take it away. Found by the attack (seed 1000195).
    console.engine.observe(Event::LeaseGone(Some(version - 1)), fake.now);
    assert_eq!(console.engine.lock.resource_version(), Some(new.resource_version.clone()));
    console.engine.observe(Event::LeaseGone(Some(version + 1)), fake.now);
    console.engine.observe(Event::Lease(Box::new(new)), fake.now);
    assert_eq!(console.engine.lock.resource_version(), None);
}

/// A process that stood still between its decision and the write, while somebody paused.
#[test]
fn a_deletion_is_good_for_no_longer_than_the_proof_behind_it() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.hear(&fake);
    console.engine.command(Command::Step(Step::Updated(IntOrPercent::Percent(100))), fake.now).unwrap();
    for _ in 0..5 {
        for (id, effect) in console.engine.decide(fake.now) {
            if let Effect::DeletePod { not_after, .. } = &effect {
                assert!(*not_after <= fake.now + Duration::from_secs(1), "{not_after:?}");
                return;
            }
            let outcome = fake.apply(effect);
            console.engine.outcome(id, outcome, fake.now);
        }
        console.hear(&fake);
    }
    panic!("nothing was deleted");
}

/// A driver that is about to go back by itself stands still, and somebody pauses meanwhile.
#[test]
fn what_a_driver_does_by_itself_does_not_undo_what_somebody_asked_meanwhile() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    let tuning = Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() };
    ops.ask(&mut fake, Command::Tune(tuning)).unwrap();
    fake.broken.push("agent:v2".into());
    ops.set_image(&mut fake, "agent:v2");
    ops.partition(&mut fake, 0);
    // Decided, and not sent: from then on it stands still.
    stand_still(&mut fake, &mut ops, |engine, _| engine.progress.halt.is_some());
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    eve.ask(&mut fake, Command::Pause { why: Some("let me look".into()) }).unwrap();
    fake.wait(3);
    ops.run_for(&mut fake, 30);
    let paused = record(&fake).intent.paused;
    assert_eq!(paused.and_then(|paused| paused.why).as_deref(), Some("let me look"));
    assert_eq!(fake.daemonset.template.images(), ["agent:v2".into()], "going back waits for whoever goes on");
}

/// A renewal that is due meets a conflict whose cause was seen before the answer came.
#[test]
fn nothing_sleeps_over_a_conflict() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    fake.wait(4);
    let (id, renewal) = ops.engine.decide(fake.now).pop().unwrap();
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    eve.ask(&mut fake, Command::Tune(Tuning { strict: Some(true), ..Tuning::default() })).unwrap();
    let answer = fake.apply(renewal);
    assert!(answer.is_err(), "somebody wrote in between");
    ops.hear(&fake);
    ops.engine.outcome(id, answer, fake.now);
    assert!(!ops.engine.decide(fake.now).is_empty(), "there is nothing to wait for");
}

/// The same, and what it met is never seen.
#[test]
fn a_conflict_that_is_never_seen_is_not_waited_for_for_ever() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    fake.wait(4);
    ops.mute(Watched::Lease);
    let (id, renewal) = ops.engine.decide(fake.now).pop().unwrap();
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    eve.ask(&mut fake, Command::Tune(Tuning { strict: Some(true), ..Tuning::default() })).unwrap();
    let answer = fake.apply(renewal);
    ops.engine.outcome(id, answer, fake.now);
    assert!(ops.engine.decide(fake.now).is_empty(), "its watch may tell in a moment");
    let wake = ops.engine.wake_at().unwrap();
    assert!(wake <= fake.now + Duration::from_secs(2), "a renewal is overdue: {wake:?} at {:?}", fake.now);
}

/// A driver stands still with what it decided; somebody else drives meanwhile, releases, and begins something new.
#[test]
fn what_was_decided_under_another_record_is_dropped() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.hear(&fake);
    // The template changes: it decides to pause, and stands still.
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    ops.hear(&fake);
    let held = ops.engine.decide(fake.now);
    assert!(!held.is_empty());
    // Its lease runs out, and the record goes.
    fake.wait(60);
    fake.lease = None;
    ops.engine.observe(Event::LeaseGone(None), fake.now);
    for (id, effect) in held {
        let outcome = fake.apply(effect);
        ops.engine.outcome(id, outcome, fake.now);
    }
    ops.run_for(&mut fake, 5);
    assert!(fake.lease.is_none(), "nobody asked for a record: {:?}", fake.lease);
}

/// Somebody asks for an image, the write arrives, and its answer is lost on the way.
fn ask_and_lose_the_answer(fake: &mut FakeCluster, console: &mut FakeConsole, image: &str) -> CommandId {
    let images = [("agent".to_owned(), image.parse().unwrap())].into();
    let asked = console.engine.command(Command::SetImage(images), fake.now).unwrap();
    for (id, effect) in console.engine.decide(fake.now) {
        fake.apply(effect).unwrap();
        console.hear(fake);
        let message = "the network failed".into();
        console.engine.outcome(
            id,
            Err(EffectError { kind: EffectErrorKind::Unknown, message, dry_run: false }),
            fake.now,
        );
    }
    asked
}

/// Its watch shows that it arrived, and somebody else changes the image again.
#[test]
fn what_was_written_is_not_written_again_over_what_others_wrote_since() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    let mut eve = FakeConsole::open(&fake, "eve");
    let asked = ask_and_lose_the_answer(&mut fake, &mut eve, "agent:v3");
    ops.run_for(&mut fake, 1);
    ops.set_image(&mut fake, "agent:v4");
    eve.run_for(&mut fake, 5);
    ops.run_for(&mut fake, 5);
    assert_eq!(fake.daemonset.template.images(), ["agent:v4".into()], "the last word");
    assert!(eve.settled.iter().any(|(settled, result)| *settled == asked && result.is_ok()), "{:?}", eve.settled);
}

/// Its watch is down as well, and the answer to the next try shows what others made of it.
#[test]
fn a_record_says_what_arrived_whatever_others_made_of_it() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    let mut eve = FakeConsole::open(&fake, "eve");
    eve.mute(Watched::Lease);
    ask_and_lose_the_answer(&mut fake, &mut eve, "agent:v3");
    ops.run_for(&mut fake, 1);
    ops.set_image(&mut fake, "agent:v4");
    // It tries again, and is told how the lease is by now.
    for (id, effect) in eve.engine.decide(fake.now) {
        let answer = fake.apply(effect);
        assert!(answer.is_err(), "somebody wrote in between");
        let lease = fake.lease.clone().unwrap();
        eve.engine.learn(Event::Lease(Box::new(lease)), fake.now);
        eve.engine.outcome(id, answer, fake.now);
    }
    eve.run_for(&mut fake, 5);
    ops.run_for(&mut fake, 5);
    assert_eq!(fake.daemonset.template.images(), ["agent:v4".into()], "the last word");
}

/// A lease is deleted and made anew, and only then a late answer tells of the old one.
#[test]
fn a_late_answer_does_not_bring_back_a_lease_that_was_replaced() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    let old = fake.lease.clone().unwrap();
    ops.engine.observe(Event::LeaseGone(None), fake.now);
    let new = LeaseFact { uid: "made anew".into(), resource_version: "900".into(), holder: None, ..old.clone() };
    ops.engine.observe(Event::Lease(Box::new(new)), fake.now);
    ops.engine.learn(Event::Lease(Box::new(old)), fake.now);
    assert!(!ops.engine.lock.holds(), "that was the old one");
}

/// Somebody deletes the lease while two nodes wait for the new image. Who asks for another one afterwards has a record that knows of nothing
/// before it: these two are down by a rollout all the same. Found by two operators with one practice cluster.
#[test]
fn nodes_that_a_rollout_took_down_count_also_after_its_record_is_gone() {
    for fails in [None, Some("CrashLoopBackOff")] {
        let mut fake = FakeCluster::rolling(10, 2);
        let mut ada = FakeConsole::open(&fake, "ada");
        ada.set_image(&mut fake, "agent:v2");
        fake.slow = true;
        ada.partition(&mut fake, 5);
        ada.run_for(&mut fake, 30);
        assert_eq!((fake.at("hash2"), fake.down()), (2, 2));
        if let Some(reason) = fails {
            for node in ["n1", "n2"] {
                fake.change_pod(node, |pod| {
                    pod.containers[0].state = ContainerState::Waiting { reason: reason.into(), message: None };
                    pod.ready_since = Some(pod.created_at + Duration::from_secs(400));
                });
            }
            ada.run_for(&mut fake, 30);
        }
        fake.lease = None;
        ada.engine.observe(Event::LeaseGone(None), fake.now);
        ada.run_for(&mut fake, 5);
        let mut bob = FakeConsole::open(&fake, "bob");
        bob.set_image(&mut fake, "agent:v3");
        bob.partition(&mut fake, 5);
        let mut most = 0;
        for _ in 0..120 {
            bob.run_for(&mut fake, 1);
            most = most.max(fake.down());
        }
        assert_eq!(most, 2, "{}", bob.snapshot(&fake).budget);
        assert!(fake.at("hash2") == 0, "those go first, and at once");
    }
}
