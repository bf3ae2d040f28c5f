//! A record that a one-shot command begins: what its operator saw is the target.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::event::Event;
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::record::Intent;

fn one_shot(fake: &mut FakeCluster, who: &str, command: Command) -> Result<String, String> {
    let mut console = FakeConsole::open_as(fake, who, Role::OneShot);
    console.ask(fake, command)
}

fn intent(fake: &FakeCluster) -> Intent {
    fake.lease.as_ref().unwrap().record.as_ref().unwrap().as_ref().unwrap().intent.clone()
}

/// A rollout of v2 whose lease somebody deletes while two nodes have it.
fn without_record() -> FakeCluster {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.set_image(&mut fake, "agent:v2");
    ada.partition(&mut fake, 8);
    ada.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash2"), 2);
    fake.lease = None;
    ada.engine.observe(Event::LeaseGone(None), fake.now);
    ada.run_for(&mut fake, 5);
    fake
}

/// Bob stepped while the template was v2; v3 is nobody's wish.
#[test]
fn what_others_make_of_the_template_after_a_step_waits_for_a_resume() {
    let mut fake = without_record();
    one_shot(&mut fake, "bob", Command::Step(Step::Updated(Int(6)))).unwrap();
    assert_eq!(intent(&fake).target.as_deref(), Some("hash2"));
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    let mut bob = FakeConsole::open(&fake, "bob");
    bob.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    bob.run_for(&mut fake, 120);
    assert_eq!((fake.at("hash2"), fake.at("hash3")), (2, 0));
    let why = intent(&fake).paused.unwrap().why.unwrap();
    assert!(why.starts_with("the template was changed"), "{why}");
    let said = bob.ask(&mut fake, Command::Resume).unwrap();
    assert!(
        said.contains("; revision 3, which somebody else made after 2 (agent v2 → v3), is now rolled out"),
        "{said}"
    );
    bob.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash3"), 0, "bob's step was for another template");
    bob.ask(&mut fake, Command::Step(Step::Updated(Int(1)))).unwrap();
    bob.run_for(&mut fake, 120);
    assert_eq!(fake.at("hash3"), 1);
}

/// Its controller rolls v2, and somebody stops that. Whoever resumes is told that it is another template by then.
#[test]
fn what_others_make_of_the_template_under_the_brake_is_told_to_whoever_resumes() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    one_shot(&mut fake, "ada", Command::Pause { why: None }).unwrap();
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    let preview = bob.engine.preview(&Command::Resume, fake.now).unwrap();
    assert!(preview.effects.iter().any(|line| line.contains("template")), "{:?}", preview.effects);
    let said = bob.ask(&mut fake, Command::Resume).unwrap();
    assert!(
        said.contains("; revision 3, which somebody else made after 2 (agent v2 → v3), is now rolled out"),
        "{said}"
    );
}

/// The command ends before the controller has observed the adoption. What others make of the template afterwards is nobody's wish either.
#[test]
fn what_others_make_of_the_template_after_an_adoption_waits_for_a_resume() {
    let mut fake = FakeCluster::rolling(4, 1);
    fake.lazy = true;
    one_shot(&mut fake, "ada", Command::Adopt).unwrap();
    fake.lazy = false;
    assert_eq!(intent(&fake).target.as_deref(), Some("hash1"));
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    let mut bob = FakeConsole::open(&fake, "bob");
    bob.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    bob.run_for(&mut fake, 120);
    let why = intent(&fake).paused.unwrap().why.unwrap();
    assert!(why.starts_with("the template was changed"), "{why}");
    let refused = bob.ask(&mut fake, Command::Step(Step::Updated(Int(4)))).unwrap_err();
    assert!(refused.contains("somebody else changed the template"), "{refused}");
    bob.ask(&mut fake, Command::Resume).unwrap();
    bob.ask(&mut fake, Command::Step(Step::Updated(Int(4)))).unwrap();
    bob.run_for(&mut fake, 300);
    assert_eq!(fake.at("hash2"), 4);
}

/// Who stepped did not know the change that somebody else had asked for by then.
#[test]
fn the_template_of_a_change_that_is_asked_for_is_the_target() {
    use crate::engine::lease::edit::Edit;
    use crate::engine::model::record::Change;
    use std::borrow::Cow;
    let asked = Intent { change: Some(Change::Revision("hash1".into())), ..Intent::default() };
    let known = Intent { target: Some("hash3".into()), ..Intent::default() };
    for (before, target) in [(Intent::default(), Some("hash2")), (asked, None), (known, Some("hash3"))] {
        let mut intent = Some(Cow::Owned(before));
        Edit::FirstTarget("hash2".into()).apply(&mut intent);
        assert_eq!(intent.unwrap().target.as_deref(), target);
    }
}
