//! A watch that lies by its silence, found out: by time alone, and by what we wrote ourselves.

use std::time::Duration;

use super::*;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Refusal, Step};
use crate::engine::model::hold::Hold;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::report::snapshot::Alarm;
use crate::engine::view::View;
use crate::engine::view::watch_states::{MISSES_WRITE, SHOWN_WITHIN, SILENCE, SILENT, STANDS_STILL};

/// A console that drives a rollout of a budget of two, whose watches have just sent bookmarks, as those of a real API server do.
fn driving(fake: &mut FakeCluster) -> FakeConsole {
    let mut console = FakeConsole::open(fake, "ops");
    console.set_image(fake, "agent:v2");
    send_bookmarks(&mut console, fake, &Watched::ALL);
    console
}

fn send_bookmarks(console: &mut FakeConsole, fake: &FakeCluster, watches: &[Watched]) {
    for watched in watches {
        console.engine.observe(Event::Heard(*watched, None), fake.now);
    }
}

fn all_but(watched: Watched) -> Vec<Watched> {
    Watched::ALL.into_iter().filter(|other| *other != watched).collect()
}

fn lagging(console: &mut FakeConsole, fake: &FakeCluster, watched: Watched) -> Option<String> {
    match console.snapshot(fake).watch(watched) {
        Some(WatchHealth::Lagging { why, .. }) => Some(why.to_string()),
        _ => None,
    }
}

fn step(console: &mut FakeConsole, fake: &mut FakeCluster) -> Result<String, String> {
    console.ask(fake, Command::Step(Step::Updated(IntOrPercent::Percent(100))))
}

/// One minute: every watch sends a bookmark with the version that it has come to.
fn minute(console: &mut FakeConsole, fake: &mut FakeCluster, version: impl Fn(Watched) -> Option<u64>) {
    fake.wait(60);
    for watched in Watched::ALL {
        console.engine.observe(Event::Heard(watched, version(watched)), fake.now);
    }
    console.run(fake);
}

/// Every watch has been listed, at these versions.
fn listed(console: &mut FakeConsole, fake: &FakeCluster, version: impl Fn(Watched) -> u64) {
    for watched in Watched::ALL {
        // The list itself names all there is, as is known already.
        console.engine.view.watch_was_heard(&Event::Listed(watched, Some(version(watched))), false, fake.now);
    }
}

#[test]
fn what_could_not_be_read_is_counted_until_its_kind_is_listed_again() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = driving(&mut fake);
    let skipped = |console: &mut FakeConsole, fake: &FakeCluster| {
        let snapshot = console.snapshot(fake);
        let events = snapshot.watches.iter().find(|view| view.watched == Watched::Events).unwrap();
        events.skipped.as_ref().map(ToString::to_string)
    };
    assert_eq!(skipped(&mut console, &fake), None);
    console.engine.observe(Event::Skipped(Watched::Events, "edge/one cannot be read: why".into()), fake.now);
    assert_eq!(skipped(&mut console, &fake).as_deref(), Some("1 skipped: edge/one cannot be read: why"));
    console.engine.observe(Event::Skipped(Watched::Events, "edge/two cannot be read: why".into()), fake.now);
    assert_eq!(skipped(&mut console, &fake).as_deref(), Some("2 skipped; the first: edge/one cannot be read: why"));
    console.engine.observe(Event::Listing(Watched::Events), fake.now);
    assert_eq!(skipped(&mut console, &fake), None, "a list names everything again");
}

#[test]
fn a_watch_whose_bookmarks_do_not_advance_stands_still() {
    for (watched, minutes) in [(Watched::Nodes, 11), (Watched::Pods, 22), (Watched::Revisions, 22)] {
        let mut fake = FakeCluster::rolling(4, 1);
        let mut console = driving(&mut fake);
        let stuck = 5_000;
        listed(&mut console, &fake, |_| stuck);
        for passed in 0..=minutes {
            let others = stuck + 10 * passed;
            minute(&mut console, &mut fake, |it| Some(if it == watched { stuck } else { others }));
            assert_eq!(lagging(&mut console, &fake, watched), None, "{watched} after {passed} of {minutes} minutes");
        }
        minute(&mut console, &mut fake, |it| Some(if it == watched { stuck } else { stuck + 1_000 }));
        assert_eq!(lagging(&mut console, &fake, watched).as_deref(), Some(STANDS_STILL), "{watched}");
        let refused = step(&mut console, &mut fake).unwrap_err();
        assert!(refused.contains("does not advance"), "{refused}");
        // It is believed again once it has come on.
        minute(&mut console, &mut fake, |_| Some(stuck + 1_010));
        assert_eq!(lagging(&mut console, &fake, watched), None);
        step(&mut console, &mut fake).unwrap();
    }
}

/// A server that served its cache for minutes sends all that was missed at once, one by one: after a fall of the node comes
/// that it was back, and only then that it fell again.
#[test]
fn nothing_is_replaced_while_a_watch_that_lagged_tells_what_was_missed() {
    let mut fake = FakeCluster::rolling(2, 1);
    let mut console = driving(&mut fake);
    fake.wait(95);
    send_bookmarks(&mut console, &fake, &all_but(Watched::Nodes));
    assert_eq!(lagging(&mut console, &fake, Watched::Nodes).as_deref(), Some(SILENCE));
    // It is heard again, and shows both nodes Ready, as they were a while ago.
    send_bookmarks(&mut console, &fake, &[Watched::Nodes]);
    assert_eq!(lagging(&mut console, &fake, Watched::Nodes), None);
    step(&mut console, &mut fake).unwrap();
    assert_eq!(fake.at("hash1"), 2, "the rest of what was missed may still come");
    fake.set_node_ready("n1", false);
    fake.set_node_ready("n2", false);
    console.run_for(&mut fake, 5);
    assert_eq!(fake.at("hash1"), 2, "nothing is replaced on nodes that are down");
    fake.set_node_ready("n1", true);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash1"), 1);
}

/// What etcd and kubelets give: a quiet kind is told every ten minutes how far it has come, and then not at once.
#[test]
fn a_quiet_watch_that_is_told_how_far_it_has_come_now_and_then_is_believed() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = driving(&mut fake);
    listed(&mut console, &fake, |_| 5_000);
    for passed in 0..120_u64 {
        let quiet = |every: u64| 5_000 + 10 * (passed - passed % every);
        minute(&mut console, &mut fake, |it| match it {
            Watched::Revisions => Some(quiet(20)),
            Watched::Nodes => Some(quiet(10)),
            _ => Some(5_000 + 10 * passed),
        });
        assert_eq!(console.engine.blindness(), None, "after {passed} minutes");
    }
}

/// Events, or one other kind, in an etcd of its own, whose counter is far ahead, or far behind.
#[test]
fn a_kind_with_a_counter_of_its_own_proves_nothing() {
    for (foreign, counter) in [(Watched::Lease, 900_000), (Watched::Lease, 3), (Watched::Nodes, 900_000)] {
        let mut fake = FakeCluster::rolling(4, 1);
        let mut console = driving(&mut fake);
        let version = |it: Watched, passed: u64| match it {
            Watched::Events => 5_000_000 + passed,
            // It may come near in time, and pass by.
            it if it == foreign => counter + 1_000 * passed,
            _ => 30_000 + passed,
        };
        listed(&mut console, &fake, |it| version(it, 0));
        for passed in 0..60 {
            minute(&mut console, &mut fake, |it| Some(version(it, passed)));
            assert_eq!(console.engine.blindness(), None, "{foreign} at {counter}, after {passed} minutes");
        }
    }
}

#[test]
fn silence_makes_a_watch_lag_by_time_alone_and_a_word_heals_it() {
    for watched in Watched::NEEDED {
        let mut fake = FakeCluster::rolling(20, 2);
        let mut console = driving(&mut fake);
        let quiet_since = fake.now;
        fake.wait(89);
        send_bookmarks(&mut console, &fake, &all_but(watched));
        assert_eq!(console.engine.blindness(), None, "{watched}: a minute and a half is not over");
        console.snapshot(&fake);
        assert_eq!(
            console.engine.watch_health_changes_at(),
            Some(quiet_since + SILENT),
            "{watched}: time alone brings it"
        );

        fake.wait(1);
        assert_eq!(lagging(&mut console, &fake, watched).as_deref(), Some(SILENCE), "{watched}");
        let refused = step(&mut console, &mut fake).unwrap_err();
        assert!(refused.contains(&format!("{watched} as of 1m ago")), "{refused}");
        assert!(refused.contains("check the way to the API server"), "{refused}");

        send_bookmarks(&mut console, &fake, &[watched]);
        assert_eq!(lagging(&mut console, &fake, watched), None, "{watched}");
        step(&mut console, &mut fake).unwrap();
    }
}

#[test]
fn a_watch_that_never_beats_is_not_judged_by_its_silence() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.wait(600);
    console.run(&mut fake);
    assert_eq!(console.engine.blindness(), None);
    assert_eq!(console.engine.watch_health_changes_at(), None, "and nothing is waited for");
}

#[test]
fn pausing_and_standing_down_need_no_fresh_view() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = driving(&mut fake);
    fake.wait(95);
    let now = fake.now;
    let commands = [
        Command::Adopt,
        Command::Resume,
        Command::Undo { to: None },
        Command::Select(None),
        Command::Step(Step::Next),
        Command::Release(crate::engine::model::command::Early::Accept),
        Command::Tune(crate::engine::model::settings::Tuning::default()),
        Command::Drive(crate::engine::model::command::Takeover::Ask),
    ];
    for command in commands {
        let previewed = console.engine.preview(&command, now).unwrap_err();
        assert!(matches!(previewed, Refusal::Stale(_)), "{command:?}: {previewed:?}");
        let refused = console.engine.command(command.clone(), now).unwrap_err();
        assert!(matches!(refused, Refusal::Stale(_)), "{command:?}: {refused:?}");
    }
    console.engine.preview(&Command::Pause { why: None }, now).unwrap();
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.ask(&mut fake, Command::StopDriving).unwrap();
}

#[test]
fn a_deletion_that_does_not_come_back_blinds_within_ten_seconds() {
    let mut fake = FakeCluster::rolling(20, 4);
    let mut console = driving(&mut fake);
    console.mute(Watched::Pods);
    step_only(&mut console, &mut fake);
    assert_eq!(fake.deleted.len(), 4, "deleted and confirmed, and not seen");
    fake.kubelets();
    fake.wait(9);
    console.run(&mut fake);
    assert_eq!(lagging(&mut console, &fake, Watched::Pods), None);
    assert_eq!(
        console.engine.watch_health_changes_at(),
        Some(fake.now + Duration::from_secs(1)),
        "time alone brings it"
    );
    fake.wait(1);
    console.run(&mut fake);
    assert_eq!(lagging(&mut console, &fake, Watched::Pods).as_deref(), Some(MISSES_DELETION));
    let snapshot = console.snapshot(&fake);
    assert!(matches!(snapshot.alarms.as_slice(), [Alarm::ViewStale { .. }]), "{:?}", snapshot.alarms);
    let held = snapshot.nodes.iter().filter(|node| node.hold == Some(Hold::ViewStale)).count();
    assert_eq!(held, 16, "and every node that waits says so");
    assert!(step(&mut console, &mut fake).unwrap_err().contains("pods as of 10s ago"));
    console.unmute(&fake, Watched::Pods);
    console.run(&mut fake);
    assert_eq!(lagging(&mut console, &fake, Watched::Pods), None);
    assert_eq!(fake.deleted.len(), 4, "the rest of what was missed may still come");
    fake.wait(2);
    console.run(&mut fake);
    assert_eq!((fake.deleted.len(), fake.worst_down), (8, 4), "it goes on, within the budget");
}

/// The renewal of the Lease, every few seconds, is the probe of a view on which nothing else happens.
#[test]
fn a_lease_whose_renewals_do_not_come_back_blinds_within_seconds() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = driving(&mut fake);
    console.partition(&mut fake, 18);
    console.run_for(&mut fake, 10);
    assert_eq!(console.engine.blindness(), None);
    console.mute(Watched::Lease);
    let stalled_at = fake.now;
    while lagging(&mut console, &fake, Watched::Lease).is_none() {
        fake.wait(1);
        console.run(&mut fake);
        assert!(fake.now.since(stalled_at) < Duration::from_secs(15), "never noticed");
    }
    assert!(fake.now.since(stalled_at) <= Duration::from_secs(13), "a renewal every 3 s, and 10 s of patience");
    assert!(console.snapshot(&fake).driver.is_you(), "the lease itself is renewed all the same");
    assert!(step(&mut console, &mut fake).unwrap_err().contains("lease as of"));

    console.unmute(&fake, Watched::Lease);
    console.run(&mut fake);
    assert_eq!(lagging(&mut console, &fake, Watched::Lease), None, "it has caught up");
    step(&mut console, &mut fake).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 20);
}

#[test]
fn an_answer_that_comes_after_its_event_owes_nothing() {
    let mut view = View::default();
    let now = Timestamp::from_millis(0);
    let lease = |version: &str| {
        Event::Lease(Box::new(crate::engine::model::facts::LeaseFact {
            uid: "lease".into(),
            resource_version: version.into(),
            holder: None,
            duration_secs: 15,
            acquired_at: None,
            renewed_at: None,
            transitions: 0,
            record: Ok(None),
            prewarm: Ok(None),
            pace: Default::default(),
            failing: None,
        }))
    };
    let lags = |view: &View| view.watches().lag(Watched::Lease, None, now + SHOWN_WITHIN).is_some();
    view.watch_was_heard(&lease("105"), false, now);
    view.lease_was_written(&"105".into(), now);
    assert!(!lags(&view), "the event overtook the answer");
    view.lease_was_written(&"104".into(), now);
    assert!(!lags(&view), "a later one was shown");
    view.lease_was_written(&"106".into(), now);
    view.lease_was_written(&"109".into(), now);
    assert!(lags(&view));
    view.watch_was_heard(&lease("107"), false, now);
    assert!(lags(&view), "109 is still owed");
    view.watch_was_heard(&lease("110"), false, now);
    assert!(!lags(&view));
    view.lease_was_written(&"opaque".into(), now);
    assert!(!lags(&view), "what cannot be compared is not waited for");
}

#[test]
fn a_watch_that_was_taken_up_again_is_believed_when_it_has_caught_up() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = driving(&mut fake);
    console.partition(&mut fake, 18);
    console.mute(Watched::Lease);
    let down = WatchHealth::Down { since: fake.now, why: "gone".into() };
    console.engine.observe(Event::Watch(Watched::Lease, down), fake.now);
    for _ in 0..20 {
        fake.wait(1);
        console.run(&mut fake);
    }
    console.engine.observe(Event::Watch(Watched::Lease, WatchHealth::Live), fake.now);
    assert_eq!(lagging(&mut console, &fake, Watched::Lease).as_deref(), Some(MISSES_WRITE));
    console.unmute(&fake, Watched::Lease);
    assert_eq!(lagging(&mut console, &fake, Watched::Lease), None);
}

#[test]
fn what_an_answer_told_is_no_proof_of_a_watch() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = driving(&mut fake);
    console.mute(Watched::Pods);
    step_only(&mut console, &mut fake);
    let terminating: Vec<Event> = fake
        .pods
        .values()
        .filter(|pod| pod.deletion_at.is_some())
        .map(|pod| Event::Pod(Box::new(pod.clone())))
        .collect();
    assert_eq!(terminating.len(), 2);
    for event in terminating.clone() {
        console.engine.learn(event, fake.now);
    }
    fake.wait(10);
    assert_eq!(lagging(&mut console, &fake, Watched::Pods).as_deref(), Some(MISSES_DELETION));
    for event in terminating {
        console.engine.observe(event, fake.now);
    }
    assert_eq!(lagging(&mut console, &fake, Watched::Pods), None);
}

fn step_only(console: &mut FakeConsole, fake: &mut FakeCluster) {
    console.ask(fake, Command::Step(Step::Updated(IntOrPercent::Int(20)))).unwrap();
    console.run(fake);
}

/// A lost answer is forgotten when the pod is still there a good while later: not by a watch that stands still.
#[test]
fn a_lost_answer_is_not_forgotten_on_a_silent_watch() {
    let mut fake = FakeCluster::rolling(20, 1);
    let mut console = driving(&mut fake);
    console.mute(Watched::Pods);
    console.lose_answers = true;
    step_only(&mut console, &mut fake);
    assert_eq!(fake.deleted.len(), 1, "it was done, and nobody told us");
    console.lose_answers = false;
    for _ in 0..60 {
        fake.wait(1);
        send_bookmarks(&mut console, &fake, &all_but(Watched::Pods));
        console.run(&mut fake);
    }
    assert_eq!(fake.deleted.len(), 1, "the watch has not said a word since");
    console.unmute(&fake, Watched::Pods);
    fake.kubelets();
    console.run(&mut fake);
    assert_eq!(fake.worst_down, 1);
}

#[test]
fn a_listing_settles_what_was_deleted() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = driving(&mut fake);
    console.mute(Watched::Pods);
    step_only(&mut console, &mut fake);
    assert_eq!(console.engine.deletions.len(), 2);
    fake.kubelets();
    console.engine.observe(Event::Listing(Watched::Pods), fake.now);
    for pod in fake.pods.values() {
        console.engine.observe(Event::Pod(Box::new(pod.clone())), fake.now);
    }
    console.engine.observe(Event::Listed(Watched::Pods, None), fake.now);
    assert!(console.engine.deletions.is_empty(), "those pods are gone: the listing does not name them");
}

#[test]
fn a_heartbeat_makes_no_new_snapshot_and_no_work() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = driving(&mut fake);
    let before = console.snapshot(&fake);
    assert!(console.engine.freshness.holds(Timestamp::default()));
    fake.wait(14);
    send_bookmarks(&mut console, &fake, &Watched::ALL);
    assert!(console.engine.freshness.holds(Timestamp::default()), "nothing has to be assessed again");
    assert!(before.shows_the_same_as(&console.engine.snapshot(fake.now)));
    fake.wait(1);
    send_bookmarks(&mut console, &fake, &[Watched::Pods]);
    let after = console.engine.snapshot(fake.now);
    assert!(!before.shows_the_same_as(&after), "a quarter of a minute is worth saying");
    let heard = |watched| after.watches.iter().find(|view| view.watched == watched).and_then(|view| view.heard_at);
    assert_eq!(heard(Watched::Pods), Some(fake.now));
}

/// The server has forgotten what came since: the watch is open, and what it has shown is of an earlier state until all is listed, however long that takes.
#[test]
fn nothing_is_started_while_nodes_or_pods_are_listed_anew() {
    for watched in [Watched::Nodes, Watched::Pods] {
        let mut fake = FakeCluster::rolling(6, 1);
        let mut console = driving(&mut fake);
        fake.slow = true;
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 3);
        let deleted = fake.deleted.clone();
        assert_eq!(deleted.len(), 1);
        console.engine.observe(Event::Listing(watched), fake.now);
        fake.slow = false;
        fake.set_ready(&deleted[0], true);
        console.run_for(&mut fake, 60);
        assert!(matches!(console.engine.health(watched), WatchHealth::Lagging { .. }), "{watched:?}");
        assert_eq!(fake.deleted, deleted, "{watched:?}");
        fake.nodes.values().for_each(|node| console.engine.observe(Event::Node(Box::new(node.clone())), fake.now));
        fake.pods.values().for_each(|pod| console.engine.observe(Event::Pod(Box::new(pod.clone())), fake.now));
        console.engine.observe(Event::Listed(watched, None), fake.now);
        console.run_for(&mut fake, 25);
        assert_eq!(fake.deleted.len(), 6, "{watched:?}: it goes on");
    }
}

/// What was missed while a watch was down arrives one by one once it is open again, and is waited for. A list that is made anew at once leaves nothing to wait for;
/// one that takes long is followed by what came meanwhile.
#[test]
fn after_a_quick_list_nothing_more_is_waited_for() {
    for (list_takes, waits) in [(None, true), (Some(0), false), (Some(5), true)] {
        let mut fake = FakeCluster::rolling(4, 1);
        let mut console = driving(&mut fake);
        let down = WatchHealth::Down { since: fake.now, why: "410".into() };
        console.engine.observe(Event::Watch(Watched::Nodes, down), fake.now);
        if let Some(secs) = list_takes {
            console.engine.observe(Event::Listing(Watched::Nodes), fake.now);
            fake.nodes.values().for_each(|node| console.engine.observe(Event::Node(Box::new(node.clone())), fake.now));
            fake.wait(secs);
            console.engine.observe(Event::Listed(Watched::Nodes, None), fake.now);
        }
        console.engine.observe(Event::Watch(Watched::Nodes, WatchHealth::Live), fake.now);
        assert_eq!(console.engine.catches_up(), waits, "{list_takes:?}");
    }
}
