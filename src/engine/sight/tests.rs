//! A watch that lies by its silence, found out: by time alone, and by what we wrote ourselves.

use std::time::Duration;

use super::*;
use crate::engine::command::{Command, Refusal, Step};
use crate::engine::lab::{Console, Lab};
use crate::engine::quantity::IntOrPercent;
use crate::engine::snapshot::{Alarm, Hold};

/// A console that drives a rollout of a budget of two, whose watches beat as those of a real API server do.
fn driving(lab: &mut Lab) -> Console {
    let mut console = Console::open(lab, "ops");
    console.set_image(lab, "agent:v2");
    beat(&mut console, lab, &Watched::ALL);
    console
}

fn beat(console: &mut Console, lab: &Lab, watches: &[Watched]) {
    for watched in watches {
        console.engine.observe(Event::Heard(*watched, None), lab.now);
    }
}

fn all_but(watched: Watched) -> Vec<Watched> {
    Watched::ALL.into_iter().filter(|other| *other != watched).collect()
}

fn lagging(console: &mut Console, lab: &Lab, watched: Watched) -> Option<String> {
    match console.snapshot(lab).watch(watched) {
        Some(WatchHealth::Lagging { why, .. }) => Some(why.to_string()),
        _ => None,
    }
}

fn step(console: &mut Console, lab: &mut Lab) -> Result<String, String> {
    console.ask(lab, Command::Step(Step::Updated(IntOrPercent::Int(20))))
}

/// One minute: every watch sends a bookmark with the version that it has come to.
fn minute(console: &mut Console, lab: &mut Lab, version: impl Fn(Watched) -> Option<u64>) {
    lab.wait(60);
    for watched in Watched::ALL {
        console.engine.observe(Event::Heard(watched, version(watched)), lab.now);
    }
    console.run(lab);
}

/// Every watch has been listed, at these versions.
fn listed(console: &mut Console, lab: &Lab, version: impl Fn(Watched) -> u64) {
    for watched in Watched::ALL {
        // The list itself names all there is, as is known already.
        console.engine.view.sight.hear(&Event::Listed(watched, Some(version(watched))), lab.now);
    }
}

#[test]
fn a_watch_whose_bookmarks_do_not_advance_stands_still() {
    for (watched, minutes) in [(Watched::Nodes, 11), (Watched::Pods, 22), (Watched::Revisions, 22)] {
        let mut lab = Lab::rolling(4, 1);
        let mut console = driving(&mut lab);
        let stuck = 5_000;
        listed(&mut console, &lab, |_| stuck);
        for passed in 0..=minutes {
            let others = stuck + 10 * passed;
            minute(&mut console, &mut lab, |it| Some(if it == watched { stuck } else { others }));
            assert_eq!(lagging(&mut console, &lab, watched), None, "{watched} after {passed} of {minutes} minutes");
        }
        minute(&mut console, &mut lab, |it| Some(if it == watched { stuck } else { stuck + 1_000 }));
        assert_eq!(lagging(&mut console, &lab, watched).as_deref(), Some(STANDS_STILL), "{watched}");
        let refused = step(&mut console, &mut lab).unwrap_err();
        assert!(refused.contains("does not advance"), "{refused}");
        // It is believed again once it has come on.
        minute(&mut console, &mut lab, |_| Some(stuck + 1_010));
        assert_eq!(lagging(&mut console, &lab, watched), None);
        step(&mut console, &mut lab).unwrap();
    }
}

/// A server that served its cache for minutes sends all that was missed at once, one by one: after a fall of the node comes
/// that it was back, and only then that it fell again.
#[test]
fn nothing_is_replaced_while_a_watch_that_lagged_tells_what_was_missed() {
    let mut lab = Lab::rolling(2, 1);
    let mut console = driving(&mut lab);
    lab.wait(95);
    beat(&mut console, &lab, &all_but(Watched::Nodes));
    assert_eq!(lagging(&mut console, &lab, Watched::Nodes).as_deref(), Some(SILENCE));
    // It is heard again, and shows both nodes Ready, as they were a while ago.
    beat(&mut console, &lab, &[Watched::Nodes]);
    assert_eq!(lagging(&mut console, &lab, Watched::Nodes), None);
    step(&mut console, &mut lab).unwrap();
    assert_eq!(lab.at("hash1"), 2, "the rest of what was missed may still come");
    lab.set_node_ready("n1", false);
    lab.set_node_ready("n2", false);
    console.run_for(&mut lab, 5);
    assert_eq!(lab.at("hash1"), 2, "nothing is replaced on nodes that are down");
    lab.set_node_ready("n1", true);
    console.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash1"), 1);
}

/// What etcd and kubelets give: a quiet kind is told every ten minutes how far it has come, and then not at once.
#[test]
fn a_quiet_watch_that_is_told_how_far_it_has_come_now_and_then_is_believed() {
    let mut lab = Lab::rolling(4, 1);
    let mut console = driving(&mut lab);
    listed(&mut console, &lab, |_| 5_000);
    for passed in 0..120_u64 {
        let quiet = |every: u64| 5_000 + 10 * (passed - passed % every);
        minute(&mut console, &mut lab, |it| match it {
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
        let mut lab = Lab::rolling(4, 1);
        let mut console = driving(&mut lab);
        let version = |it: Watched, passed: u64| match it {
            Watched::Events => 5_000_000 + passed,
            // It may come near in time, and pass by.
            it if it == foreign => counter + 1_000 * passed,
            _ => 30_000 + passed,
        };
        listed(&mut console, &lab, |it| version(it, 0));
        for passed in 0..60 {
            minute(&mut console, &mut lab, |it| Some(version(it, passed)));
            assert_eq!(console.engine.blindness(), None, "{foreign} at {counter}, after {passed} minutes");
        }
    }
}

#[test]
fn silence_makes_a_watch_lag_by_time_alone_and_a_word_heals_it() {
    for watched in Watched::NEEDED {
        let mut lab = Lab::rolling(20, 2);
        let mut console = driving(&mut lab);
        let quiet_since = lab.now;
        lab.wait(89);
        beat(&mut console, &lab, &all_but(watched));
        assert_eq!(console.engine.blindness(), None, "{watched}: a minute and a half is not over");
        console.snapshot(&lab);
        assert_eq!(console.engine.sight_changes_at(), Some(quiet_since + SILENT), "{watched}: time alone brings it");

        lab.wait(1);
        assert_eq!(lagging(&mut console, &lab, watched).as_deref(), Some(SILENCE), "{watched}");
        let refused = step(&mut console, &mut lab).unwrap_err();
        assert!(refused.contains(&format!("{watched} as of 1m ago")), "{refused}");
        assert!(refused.contains("check the way to the API server"), "{refused}");

        beat(&mut console, &lab, &[watched]);
        assert_eq!(lagging(&mut console, &lab, watched), None, "{watched}");
        step(&mut console, &mut lab).unwrap();
    }
}

#[test]
fn a_watch_that_never_beats_is_not_judged_by_its_silence() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    lab.wait(600);
    console.run(&mut lab);
    assert_eq!(console.engine.blindness(), None);
    assert_eq!(console.engine.sight_changes_at(), None, "and nothing is waited for");
}

#[test]
fn pausing_and_standing_down_need_no_fresh_view() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = driving(&mut lab);
    lab.wait(95);
    let now = lab.now;
    let commands = [
        Command::Adopt,
        Command::Resume,
        Command::Undo { to: None },
        Command::Select(None),
        Command::Step(Step::Next),
        Command::Release(crate::engine::command::Early::Accept),
        Command::Tune(crate::engine::tuning::Tuning::default()),
        Command::Drive(crate::engine::command::Takeover::Ask),
    ];
    for command in commands {
        let previewed = console.engine.preview(&command, now).unwrap_err();
        assert!(matches!(previewed, Refusal::Stale(_)), "{command:?}: {previewed:?}");
        let refused = console.engine.command(command.clone(), now).unwrap_err();
        assert!(matches!(refused, Refusal::Stale(_)), "{command:?}: {refused:?}");
    }
    console.engine.preview(&Command::Pause { why: None }, now).unwrap();
    console.ask(&mut lab, Command::Pause { why: None }).unwrap();
    console.ask(&mut lab, Command::StandDown).unwrap();
}

#[test]
fn a_deletion_that_does_not_come_back_blinds_within_ten_seconds() {
    let mut lab = Lab::rolling(20, 4);
    let mut console = driving(&mut lab);
    console.mute(Watched::Pods);
    step_only(&mut console, &mut lab);
    assert_eq!(lab.deleted.len(), 4, "deleted and confirmed, and not seen");
    lab.kubelets();
    lab.wait(9);
    console.run(&mut lab);
    assert_eq!(lagging(&mut console, &lab, Watched::Pods), None);
    assert_eq!(console.engine.sight_changes_at(), Some(lab.now + Duration::from_secs(1)), "time alone brings it");
    lab.wait(1);
    console.run(&mut lab);
    assert_eq!(lagging(&mut console, &lab, Watched::Pods).as_deref(), Some(OWES_DELETION));
    let snapshot = console.snapshot(&lab);
    assert!(matches!(snapshot.alarms.as_slice(), [Alarm::Blind { .. }]), "{:?}", snapshot.alarms);
    let held = snapshot.nodes.iter().filter(|node| node.hold == Some(Hold::Blind)).count();
    assert_eq!(held, 16, "and every node that waits says so");
    assert!(step(&mut console, &mut lab).unwrap_err().contains("pods as of 10s ago"));
    console.unmute(&lab, Watched::Pods);
    console.run(&mut lab);
    assert_eq!(lagging(&mut console, &lab, Watched::Pods), None);
    assert_eq!(lab.deleted.len(), 4, "the rest of what was missed may still come");
    lab.wait(2);
    console.run(&mut lab);
    assert_eq!((lab.deleted.len(), lab.worst_down), (8, 4), "it goes on, within the budget");
}

/// The renewal of the Lease, every few seconds, is the probe of a view on which nothing else happens.
#[test]
fn a_lease_whose_renewals_do_not_come_back_blinds_within_seconds() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = driving(&mut lab);
    console.partition(&mut lab, 18);
    console.run_for(&mut lab, 10);
    assert_eq!(console.engine.blindness(), None);
    console.mute(Watched::Lease);
    let stalled_at = lab.now;
    while lagging(&mut console, &lab, Watched::Lease).is_none() {
        lab.wait(1);
        console.run(&mut lab);
        assert!(lab.now.since(stalled_at) < Duration::from_secs(15), "never noticed");
    }
    assert!(lab.now.since(stalled_at) <= Duration::from_secs(13), "a renewal every 3 s, and 10 s of patience");
    assert!(console.snapshot(&lab).driver.is_you(), "the lease itself is renewed all the same");
    assert!(step(&mut console, &mut lab).unwrap_err().contains("lease as of"));

    console.unmute(&lab, Watched::Lease);
    console.run(&mut lab);
    assert_eq!(lagging(&mut console, &lab, Watched::Lease), None, "it has caught up");
    step(&mut console, &mut lab).unwrap();
    console.run_for(&mut lab, 30);
    assert_eq!(lab.at("hash2"), 20);
}

#[test]
fn an_answer_that_comes_after_its_event_owes_nothing() {
    let mut sight = Sight::default();
    let now = Timestamp::from_millis(0);
    let lease = |version: &str| {
        Event::Lease(Box::new(crate::engine::facts::LeaseFact {
            uid: "lease".into(),
            resource_version: version.into(),
            holder: None,
            duration_secs: 15,
            acquired_at: None,
            renewed_at: None,
            transitions: 0,
            record: Ok(None),
        }))
    };
    let owes = |sight: &Sight| sight.lag(Watched::Lease, None, now + OWED).is_some();
    sight.hear(&lease("105"), now);
    sight.expect(Watched::Lease, &"105".into(), now);
    assert!(!owes(&sight), "the event overtook the answer");
    sight.expect(Watched::Lease, &"104".into(), now);
    assert!(!owes(&sight), "a later one was shown");
    sight.expect(Watched::Lease, &"106".into(), now);
    sight.expect(Watched::Lease, &"109".into(), now);
    assert!(owes(&sight));
    sight.hear(&lease("107"), now);
    assert!(owes(&sight), "109 is still owed");
    sight.hear(&lease("110"), now);
    assert!(!owes(&sight));
    sight.expect(Watched::Lease, &"opaque".into(), now);
    assert!(!owes(&sight), "what cannot be compared is not waited for");
}

#[test]
fn a_watch_that_was_taken_up_again_is_believed_when_it_has_caught_up() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = driving(&mut lab);
    console.partition(&mut lab, 18);
    console.mute(Watched::Lease);
    let down = WatchHealth::Down { since: lab.now, why: "gone".into() };
    console.engine.observe(Event::Watch(Watched::Lease, down), lab.now);
    for _ in 0..20 {
        lab.wait(1);
        console.run(&mut lab);
    }
    console.engine.observe(Event::Watch(Watched::Lease, WatchHealth::Live), lab.now);
    assert_eq!(lagging(&mut console, &lab, Watched::Lease).as_deref(), Some(OWES_WRITE));
    console.unmute(&lab, Watched::Lease);
    assert_eq!(lagging(&mut console, &lab, Watched::Lease), None);
}

#[test]
fn what_an_answer_told_is_no_proof_of_a_watch() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = driving(&mut lab);
    console.mute(Watched::Pods);
    step_only(&mut console, &mut lab);
    let terminating: Vec<Event> = lab
        .pods
        .values()
        .filter(|pod| pod.deletion_at.is_some())
        .map(|pod| Event::Pod(Box::new(pod.clone())))
        .collect();
    assert_eq!(terminating.len(), 2);
    for event in terminating.clone() {
        console.engine.learn(event, lab.now);
    }
    lab.wait(10);
    assert_eq!(lagging(&mut console, &lab, Watched::Pods).as_deref(), Some(OWES_DELETION));
    for event in terminating {
        console.engine.observe(event, lab.now);
    }
    assert_eq!(lagging(&mut console, &lab, Watched::Pods), None);
}

fn step_only(console: &mut Console, lab: &mut Lab) {
    console.ask(lab, Command::Step(Step::Updated(IntOrPercent::Int(20)))).unwrap();
    console.run(lab);
}

/// A lost answer is forgotten when the pod is still there a good while later: not by a watch that stands still.
#[test]
fn a_lost_answer_is_not_forgotten_on_a_silent_watch() {
    let mut lab = Lab::rolling(20, 1);
    let mut console = driving(&mut lab);
    console.mute(Watched::Pods);
    console.lose_answers = true;
    step_only(&mut console, &mut lab);
    assert_eq!(lab.deleted.len(), 1, "it was done, and nobody told us");
    console.lose_answers = false;
    for _ in 0..60 {
        lab.wait(1);
        beat(&mut console, &lab, &all_but(Watched::Pods));
        console.run(&mut lab);
    }
    assert_eq!(lab.deleted.len(), 1, "the watch has not said a word since");
    console.unmute(&lab, Watched::Pods);
    lab.kubelets();
    console.run(&mut lab);
    assert_eq!(lab.worst_down, 1);
}

#[test]
fn a_listing_settles_what_was_deleted() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = driving(&mut lab);
    console.mute(Watched::Pods);
    step_only(&mut console, &mut lab);
    assert_eq!(console.engine.deletions.len(), 2);
    lab.kubelets();
    console.engine.observe(Event::Listing(Watched::Pods), lab.now);
    for pod in lab.pods.values() {
        console.engine.observe(Event::Pod(Box::new(pod.clone())), lab.now);
    }
    console.engine.observe(Event::Listed(Watched::Pods, None), lab.now);
    assert!(console.engine.deletions.is_empty(), "those pods are gone: the listing does not name them");
}

#[test]
fn a_heartbeat_makes_no_new_snapshot_and_no_work() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = driving(&mut lab);
    let before = console.snapshot(&lab);
    assert!(!console.engine.dirty);
    lab.wait(14);
    beat(&mut console, &lab, &Watched::ALL);
    assert!(!console.engine.dirty, "nothing has to be assessed again");
    assert!(before.shows_the_same_as(&console.engine.snapshot(lab.now)));
    lab.wait(1);
    beat(&mut console, &lab, &[Watched::Pods]);
    let after = console.engine.snapshot(lab.now);
    assert!(!before.shows_the_same_as(&after), "a quarter of a minute is worth saying");
    let heard = |watched| after.watches.iter().find(|view| view.watched == watched).and_then(|view| view.heard_at);
    assert_eq!(heard(Watched::Pods), Some(lab.now));
}
