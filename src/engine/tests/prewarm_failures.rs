//! Failures of pre-warming outlive the process that met them: they stand beside what was asked for.

use super::prewarm::{state, warming};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::{Command, PrewarmCommand, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::prewarm::{PrewarmCounts, PrewarmState};

const TOO_MANY_PULLS: &str = "429 Too Many Requests - Server message: toomanyrequests";
const UNREACHABLE: &str = "failed to pull and unpack image: dial tcp 10.0.0.1:443: i/o timeout";

fn counts(console: &mut FakeConsole, fake: &FakeCluster) -> PrewarmCounts {
    console.snapshot(fake).prewarm.unwrap().counts
}

/// Whoever drove was killed after this failure of `n1`; somebody else looks on, after its lease has run out.
fn killed_after(failure: &str) -> (FakeCluster, FakeConsole) {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", failure);
    console.run_for(&mut fake, 2);
    assert_eq!(counts(&mut console, &fake).failed, 1);
    drop(console);
    let mut looks = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    looks.run_for(&mut fake, 20);
    (fake, looks)
}

#[test]
fn what_failed_is_known_after_its_driver_was_killed_and_can_be_tried_again() {
    for (failure, cause) in [(TOO_MANY_PULLS, CauseKind::ImageRateLimited), (UNREACHABLE, CauseKind::ImageNetwork)] {
        let (mut fake, mut looks) = killed_after(failure);
        assert_eq!(counts(&mut looks, &fake).failed, 1, "{failure}");
        // Nobody tries it again, however long ago it was.
        looks.run_for(&mut fake, 600);
        let PrewarmState::Failed { cause: known, times: 1, again_at: Some(_) } = state(&mut looks, &fake, "n1") else {
            panic!("{:?}", state(&mut looks, &fake, "n1"))
        };
        assert_eq!(known.kind, cause);
        looks.ask(&mut fake, Command::Prewarm(PrewarmCommand::Retry)).unwrap();
        assert_eq!(counts(&mut looks, &fake).failed, 0, "whoever drives next begins anew");
    }
}

/// Whether its driver lives, whoever looks once cannot see; by its own clock it should have renewed its lease.
#[test]
fn what_failed_is_known_to_who_looks_once_after_its_driver_was_killed() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", TOO_MANY_PULLS);
    console.run_for(&mut fake, 2);
    drop(console);
    fake.wait(60);
    let mut looks = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    looks.run(&mut fake);
    assert_eq!(counts(&mut looks, &fake).failed, 1);
}

#[test]
fn the_next_driver_waits_as_the_one_before_would_have() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", TOO_MANY_PULLS);
    console.run_for(&mut fake, 2);
    let mut next = FakeConsole::open(&fake, "eve");
    drop(console);
    next.run_for(&mut fake, 16);
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    let there = fake.warm_nodes().len();
    next.run_for(&mut fake, 5);
    assert_eq!(fake.warm_nodes().len(), there, "the registry refused the last pull, and none is tried yet");
    assert_eq!(counts(&mut next, &fake).failed, 1);
    next.run_for(&mut fake, 30);
    fake.warm_nodes().iter().for_each(|node| fake.warm_arrives(node));
    next.run_for(&mut fake, 60);
    assert_eq!(counts(&mut next, &fake).failed, 0);
    let recorded = fake.lease.as_ref().unwrap().prewarm.clone().unwrap().unwrap();
    assert!(recorded.failures.len() <= 1, "{:?}", recorded.failures);
}
