use super::*;
use crate::engine::Role;
use crate::engine::command::{Command, Step};
use crate::engine::effect::Effect;
use crate::engine::lab::{Console, Lab, template};
use crate::engine::quantity::IntOrPercent;
use crate::engine::record::{Direction, OnFailure};
use crate::engine::snapshot::Phase;
use crate::engine::tuning::Tuning;

const UNDO: Command = Command::Undo { to: None };

/// Twenty nodes, the new image on four of them, and the old one is refused from now on.
fn held_at_sixteen() -> (Lab, Console) {
    let mut lab = Lab::rolling(20, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 16);
    console.run_for(&mut lab, 30);
    assert_eq!(lab.at("hash2"), 4);
    lab.refused_images = vec!["agent:v1".into()];
    (lab, console)
}

fn intent(lab: &Lab) -> Intent {
    lab.lease.as_ref().unwrap().record.clone().unwrap().unwrap().intent
}

#[test]
fn a_refused_undo_changes_nothing_and_pauses() {
    let (mut lab, mut console) = held_at_sixteen();
    let before = intent(&lab);
    let refused = console.ask(&mut lab, UNDO).unwrap_err();
    assert!(refused.contains("not this image") && refused.contains("nothing was changed"), "{refused}");
    let after = intent(&lab);
    assert_eq!((after.direction(), after.change.clone()), (Direction::Forward, None));
    assert_eq!((&after.target, after.partition), (&before.target, before.partition));
    let Phase::Paused(paused) = console.snapshot(&lab).phase else { panic!("{:?}", console.snapshot(&lab).phase) };
    assert!(paused.why.unwrap().contains("the roll back to revision 1 was refused"));
    console.run_for(&mut lab, 120);
    assert_eq!(lab.at("hash2"), 4, "the new image went no further");
    assert_eq!(lab.daemonset.strategy.raw["type"], "OnDelete", "it is not released");
    // Whoever goes on goes on under the plan; and where it is admitted again, the roll back works.
    console.ask(&mut lab, Command::Resume).unwrap();
    console.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash2"), 4, "the partition stays on");
    lab.refused_images.clear();
    console.ask(&mut lab, UNDO).unwrap();
    console.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash1"), 20);
}

#[test]
fn one_that_looks_on_waits_until_whoever_drives_has_done_it_or_was_refused() {
    let (mut lab, mut driver) = held_at_sixteen();
    for (refused, want) in [(true, "was refused"), (false, "template is that of revision 1")] {
        lab.refused_images = refused.then(|| "agent:v1".into()).into_iter().collect();
        let mut errand = Console::open_as(&lab, "eve", Role::Errand);
        let said = errand.ask(&mut lab, UNDO);
        assert_eq!(said, Err("not settled".into()), "it is recorded, and not carried out yet");
        driver.run(&mut lab);
        errand.run(&mut lab);
        let (_, said) = errand.settled.pop().unwrap();
        assert_eq!(said.is_err(), refused, "{said:?}");
        assert!(said.unwrap_or_else(|why| why).contains(want));
    }
    driver.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash1"), 20);
}

#[test]
fn a_halt_stands_when_the_roll_back_after_it_is_refused() {
    let mut lab = Lab::rolling(20, 2);
    lab.broken = vec!["agent:v2".into()];
    let mut console = Console::open(&lab, "ops");
    console
        .ask(&mut lab, Command::Tune(Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() }))
        .unwrap();
    console.set_image(&mut lab, "agent:v2");
    console.ask(&mut lab, Command::Step(Step::Updated(IntOrPercent::Int(4)))).unwrap();
    lab.refused_images = vec!["agent:v1".into()];
    console.run_for(&mut lab, 700);
    let snapshot = console.snapshot(&lab);
    assert!(snapshot.halt.is_some(), "{:?}", snapshot.phase);
    let after = intent(&lab);
    assert!(after.paused.unwrap().why.unwrap().contains("was refused"));
    assert_eq!(after.acknowledged_halt, 0, "nobody accepted the failures");
    assert!(lab.at("hash2") <= 2);
    lab.refused_images.clear();
    console.ask(&mut lab, UNDO).unwrap();
    assert!(console.snapshot(&lab).halt.is_none(), "it is past once the template is written");
    console.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash1"), 20);
}

#[test]
fn a_refused_image_leaves_the_plan_as_it_was() {
    let (mut lab, mut console) = held_at_sixteen();
    lab.refused_images = vec!["agent:v3".into()];
    let images = [("agent".to_owned(), "agent:v3".parse().unwrap())].into();
    console.ask(&mut lab, Command::SetImage(images)).unwrap_err();
    let after = intent(&lab);
    assert_eq!((after.target.as_deref(), after.partition), (Some("hash2"), IntOrPercent::Int(16)));
    assert!(after.paused.is_some());
}

#[test]
fn a_revision_that_is_gone_from_the_history_is_refused_too() {
    let (mut lab, mut console) = held_at_sixteen();
    console.engine.command(UNDO, lab.now).unwrap();
    let gone = lab.revisions.iter().position(|revision| &*revision.hash == "hash1").unwrap();
    let name = lab.revisions.remove(gone).name;
    console.engine.observe(crate::engine::event::Event::RevisionGone(name), lab.now);
    console.run_for(&mut lab, 60);
    let (_, said) = console.settled.pop().unwrap();
    assert!(said.unwrap_err().contains("not in the history any more"));
    assert_eq!(lab.at("hash2"), 4);
}

#[test]
fn a_template_accepted_while_going_back_starts_a_rollout_by_the_plan() {
    let mut lab = Lab::rolling(6, 1);
    let mut console = Console::open(&lab, "ops");
    console.keep(&mut lab);
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 3);
    console.run_for(&mut lab, 20);
    console.ask(&mut lab, UNDO).unwrap();
    assert_eq!(intent(&lab).direction(), Direction::Back);
    lab.set_template(template("agent:v3"));
    lab.reconcile();
    console.run_for(&mut lab, 5);
    console.ask(&mut lab, Command::Resume).unwrap();
    assert_eq!((intent(&lab).direction(), intent(&lab).partition), (Direction::Forward, IntOrPercent::Percent(100)));
    console.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash3"), 0, "nothing moves before a step");
}

#[test]
fn what_admission_made_of_the_template_is_ours() {
    let mut lab = Lab::rolling(6, 1);
    lab.pins_images = true;
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.partition(&mut lab, 3);
    console.run_for(&mut lab, 20);
    assert_eq!(lab.at("hash2"), 3);
    assert!(lab.daemonset.template.images()[0].contains("@sha256:"));
    assert!(lab.daemonset.annotations.get(CHANGE).is_none(), "taken away when the target is recorded");
    console.ask(&mut lab, Command::Undo { to: Some(1) }).unwrap();
    assert_eq!(intent(&lab).direction(), Direction::Back, "to what admission makes of revision 1");
    console.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash3"), 6);
    assert_eq!(lab.daemonset.strategy.raw["type"], "RollingUpdate", "complete, and released");
}

/// The answer to the template patch is lost; whoever drives, now or next, knows the template by the annotation.
#[test]
fn a_lost_answer_is_made_up_for_by_the_annotation() {
    for dies in [false, true] {
        let mut lab = Lab::rolling(6, 1);
        lab.pins_images = true;
        let mut console = Console::open(&lab, "ops");
        lose_the_answer(&mut lab, &mut console);
        assert!(lab.daemonset.annotations.get(CHANGE).is_some());
        if dies {
            console = Console::open(&lab, "eve");
            console.run_for(&mut lab, 20);
            let _ = console.ask(&mut lab, Command::Drive(crate::engine::command::Takeover::IfFree));
        }
        console.run_for(&mut lab, 20);
        assert_eq!((intent(&lab).target.as_deref(), intent(&lab).paused), (Some("hash2"), None), "dies: {dies}");
        assert!(lab.daemonset.annotations.get(CHANGE).is_none());
    }
}

#[test]
fn a_deploy_after_a_lost_answer_is_somebody_elses() {
    let mut lab = Lab::rolling(6, 1);
    let mut console = Console::open(&lab, "ops");
    lose_the_answer(&mut lab, &mut console);
    lab.set_template(template("agent:v3"));
    lab.daemonset.owners.template = Some("argocd-controller".into());
    lab.reconcile();
    console.run_for(&mut lab, 20);
    assert!(intent(&lab).paused.unwrap().why.unwrap().contains("the template was changed"));
    assert_eq!(lab.daemonset.template.images()[0].as_ref(), "agent:v3", "and not written over");
}

fn lose_the_answer(lab: &mut Lab, console: &mut Console) {
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    console.engine.command(Command::SetImage(images), lab.now).unwrap();
    let mut lost = false;
    while !lost {
        console.hear(lab);
        for (id, effect) in console.engine.decide(lab.now) {
            lost |= matches!(&effect, Effect::PatchDaemonSet { patch: DaemonSetPatch::Template { .. }, .. });
            let mut outcome = lab.apply(effect);
            if lost {
                outcome = Err(EffectError { kind: EffectErrorKind::Unknown, message: "no answer".into() });
            }
            console.engine.outcome(id, outcome, lab.now);
        }
        lab.reconcile();
    }
}

/// The watch of revisions lets only bookmarks through.
#[test]
fn a_revision_that_is_not_seen_blinds_and_ends_nothing() {
    let mut lab = Lab::rolling(20, 2);
    let mut console = Console::open(&lab, "ops");
    console.mute(Watched::Revisions);
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    assert!(console.ask(&mut lab, Command::SetImage(images)).is_err(), "not before the target is known");
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 30);
    let snapshot = console.snapshot(&lab);
    assert_eq!((lab.at("hash1"), intent(&lab).paused), (20, None));
    assert_eq!((snapshot.phase, intent(&lab).target), (Phase::Preparing, None));
    assert!(snapshot.alarms.iter().any(|alarm| alarm.to_string().contains("does not come")), "{:?}", snapshot.alarms);
    assert!(console.state(&lab, "n1").1.contains("too stale"), "{}", console.state(&lab, "n1").1);
    console.unmute(&lab, Watched::Revisions);
    console.run_for(&mut lab, 60);
    assert_eq!(lab.at("hash2"), 20);
}

/// The refusal is known, and on its way into the record.
#[test]
fn what_was_refused_is_not_sent_again() {
    let (mut lab, mut console) = held_at_sixteen();
    console.engine.command(UNDO, lab.now).unwrap();
    let (mut sent, mut answers) = (0, Vec::new());
    for _ in 0..10 {
        console.hear(&lab);
        for (id, effect) in console.engine.decide(lab.now) {
            let is_lease = matches!(effect, Effect::WriteLease { .. });
            sent += usize::from(matches!(effect, Effect::PatchDaemonSet { .. }));
            let outcome = lab.apply(effect);
            if is_lease && sent > 0 {
                answers.push((id, outcome));
            } else {
                console.engine.outcome(id, outcome, lab.now);
            }
        }
    }
    assert_eq!(sent, 1);
    answers.into_iter().for_each(|(id, outcome)| console.engine.outcome(id, outcome, lab.now));
    console.run_for(&mut lab, 60);
    assert!(intent(&lab).paused.is_some());
}
