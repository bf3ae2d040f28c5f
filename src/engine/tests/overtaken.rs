//! A command that was asked for, and for which somebody else changed the record before it was written.

use super::*;
use crate::engine::model::effect::{EffectError, EffectErrorKind};
use crate::engine::model::record::Intent;

/// A rollout of twenty nodes of which two may be updated, with its driver and a second console.
fn two_consoles() -> (FakeCluster, FakeConsole, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.set_image(&mut fake, "agent:v2");
    ada.partition(&mut fake, 18);
    ada.run_for(&mut fake, 20);
    let bob = FakeConsole::open(&fake, "bob");
    (fake, ada, bob)
}

fn keep(nodes: u32) -> Command {
    Command::Step(Step::Partition(IntOrPercent::Int(nodes)))
}

fn pause(why: &str) -> Command {
    Command::Pause { why: Some(why.into()) }
}

fn budget(nodes: &str) -> Command {
    Command::Tune(Tuning { max_unavailable: Some(nodes.parse().unwrap()), ..Tuning::default() })
}

fn image(image: &str) -> Command {
    Command::SetImage([("agent".to_owned(), image.parse().unwrap())].into())
}

fn select(selector: &str) -> Command {
    Command::Select(Some(selector.parse().unwrap()))
}

/// Ada asks for `first`, which is not written yet; Bob's `then` is. What becomes of Ada's.
fn asked_and_overtaken(
    (fake, ada, bob): &mut (FakeCluster, FakeConsole, FakeConsole),
    first: Command,
    then: Command,
) -> Result<String, String> {
    ada.hear(fake);
    let id = ada.engine.command(first, fake.now).unwrap();
    bob.hear(fake);
    bob.engine.command(then, fake.now).unwrap();
    bob.run(fake);
    ada.run_for(fake, 2);
    let at = ada.settled.iter().position(|(settled, _)| *settled == id).expect("it is settled");
    ada.settled.remove(at).1
}

fn intent(fake: &FakeCluster) -> Intent {
    fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap().intent
}

#[test]
fn a_step_that_is_written_late_does_not_undo_a_later_one() {
    let mut consoles = two_consoles();
    let result = asked_and_overtaken(&mut consoles, keep(0), keep(15));
    let why = "the partition was set to 15 since this was asked for: look, and ask again if it is still wanted";
    assert_eq!(result, Err(why.into()));
    let (fake, ada, _) = &mut consoles;
    assert_eq!(intent(fake).partition, IntOrPercent::Int(15), "what Bob asked for stands");
    ada.run_for(fake, 60);
    assert_eq!(fake.at("hash2"), 5, "no node is let go by what was overtaken");
    ada.ask(fake, keep(0)).unwrap();
    ada.run_for(fake, 300);
    assert_eq!(fake.at("hash2"), 20, "asked again it is done");
}

#[test]
fn both_may_ask_for_the_same_and_for_different_things() {
    let mut consoles = two_consoles();
    assert!(asked_and_overtaken(&mut consoles, keep(10), keep(10)).is_ok());
    assert!(asked_and_overtaken(&mut consoles, keep(8), budget("3")).is_ok());
    assert!(asked_and_overtaken(&mut consoles, budget("4"), select("zone=a")).is_ok());
    assert!(asked_and_overtaken(&mut consoles, pause("ada"), pause("bob")).is_ok(), "a pause is right at any time");
    let (fake, ..) = &consoles;
    let intent = intent(fake);
    assert_eq!(intent.partition, IntOrPercent::Int(8));
    assert_eq!(intent.budgets.max_unavailable.to_string(), "4");
    assert_eq!(intent.selector.map(|selector| selector.to_string()).as_deref(), Some("zone=a"));
}

#[test]
fn two_steps_in_a_row_are_both_made_or_both_refused() {
    let mut consoles = two_consoles();
    let (fake, ada, bob) = &mut consoles;
    ada.hear(fake);
    let ids = [keep(16), keep(14)].map(|command| ada.engine.command(command, fake.now).unwrap());
    bob.ask(fake, budget("3")).unwrap();
    ada.run(fake);
    let result = |ada: &FakeConsole, id| ada.settled.iter().find(|(settled, _)| *settled == id).unwrap().1.is_ok();
    assert!(ids.iter().all(|id| result(ada, *id)), "the second was asked for under the first");
    assert_eq!(intent(fake).partition, IntOrPercent::Int(14));
    let ids = [keep(5), keep(0)].map(|command| ada.engine.command(command, fake.now).unwrap());
    bob.ask(fake, keep(13)).unwrap();
    ada.run(fake);
    assert!(ids.iter().all(|id| !result(ada, *id)));
    assert_eq!(intent(fake).partition, IntOrPercent::Int(13));
}

#[test]
fn what_goes_on_does_not_lift_a_pause_that_came_after_it() {
    let mut consoles = two_consoles();
    let (fake, ada, _) = &mut consoles;
    ada.ask(fake, pause("lunch")).unwrap();
    let result = asked_and_overtaken(&mut consoles, Command::Resume, pause("the link is down"));
    assert!(
        result.unwrap_err().starts_with(
            "another reason was given for the pause: lunch; then bob@bastion: the link is down since this"
        )
    );
    let (fake, ..) = &consoles;
    assert_eq!(intent(fake).paused.unwrap().why.as_deref(), Some("lunch; then bob@bastion: the link is down"));
}

/// A change lifts a pause as well: one that came after it was asked for stands, and with it everything that is at rest.
#[test]
fn a_change_does_not_lift_a_pause_that_came_after_it() {
    for change in [Command::Undo { to: None }, image("agent:v3"), Command::Release(Early::Accept)] {
        let mut consoles = two_consoles();
        let result = asked_and_overtaken(&mut consoles, change.clone(), pause("the storage is down: touch nothing"));
        let why = result.unwrap_err();
        assert!(why.starts_with("bob@bastion paused it: the storage is down: touch nothing since"), "{why}");
        let (fake, ada, _) = &mut consoles;
        let deleted = fake.deleted.len();
        ada.run_for(fake, 60);
        assert_eq!(fake.deleted.len(), deleted, "{change:?}");
        assert!(intent(fake).paused.is_some());
        assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete");
    }
}

/// The rollout was completed and handed back while the request could not be sent. It is not begun again, forward or back.
#[test]
fn a_change_that_is_written_after_the_end_of_its_rollout_is_not_made() {
    for change in [Command::Undo { to: None }, image("agent:v3"), Command::Release(Early::Accept)] {
        let (mut fake, mut ada, mut bob) = two_consoles();
        ada.hear(&fake);
        let id = ada.engine.command(change.clone(), fake.now).unwrap();
        ada.deaf = true;
        bob.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap_err();
        fake.wait(60);
        bob.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
        bob.partition(&mut fake, 0);
        bob.run_for(&mut fake, 300);
        assert_eq!((fake.at("hash2"), &fake.daemonset.strategy.raw["type"]), (20, &json!("RollingUpdate")));
        ada.deaf = false;
        ada.run_for(&mut fake, 20);
        let (_, result) = ada.settled.iter().find(|(settled, _)| *settled == id).unwrap();
        let why = result.clone().unwrap_err();
        assert!(why.starts_with("the rollout has ended since this was asked for"), "{change:?}: {why}");
        assert_eq!((fake.at("hash2"), &fake.daemonset.strategy.raw["type"]), (20, &json!("RollingUpdate")));
    }
}

/// Every pod is at the template when Ada asks to hand the DaemonSet back. Then Bob sets another image, which nobody has let go yet: her release would have the
/// controller roll it out at once, on all nodes.
#[test]
fn a_release_does_not_hand_over_a_template_that_came_after_it() {
    let mut fake = FakeCluster::rolling(20, 2);
    let mut bob = FakeConsole::open(&fake, "bob");
    bob.set_image(&mut fake, "agent:v2");
    bob.keep(&mut fake);
    bob.partition(&mut fake, 0);
    bob.run_for(&mut fake, 300);
    assert_eq!(fake.at("hash2"), 20);
    let mut ada = FakeConsole::open(&fake, "ada");
    let id = ada.engine.command(Command::Release(Early::Refuse), fake.now).unwrap();
    bob.set_image(&mut fake, "agent:v3");
    bob.run(&mut fake);
    for _ in 0..30 {
        ada.run_for(&mut fake, 1);
        bob.run_for(&mut fake, 1);
    }
    let (_, result) = ada.settled.iter().find(|(settled, _)| *settled == id).unwrap();
    let why = result.clone().unwrap_err();
    assert!(why.starts_with("another change of the template was asked for since"), "{why}");
    assert_eq!((fake.at("hash3"), &fake.daemonset.strategy.raw["type"]), (0, &json!("OnDelete")));
}

#[test]
fn budgets_and_nodes_that_were_set_meanwhile_stay() {
    let mut consoles = two_consoles();
    let result = asked_and_overtaken(&mut consoles, budget("10"), budget("1"));
    assert!(result.unwrap_err().starts_with("max unavailable was set to 1 since"));
    let result = asked_and_overtaken(&mut consoles, select("zone=a"), select("zone=b"));
    assert!(result.unwrap_err().starts_with("the nodes with zone=b were chosen since"));
    let result = asked_and_overtaken(&mut consoles, image("agent:v3"), image("agent:v4"));
    assert!(result.unwrap_err().starts_with("another change of the template was asked for since"));
}

/// Ada asks for a step where nothing is rolled out yet; meanwhile Bob begins a rollout that she has not seen.
#[test]
fn a_step_does_not_let_nodes_go_to_a_template_that_came_after_it() {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.set_template(template("agent:v2"));
    fake.set_strategy(serde_json::json!({"type": "OnDelete"}));
    fake.reconcile();
    let consoles = (FakeConsole::open(&fake, "ada"), FakeConsole::open(&fake, "bob"));
    let mut consoles = (fake, consoles.0, consoles.1);
    let result = asked_and_overtaken(&mut consoles, keep(0), image("agent:v3"));
    assert!(result.unwrap_err().starts_with("a rollout was begun since"));

    // And where one is recorded, with the partition as both of them found it.
    let mut consoles = two_consoles();
    let (fake, ada, _) = &mut consoles;
    ada.partition(fake, 20);
    let result = asked_and_overtaken(&mut consoles, keep(0), image("agent:v3"));
    assert!(result.unwrap_err().starts_with("another change of the template was asked for since"));
    let (fake, ada, _) = &mut consoles;
    ada.run_for(fake, 60);
    assert_eq!(fake.at("hash3"), 0);
}

#[test]
fn a_write_of_ours_whose_answer_was_lost_is_not_held_against_us() {
    let (mut fake, mut ada, mut bob) = two_consoles();
    ada.hear(&fake);
    let id = ada.engine.command(keep(10), fake.now).unwrap();
    let effects = ada.engine.decide(fake.now);
    assert!(!effects.is_empty());
    for (effect_id, effect) in effects {
        // It is written, and the answer does not come.
        let _ = fake.apply(effect);
        let lost = EffectError { kind: EffectErrorKind::Unknown, message: "no answer".into(), dry_run: false };
        ada.engine.outcome(effect_id, Err(lost), fake.now);
    }
    bob.ask(&mut fake, keep(9)).unwrap();
    ada.run_for(&mut fake, 2);
    let (_, result) = ada.settled.iter().find(|(settled, _)| *settled == id).unwrap();
    assert!(result.is_ok(), "it was made before Bob's: {result:?}");
    assert_eq!(intent(&fake).partition, IntOrPercent::Int(9));
}

/// The plan was made as if the step held. Once it is refused, nothing of that plan is done, not even images are brought.
#[test]
fn no_images_are_brought_by_limits_that_were_overtaken() {
    let mut consoles = two_consoles();
    {
        let (fake, ada, _) = &mut consoles;
        let tuning = Tuning { require_image: Some(true), max_pulling: Some("1".parse().unwrap()), ..Tuning::default() };
        ada.ask(fake, Command::Tune(tuning)).unwrap();
        ada.run_for(fake, 5);
    }
    let pulling = Tuning { max_pulling: Some("5".parse().unwrap()), ..Tuning::default() };
    let first = Command::Tuned { tuning: pulling, command: Box::new(keep(0)) };
    let (fake, ada, bob) = &mut consoles;
    ada.hear(fake);
    ada.engine.command(first, fake.now).unwrap();
    bob.hear(fake);
    bob.engine.command(keep(10), fake.now).unwrap();
    bob.run(fake);
    ada.run(fake);
    assert!(ada.settled.iter().any(|(_, result)| result.is_err()), "{:?}", ada.settled);
    assert_eq!(fake.warm.len(), 1, "the limit is still one node");
}

/// A DaemonSet under `OnDelete` whose pods are those of an earlier template, and a console; no rollout is recorded.
fn without_record() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.set_strategy(json!({"type": "OnDelete"}));
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    let ada = FakeConsole::open(&fake, "ada");
    (fake, ada)
}

/// Both were asked for where no rollout was recorded; the second was not asked for under the rollout that somebody else begins meanwhile.
#[test]
fn two_steps_without_a_record_are_both_refused_once_somebody_else_has_begun() {
    let (mut fake, mut ada) = without_record();
    let mut bob = FakeConsole::open(&fake, "bob");
    let ids = [keep(10), keep(15)].map(|command| ada.engine.command(command, fake.now).unwrap());
    bob.ask(&mut fake, keep(10)).unwrap();
    ada.run(&mut fake);
    let result = |id| ada.settled.iter().find(|(settled, _)| *settled == id).unwrap().1.clone();
    let why = "a rollout was begun since this was asked for: look, and ask again if it is still wanted".to_owned();
    assert_eq!(ids.map(result), [Err(why.clone()), Err(why)]);
    assert_eq!(intent(&fake).partition, IntOrPercent::Int(10));
}

/// The second step is asked for while the write is on its way that begins the rollout.
#[test]
fn a_step_after_the_one_that_began_the_rollout_is_made_although_its_record_is_there_now() {
    let (mut fake, mut ada) = without_record();
    let first = ada.engine.command(keep(15), fake.now).unwrap();
    let mut effects = ada.engine.decide(fake.now);
    let second = ada.engine.command(keep(10), fake.now).unwrap();
    let (id, effect) = effects.pop().unwrap();
    let outcome = fake.apply(effect);
    ada.engine.outcome(id, outcome, fake.now);
    ada.run(&mut fake);
    for id in [first, second] {
        assert!(ada.settled.iter().any(|(settled, result)| *settled == id && result.is_ok()), "{:?}", ada.settled);
    }
    assert_eq!(intent(&fake).partition, IntOrPercent::Int(10));
}

/// The image of the refused command is the one that Bob has set. The step was asked for under Ada's change, and not under his.
#[test]
fn a_step_after_a_change_of_which_one_half_was_overtaken_is_refused_as_well() {
    let mut consoles = two_consoles();
    let (fake, ada, bob) = &mut consoles;
    let change = |most: &str| Command::Tuned {
        tuning: Tuning { max_unavailable: Some(most.parse().unwrap()), ..Tuning::default() },
        command: Box::new(Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into())),
    };
    ada.hear(fake);
    let ids = [change("2"), keep(0)].map(|command| ada.engine.command(command, fake.now).unwrap());
    bob.hear(fake);
    bob.engine.command(change("1"), fake.now).unwrap();
    bob.run(fake);
    ada.run(fake);
    let is_refused = |id: &_| ada.settled.iter().any(|(settled, result)| settled == id && result.is_err());
    assert!(ids.iter().all(is_refused), "{:?}", ada.settled);
    assert_eq!(intent(fake).partition, IntOrPercent::Percent(100), "nothing goes to what Bob has set");
}
