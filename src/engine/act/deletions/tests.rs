//! Rollouts from far away, and rollouts of many nodes at once.

use std::time::Duration;

use crate::engine::fake_cluster::far::Far;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Step};
use crate::engine::model::config::{RateLimit, Role};
use crate::engine::model::effect::{Effect, EffectError, EffectErrorKind};
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Budgets, Tuning};
use crate::engine::model::time::Timestamp;
use crate::engine::model::wait::Wait;
use crate::engine::report::snapshot::Alarm;
use crate::engine::rules::distance::{FARTHEST, MOST_PROOF, SENDING};

const MINUTE: Duration = Duration::from_secs(60);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn all() -> Command {
    Command::Step(Step::Updated(IntOrPercent::Percent(100)))
}

/// A console whose rollout to v2 is prepared, and that is asked for all nodes: from then on it is so far away.
fn far<D: FnMut(Timestamp) -> Duration>(fake: &mut FakeCluster, one_way: D) -> Far<D> {
    let mut console = FakeConsole::open_at(fake, "ops", Role::Driver, RateLimit::default());
    console.set_image(fake, "agent:v2");
    console.hear(fake);
    console.engine.command(all(), fake.now).unwrap();
    Far::new(console, one_way)
}

#[test]
fn a_rollout_goes_through_from_two_seconds_away() {
    for round_trip in [10, 600, 1_000, 2_000] {
        let mut fake = FakeCluster::rolling(20, 2);
        let began = fake.now;
        let mut console = far(&mut fake, |_| millis(round_trip / 2));
        let mut done_at = None;
        console.run_for(&mut fake, 10 * MINUTE, |_, fake| {
            if fake.at("hash2") == 20 && done_at.is_none() {
                done_at = Some(fake.now);
            }
        });
        let done_at = done_at.unwrap_or_else(|| panic!("{round_trip} ms: {} of 20 in 10 minutes", fake.at("hash2")));
        println!("round trip {round_trip:>5} ms: 20 of 20 after {:?}", done_at.since(began));
        assert!(fake.worst_down <= 2, "{round_trip} ms: {} down", fake.worst_down);
        assert_eq!(fake.daemonset.strategy.raw["type"], "RollingUpdate", "{round_trip} ms: it is handed back");
    }
}

/// Pulls fill the line: for a quarter of a minute at a time, answers take 1.8 s, and now and then a packet is lost on top.
#[test]
fn a_line_that_fills_up_slows_down_and_stops_nothing() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut messages = 0_u64;
    let mut console = far(&mut fake, |now| {
        messages += 1;
        let stall = if messages.is_multiple_of(11) { 900 } else { 0 };
        let congested = now.secs() % 30 < 15;
        millis(if congested { 900 + stall } else { 50 + stall / 2 })
    });
    console.run_for(&mut fake, 10 * MINUTE, |_, _| {});
    assert_eq!(fake.at("hash2"), 20);
    assert!(fake.worst_down <= 2, "{}", fake.worst_down);
}

#[test]
fn from_too_far_away_nothing_is_started_and_it_is_said_why() {
    let mut fake = FakeCluster::rolling(5, 1);
    let one_way = std::cell::Cell::new(1_300);
    let mut console = far(&mut fake, |_| millis(one_way.get()));
    console.run_for(&mut fake, MINUTE, |_, _| {});
    assert_eq!(fake.deleted.len(), 0);
    let snapshot = console.console.engine.snapshot(fake.now);
    assert_eq!(snapshot.distance.round_trip, Some(millis(2_600)));
    let [Alarm::ApiLatencyTooHigh { .. }] = snapshot.alarms.as_slice() else { panic!("{:?}", snapshot.alarms) };
    let said = snapshot.alarms[0].to_string();
    assert!(said.contains("answers in 2.6 s") && said.contains("control-plane host"), "{said}");
    let holds: Vec<String> = snapshot.nodes.iter().filter_map(|node| Some(node.hold.as_ref()?.to_string())).collect();
    assert_eq!(holds, vec!["too far: API answers in 2.6 s"; 5]);
    // It comes nearer, and goes on by itself.
    one_way.set(5);
    console.run_for(&mut fake, MINUTE, |_, _| {});
    assert_eq!(fake.at("hash2"), 5);
}

/// Somebody near by pauses while deletions are on their way: none arrives later than was shown to be possible.
#[test]
fn a_pause_from_elsewhere_takes_effect_within_what_is_shown() {
    for (round_trip, after) in (0..60).map(|nth| ([10, 600, 2_000, 1_000][nth % 4], 200 + 130 * nth as u64)) {
        let mut fake = FakeCluster::rolling(40, 20);
        let mut console = far(&mut fake, |_| millis(round_trip / 2));
        let paused_at = fake.now + millis(2_000 + after);
        let (mut shown, mut asked) = (None, false);
        console.run_for(&mut fake, MINUTE, |far, fake| {
            if fake.now >= paused_at && !asked {
                asked = true;
                let distance = far.console.engine.snapshot(fake.now).distance;
                shown = distance.pause_within;
                let mut other = FakeConsole::open(fake, "eve");
                other.ask(fake, Command::Pause { why: None }).unwrap();
            }
        });
        let Some(within) = shown else { continue };
        let late = console.arrived.iter().filter(|at| **at > paused_at + within).count();
        assert_eq!(late, 0, "{round_trip} ms, paused after {after}: {within:?}, {:?}", console.arrived);
        assert!(within <= MOST_PROOF + SENDING + FARTHEST);
    }
}

/// Images take 20 s, so that none of the first is back while the last of them go.
#[test]
fn a_large_budget_takes_seconds() {
    for round_trip in [10, 1_000, 2_000] {
        let mut fake = FakeCluster::rolling(400, 150);
        fake.slow = true;
        let began = fake.now;
        let mut console = far(&mut fake, |_| millis(round_trip / 2));
        let mut reached = Vec::new();
        console.run_for(&mut fake, millis(30_000), |far, fake| {
            let sent = far.arrived.iter().filter(|at| **at <= fake.now).count();
            for mark in [40, 100, 150] {
                if sent >= mark && !reached.iter().any(|(known, _)| *known == mark) {
                    reached.push((mark, fake.now.since(began)));
                }
            }
        });
        println!("round trip {round_trip:>5} ms, budget 150: {reached:?}");
        assert_eq!(fake.deleted.len(), 150);
        let (_, took) = reached.iter().find(|(mark, _)| *mark == 150).unwrap();
        assert!(*took < Duration::from_secs(15), "{took:?}");
    }
}

#[test]
fn what_waits_for_the_rate_says_so_and_until_when() {
    let mut fake = FakeCluster::rolling(200, 150);
    fake.slow = true;
    let mut console = far(&mut fake, |_| millis(5));
    let mut seen = Vec::new();
    console.run_for(&mut fake, millis(3_000), |far, fake| {
        let snapshot = far.console.engine.snapshot(fake.now);
        let waits = |hold: &Hold| matches!(hold, Hold::Waits(Wait::Rate { .. }));
        let rows = snapshot.nodes.iter().filter(|node| node.hold.as_ref().is_some_and(waits)).count();
        if let Some(Wait::Rate { waiting, until, .. }) = snapshot.waits {
            assert!(rows >= waiting as usize, "{rows} of {waiting}");
            seen.push((waiting, until.since(fake.now)));
        }
    });
    assert!(seen.iter().any(|(waiting, left)| *waiting == 110 && left.as_millis().abs_diff(5_500) < 300), "{seen:?}");
    let snapshot = console.console.engine.snapshot(fake.now);
    let node = snapshot.nodes.iter().find(|node| node.state == NodeState::Outdated).unwrap();
    assert_eq!(node.hold.as_ref().unwrap().to_string(), "next; rate: 20 deletions/s");
}

/// A deletion that came too late to be sent waits for the next proof, and for nothing else.
#[test]
fn what_was_too_late_goes_with_the_next_proof() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.hear(&fake);
    console.engine.command(all(), fake.now).unwrap();
    for _ in 0..10 {
        for (id, effect) in console.engine.decide(fake.now) {
            let outcome = if matches!(effect, Effect::DeletePod { .. }) {
                fake.now = fake.now + millis(1_600);
                Err(EffectError { kind: EffectErrorKind::TooLate, message: "too late".into(), dry_run: false })
            } else {
                fake.apply(effect)
            };
            let late = outcome.is_err();
            console.engine.outcome(id, outcome, fake.now);
            if late {
                console.run(&mut fake);
                assert_eq!(fake.deleted.len(), 1, "at once");
                return;
            }
        }
        console.hear(&fake);
    }
    panic!("nothing was deleted");
}

/// Every answer to a renewal is lost: rows say what they wait for before ten seconds are over.
#[test]
fn rows_that_are_next_and_do_not_go_say_what_they_wait_for() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.hear(&fake);
    console.engine.command(all(), fake.now).unwrap();
    console.run(&mut fake);
    fake.kubelets();
    let mut said = Vec::new();
    for _ in 0..12 {
        // Nothing that is sent is answered.
        let _sent = console.engine.decide(fake.now);
        fake.wait(1);
        console.hear(&fake);
        let (state, why) = console.state(&fake, "n2");
        said.push((state, why));
    }
    assert!(said.iter().any(|(_, why)| why == "next; the lease is renewed first"), "{said:?}");
    assert!(said.iter().any(|(_, why)| why == "next; the lease is not renewed"), "{said:?}");
}

/// The deletion is carried out, its answer is lost, and its watch stands still.
#[test]
fn a_deletion_without_an_answer_says_so_on_its_row() {
    let mut fake = FakeCluster::rolling(5, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.lose_answers = true;
    console.mute(crate::engine::model::event::Watched::Pods);
    console.ask(&mut fake, Command::Tune(Tuning::from(Budgets::default()))).ok();
    console.ask(&mut fake, all()).unwrap();
    assert_eq!(fake.deleted.len(), 1);
    fake.wait(3);
    let (state, why) = console.state(&fake, "n1");
    assert_eq!((state, why.as_str()), (NodeState::Terminating, "the answer to its deletion was lost"));
}

/// A deletion that was decided on the way back never arrived, and the same bad image is set again: what fails there counts, while the deletion may still
/// arrive.
#[test]
fn a_pod_of_the_target_whose_deletion_may_never_arrive_holds_the_rollout_when_it_crashes() {
    let mut fake = FakeCluster::rolling(5, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 5);
    assert_eq!(fake.deleted.len(), 1);
    let uid = fake.pods.values().find(|pod| pod.revision.as_deref() == Some("hash2")).unwrap().uid.clone();
    console.engine.deletions.unknown(&uid, fake.now);
    for _ in 0..2 {
        fake.crash("n1");
        console.run_for(&mut fake, 2);
        fake.restart("n1");
        console.run_for(&mut fake, 2);
        assert_eq!(console.state(&fake, "n1").0, NodeState::Terminating, "it may be gone in a moment");
    }
    fake.crash("n1");
    console.ask(&mut fake, all()).unwrap();
    console.run_for(&mut fake, 10);
    assert_eq!(fake.deleted.len(), 1, "no serving pod goes while the target crashes: {:?}", console.state(&fake, "n2"));
}
