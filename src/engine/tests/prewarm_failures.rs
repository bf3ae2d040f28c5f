//! Failures of pre-warming outlive the process that met them: they stand beside what was asked for.

use super::prewarm::{image, start, state, warming};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::command::{Command, PrewarmCommand, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::prewarm::{PrewarmCounts, PrewarmNodes, PrewarmState, PrewarmWait};

const TOO_MANY_PULLS: &str = "429 Too Many Requests - Server message: toomanyrequests";
const UNREACHABLE: &str = "failed to pull and unpack image: dial tcp 10.0.0.1:443: i/o timeout";

const NOT_FOUND: &str = "failed to resolve reference \"agent:v2\": agent:v2: not found";

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

/// From the moment it is asked for again it is not over before the result of the new pull is known, though the failed pod is still there.
#[test]
fn what_is_asked_for_again_is_not_over_because_of_the_failure_before() {
    for again in [Command::Prewarm(PrewarmCommand::Retry), start(image("v2"), PrewarmNodes::Node("n1".into()), 2)] {
        let (mut fake, mut console) = warming();
        console.ask(&mut fake, start(image("v2"), PrewarmNodes::Node("n1".into()), 2)).unwrap();
        fake.warm_fails("n1", NOT_FOUND);
        console.run_for(&mut fake, 5);
        let over = |console: &mut FakeConsole, fake: &FakeCluster| console.snapshot(fake).prewarm.unwrap().is_done();
        assert!(over(&mut console, &fake), "{again:?}");
        let mut follows = FakeConsole::open(&fake, "eve");
        follows.run_for(&mut fake, 5);
        let made = fake.warm_made;
        console.engine.command(again.clone(), fake.now).unwrap();
        assert!(!over(&mut console, &fake), "{again:?}: before the driver has written anything");
        for _ in 0..5 {
            console.run_for(&mut fake, 1);
            follows.run_for(&mut fake, 1);
            assert!(!over(&mut console, &fake), "{again:?}: {:?}", state(&mut console, &fake, "n1"));
            assert!(!over(&mut follows, &fake), "{again:?}: {:?}", state(&mut follows, &fake, "n1"));
        }
        assert_eq!(fake.warm_made, made + 1, "{again:?}");
        fake.warm_fails("n1", NOT_FOUND);
        console.run_for(&mut fake, 60);
        follows.run_for(&mut fake, 1);
        assert!(over(&mut console, &fake) && over(&mut follows, &fake), "{again:?}: the new pull failed as well");
        assert_eq!(fake.warm_made, made + 1, "{again:?}: it is not tried a third time");
    }
}

/// The driver that met the failure is gone, and nobody drove when an operator asked for a retry: the next driver carries it out.
#[test]
fn the_next_driver_pulls_what_was_asked_for_again_before_it_drove() {
    let (mut fake, mut console) = warming();
    fake.warm_fails("n1", NOT_FOUND);
    console.run_for(&mut fake, 5);
    drop(console);
    fake.wait(20);
    let mut asks = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    asks.run_for(&mut fake, 20);
    assert_eq!(counts(&mut asks, &fake).failed, 1);
    asks.ask(&mut fake, Command::Prewarm(PrewarmCommand::Retry)).unwrap();
    assert_eq!(state(&mut asks, &fake, "n1"), PrewarmState::Waiting(PrewarmWait::NobodyDrives));
    drop(asks);
    let made = fake.warm_made;
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    assert_eq!(counts(&mut next, &fake).failed, 0);
    fake.warm_nodes().iter().filter(|node| *node != "n1").for_each(|node| fake.warm_arrives(node));
    next.run_for(&mut fake, 5);
    assert!(fake.warm_made > made && fake.warm_nodes().contains(&"n1".to_owned()), "{:?}", fake.warm_nodes());
    assert_eq!(state(&mut next, &fake, "n1"), PrewarmState::Queued);
}

/// An API server that starts refuses as many deletions at once as may be on their way: that keeps none of them from being tried again.
#[test]
fn deletions_that_all_failed_at_once_are_all_tried_again() {
    let mut fake = FakeCluster::rolling(30, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 30), fake.now).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.warm_nodes().len(), 30);
    fake.keeps_warm_pods = true;
    console.engine.command(Command::Prewarm(PrewarmCommand::Cancel), fake.now).unwrap();
    console.run_for(&mut fake, 4);
    fake.keeps_warm_pods = false;
    console.run_for(&mut fake, 60);
    assert!(fake.warm_nodes().is_empty(), "{:?}", fake.warm_nodes());
}

/// The pods for pre-warming of updated nodes are gone. That these nodes have the image shows that the registry gives it, also where the new pods are not
/// ready.
#[test]
fn nodes_behind_a_broken_mirror_stop_no_others_where_updated_nodes_have_the_image() {
    for slow in [false, true] {
        let mut fake = FakeCluster::rolling(10, 3);
        let mut console = FakeConsole::open(&fake, "ops");
        fake.slow = slow;
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 7);
        console.run_for(&mut fake, 60);
        assert_eq!(fake.at("hash2"), 3, "{slow}");
        fake.holds_images = false;
        console.engine.command(start(image("v2"), PrewarmNodes::All, 3), fake.now).unwrap();
        console.run_for(&mut fake, 5);
        let behind = fake.warm_nodes();
        assert_eq!(behind.len(), 3, "{behind:?}");
        for node in &behind {
            fake.warm_fails(node, "failed to resolve reference \"agent:v2\": agent:v2: not found");
        }
        console.run_for(&mut fake, 10);
        let next = fake.warm_nodes();
        assert!(next.len() == 3 && next.iter().all(|node| !behind.contains(node)), "the others go on: {next:?}");
        assert!(console.snapshot(&fake).prewarm.unwrap().refused().is_none());
    }
}

/// The record names forty nodes, whatever the size of the fleet. That more failed is known all the same.
#[test]
fn failures_beyond_those_that_are_recorded_by_name_are_counted() {
    let mut fake = FakeCluster::rolling(60, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 60), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    for node in 1..=55 {
        fake.warm_fails(&format!("n{node}"), UNREACHABLE);
    }
    (56..=58).for_each(|node| fake.warm_arrives(&format!("n{node}")));
    console.run_for(&mut fake, 3);
    let driver = counts(&mut console, &fake);
    assert_eq!((driver.failed, driver.present), (55, 3));
    drop(console);
    let mut looks = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    looks.run_for(&mut fake, 20);
    let view = looks.snapshot(&fake).prewarm.unwrap();
    assert_eq!((view.counts.failed, view.counts.present, view.failed_elsewhere), (55, 3, 15), "{}", view.counts);
    assert_eq!(view.counts.nodes, view.counts.failed + view.counts.present + view.counts.pulling + view.counts.waiting);
    assert!(view.to_string().contains("55 failed (on which nodes is recorded of 40)"), "{view}");
    // Whoever asks again asks for all of them.
    looks.ask(&mut fake, Command::Prewarm(PrewarmCommand::Retry)).unwrap();
    let again = looks.snapshot(&fake).prewarm.unwrap();
    assert_eq!((again.counts.failed, again.failed_elsewhere), (0, 0));
}

/// The next driver tries those again at once that it does not know to have failed.
#[test]
fn the_next_driver_counts_what_it_knows() {
    let mut fake = FakeCluster::rolling(60, 1);
    fake.holds_images = false;
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.command(start(image("v2"), PrewarmNodes::All, 60), fake.now).unwrap();
    console.run_for(&mut fake, 5);
    (1..=60).for_each(|node| fake.warm_fails(&format!("n{node}"), UNREACHABLE));
    console.run_for(&mut fake, 3);
    drop(console);
    let mut next = FakeConsole::open(&fake, "eve");
    next.run_for(&mut fake, 20);
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.run_for(&mut fake, 3);
    let view = next.snapshot(&fake).prewarm.unwrap();
    assert_eq!(view.failed_elsewhere, 0, "{}", view.counts);
    assert_eq!(fake.lease.as_ref().unwrap().prewarm.as_ref().unwrap().as_ref().unwrap().unrecorded.failed, 0);
}
