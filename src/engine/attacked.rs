//! What the attack found, in a test tube: each once broke a promise.

use std::time::Duration;

use serde_json::json;

use super::Role;
use super::command::{Command, CommandId, Step};
use super::effect::{DaemonSetPatch, Effect, EffectError, EffectErrorKind};
use super::event::{Event, WatchHealth, Watched};
use super::facts::{ConditionStatus, LeaseFact, NodeFact};
use super::lab::{Console, Lab};
use super::quantity::IntOrPercent;
use super::record::{OnFailure, Record};
use super::snapshot::{Blame, DriverView, NodeState};
use super::tuning::{Limit, Tuning};

/// A listing from a cache that is behind, after a watch was lost.
#[test]
fn a_listing_that_is_behind_does_not_take_away_what_is_newer() {
    let lab = Lab::rolling(2, 1);
    let mut console = Console::open(&lab, "ops");
    let newer = lab.pods.values().max_by_key(|pod| pod.resource_version.parse::<u64>().unwrap()).unwrap();
    let version: u64 = newer.resource_version.parse().unwrap();
    let list = |console: &mut Console, version| {
        console.engine.observe(Event::Listing(Watched::Pods), lab.now);
        console.engine.observe(Event::Listed(Watched::Pods, version), lab.now);
    };
    let shown = |console: &mut Console| {
        let snapshot = console.snapshot(&lab);
        snapshot.nodes.iter().find(|node| Some(&node.name) == newer.node.as_ref()).and_then(|node| node.pod.clone())
    };
    list(&mut console, Some(version - 1));
    assert_eq!(shown(&mut console), Some(newer.name.clone()), "its watch would have told that it is gone");
    // One that is not behind is believed, and so is one that says nothing of its age; but not for ever.
    for version in [Some(version), None] {
        list(&mut console, version);
        assert_eq!(shown(&mut console), None);
        console.engine.observe(Event::Pod(Box::new(newer.clone())), lab.now);
        assert_eq!(shown(&mut console), Some(newer.name.clone()), "it was there all the time");
    }
}

/// The same of nodes: one that is NotReady must not look Ready again because a list is old.
#[test]
fn a_node_does_not_go_back_to_what_it_was() {
    let lab = Lab::rolling(2, 1);
    let mut console = Console::open(&lab, "ops");
    let node = |version: u64, ready| NodeFact { version: Some(version), ready, ..lab.nodes["n1"].clone() };
    let shown = |console: &mut Console| {
        let snapshot = console.snapshot(&lab);
        snapshot.nodes.iter().find(|node| &*node.name == "n1").map(|node| node.state)
    };
    let tell = |console: &mut Console, event| console.engine.observe(event, lab.now);
    let list = |console: &mut Console, nodes: &[NodeFact], version| {
        tell(console, Event::Listing(Watched::Nodes));
        nodes.iter().for_each(|node| tell(console, Event::Node(Box::new(node.clone()))));
        tell(console, Event::Listed(Watched::Nodes, Some(version)));
    };
    tell(&mut console, Event::Node(Box::new(node(80, ConditionStatus::False))));
    list(&mut console, &[node(70, ConditionStatus::True)], 75);
    assert_eq!(shown(&mut console), Some(NodeState::NodeDown), "it is not what it was at 70");
    list(&mut console, &[], 69);
    assert_eq!(shown(&mut console), Some(NodeState::NodeDown), "at 69 it may not have been there yet");
    tell(&mut console, Event::NodeGone("n1".into()));
    list(&mut console, &[node(80, ConditionStatus::False)], 81);
    assert_eq!(shown(&mut console), Some(NodeState::Ineligible), "it is gone since");
    list(&mut console, &[node(90, ConditionStatus::True)], 91);
    assert_ne!(shown(&mut console), Some(NodeState::Ineligible), "one of that name is back");
}

/// Somebody deletes the lease, and the answer to a renewal comes later than the news of that.
#[test]
fn a_lease_that_is_gone_is_not_brought_back_by_a_late_answer() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    lab.wait(4);
    let (id, renewal) = console.engine.decide(lab.now).pop().unwrap();
    assert!(matches!(renewal, Effect::WriteLease { .. }));
    let answer = lab.apply(renewal);
    console.hear(&lab);
    lab.lease = None;
    console.engine.observe(Event::LeaseGone, lab.now);
    console.engine.outcome(id, answer, lab.now);
    console.run_for(&mut lab, 10);
    let driver = console.snapshot(&lab).driver;
    assert!(!matches!(driver, DriverView::You { .. }), "there is nothing that it could drive by: {driver:?}");
    console.set_image(&mut lab, "agent:v3");
    assert!(lab.lease.is_some(), "what is asked then begins anew");
}

/// A rollout whose record is gone left its annotation behind; somebody has changed the strategy since.
#[test]
fn what_was_left_behind_is_not_taken_for_the_original() {
    let rolling = |count: u32| json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": count}});
    let mut lab = Lab::rolling(3, 1);
    lab.set_original(Some(rolling(1).to_string()));
    lab.set_strategy(rolling(3));
    let mut console = Console::open(&lab, "ops");
    console.ask(&mut lab, Command::Adopt).unwrap();
    console.run_for(&mut lab, 3);
    console.ask(&mut lab, Command::Release(super::command::Early::Accept)).unwrap();
    assert_eq!(lab.daemonset.strategy.raw, rolling(3));
}

/// The same, and all that is wanted is to be rid of it.
#[test]
fn what_was_left_behind_can_be_cleared_away() {
    let mut lab = Lab::rolling(3, 1);
    let now = lab.daemonset.strategy.raw.clone();
    lab.set_original(Some(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}).to_string()));
    lab.set_strategy(now.clone());
    let mut console = Console::open(&lab, "ops");
    console.ask(&mut lab, Command::Release(super::command::Early::Accept)).unwrap();
    assert_eq!(lab.daemonset.strategy.raw, now, "whoever set it is to have it as they set it");
    assert!(lab.daemonset.annotations.is_empty(), "{:?}", lab.daemonset.annotations);
}

/// A process that stood still between its decision and the write, while somebody paused.
#[test]
fn a_deletion_is_good_for_no_longer_than_the_proof_behind_it() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.hear(&lab);
    console.engine.command(Command::Step(super::command::Step::Updated(IntOrPercent::Percent(100))), lab.now).unwrap();
    for _ in 0..5 {
        for (id, effect) in console.engine.decide(lab.now) {
            if let Effect::DeletePod { not_after, .. } = &effect {
                assert!(*not_after <= lab.now + Duration::from_secs(1), "{not_after:?}");
                return;
            }
            let outcome = lab.apply(effect);
            console.engine.outcome(id, outcome, lab.now);
        }
        console.hear(&lab);
    }
    panic!("nothing was deleted");
}

/// Under `strict` a pod that was down before uses up the whole budget.
#[test]
fn what_is_down_by_itself_is_replaced_first_where_it_leaves_no_room_for_others() {
    let mut lab = Lab::rolling(3, 1);
    lab.set_ready("n2", false);
    let mut console = Console::open(&lab, "ops");
    let tuning =
        Tuning { strict: Some(true), max_unavailable: Some(Limit::At(IntOrPercent::Int(1))), ..Tuning::default() };
    console.ask(&mut lab, Command::Tune(tuning)).unwrap();
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 60);
    assert_eq!(lab.deleted.first().map(|node| &**node), Some("n2"));
    assert_eq!(lab.at("hash2"), 3);
}

/// A patch of the DaemonSet that is about the strategy alone.
#[test]
fn a_release_leaves_alone_what_somebody_set_back_meanwhile() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.run_for(&mut lab, 3);
    lab.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}));
    lab.reconcile();
    console.run_for(&mut lab, 2);
    console.engine.command(Command::Release(super::command::Early::Accept), lab.now).unwrap();
    let mut released = None;
    for _ in 0..10 {
        console.hear(&lab);
        for (id, effect) in console.engine.decide(lab.now) {
            if let Effect::PatchDaemonSet { patch: DaemonSetPatch::Release { original }, .. } = &effect {
                released = Some(original.clone());
            }
            let outcome = lab.apply(effect);
            console.engine.outcome(id, outcome, lab.now);
        }
        lab.wait(1);
    }
    assert_eq!(released, Some(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}})));
    assert!(lab.nodes.values().all(|node| node.ready == ConditionStatus::True));
}

/// Somebody pauses what is adopted, and somebody else sets the strategy back before that is written down.
#[test]
fn a_pause_on_its_way_stops_the_controller_that_was_let_loose_meanwhile() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.run_for(&mut lab, 3);
    let id = console.engine.command(Command::Pause { why: None }, lab.now).unwrap();
    lab.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}));
    console.run_for(&mut lab, 5);
    assert!(console.settled.iter().any(|(settled, result)| *settled == id && result.is_ok()));
    assert_eq!(lab.daemonset.strategy.raw["type"], "OnDelete");
}

/// A driver takes what was down before the rollout and is killed right after: the next one counts it as its doing.
#[test]
fn what_was_down_before_and_is_taken_is_our_doing_for_the_next_driver_too() {
    let mut lab = Lab::rolling(1, 1);
    lab.set_ready("n1", false);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    ops.hear(&lab);
    ops.engine.command(Command::Step(Step::Partition(IntOrPercent::Int(0))), lab.now).unwrap();
    for _ in 0..1000 {
        // Killed in the very moment in which the deletion has arrived.
        let effects = ops.engine.decide(lab.now);
        for (id, effect) in effects {
            let outcome = lab.apply(effect);
            ops.engine.outcome(id, outcome, lab.now);
        }
        if !lab.deleted.is_empty() {
            break;
        }
        lab.reconcile();
        ops.hear(&lab);
    }
    assert_eq!(lab.deleted, ["n1".into()]);
    lab.slow = true;
    lab.wait(60);
    lab.reconcile();
    let mut next = Console::open(&lab, "eve");
    let snapshot = next.snapshot(&lab);
    let row = snapshot.nodes.iter().find(|row| &*row.name == "n1").unwrap();
    assert_eq!(row.blame, Some(Blame::Rollout), "{row:?}");
    assert!(record(&lab).progress.down_before.is_empty());
}

/// Rolled back, and given another image before what was taken down has recovered.
#[test]
fn what_was_taken_down_counts_under_the_next_target_too() {
    let mut lab = Lab::rolling(4, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 2);
    console.run_for(&mut lab, 5);
    lab.slow = true;
    console.ask(&mut lab, Command::Undo { to: None }).unwrap();
    console.run_for(&mut lab, 5);
    assert_eq!((lab.at("hash1"), lab.down()), (4, 2), "back at the old revision, and not ready yet");
    let deleted = lab.deleted.len();
    console.set_image(&mut lab, "agent:v3");
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 5);
    let more: Vec<_> = lab.deleted[deleted..].to_vec();
    assert!(more.iter().all(|node| **node == *"n1" || **node == *"n2"), "others still serve: {more:?}");
    assert_eq!(lab.down(), 2);
}

/// The strategy was set back, and then somebody sets `OnDelete` by hand: there is nobody left to fight.
#[test]
fn on_delete_that_was_set_by_hand_is_adopted() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 0);
    lab.set_original(None);
    lab.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}));
    console.run(&mut lab);
    lab.set_strategy(json!({"type": "OnDelete"}));
    console.run_for(&mut lab, 2);
    console.ask(&mut lab, Command::Resume).unwrap();
    console.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash2"), 3);
}

fn record(lab: &Lab) -> Record {
    lab.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()).unwrap()
}

/// A driver that is about to go back by itself stands still, and somebody pauses meanwhile.
#[test]
fn what_a_driver_does_by_itself_does_not_undo_what_somebody_asked_meanwhile() {
    let mut lab = Lab::rolling(3, 1);
    let mut ops = Console::open(&lab, "ops");
    let tuning = Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() };
    ops.ask(&mut lab, Command::Tune(tuning)).unwrap();
    lab.broken.push("agent:v2".into());
    ops.set_image(&mut lab, "agent:v2");
    ops.partition(&mut lab, 0);
    let mut halted = false;
    let until = lab.now + Duration::from_secs(600);
    while !halted && lab.now < until {
        // Decided, and not sent: from then on it stands still.
        let effects = ops.engine.decide(lab.now);
        halted = ops.engine.progress.halt.is_some();
        let at_rest = effects.is_empty();
        for (id, effect) in effects.into_iter().filter(|_| !halted) {
            let outcome = lab.apply(effect);
            ops.engine.outcome(id, outcome, lab.now);
        }
        lab.reconcile();
        if at_rest {
            lab.wait(1);
            lab.kubelets();
        }
        ops.hear(&lab);
    }
    assert!(halted, "the image is broken");
    let mut eve = Console::open_as(&lab, "eve", Role::Errand);
    eve.ask(&mut lab, Command::Pause { why: Some("let me look".into()) }).unwrap();
    lab.wait(3);
    ops.run_for(&mut lab, 30);
    let paused = record(&lab).intent.paused;
    assert_eq!(paused.and_then(|paused| paused.why).as_deref(), Some("let me look"));
    assert_eq!(lab.daemonset.template.images(), ["agent:v2".into()], "going back waits for whoever goes on");
}

/// The template is seen before the answer to its patch, and another image is asked for before that comes.
#[test]
fn a_late_answer_is_not_taken_for_that_of_the_next_change() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.ask(&mut lab, Command::Adopt).unwrap();
    let ask = |console: &mut Console, lab: &Lab, image: &str| {
        let images = [("agent".to_owned(), image.parse().unwrap())].into();
        console.engine.command(Command::SetImage(images), lab.now).unwrap();
    };
    ask(&mut console, &lab, "agent:v2");
    let mut late = None;
    for _ in 0..6 {
        for (id, effect) in console.engine.decide(lab.now) {
            let is_template = matches!(&effect, Effect::PatchDaemonSet { patch: DaemonSetPatch::Template(_), .. });
            let outcome = lab.apply(effect);
            if is_template {
                late = Some((id, outcome));
            } else {
                console.engine.outcome(id, outcome, lab.now);
            }
        }
        lab.reconcile();
        console.hear(&lab);
    }
    ask(&mut console, &lab, "agent:v3");
    let (id, outcome) = late.unwrap();
    console.engine.outcome(id, outcome, lab.now);
    console.run_for(&mut lab, 3);
    assert_eq!(record(&lab).intent.paused, None);
    assert_eq!(lab.daemonset.template.images(), ["agent:v3".into()]);
}

/// Somebody sets the strategy back to something else, and somebody pauses from the command line.
#[test]
fn whoever_brakes_keeps_the_first_original() {
    let rolling = |count: u32| json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": count}});
    let mut lab = Lab::rolling(3, 1);
    let original = lab.daemonset.strategy.raw.clone();
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    ops.run_for(&mut lab, 3);
    lab.set_strategy(rolling(3));
    ops.run_for(&mut lab, 2);
    let mut eve = Console::open_as(&lab, "eve", Role::Errand);
    eve.ask(&mut lab, Command::Pause { why: None }).unwrap();
    assert_eq!(lab.daemonset.strategy.raw["type"], "OnDelete");
    ops.run_for(&mut lab, 2);
    ops.ask(&mut lab, Command::Release(super::command::Early::Accept)).unwrap();
    assert_eq!(lab.daemonset.strategy.raw, original);
}

/// The watch of the DaemonSet is broken, and it is handed back to its controller meanwhile.
#[test]
fn a_pause_brakes_what_it_cannot_see() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.run_for(&mut lab, 2);
    console.mute(Watched::DaemonSet);
    let down = WatchHealth::Down { since: lab.now, why: "the connection was reset".into() };
    console.engine.observe(Event::Watch(Watched::DaemonSet, down), lab.now);
    lab.set_original(None);
    lab.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}));
    let preview = console.engine.preview(&Command::Pause { why: None }, lab.now).unwrap();
    assert!(preview.effects.iter().any(|line| line.contains("cannot be seen")), "{:?}", preview.effects);
    let id = console.engine.command(Command::Pause { why: None }, lab.now).unwrap();
    console.run(&mut lab);
    assert!(console.settled.iter().all(|(settled, _)| *settled != id), "as far as it can see it is adopted");
    // The conflict has the driver read it again.
    console.engine.learn(Event::DaemonSet(Box::new(lab.daemonset.clone())), lab.now);
    console.run(&mut lab);
    assert_eq!(lab.daemonset.strategy.raw["type"], "OnDelete");
    assert!(console.settled.iter().any(|(settled, result)| *settled == id && result.is_ok()));
}

/// A pause, while the DaemonSet is about to be handed back.
#[test]
fn a_pause_calls_off_a_release() {
    let mut lab = Lab::rolling(3, 1);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    let release = ops.engine.command(Command::Release(super::command::Early::Accept), lab.now).unwrap();
    let (id, effect) = ops.engine.decide(lab.now).pop().unwrap();
    assert!(matches!(effect, Effect::WriteLease { .. }));
    let answer = lab.apply(effect);
    // It stands still with that, and somebody pauses.
    let mut eve = Console::open_as(&lab, "eve", Role::Errand);
    let said = eve.ask(&mut lab, Command::Pause { why: None }).unwrap();
    assert!(said.ends_with("its release is called off"), "{said}");
    ops.engine.outcome(id, answer, lab.now);
    ops.run_for(&mut lab, 5);
    assert!(record(&lab).intent.paused.is_some());
    assert_eq!(lab.daemonset.strategy.raw["type"], "OnDelete");
    let told = ops.settled.iter().find(|(settled, _)| *settled == release).map(|(_, result)| result.clone());
    assert!(told.unwrap().unwrap_err().contains("called off"));
}

/// A renewal that is due meets a conflict whose cause was seen before the answer came.
#[test]
fn nothing_sleeps_over_a_conflict() {
    let mut lab = Lab::rolling(3, 1);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    lab.wait(4);
    let (id, renewal) = ops.engine.decide(lab.now).pop().unwrap();
    let mut eve = Console::open_as(&lab, "eve", Role::Errand);
    eve.ask(&mut lab, Command::Tune(Tuning { strict: Some(true), ..Tuning::default() })).unwrap();
    let answer = lab.apply(renewal);
    assert!(answer.is_err(), "somebody wrote in between");
    ops.hear(&lab);
    ops.engine.outcome(id, answer, lab.now);
    assert!(!ops.engine.decide(lab.now).is_empty(), "there is nothing to wait for");
}

/// The same, and what it met is never seen.
#[test]
fn a_conflict_that_is_never_seen_is_not_waited_for_for_ever() {
    let mut lab = Lab::rolling(3, 1);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    lab.wait(4);
    ops.mute(Watched::Lease);
    let (id, renewal) = ops.engine.decide(lab.now).pop().unwrap();
    let mut eve = Console::open_as(&lab, "eve", Role::Errand);
    eve.ask(&mut lab, Command::Tune(Tuning { strict: Some(true), ..Tuning::default() })).unwrap();
    let answer = lab.apply(renewal);
    ops.engine.outcome(id, answer, lab.now);
    assert!(ops.engine.decide(lab.now).is_empty(), "its watch may tell in a moment");
    let wake = ops.engine.wake_at().unwrap();
    assert!(wake <= lab.now + Duration::from_secs(2), "a renewal is overdue: {wake:?} at {:?}", lab.now);
}

/// A watch that was down is open again, and what it missed is still on its way.
#[test]
fn a_watch_that_has_just_come_back_may_have_more_to_tell() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.run_for(&mut lab, 2);
    console.mute(Watched::DaemonSet);
    let tell =
        |console: &mut Console, health, now| console.engine.observe(Event::Watch(Watched::DaemonSet, health), now);
    tell(&mut console, WatchHealth::Down { since: lab.now, why: "the connection was reset".into() }, lab.now);
    lab.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}));
    lab.wait(5);
    tell(&mut console, WatchHealth::Live, lab.now);
    let id = console.engine.command(Command::Pause { why: None }, lab.now).unwrap();
    console.run(&mut lab);
    assert!(console.settled.iter().all(|(settled, _)| *settled != id), "it cannot know yet");
    console.unmute(&lab, Watched::DaemonSet);
    console.run(&mut lab);
    assert_eq!(lab.daemonset.strategy.raw["type"], "OnDelete");
    assert!(console.settled.iter().any(|(settled, result)| *settled == id && result.is_ok()));
}

/// The same with a node that fell NotReady meanwhile.
#[test]
fn nothing_is_replaced_on_what_a_watch_shows_that_has_just_come_back() {
    let mut lab = Lab::rolling(1, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.mute(Watched::Nodes);
    let tell = |console: &mut Console, health, now| console.engine.observe(Event::Watch(Watched::Nodes, health), now);
    tell(&mut console, WatchHealth::Down { since: lab.now, why: "the connection was reset".into() }, lab.now);
    let mut other = Console::open(&lab, "eve");
    other.partition(&mut lab, 0);
    lab.set_node_ready("n1", false);
    console.run_for(&mut lab, 5);
    tell(&mut console, WatchHealth::Live, lab.now);
    console.run(&mut lab);
    assert!(lab.deleted.is_empty(), "the node is NotReady, and it cannot know yet");
    let wake = console.engine.wake_at().unwrap();
    assert!(wake <= lab.now + Duration::from_secs(2), "by then it has heard: {wake:?} at {:?}", lab.now);
    console.unmute(&lab, Watched::Nodes);
    console.run_for(&mut lab, 5);
    assert!(lab.deleted.is_empty());
    lab.set_node_ready("n1", true);
    console.run_for(&mut lab, 5);
    assert_eq!(lab.deleted, ["n1".into()]);
}

/// Somebody deploys the old image in the middle, and the rollout goes on to that.
#[test]
fn a_node_that_goes_down_after_its_update_is_suspect_whatever_the_target_is() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 1);
    console.run_for(&mut lab, 20);
    assert_eq!(lab.at("hash2"), 2);
    console.set_image(&mut lab, "agent:v1");
    console.partition(&mut lab, 1);
    console.run_for(&mut lab, 20);
    assert_eq!((lab.at("hash1"), lab.deleted.len()), (2, 3), "one went back, one never left");
    let updated = lab.deleted.last().unwrap().clone();
    lab.set_node_ready(&updated, false);
    console.run_for(&mut lab, 2);
    let blame = |console: &mut Console, lab: &Lab, name: &str| {
        let snapshot = console.snapshot(lab);
        snapshot.nodes.iter().find(|node| &*node.name == name).and_then(|node| node.blame)
    };
    assert_eq!(blame(&mut console, &lab, &updated), Some(Blame::Suspect));
    assert!(console.snapshot(&lab).halt.is_some());
    // One that had that revision all along is not.
    let untouched = lab.nodes.keys().find(|name| !lab.deleted.contains(*name)).unwrap().clone();
    lab.set_node_ready(&untouched, false);
    console.run_for(&mut lab, 2);
    assert_eq!(blame(&mut console, &lab, &untouched), Some(Blame::Node));
}

/// A driver stands still with what it decided; somebody else drives meanwhile, releases, and begins something new.
#[test]
fn what_was_decided_under_another_record_is_dropped() {
    let mut lab = Lab::rolling(3, 1);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    ops.hear(&lab);
    // The template changes: it decides to pause, and stands still.
    lab.set_template(super::lab::template("agent:v3"));
    lab.reconcile();
    ops.hear(&lab);
    let held = ops.engine.decide(lab.now);
    assert!(!held.is_empty());
    // Its lease runs out, and the record goes.
    lab.wait(60);
    lab.lease = None;
    ops.engine.observe(Event::LeaseGone, lab.now);
    for (id, effect) in held {
        let outcome = lab.apply(effect);
        ops.engine.outcome(id, outcome, lab.now);
    }
    ops.run_for(&mut lab, 5);
    assert!(lab.lease.is_none(), "nobody asked for a record: {:?}", lab.lease);
}

/// Somebody asks for an image, the write arrives, and its answer is lost on the way.
fn ask_and_lose_the_answer(lab: &mut Lab, console: &mut Console, image: &str) -> CommandId {
    let images = [("agent".to_owned(), image.parse().unwrap())].into();
    let asked = console.engine.command(Command::SetImage(images), lab.now).unwrap();
    for (id, effect) in console.engine.decide(lab.now) {
        lab.apply(effect).unwrap();
        console.hear(lab);
        let message = "the network failed".into();
        console.engine.outcome(id, Err(EffectError { kind: EffectErrorKind::Unknown, message }), lab.now);
    }
    asked
}

/// Its watch shows that it arrived, and somebody else changes the image again.
#[test]
fn what_was_written_is_not_written_again_over_what_others_wrote_since() {
    let mut lab = Lab::rolling(3, 1);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    let mut eve = Console::open(&lab, "eve");
    let asked = ask_and_lose_the_answer(&mut lab, &mut eve, "agent:v3");
    ops.run_for(&mut lab, 1);
    ops.set_image(&mut lab, "agent:v4");
    eve.run_for(&mut lab, 5);
    ops.run_for(&mut lab, 5);
    assert_eq!(lab.daemonset.template.images(), ["agent:v4".into()], "the last word");
    assert!(eve.settled.iter().any(|(settled, result)| *settled == asked && result.is_ok()), "{:?}", eve.settled);
}

/// Its watch is down as well, and the answer to the next try shows what others made of it.
#[test]
fn a_record_says_what_arrived_whatever_others_made_of_it() {
    let mut lab = Lab::rolling(3, 1);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    let mut eve = Console::open(&lab, "eve");
    eve.mute(Watched::Lease);
    ask_and_lose_the_answer(&mut lab, &mut eve, "agent:v3");
    ops.run_for(&mut lab, 1);
    ops.set_image(&mut lab, "agent:v4");
    // It tries again, and is told how the lease is by now.
    for (id, effect) in eve.engine.decide(lab.now) {
        let answer = lab.apply(effect);
        assert!(answer.is_err(), "somebody wrote in between");
        let lease = lab.lease.clone().unwrap();
        eve.engine.learn(Event::Lease(Box::new(lease)), lab.now);
        eve.engine.outcome(id, answer, lab.now);
    }
    eve.run_for(&mut lab, 5);
    ops.run_for(&mut lab, 5);
    assert_eq!(lab.daemonset.template.images(), ["agent:v4".into()], "the last word");
}

/// What its watch misses while it is down, the list that it begins with anew tells by not naming it.
#[test]
fn a_lease_that_a_list_does_not_name_is_gone_and_owes_nothing() {
    let mut lab = Lab::rolling(3, 1);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    ops.mute(Watched::Lease);
    ops.run_for(&mut lab, 4);
    let version: u64 = lab.lease.take().unwrap().resource_version.parse().unwrap();
    for (version, there) in [(version - 1, true), (version + 1, false)] {
        ops.engine.observe(Event::Listing(Watched::Lease), lab.now);
        ops.engine.observe(Event::Listed(Watched::Lease, Some(version)), lab.now);
        assert_eq!(ops.engine.lock.resource_version().is_some(), there, "by a list of version {version}");
    }
    lab.wait(60);
    assert_eq!(ops.engine.health(Watched::Lease), WatchHealth::Live);
}

/// A lease is deleted and made anew, and only then a late answer tells of the old one.
#[test]
fn a_late_answer_does_not_bring_back_a_lease_that_was_replaced() {
    let mut lab = Lab::rolling(3, 1);
    let mut ops = Console::open(&lab, "ops");
    ops.set_image(&mut lab, "agent:v2");
    let old = lab.lease.clone().unwrap();
    ops.engine.observe(Event::LeaseGone, lab.now);
    let new = LeaseFact { uid: "made anew".into(), resource_version: "900".into(), holder: None, ..old.clone() };
    ops.engine.observe(Event::Lease(Box::new(new)), lab.now);
    ops.engine.learn(Event::Lease(Box::new(old)), lab.now);
    assert!(!ops.engine.lock.holds(), "that was the old one");
}
