use super::*;
use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Early, Step};
use crate::engine::model::config::Role;
use crate::engine::model::effect::Effect;
use crate::engine::model::event::Event;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Direction, ORIGINAL_STRATEGY};
use crate::engine::model::settings::{OnFailure, Tuning};
use crate::engine::report::snapshot::Phase;

const UNDO: Command = Command::Undo { to: None };

/// Twenty nodes, the new image on four of them, and the old one is refused from now on.
fn held_at_sixteen() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 16);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 4);
    fake.refused_images = vec!["agent:v1".into()];
    (fake, console)
}

fn intent(fake: &FakeCluster) -> Intent {
    fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap().intent
}

#[test]
fn a_refused_undo_changes_nothing_and_pauses() {
    let (mut fake, mut console) = held_at_sixteen();
    let before = intent(&fake);
    let refused = console.ask(&mut fake, UNDO).unwrap_err();
    assert!(refused.contains("not this image") && refused.contains("nothing was changed"), "{refused}");
    let after = intent(&fake);
    assert_eq!((after.direction(), after.change.clone()), (Direction::Forward, None));
    assert_eq!((&after.target, after.partition), (&before.target, before.partition));
    let Phase::Paused(paused) = console.snapshot(&fake).phase else { panic!("{:?}", console.snapshot(&fake).phase) };
    assert!(paused.why.unwrap().contains("the roll back to revision 1 was refused"));
    console.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash2"), 4, "the new image went no further");
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete", "it is not released");
    // Whoever goes on goes on under the plan; and where it is admitted again, the roll back works.
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 4, "the partition stays on");
    fake.refused_images.clear();
    console.ask(&mut fake, UNDO).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash1"), 20);
}

#[test]
fn one_that_looks_on_waits_until_whoever_drives_has_done_it_or_was_refused() {
    let (mut fake, mut driver) = held_at_sixteen();
    for (refused, want) in [(true, "was refused"), (false, "template is that of revision 1")] {
        fake.refused_images = refused.then(|| "agent:v1".into()).into_iter().collect();
        let mut one_shot = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        let said = one_shot.ask(&mut fake, UNDO);
        assert_eq!(said, Err("not settled".into()), "it is recorded, and not carried out yet");
        driver.run(&mut fake);
        one_shot.run(&mut fake);
        let (_, said) = one_shot.settled.pop().unwrap();
        assert_eq!(said.is_err(), refused, "{said:?}");
        assert!(said.unwrap_or_else(|why| why).contains(want));
    }
    driver.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash1"), 20);
}

#[test]
fn a_halt_stands_when_the_roll_back_after_it_is_refused() {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.broken = vec!["agent:v2".into()];
    let mut console = FakeConsole::open(&fake, "ops");
    console
        .ask(&mut fake, Command::Tune(Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() }))
        .unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Updated(IntOrPercent::Int(4)))).unwrap();
    fake.refused_images = vec!["agent:v1".into()];
    console.run_for(&mut fake, 700);
    let snapshot = console.snapshot(&fake);
    assert!(snapshot.halt.is_some(), "{:?}", snapshot.phase);
    let after = intent(&fake);
    assert!(after.paused.unwrap().why.unwrap().contains("was refused"));
    assert_eq!(after.acknowledged_halt, 0, "nobody accepted the failures");
    assert!(fake.at("hash2") <= 2);
    fake.refused_images.clear();
    console.ask(&mut fake, UNDO).unwrap();
    assert!(console.snapshot(&fake).halt.is_none(), "it is past once the template is written");
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash1"), 20);
}

#[test]
fn a_refused_image_leaves_the_plan_as_it_was() {
    let (mut fake, mut console) = held_at_sixteen();
    fake.refused_images = vec!["agent:v3".into()];
    let images = [("agent".to_owned(), "agent:v3".parse().unwrap())].into();
    console.ask(&mut fake, Command::SetImage(images)).unwrap_err();
    let after = intent(&fake);
    assert_eq!((after.target.as_deref(), after.partition), (Some("hash2"), IntOrPercent::Int(16)));
    assert!(after.paused.is_some());
}

/// Its controller does not follow: the template has the change, and it is not said to be still asked for.
#[test]
fn a_change_that_waits_for_its_controller_is_said_to_be_written() {
    let (mut fake, mut console) = held_at_sixteen();
    fake.refused_images.clear();
    fake.lazy = true;
    console.ask(&mut fake, UNDO).unwrap_err();
    fake.wait(14);
    let mut looks = FakeConsole::open(&fake, "eve");
    for seen in [console.snapshot(&fake), looks.snapshot(&fake)] {
        assert!(seen.change_is_written);
        assert_eq!(seen.doing().to_string(), "preparing: the roll back to revision 1 is written");
    }
    let generation = fake.daemonset.generation;
    let waits = console.snapshot(&fake).guidance().unwrap().waits;
    assert!(waits.contains(&format!("waits for its controller to observe generation {generation}")), "{waits}");
}

/// What a person paused for says more than that another request could not be carried out.
#[test]
fn a_refused_change_leaves_a_persons_pause_as_it_was() {
    let (mut fake, mut console) = held_at_sixteen();
    fake.refused_images = vec!["agent:v1".into(), "agent:v3".into(), "agent:v4".into()];
    console.ask(&mut fake, Command::Pause { why: Some("line 4 is being rebuilt".into()) }).unwrap();
    let before = intent(&fake).paused;
    for tag in ["agent:v3", "agent:v4"] {
        let images = [("agent".to_owned(), tag.parse().unwrap())].into();
        let refused = console.ask(&mut fake, Command::SetImage(images)).unwrap_err();
        assert!(refused.contains("not this image"), "{refused}");
        assert_eq!(intent(&fake).paused, before, "{tag}");
    }
    console.ask(&mut fake, UNDO).unwrap_err();
    assert_eq!(intent(&fake).paused, before);
    // A pause by rolldeck gives way to the newer reason.
    console.ask(&mut fake, Command::Resume).unwrap();
    console.ask(&mut fake, UNDO).unwrap_err();
    let images = [("agent".to_owned(), "agent:v3".parse().unwrap())].into();
    console.ask(&mut fake, Command::SetImage(images)).unwrap_err();
    let why = intent(&fake).paused.unwrap().why.unwrap();
    assert!(why.contains("agent:v3"), "{why}");
}

#[test]
fn a_revision_that_is_gone_from_the_history_is_refused_too() {
    let (mut fake, mut console) = held_at_sixteen();
    console.engine.command(UNDO, fake.now).unwrap();
    let gone = fake.revisions.iter().position(|revision| &*revision.hash == "hash1").unwrap();
    let name = fake.revisions.remove(gone).name;
    console.engine.observe(crate::engine::model::event::Event::RevisionGone(name), fake.now);
    console.run_for(&mut fake, 60);
    let (_, said) = console.settled.pop().unwrap();
    assert!(said.unwrap_err().contains("not in the history any more"));
    assert_eq!(fake.at("hash2"), 4);
}

#[test]
fn a_template_accepted_while_going_back_starts_a_rollout_by_the_plan() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.keep(&mut fake);
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 20);
    console.ask(&mut fake, UNDO).unwrap();
    assert_eq!(intent(&fake).direction(), Direction::Back);
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::Resume).unwrap();
    assert_eq!((intent(&fake).direction(), intent(&fake).partition), (Direction::Forward, IntOrPercent::Percent(100)));
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash3"), 0, "nothing moves before a step");
}

#[test]
fn what_admission_made_of_the_template_is_ours() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.pins_images = true;
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 3);
    assert!(fake.daemonset.template.images()[0].contains("@sha256:"));
    assert!(fake.daemonset.annotations.get(CHANGE).is_none(), "taken away when the target is recorded");
    console.ask(&mut fake, Command::Undo { to: Some(1) }).unwrap();
    assert_eq!(intent(&fake).direction(), Direction::Back, "to what admission makes of revision 1");
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash3"), 6);
    assert_eq!(fake.daemonset.strategy.raw["type"], "RollingUpdate", "complete, and released");
}

/// The answer to the template patch is lost; whoever drives, now or next, knows the template by the annotation.
#[test]
fn a_lost_answer_is_made_up_for_by_the_annotation() {
    for dies in [false, true] {
        let mut fake = FakeCluster::rolling(6, 1);
        fake.pins_images = true;
        let mut console = FakeConsole::open(&fake, "ops");
        lose_the_answer(&mut fake, &mut console);
        assert!(fake.daemonset.annotations.get(CHANGE).is_some());
        if dies {
            console = FakeConsole::open(&fake, "eve");
            console.run_for(&mut fake, 20);
            let _ = console.ask(&mut fake, Command::Drive(crate::engine::model::command::Takeover::IfFree));
        }
        console.run_for(&mut fake, 20);
        assert_eq!((intent(&fake).target.as_deref(), intent(&fake).paused), (Some("hash2"), None), "dies: {dies}");
        assert!(fake.daemonset.annotations.get(CHANGE).is_none());
    }
}

#[test]
fn a_deploy_after_a_lost_answer_is_somebody_elses() {
    let mut fake = FakeCluster::rolling(6, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    lose_the_answer(&mut fake, &mut console);
    fake.set_template(template("agent:v3"));
    fake.daemonset.owners.template = Some("argocd-controller".into());
    fake.reconcile();
    console.run_for(&mut fake, 20);
    assert!(intent(&fake).paused.unwrap().why.unwrap().contains("the template was changed"));
    assert_eq!(fake.daemonset.template.images()[0].as_ref(), "agent:v3", "and not written over");
}

fn lose_the_answer(fake: &mut FakeCluster, console: &mut FakeConsole) {
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    console.engine.command(Command::SetImage(images), fake.now).unwrap();
    let mut lost = false;
    while !lost {
        console.hear(fake);
        for (id, effect) in console.engine.decide(fake.now) {
            lost |= matches!(&effect, Effect::PatchDaemonSet { patch: DaemonSetPatch::Template { .. }, .. });
            let mut outcome = fake.apply(effect);
            if lost {
                outcome =
                    Err(EffectError { kind: EffectErrorKind::Unknown, message: "no answer".into(), dry_run: false });
            }
            console.engine.outcome(id, outcome, fake.now);
        }
        fake.reconcile();
    }
}

/// The watch of revisions lets only bookmarks through.
#[test]
fn a_revision_that_is_not_seen_blinds_and_ends_nothing() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.mute(Watched::Revisions);
    let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    assert!(console.ask(&mut fake, Command::SetImage(images)).is_err(), "not before the target is known");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    let snapshot = console.snapshot(&fake);
    assert_eq!((fake.at("hash1"), intent(&fake).paused), (20, None));
    assert_eq!((snapshot.phase, intent(&fake).target), (Phase::Preparing, None));
    assert!(snapshot.alarms.iter().any(|alarm| alarm.to_string().contains("does not come")), "{:?}", snapshot.alarms);
    assert!(console.state(&fake, "n1").1.contains("too stale"), "{}", console.state(&fake, "n1").1);
    console.unmute(&fake, Watched::Revisions);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 20);
}

/// The refusal is known, and on its way into the record.
#[test]
fn what_was_refused_is_not_sent_again() {
    let (mut fake, mut console) = held_at_sixteen();
    console.engine.command(UNDO, fake.now).unwrap();
    let (mut sent, mut answers) = (0, Vec::new());
    for _ in 0..10 {
        console.hear(&fake);
        for (id, effect) in console.engine.decide(fake.now) {
            let is_lease = matches!(effect, Effect::WriteLease { .. });
            sent += usize::from(matches!(effect, Effect::PatchDaemonSet { .. }));
            let outcome = fake.apply(effect);
            if is_lease && sent > 0 {
                answers.push((id, outcome));
            } else {
                console.engine.outcome(id, outcome, fake.now);
            }
        }
    }
    assert_eq!(sent, 1);
    answers.into_iter().for_each(|(id, outcome)| console.engine.outcome(id, outcome, fake.now));
    console.run_for(&mut fake, 60);
    assert!(intent(&fake).paused.is_some());
}

/// A policy sets `RollingUpdate` in the write that sets `OnDelete`: the answer is a success, and nothing is adopted.
#[test]
fn an_adoption_without_effect_is_refused() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.rolling_only = true;
    let mut console = FakeConsole::open(&fake, "ops");
    for command in [Command::Adopt, Command::Pause { why: None }] {
        let refused = console.ask(&mut fake, command).unwrap_err();
        assert!(refused.contains("sets another update strategy"), "{refused}");
    }
    console.run_for(&mut fake, 30);
    let snapshot = console.snapshot(&fake);
    assert!(!snapshot.adopted);
    let told: Vec<String> = snapshot.timeline.iter().map(ToString::to_string).collect();
    assert!(!told.iter().any(|told| told.contains("adopted:")), "{told:?}");
    assert_eq!((fake.deleted.len(), fake.at("hash2")), (0, 0));
}

/// As in a namespace that is being deleted: its objects go one after the other.
#[test]
fn a_change_whose_record_goes_says_what_was_deleted() {
    let lease = "called off: the Lease was deleted meanwhile, and the record of the rollout with it";
    let daemonset = "called off: the DaemonSet was deleted meanwhile";
    for (first, said) in [(None, lease), (Some(Event::DaemonSetGone(None)), daemonset)] {
        // The driver is alive and does nothing at this instant.
        let (mut fake, _driver) = held_at_sixteen();
        let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        eve.hear(&fake);
        let image = Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into());
        let id = eve.engine.command(image, fake.now).unwrap();
        eve.run(&mut fake);
        assert_eq!(eve.settled, [], "it waits for the driver");
        fake.lease = None;
        first.into_iter().chain([Event::LeaseGone(None)]).for_each(|event| eve.engine.observe(event, fake.now));
        eve.run(&mut fake);
        assert_eq!(eve.settled, [(id, Err(said.to_owned()))]);
    }
}

/// The policy comes into force in the middle of a rollout: whatever is written of the DaemonSet would hand it to its controller, so nothing is.
#[test]
fn no_write_hands_the_daemonset_over() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 20);
    fake.rolling_only = true;
    let images = [("agent".to_owned(), "agent:v3".parse().unwrap())].into();
    for command in [Command::SetImage(images), UNDO] {
        let refused = console.ask(&mut fake, command).unwrap_err();
        assert!(refused.contains("another update strategy") && refused.contains("nothing was changed"), "{refused}");
        assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    }
    assert_eq!((fake.at("hash2"), intent(&fake).paused.is_some()), (2, true));
}

/// A DaemonSet is on `OnDelete` by itself: where a policy would set another strategy, neither an adoption nor a release is written.
#[test]
fn what_is_on_delete_by_itself_is_not_handed_over() {
    let mut fake = FakeCluster::new(6, serde_json::json!({"type": "OnDelete"}));
    fake.rolling_only = true;
    let mut console = FakeConsole::open(&fake, "ops");
    let refused = console.ask(&mut fake, Command::Adopt).unwrap_err();
    assert!(refused.contains("another update strategy"), "{refused}");
    console.run_for(&mut fake, 20);
    let adopted = |fake: &FakeCluster| fake.daemonset.annotations.get(ORIGINAL_STRATEGY).is_some();
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    assert!(!adopted(&fake), "the original strategy is not written down before that is admitted");
    fake.rolling_only = false;
    console.run_for(&mut fake, 60);
    assert!(adopted(&fake));
    fake.rolling_only = true;
    let refused = console.ask(&mut fake, Command::Release(Early::Accept)).unwrap_err();
    assert!(refused.contains("another update strategy"), "{refused}");
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    fake.rolling_only = false;
    console.run_for(&mut fake, 60);
    assert!(!adopted(&fake), "it is released once that is admitted");
    assert_eq!(fake.daemonset.strategy.raw, serde_json::json!({"type": "OnDelete"}));
}
