//! Where a roll back goes that names no revision, and at which revisions a rollout is known to have halted.

use serde_json::json;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Step, Takeover};
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::roll_back::NoRollBack;
use crate::engine::model::settings::{OnFailure, Tuning};
use crate::engine::model::template::{TaintEffect, Template};
use crate::engine::report::snapshot::{Alarm, Phase};

fn halted(console: &mut FakeConsole, fake: &FakeCluster) -> Vec<i64> {
    let snapshot = console.snapshot(fake);
    let halted = snapshot.revisions.iter().filter(|revision| revision.halted.is_some());
    halted.filter_map(|revision| revision.number).collect()
}

fn leads_to(console: &mut FakeConsole, fake: &FakeCluster) -> Result<i64, NoRollBack> {
    let snapshot = console.snapshot(fake);
    let hash = snapshot.roll_back?;
    Ok(snapshot.revisions.iter().find(|revision| revision.hash == hash).unwrap().number.unwrap())
}

fn roll_out(console: &mut FakeConsole, fake: &mut FakeCluster, image: &str) {
    roll_out_to(console, fake, image, 3);
}

/// Lets this many nodes be updated, and waits for longer than that takes.
fn roll_out_to(console: &mut FakeConsole, fake: &mut FakeCluster, image: &str, nodes: u32) {
    console.set_image(fake, image);
    console.ask(fake, Command::Step(Step::Updated(Int(nodes)))).unwrap();
    console.run_for(fake, 200);
}

/// Revision 2 fails everywhere and is given up, revision 4 is complete: who asks for the revision before gets 3, whose template is that
/// of 1, and not the one that halted.
#[test]
fn it_does_not_lead_to_a_revision_at_which_a_rollout_halted() {
    let mut fake = FakeCluster::rolling(3, 1);
    fake.broken.push("agent:v2".into());
    let mut console = FakeConsole::open(&fake, "ops");
    assert_eq!(leads_to(&mut console, &fake), Err(NoRollBack::NoneKept));
    roll_out(&mut console, &mut fake, "agent:v2");
    assert_eq!((halted(&mut console, &fake), leads_to(&mut console, &fake)), (vec![2], Ok(1)));
    let other = &mut FakeConsole::open(&fake, "late");
    assert_eq!(halted(other, &fake), [2], "the record tells of a halt that stands");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 200);
    assert_eq!(leads_to(&mut console, &fake), Err(NoRollBack::RolledBackFrom { number: 2 }));
    assert_eq!(halted(&mut console, &fake), [2]);

    roll_out(&mut console, &mut fake, "agent:v3");
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.counts.updated, snapshot.adopted), (3, false), "{:?}", snapshot.phase);
    let before = leads_to(&mut console, &fake).unwrap();
    let of = |number: i64| snapshot.revisions.iter().find(|revision| revision.number == Some(number)).unwrap();
    assert_eq!(&*of(before).images[0].1, "agent:v1", "{:?}", snapshot.revisions);
    assert_eq!(halted(&mut console, &fake), [2]);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 200);
    assert_eq!(fake.at("hash1"), 3);
}

/// The only other revision is one at which a rollout halted, and that was left by setting the image before it.
#[test]
fn it_is_refused_where_a_rollout_halted_at_every_other_revision() {
    let mut fake = FakeCluster::rolling(3, 1);
    fake.broken.push("agent:v2".into());
    let mut console = FakeConsole::open(&fake, "ops");
    roll_out(&mut console, &mut fake, "agent:v2");
    roll_out(&mut console, &mut fake, "agent:v1");
    assert_eq!(console.snapshot(&fake).phase, Phase::Idle);
    assert_eq!(leads_to(&mut console, &fake), Err(NoRollBack::OnlyHalted { number: 2 }));
    let refused = console.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    assert!(refused.contains("halted at revision 2") && refused.contains("name its revision"), "{refused}");
}

/// Whoever resumed past a halt and came to the end has shown that the revision works.
#[test]
fn a_revision_that_was_complete_after_its_halt_has_not_failed() {
    let mut fake = FakeCluster::rolling(3, 1);
    fake.broken.push("agent:v2".into());
    let mut console = FakeConsole::open(&fake, "ops");
    roll_out(&mut console, &mut fake, "agent:v2");
    assert_eq!(halted(&mut console, &fake), [2]);
    fake.broken.clear();
    fake.remove_pod("n1");
    fake.create_pod("n1");
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 400);
    assert_eq!((fake.at("hash2"), console.snapshot(&fake).adopted), (3, false));
    assert_eq!((halted(&mut console, &fake), leads_to(&mut console, &fake)), (vec![], Ok(1)));
}

/// Somebody deletes the ControllerRevision that the rollout came from: any other one would be a guess.
#[test]
fn it_does_not_lead_elsewhere_where_the_revision_that_the_rollout_came_from_is_gone() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    // Revision 1 is there to be guessed.
    roll_out(&mut console, &mut fake, "agent:v2");
    roll_out_to(&mut console, &mut fake, "agent:v3", 1);
    assert_eq!(leads_to(&mut console, &fake), Ok(2));
    let origin = fake.delete_revision("agent:v2").hash;
    console.run_for(&mut fake, 5);
    assert_eq!(leads_to(&mut console, &fake), Err(NoRollBack::OriginNotKept { hash: origin.clone(), nodes: 2 }));
    let refused = console.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    assert!(refused.contains(&*origin) && refused.contains("2 nodes still run it"), "{refused}");
    assert!(refused.contains("`set-image`"), "{refused}");
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.change().to_string(), "? → v3", "nobody knows what the other pods run");
    console.ask(&mut fake, Command::Undo { to: Some(1) }).expect("a revision that is named is meant");
}

/// The ControllerRevision that a rollout came from was deleted and made anew, so that it is younger than the one that is rolled back from.
#[test]
fn a_revision_that_was_made_anew_is_still_the_earlier_one() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    roll_out_to(&mut console, &mut fake, "agent:v2", 1);
    let origin = fake.delete_revision("agent:v1");
    fake.make_revision_anew(origin);
    console.run_for(&mut fake, 5);
    let undo = Command::Undo { to: None };
    let preview = console.engine.preview(&undo, fake.now).unwrap();
    assert_eq!(preview.title, "Roll back to revision 3");
    console.ask(&mut fake, undo).unwrap();
    console.run_for(&mut fake, 200);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.phase, snapshot.counts.updated), (Phase::Idle, 3));
    let refused = console.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    assert!(refused.contains("is the one that was rolled back from"), "{refused}");
}

/// Somebody sets the earlier image again in the middle of a rollout: what is left are nodes to update.
#[test]
fn where_the_template_is_that_of_the_origin_again_the_step_that_brings_the_others_there_is_named() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    roll_out_to(&mut console, &mut fake, "agent:v2", 2);
    console.set_image(&mut fake, "agent:v1");
    console.run_for(&mut fake, 20);
    let number = fake.current().number;
    for to in [None, Some(number)] {
        let refused = console.ask(&mut fake, Command::Undo { to }).unwrap_err();
        assert!(refused.contains("2 nodes are not at it yet: `step --to 100%` lets them go"), "{to:?}: {refused}");
    }
}

/// A template that is placed elsewhere is applied to all nodes at once. An operator is asked about that, so the rollout does not do it by itself.
#[test]
fn a_rollout_does_not_go_back_by_itself_to_a_template_that_takes_pods_away() {
    let dedicated = ("dedicated", "", TaintEffect::NoExecute);
    let mut fake = FakeCluster::rolling(6, 1);
    let mut tolerating = template("agent:v2").json().clone();
    tolerating["spec"]["tolerations"] = json!([{"key": "dedicated", "operator": "Exists"}]);
    fake.broken.push("agent:v2".into());
    fake.set_template(Template::from_json(tolerating));
    fake.reconcile();
    for node in ["n3", "n4", "n5", "n6"] {
        fake.set_taints(node, &[dedicated]);
    }
    let mut console = FakeConsole::open(&fake, "ops");
    let back = Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() };
    console.ask(&mut fake, Command::Adopt.under(back)).unwrap();
    console.ask(&mut fake, Command::Step(Step::Updated(Int(6)))).unwrap();
    console.run_for(&mut fake, 700);
    let snapshot = console.snapshot(&fake);
    assert_eq!((&snapshot.phase, fake.deleted.len()), (&Phase::Halted, 1));
    assert_eq!(&*fake.daemonset.template.images()[0], "agent:v2", "as it was");
    let halted = snapshot.alarms.iter().find(|alarm| matches!(alarm, Alarm::Halted { .. })).unwrap().to_string();
    assert!(halted.contains("would delete the pods of 4 nodes at once, without a budget"), "{halted}");
}

/// Nobody drove while a node failed and somebody changed the template: the next driver pauses for that. It does not tell that it goes back.
#[test]
fn a_roll_back_that_a_changed_template_keeps_from_happening_is_not_told() {
    let mut fake = FakeCluster::rolling(6, 1);
    fake.broken.push("agent:v2".into());
    let mut console = FakeConsole::open(&fake, "ops");
    let back = Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(back)).unwrap();
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Updated(Int(1)))).unwrap();
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 5);
    drop(console);
    fake.wait(1_800);
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    let mut next = FakeConsole::open(&fake, "eve");
    next.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    next.run_for(&mut fake, 60);
    let told: Vec<String> = next.snapshot(&fake).timeline.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|line| line.contains("template was changed")), "{told:?}");
    assert!(!told.iter().any(|line| line.contains("rolling back")), "{told:?}");
}

/// One node is off for weeks, so that the rollout of v2 never ended. The canary of v3 fails at night: to go back to where the record began would replace v2 on all
/// the others by an image that was left weeks ago.
#[test]
fn it_does_not_go_back_by_itself_to_what_fewer_nodes_run_than_another_revision() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.broken.push("agent:v3".into());
    fake.set_node_ready("n6", false);
    let mut console = FakeConsole::open(&fake, "ops");
    let back = Tuning { on_failure: Some(OnFailure::RollBack), ..Tuning::default() };
    console.ask(&mut fake, Command::Tune(back)).unwrap();
    roll_out_to(&mut console, &mut fake, "agent:v2", 6);
    assert_eq!(fake.at("hash2"), 5);
    roll_out_to(&mut console, &mut fake, "agent:v3", 1);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.phase, fake.at("hash2")), (Phase::Halted, 4));
    let why =
        "it does not go back by itself to revision 1, where it came from: revision 2 is on 4 nodes, and that one on 1";
    assert!(snapshot.halt.unwrap().why.contains(why));
    // An operator says where to.
    console.ask(&mut fake, Command::Undo { to: Some(2) }).unwrap();
    console.run_for(&mut fake, 200);
    assert_eq!(fake.at("hash2"), 5);
}
