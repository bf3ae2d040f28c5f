//! What passes while pods cannot be seen: time alone makes no node updated then.

use super::*;
use crate::engine::model::Str;
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::facts::DaemonSetCounters;
use crate::engine::model::node::NodeState;
use crate::engine::model::settings::Tuning;
use crate::engine::model::settings::value::Secs;
use crate::engine::report::diagnosis::Diagnosis;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

/// All watches are as well as this says.
fn report(console: &mut FakeConsole, fake: &FakeCluster, health: &WatchHealth) {
    console.deaf = *health != WatchHealth::Live;
    for watched in Watched::ALL {
        console.engine.observe(Event::Watch(watched, health.clone()), fake.now);
    }
}

#[test]
fn a_node_does_not_become_updated_while_its_pod_cannot_be_seen() {
    for down in [
        |since| WatchHealth::Down { since, why: "cannot connect".into() },
        |_| WatchHealth::Forbidden { why: "the role was taken away".into() },
    ] {
        does_not_become_updated_under(down);
    }
}

fn does_not_become_updated_under(down: fn(Timestamp) -> WatchHealth) {
    let mut fake = FakeCluster::rolling(3, 1);
    fake.defaults = Tuning { soak_secs: Some(Secs(10)), ..Tuning::default() };
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 2);
    while console.state(&fake, "n1").0 != NodeState::Soaking {
        console.run_for(&mut fake, 1);
    }
    report(&mut console, &fake, &down(fake.now));
    // Nothing that it sends arrives either, so the lease is not renewed.
    fake.wait(120);
    let unseen = console.snapshot(&fake);
    assert_eq!((console.state(&fake, "n1").0, unseen.counts.updated), (NodeState::Soaking, 0));
    let stale = |snapshot: &Snapshot| snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::ViewStale { .. }));
    assert!(stale(&unseen), "also once the lease could not be renewed: {:?}", unseen.alarms);
    assert_eq!(unseen.driving().to_string(), "you drove: the lease ran out");
    report(&mut console, &fake, &WatchHealth::Live);
    console.run_for(&mut fake, 20);
    let seen = console.snapshot(&fake);
    assert_eq!((console.state(&fake, "n1").0, seen.counts.updated), (NodeState::Updated, 1));
    assert!(!stale(&seen), "{:?}", seen.alarms);
    assert_eq!(seen.driving().to_string(), "you drive");
}

/// That a connection is dead is found out later than it is heard for the last time. A node that had soaked until then does not soak
/// again.
#[test]
fn a_node_that_was_updated_stays_so_when_the_watch_turns_out_to_have_been_silent() {
    let mut fake = FakeCluster::rolling(3, 1);
    fake.defaults = Tuning { soak_secs: Some(Secs(10)), ..Tuning::default() };
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 2);
    while console.state(&fake, "n1").0 != NodeState::Updated {
        console.run_for(&mut fake, 1);
    }
    let heard_at = fake.now - std::time::Duration::from_secs(14);
    report(&mut console, &fake, &WatchHealth::Down { since: heard_at, why: Str::from("cannot connect") });
    assert_eq!((console.state(&fake, "n1").0, console.snapshot(&fake).counts.updated), (NodeState::Updated, 1));
    fake.wait(60);
    assert_eq!((console.state(&fake, "n1").0, console.snapshot(&fake).counts.updated), (NodeState::Updated, 1));
}

/// An API server whose cache is behind refuses each list: no pod is known then, and not that there is none.
#[test]
fn a_list_that_did_not_come_is_not_an_empty_one() {
    use crate::engine::machine::Engine;
    let fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine = Engine::new(console.engine.config().clone());
    let mut tell = |event| console.engine.observe(event, fake.now);
    tell(Event::DaemonSet(Box::new(fake.daemonset.clone())));
    fake.revisions.iter().for_each(|revision| tell(Event::Revision(Box::new(revision.clone()))));
    fake.nodes.values().for_each(|node| tell(Event::Node(Box::new(node.clone()))));
    tell(Event::LeaseGone(None));
    for watched in Watched::ALL.into_iter().filter(|watched| *watched != Watched::Pods) {
        tell(Event::Watch(watched, WatchHealth::Live));
    }
    tell(Event::Listing(Watched::Pods));
    let why = Str::from("its cache is behind");
    tell(Event::Watch(Watched::Pods, WatchHealth::Down { since: fake.now, why }));
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, snapshot.nodes.len()), (&Phase::Loading, 0));
    assert_eq!(snapshot.guidance().unwrap().waits, "loading: waits for pods");

    console.engine.observe(Event::Listing(Watched::Pods), fake.now);
    fake.pods.values().for_each(|pod| console.engine.observe(Event::Pod(Box::new(pod.clone())), fake.now));
    console.engine.observe(Event::Listed(Watched::Pods, None), fake.now);
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, snapshot.nodes.len()), (&Phase::Idle, 3), "however it is since then");
}

/// Where pods may not be read nobody knows how they are. The DaemonSet's own counters tell how many there are, and no node is said to lack its pod.
#[test]
fn pods_that_may_not_be_read_are_not_said_to_be_missing() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.daemonset.counters =
        DaemonSetCounters { desired: 10, current: 10, ready: 10, updated: 10, available: 10, misscheduled: 0 };
    for watched in [Watched::Pods, Watched::Revisions] {
        let mut console = FakeConsole::open_all_but(&fake, "ops", watched);
        console.run_for(&mut fake, 60);
        let snapshot = console.snapshot(&fake);
        let counts = (snapshot.counts.nodes, snapshot.counts.updated, snapshot.counts.available);
        assert_eq!(counts, (10, 10, 10), "{watched}");
        let alarms: Vec<String> = snapshot.alarms.iter().map(ToString::to_string).collect();
        assert_eq!(
            alarms,
            [format!("what is said of nodes is not the whole truth: {watched} may not be read: no right")]
        );
        let diagnosis = Diagnosis::of(&snapshot);
        assert!(!diagnosis.findings.is_empty());
        let counted = "10 of 10 nodes updated, 10 available, as its controller counts";
        assert_eq!((&*diagnosis.how_many(&snapshot), &snapshot.phase), (counted, &Phase::Idle), "{watched}");
        if watched == Watched::Pods {
            assert_eq!(
                console.state(&fake, "n1"),
                (NodeState::Unknown, "pods may not be read: whether it has one is not known".into())
            );
            assert!(snapshot.nodes.iter().all(|node| node.blame.is_none() && !node.state.is_moving()));
        }
    }
}

/// Who may not read Leases knows that the DaemonSet is adopted, and neither the plan nor the limits nor who drives: defaults are not shown as theirs.
/// Who may not read revisions cannot compare images. Who may not read pods cannot tell how much of the budget is used.
#[test]
fn what_may_not_be_read_is_said_not_to_be_known() {
    for watched in [Watched::Lease, Watched::Revisions, Watched::Pods] {
        let mut fake = FakeCluster::rolling(10, 3);
        let mut driver = FakeConsole::open(&fake, "ops");
        driver.set_image(&mut fake, "agent:v2");
        driver.partition(&mut fake, 5);
        driver.run_for(&mut fake, 4);
        let mut looks = FakeConsole::open_all_but(&fake, "eve", watched);
        looks.run_for(&mut fake, 2);
        let snapshot = looks.snapshot(&fake);
        let doing = snapshot.doing().to_string();
        let words = (snapshot.budget_and_slots(), snapshot.change().to_string());
        let waits = snapshot.guidance().map(|guidance| (guidance.waits, guidance.remedies.len()));
        let stale = snapshot.nodes.iter().filter(|node| node.hold.as_ref().is_some_and(|hold| *hold != Hold::NotKnown));
        match watched {
            Watched::Lease => {
                assert_eq!((&snapshot.phase, snapshot.has_plan()), (&Phase::Unknown, false));
                assert_eq!(doing, "not known: Leases may not be read");
                assert_eq!(words, ("not known: Leases may not be read".into(), "v1 → v2".into()));
                assert_eq!(waits, Some((doing, 0)), "nothing is offered of a plan that nobody sees");
                assert_eq!(stale.count(), 0);
            }
            Watched::Revisions => {
                assert_eq!((&snapshot.phase, snapshot.has_plan()), (&Phase::Unknown, true));
                assert_eq!(doing, "not known: ControllerRevisions may not be read");
                assert_eq!(words.1, "?", "whether the images are the same is not known");
            }
            _ => {
                assert_eq!(snapshot.phase, Phase::Running);
                assert_eq!(words.0, "not known: pods may not be read");
            }
        }
    }
}

/// What was seen last may be over: while pods cannot be seen, no deadline halts the rollout. It does once they are seen, and still not ready.
#[test]
fn nothing_is_halted_while_pods_cannot_be_seen() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    let down = WatchHealth::Down { since: fake.now, why: "no route".into() };
    console.mute(Watched::Pods);
    console.engine.observe(Event::Watch(Watched::Pods, down), fake.now);
    console.run_for(&mut fake, 900);
    let unseen = console.snapshot(&fake);
    assert_ne!(unseen.phase, Phase::Halted);
    assert_eq!((console.state(&fake, "n1").0, unseen.counts.failed), (NodeState::Starting, 0), "it may be up by now");
    console.unmute(&fake, Watched::Pods);
    console.engine.observe(Event::Watch(Watched::Pods, WatchHealth::Live), fake.now);
    console.run_for(&mut fake, 60);
    assert_eq!((console.snapshot(&fake).phase, fake.deleted.len()), (Phase::Halted, 1));
}
