//! The DaemonSet itself: its strategy, that others set back, and its template.

use serde_json::json;

use super::{record, stand_still};
use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Early, Step};
use crate::engine::model::config::Role;
use crate::engine::model::effect::{DaemonSetPatch, Effect, EffectError, EffectErrorKind};
use crate::engine::model::event::{Event, WatchHealth, Watched};
use crate::engine::model::facts::{ConditionStatus, StrategyKind};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::ORIGINAL_STRATEGY;
use crate::engine::report::snapshot::Phase;

/// A rollout whose record is gone left its annotation behind; somebody has changed the strategy since.
#[test]
fn what_was_left_behind_is_not_taken_for_the_original() {
    let rolling = |count: u32| json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": count}});
    let mut fake = FakeCluster::rolling(3, 1);
    fake.set_original(Some(rolling(1).to_string()));
    fake.set_strategy(rolling(3));
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.run_for(&mut fake, 3);
    console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    assert_eq!(fake.daemonset.strategy.raw, rolling(3));
}

/// The same, and all that is wanted is to be rid of it.
#[test]
fn what_was_left_behind_can_be_cleared_away() {
    let mut fake = FakeCluster::rolling(3, 1);
    let now = fake.daemonset.strategy.raw.clone();
    fake.set_original(Some(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}).to_string()));
    fake.set_strategy(now.clone());
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    assert_eq!(fake.daemonset.strategy.raw, now, "whoever set it is to have it as they set it");
    assert!(fake.daemonset.annotations.is_empty(), "{:?}", fake.daemonset.annotations);
}

/// A patch of the DaemonSet that is about the strategy alone.
#[test]
fn a_release_leaves_alone_what_somebody_set_back_meanwhile() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 3);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}));
    fake.reconcile();
    console.run_for(&mut fake, 2);
    console.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
    let mut released = None;
    for _ in 0..10 {
        console.hear(&fake);
        for (id, effect) in console.engine.decide(fake.now) {
            if let Effect::PatchDaemonSet { patch: DaemonSetPatch::Release { original, .. }, .. } = &effect {
                released = Some(original.clone());
            }
            let outcome = fake.apply(effect);
            console.engine.outcome(id, outcome, fake.now);
        }
        fake.wait(1);
    }
    assert_eq!(released, Some(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}})));
    assert!(fake.nodes.values().all(|node| node.ready == ConditionStatus::True));
}

/// Somebody pauses what is adopted, and somebody else sets the strategy back before that is written down.
#[test]
fn a_pause_on_its_way_stops_the_controller_that_was_let_loose_meanwhile() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 3);
    let id = console.engine.command(Command::Pause { why: None }, fake.now).unwrap();
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}));
    console.run_for(&mut fake, 5);
    assert!(console.settled.iter().any(|(settled, result)| *settled == id && result.is_ok()));
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
}

/// The strategy was set back, and then somebody sets `OnDelete` by hand: there is nobody left to fight.
#[test]
fn on_delete_that_was_set_by_hand_is_adopted() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    fake.set_original(None);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}));
    console.run(&mut fake);
    fake.set_strategy(json!({"type": "OnDelete"}));
    console.run_for(&mut fake, 2);
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 3);
}

/// The template is seen before the answer to its patch, and another image is asked for before that comes.
#[test]
fn a_late_answer_is_not_taken_for_that_of_the_next_change() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    let ask = |console: &mut FakeConsole, fake: &FakeCluster, image: &str| {
        let images = [("agent".to_owned(), image.parse().unwrap())].into();
        console.engine.command(Command::SetImage(images), fake.now).unwrap();
    };
    ask(&mut console, &fake, "agent:v2");
    let mut late = None;
    for _ in 0..6 {
        for (id, effect) in console.engine.decide(fake.now) {
            let is_template = matches!(&effect, Effect::PatchDaemonSet { patch: DaemonSetPatch::Template { .. }, .. });
            let outcome = fake.apply(effect);
            if is_template {
                late = Some((id, outcome));
            } else {
                console.engine.outcome(id, outcome, fake.now);
            }
        }
        fake.reconcile();
        console.hear(&fake);
    }
    ask(&mut console, &fake, "agent:v3");
    let (id, outcome) = late.unwrap();
    console.engine.outcome(id, outcome, fake.now);
    console.run_for(&mut fake, 3);
    assert_eq!(record(&fake).intent.paused, None);
    assert_eq!(fake.daemonset.template.images(), ["agent:v3".into()]);
}

/// Somebody sets the strategy back to something else, and somebody pauses from the command line.
#[test]
fn whoever_brakes_keeps_the_first_original() {
    let rolling = |count: u32| json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": count}});
    let mut fake = FakeCluster::rolling(3, 1);
    let original = fake.daemonset.strategy.raw.clone();
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.run_for(&mut fake, 3);
    fake.set_strategy(rolling(3));
    ops.run_for(&mut fake, 2);
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    eve.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    ops.run_for(&mut fake, 2);
    ops.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    assert_eq!(fake.daemonset.strategy.raw, original);
}

/// The same by a console whose watch of the Lease is broken, so that it knows of no rollout. Found by the attack (seed 444018492).
#[test]
fn whoever_brakes_without_seeing_the_lease_keeps_the_first_original() {
    let mut fake = FakeCluster::rolling(3, 1);
    let original = fake.daemonset.strategy.raw.clone();
    let mut blind = FakeConsole::open(&fake, "eve");
    blind.hear(&fake);
    blind.mute(Watched::Lease);
    let down = WatchHealth::Down { since: fake.now, why: "the connection was reset".into() };
    blind.engine.observe(Event::Watch(Watched::Lease, down), fake.now);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    ops.run_for(&mut fake, 3);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}));
    blind.engine.command(Command::Pause { why: None }, fake.now).unwrap();
    blind.run(&mut fake);
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    ops.run_for(&mut fake, 2);
    ops.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    assert_eq!(fake.daemonset.strategy.raw, original);
}

/// The watch of the DaemonSet is broken, and it is handed back to its controller meanwhile.
#[test]
fn a_pause_brakes_what_it_cannot_see() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 2);
    console.mute(Watched::DaemonSet);
    let down = WatchHealth::Down { since: fake.now, why: "the connection was reset".into() };
    console.engine.observe(Event::Watch(Watched::DaemonSet, down), fake.now);
    fake.set_original(None);
    fake.set_strategy(json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}));
    let preview = console.engine.preview(&Command::Pause { why: None }, fake.now).unwrap();
    assert!(preview.effects.iter().any(|line| line.contains("cannot be seen")), "{:?}", preview.effects);
    let id = console.engine.command(Command::Pause { why: None }, fake.now).unwrap();
    console.run(&mut fake);
    assert!(console.settled.iter().all(|(settled, _)| *settled != id), "as far as it can see it is adopted");
    // The conflict has the driver read it again.
    console.engine.learn(Event::DaemonSet(Box::new(fake.daemonset.clone())), fake.now);
    console.run(&mut fake);
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    assert!(console.settled.iter().any(|(settled, result)| *settled == id && result.is_ok()));
}

/// A pause, while the DaemonSet is about to be handed back.
#[test]
fn a_pause_calls_off_a_release() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut ops = FakeConsole::open(&fake, "ops");
    ops.set_image(&mut fake, "agent:v2");
    let release = ops.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
    let (id, effect) = ops.engine.decide(fake.now).pop().unwrap();
    assert!(matches!(effect, Effect::WriteLease { .. }));
    let answer = fake.apply(effect);
    // It stands still with that, and somebody pauses.
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    let said = eve.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert!(said.ends_with("its release is called off"), "{said}");
    ops.engine.outcome(id, answer, fake.now);
    ops.run_for(&mut fake, 5);
    assert!(record(&fake).intent.paused.is_some());
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    let answer = ops.settled.iter().find(|(settled, _)| *settled == release).map(|(_, result)| result.clone());
    assert!(answer.unwrap().unwrap_err().contains("called off"));
}

/// A patch that hands the DaemonSet back is on its way when somebody pauses or rolls back, and takes effect after that.
#[test]
fn a_release_that_takes_effect_after_it_was_called_off_is_taken_back() {
    let of_others = |command: &Command| matches!(command, Command::Pause { .. });
    for command in [Command::Pause { why: Some("stop".into()) }, Command::Undo { to: None }] {
        for lost in [false, true] {
            let mut fake = FakeCluster::rolling(6, 1);
            let mut ops = FakeConsole::open(&fake, "ops");
            ops.set_image(&mut fake, "agent:v2");
            ops.keep(&mut fake);
            ops.partition(&mut fake, 4);
            ops.run_for(&mut fake, 30);
            assert_eq!(fake.at("hash2"), 2);
            let release = ops.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
            let held = stand_still(&mut fake, &mut ops, |_, effect| {
                matches!(effect, Effect::PatchDaemonSet { patch: DaemonSetPatch::Release { .. }, .. })
            });
            let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
            let asked = eve.engine.command(command.clone(), fake.now).unwrap();
            eve.run(&mut fake);
            for (id, effect) in held {
                let mut outcome = fake.apply(effect);
                if lost {
                    let kind = EffectErrorKind::Unknown;
                    outcome = Err(EffectError { kind, message: "no answer".into(), dry_run: false });
                }
                ops.engine.outcome(id, outcome, fake.now);
            }
            assert_eq!(fake.daemonset.strategy.kind, StrategyKind::RollingUpdate, "it has taken effect");
            ops.run_for(&mut fake, 5);
            eve.run(&mut fake);
            assert_eq!(fake.daemonset.strategy.kind, StrategyKind::OnDelete, "{command:?}");
            let answer = ops.settled.iter().find(|(settled, _)| *settled == release).map(|(_, result)| result.clone());
            assert!(answer.unwrap().unwrap_err().contains("called off"));
            let snapshot = ops.snapshot(&fake);
            match of_others(&command) {
                true => assert!(matches!(&snapshot.phase, Phase::Paused(paused) if !paused.is_by_rolldeck())),
                false => {
                    ops.run_for(&mut fake, 120);
                    eve.run(&mut fake);
                    assert!(eve.settled.iter().any(|(settled, result)| *settled == asked && result.is_ok()));
                    assert_eq!(fake.at("hash2"), 0, "it has gone back; answer lost: {lost}");
                }
            }
        }
    }
}

/// It is complete, and somebody sets the strategy back before that is written down.
#[test]
fn what_is_about_to_be_handed_back_is_not_taken_over_again() {
    let mut fake = FakeCluster::rolling(1, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.engine.command(Command::Step(Step::Partition(IntOrPercent::Int(0))), fake.now).unwrap();
    let held = stand_still(&mut fake, &mut console, |_, effect| match effect {
        Effect::WriteLease { lease, .. } => {
            lease.record.as_ref().is_some_and(|record| record.intent.releasing.is_some())
        }
        _ => false,
    });
    let set_back = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}});
    fake.set_strategy(set_back.clone());
    console.hear(&fake);
    assert!(console.engine.decide(fake.now).is_empty(), "whoever set it back is not fought over its end");
    for (id, effect) in held {
        let outcome = fake.apply(effect);
        console.engine.outcome(id, outcome, fake.now);
    }
    console.run_for(&mut fake, 5);
    assert_eq!(fake.daemonset.strategy.raw, set_back);
    assert!(fake.lease.is_none_or(|lease| lease.record == Ok(None)), "it is over");
}

/// Who may not write the Lease has adopted nothing, whatever strategy the DaemonSet has already.
#[test]
fn an_adoption_whose_record_is_refused_is_not_called_done() {
    for strategy in
        [json!({"type": "OnDelete"}), json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}})]
    {
        let mut fake = FakeCluster::new(3, strategy.clone());
        let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
        let id = console.engine.command(Command::Adopt, fake.now).unwrap();
        for _ in 0..3 {
            console.hear(&fake);
            for (id, effect) in console.engine.decide(fake.now) {
                assert!(matches!(effect, Effect::WriteLease { .. }), "{effect:?}");
                let message = "leases is forbidden: namespace edge is being deleted".into();
                let refused = EffectError { kind: EffectErrorKind::Forbidden, message, dry_run: false };
                console.engine.outcome(id, Err(refused), fake.now);
            }
            console.listen();
            fake.wait(1);
        }
        let settled = console.settled.iter().find(|(settled, _)| *settled == id).map(|(_, result)| result.clone());
        let said = settled.expect("it is settled").expect_err("and failed").to_string();
        assert!(said.contains("namespace edge is being deleted"), "{strategy}: {said}");
    }
}

/// `OnDelete` of its owner: it is adopted once what it was is saved with it.
#[test]
fn an_adoption_is_done_once_the_original_strategy_is_saved() {
    let mut fake = FakeCluster::new(3, json!({"type": "OnDelete"}));
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    console.ask(&mut fake, Command::Adopt).unwrap();
    assert!(fake.daemonset.annotations.get(ORIGINAL_STRATEGY).is_some());
}

/// Its Lease may stay, with the DaemonSet gone: who drove gives it back all the same, and does not renew it for as long as the process takes to end.
#[test]
fn who_stops_driving_a_daemonset_that_is_gone_gives_the_lease_back() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 3);
    assert!(fake.lease.as_ref().is_some_and(|lease| lease.holder.is_some()));
    console.engine.observe(Event::DaemonSetGone(None), fake.now);
    console.run_for(&mut fake, 1);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    assert_eq!(fake.lease.as_ref().and_then(|lease| lease.holder.as_deref()), None);
}

/// Asks to hand the DaemonSet back, and waits for as long as a patch waits after one that was refused.
fn released(fake: &mut FakeCluster, console: &mut FakeConsole) -> Result<String, String> {
    let id = console.engine.command(Command::Release(Early::Accept), fake.now).map_err(|why| why.to_string())?;
    console.run_for(fake, 40);
    let (_, result) = console.settled.iter().find(|(settled, _)| *settled == id).expect("it is settled");
    result.clone()
}

/// Admission removes the annotation in which the adoption saves the original strategy, from the beginning or once the rollout is under way. The record has it: it is
/// neither replaced by `OnDelete` nor lost, nothing is written over and over, and a release restores it.
#[test]
fn an_original_strategy_whose_annotation_is_removed_is_restored_all_the_same() {
    for late in [false, true] {
        let mut fake = FakeCluster::rolling(6, 1);
        let original = fake.daemonset.strategy.raw.clone();
        let mut console = FakeConsole::open(&fake, "ops");
        let images = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
        fake.strips_annotations = !late;
        let said = console.ask(&mut fake, images);
        if late {
            said.unwrap();
            fake.strips_annotations = true;
            fake.set_original(None);
            fake.touch_metadata();
        } else {
            let why = said.unwrap_err();
            assert!(why.contains("removes the annotation rolldeck.io/original-update-strategy"), "{why}");
        }
        fake.sent.clear();
        console.run_for(&mut fake, 60);
        let patches = fake.sent.iter().filter(|sent| sent.contains("daemonsets")).count();
        assert!((1..=4).contains(&patches), "{patches} patches in a minute");
        assert!(fake.deleted.is_empty());
        let told = console.snapshot(&fake).alarms;
        assert!(told.iter().any(|alarm| alarm.to_string().contains("removes the annotation")), "{told:?}");
        assert_eq!(fake.daemonset.strategy.kind, StrategyKind::OnDelete);
        let said = released(&mut fake, &mut console).unwrap();
        assert!(said.contains("the original update strategy is restored"), "{said}");
        assert_eq!(fake.daemonset.strategy.raw, original);
        assert_eq!(console.snapshot(&fake).started_at, None);
    }
}

/// A pause of what its controller rolls out takes no more than `OnDelete`, whatever becomes of the annotation.
#[test]
fn a_pause_brakes_although_the_original_strategy_cannot_be_saved() {
    let mut fake = FakeCluster::rolling(6, 1);
    let original = fake.daemonset.strategy.raw.clone();
    fake.strips_annotations = true;
    let mut console = FakeConsole::open_as(&fake, "ops", Role::OneShot);
    let said = console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert!(said.contains("OnDelete is set"), "{said}");
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::OnDelete);
    released(&mut fake, &mut console).unwrap();
    assert_eq!(fake.daemonset.strategy.raw, original);
}

/// Somebody writes the annotation back by hand, and not as JSON.
#[test]
fn an_annotation_that_cannot_be_read_does_not_replace_what_the_record_knows() {
    let mut fake = FakeCluster::rolling(6, 1);
    let original = fake.daemonset.strategy.raw.clone();
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 5);
    fake.set_original(Some("RollingUpdate".into()));
    fake.touch_metadata();
    console.run_for(&mut fake, 5);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash2"), &fake.daemonset.strategy.raw), (6, &original));
    assert!(fake.daemonset.annotations.get(ORIGINAL_STRATEGY).is_none());
}
