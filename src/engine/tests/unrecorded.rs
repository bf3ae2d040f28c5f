//! A rollout whose record is gone: what is said of it, and that nobody is promised more than whoever drives then does.

use super::*;
use crate::engine::fake_cluster::template;
use crate::engine::model::command::{Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::event::Watched;
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::settings::{Secs, Setting, Settings, Tuning};
use crate::engine::report::remedies::Remedy;

pub(super) fn one_shot(fake: &mut FakeCluster, who: &str, command: Command) -> Result<String, String> {
    FakeConsole::open_as(fake, who, Role::OneShot).ask(fake, command)
}

/// A rollout of v2 whose two nodes do not start, and whose Lease somebody deletes.
fn without_record() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.defaults = Tuning::default();
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.set_image(&mut fake, "agent:v2");
    ada.partition(&mut fake, 8);
    fake.slow = true;
    ada.run_for(&mut fake, 5);
    assert_eq!(fake.at("hash2"), 2);
    delete_lease(&mut fake, &mut ada);
    (fake, ada)
}

pub(super) fn delete_lease(fake: &mut FakeCluster, console: &mut FakeConsole) {
    fake.lease = None;
    console.engine.observe(Event::LeaseGone(None), fake.now);
}

fn is_missing(console: &mut FakeConsole, fake: &FakeCluster) -> bool {
    console.snapshot(fake).alarms.contains(&Alarm::RecordMissing)
}

#[test]
fn that_no_record_is_left_is_said_with_what_a_new_one_begins_with() {
    let (mut fake, mut ada) = without_record();
    let snapshot = ada.snapshot(&fake);
    assert!(snapshot.alarms.contains(&Alarm::RecordMissing), "{:?}", snapshot.alarms);
    assert_eq!(snapshot.budget.to_string(), "down 2 of 2: 2 not recorded by whom");

    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    assert!(is_missing(&mut bob, &fake), "who comes later sees it at once");
    let preview = bob.engine.preview(&Command::Step(Step::Updated(Int(4))), fake.now).unwrap();
    let warns = "No record is left of the rollout: its limits, its selector, a pause and a halt are not known. A new one begins, with at most 2 down, \
                 a soak time of 10s, no selector and the other defaults: where it had others, set them first (flags of `adopt`).";
    assert!(preview.warnings.contains(&warns.to_owned()), "{:?}", preview.warnings);
    assert_eq!(preview.danger, Danger::Serious, "whoever steps is asked");
    let tuning = Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() };
    let soak = Command::Tuned { tuning: tuning.clone(), command: Box::new(Command::Adopt) };
    assert_eq!(bob.engine.preview(&soak, fake.now).unwrap().title, "Begin a new record");
    let limits = ada.engine.preview(&Command::Tune(tuning), fake.now).unwrap();
    assert_eq!(limits.title, "Begin a new record", "in a console");
    let preview = bob.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
    let nothing_soaks = "A new one begins, with at most 2 down, no selector";
    assert!(preview.warnings.iter().any(|warning| warning.contains(nothing_soaks)), "{:?}", preview.warnings);
    let refused = one_shot(&mut fake, "bob", Command::Drive(Takeover::IfFree)).unwrap_err();
    assert!(refused.contains("`adopt` records it anew"), "{refused}");

    let preview = bob.engine.preview(&Command::Adopt, fake.now).unwrap();
    assert_eq!(preview.effects[0], "Records the rollout anew: OnDelete is set already. No pod is replaced.");
    let tuning = Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() };
    let adopt = Command::Tuned { tuning, command: Box::new(Command::Adopt) };
    let said = one_shot(&mut fake, "bob", adopt).unwrap();
    assert_eq!(
        said,
        "recorded anew: its controller replaces no pod any more; began without a record: max unavailable 2 (default), max pulling 2 (default), \
         soak 1m, failure threshold 1 (default); which limits it had is not known"
    );
    let snapshot = FakeConsole::open(&fake, "eve").snapshot(&fake);
    assert!(!snapshot.alarms.contains(&Alarm::RecordMissing));
    assert_eq!(snapshot.budget.to_string(), "down 2 of 2: 2 not recorded by whom");
}

#[test]
fn a_release_is_not_taken_for_a_record_that_is_missing() {
    let mut fake = FakeCluster::rolling(4, 2);
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.set_image(&mut fake, "agent:v2");
    ada.partition(&mut fake, 0);
    // The watch of the DaemonSet tells later than that of the Lease that it is handed back.
    let mut eve = FakeConsole::open(&fake, "eve");
    let mut late = None;
    for _ in 0..60 {
        if fake.at("hash2") >= 2 && late.is_none() {
            eve.mute(Watched::DaemonSet);
            late = Some(false);
        }
        ada.run_for(&mut fake, 1);
        eve.hear(&fake);
        let is_dropped = fake.lease.as_ref().is_none_or(|lease| lease.record == Ok(None));
        if late == Some(false) && is_dropped {
            assert!(eve.snapshot(&fake).adopted, "as far as eve knows");
            assert!(!is_missing(&mut eve, &fake), "not within 5 s");
            eve.unmute(&fake, Watched::DaemonSet);
            late = Some(true);
        }
        assert!(!is_missing(&mut ada, &fake) && !is_missing(&mut eve, &fake));
    }
    assert_eq!(late, Some(true));
    assert_eq!((fake.at("hash2"), ada.snapshot(&fake).adopted), (4, false));
}

/// Before anybody drives under the new record, a node counts as updated only once it has soaked for as long as is shown.
/// Two watches show an adoption by somebody else, and the one of the DaemonSet may be first.
#[test]
fn an_adoption_whose_record_is_seen_later_is_not_taken_for_a_record_that_is_missing() {
    for recorded in [true, false] {
        let mut fake = FakeCluster::rolling(10, 2);
        let mut watcher = FakeConsole::open(&fake, "eve");
        watcher.mute(Watched::Lease);
        let mut ada = FakeConsole::open(&fake, "ada");
        ada.set_image(&mut fake, "agent:v2");
        watcher.run_for(&mut fake, 1);
        let shown = watcher.snapshot(&fake);
        assert!(shown.adopted && !is_missing(&mut watcher, &fake), "{:?}", shown.alarms);
        if recorded {
            watcher.unmute(&fake, Watched::Lease);
        }
        watcher.run_for(&mut fake, 5);
        let lost = watcher.happened.iter().any(RolloutEvent::tells_of_a_lost_record);
        assert_eq!((is_missing(&mut watcher, &fake), lost), (!recorded, false));
    }
}

#[test]
fn nodes_soak_for_as_long_as_is_shown_also_before_somebody_drives() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.defaults = Tuning::default();
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.set_image(&mut fake, "agent:v2");
    ada.partition(&mut fake, 8);
    ada.run_for(&mut fake, 5);
    delete_lease(&mut fake, &mut ada);
    let mut bob = FakeConsole::open(&fake, "bob");
    let snapshot = bob.snapshot(&fake);
    assert_eq!((snapshot.settings.gates.soak_secs, snapshot.counts.updated), (Secs(10), 0));
    bob.run_for(&mut fake, 15);
    assert_eq!(bob.snapshot(&fake).counts.updated, 2);
}

/// Who records a rollout anew is told that what was updated soaks again, and what is next: the new record keeps every pod, so that it is a step.
#[test]
fn who_records_it_anew_is_told_which_nodes_soak_again_and_that_a_step_is_next() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.defaults = Tuning::default();
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.set_image(&mut fake, "agent:v2");
    ada.partition(&mut fake, 7);
    ada.run_for(&mut fake, 60);
    assert_eq!(ada.snapshot(&fake).counts.updated, 3);
    delete_lease(&mut fake, &mut ada);
    drop(ada);
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    bob.run(&mut fake);
    let adopt = |soak: u32| Command::Tuned {
        tuning: Tuning { soak_secs: Some(Secs(soak)), max_unavailable: None, ..Tuning::default() },
        command: Box::new(Command::Adopt),
    };
    let effects = bob.engine.preview(&adopt(300), fake.now).unwrap().effects;
    let soak = "3 updated nodes soak anew, and count as updated once they have been ready for 5m.";
    assert_eq!(effects[1], soak, "{effects:?}");
    one_shot(&mut fake, "bob", adopt(300)).unwrap();
    let snapshot = FakeConsole::open_as(&fake, "eve", Role::OneShot).snapshot(&fake);
    assert_eq!((snapshot.phase.clone(), snapshot.counts.updated), (Phase::Held, 0));
    let remedies = snapshot.guidance().unwrap().remedies;
    assert!(matches!(remedies[..], [Remedy::Step(_), Remedy::Drive]), "{remedies:?}");
}

/// What it says of the nodes that are down is what it says once somebody drives: nothing is promised that a driver does not do.
#[test]
fn nodes_that_a_rollout_took_down_are_charged_before_somebody_drives_too() {
    let (mut fake, _) = without_record();
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    one_shot(&mut fake, "bob", Command::Step(Step::Updated(Int(6)))).unwrap();
    let mut bob = FakeConsole::open(&fake, "bob");
    let before = bob.snapshot(&fake);
    assert_eq!(before.budget.to_string(), "down 2 of 2: 2 not recorded by whom");
    bob.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    bob.run_for(&mut fake, 1);
    let after = bob.snapshot(&fake);
    assert_eq!(after.budget.to_string(), "down 2 of 2: 2 ours");
    assert_eq!(after.budget.charged, before.budget.charged);
}

/// Its controller rolls v2, which does not start; somebody stops that, and somebody asks for the way back.
#[test]
fn what_its_controller_took_down_is_charged_on_the_way_back_before_somebody_drives_too() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.wait(1_000);
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    fake.slow = true;
    for node in ["n1", "n2"] {
        fake.remove_pod(node);
        fake.create_pod(node);
    }
    one_shot(&mut fake, "ada", Command::Pause { why: None }).unwrap();
    one_shot(&mut fake, "ada", Command::Undo { to: None }).unwrap();
    let before = FakeConsole::open(&fake, "bob").snapshot(&fake);
    assert_eq!((before.budget.charged, before.budget.pre_existing), (2, 0), "{}", before.budget);
}

/// Only a pause that has stopped its controller says whose doing it is that nodes are down.
#[test]
fn a_pause_after_the_record_is_gone_does_not_blame_its_controller() {
    let (mut fake, _) = without_record();
    let said = one_shot(&mut fake, "ben", Command::Pause { why: None }).unwrap();
    assert!(said.starts_with("paused: no update starts; began without a record: "), "{said}");
    let budget = FakeConsole::open(&fake, "eve").snapshot(&fake).budget;
    assert_eq!(budget.to_string(), "down 2 of 2: 2 not recorded by whom");
}

/// Somebody asked for v2, which was written; before that was noted its controller was let loose and gave it to most nodes. What most nodes
/// have is not where the rollout comes from then.
#[test]
fn an_undo_before_the_target_is_noted_does_not_lead_to_what_most_nodes_were_given() {
    use crate::engine::model::record::Change;
    let mut fake = FakeCluster::rolling(6, 2);
    one_shot(&mut fake, "ada", Command::Adopt).unwrap();
    let change = Change::Images([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    let lease = fake.lease.as_mut().unwrap();
    lease.record.as_mut().unwrap().as_mut().unwrap().intent.change = Some(change);
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    for node in ["n1", "n2", "n3", "n4"] {
        fake.remove_pod(node);
        fake.create_pod(node);
    }
    assert_eq!(fake.at("hash2"), 4);
    let mut ben = FakeConsole::open_as(&fake, "ben", Role::OneShot);
    let preview = ben.engine.preview(&Command::Undo { to: None }, fake.now).unwrap();
    assert!(preview.title.contains("Roll back to revision 1"), "{}", preview.title);
}

pub(super) fn limits_lost(console: &mut FakeConsole, fake: &FakeCluster) -> Option<String> {
    let snapshot = console.snapshot(fake);
    let lost = snapshot.alarms.iter().find(|alarm| matches!(alarm, Alarm::LimitsLost { .. }))?;
    assert!(snapshot.limits_are_lost());
    Some(lost.to_string())
}

/// The record that somebody begins anew says so until its limits are set, to whoever looks, and through a new image.
#[test]
fn that_limits_were_lost_is_said_until_somebody_sets_them() {
    let (mut fake, _) = without_record();
    let said = one_shot(&mut fake, "bob", Command::Adopt).unwrap();
    assert!(
        said.starts_with("recorded anew: its controller replaces no pod any more; began without a record: "),
        "{said}"
    );
    let mut eve = FakeConsole::open(&fake, "eve");
    let lost = limits_lost(&mut eve, &fake).unwrap();
    assert!(lost.starts_with("the record of the rollout was lost, and bob@bastion began a new one at "), "{lost}");
    assert!(lost.contains("with at most 2 down, a soak time of 10s and the other defaults"), "{lost}");
    assert!(eve.snapshot(&fake).remedies().contains(&Remedy::SetLimits { max_unavailable: 2, soak: 10 }));
    eve.set_image(&mut fake, "agent:v3");
    assert!(limits_lost(&mut eve, &fake).is_some(), "its limits are still those");

    let as_it_is = Tuning { soak_secs: Some(Secs(10)), ..Tuning::default() };
    let preview =
        FakeConsole::open_as(&fake, "ada", Role::OneShot).engine.preview(&Command::Tune(as_it_is.clone()), fake.now);
    let confirmed = one_shot(&mut fake, "ada", Command::Tune(as_it_is)).unwrap();
    let defaults = Settings::default();
    let each = Setting::ALL.iter().map(|setting| match setting {
        Setting::MaxUnavailable | Setting::MaxPulling => format!("{} (2)", setting.in_words(&defaults)),
        setting => setting.in_words(&defaults),
    });
    let each: Vec<String> = each.collect();
    assert_eq!(confirmed, "all settings are confirmed as they are: none changes");
    let values = format!("are confirmed: {}.", each.join(", "));
    assert!(preview.unwrap().effects.iter().any(|line| line.contains(&values)), "the preview says which they are");
    eve.hear(&fake);
    assert_eq!(limits_lost(&mut eve, &fake), None);
    assert_eq!(&*eve.snapshot(&fake).begun_anew.unwrap().by, "bob@bastion", "that one was lost stays known");
    assert_eq!(limits_lost(&mut FakeConsole::open(&fake, "ben"), &fake), None);
}

/// One value that is named confirms all: the preview says which those are. The answer, which becomes an Event, says what changed.
#[test]
fn who_sets_one_limit_is_told_which_others_are_confirmed_with_it() {
    let (mut fake, _) = without_record();
    one_shot(&mut fake, "bob", Command::Adopt).unwrap();
    let soak = Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() };
    let mut ada = FakeConsole::open_as(&fake, "ada", Role::OneShot);
    let preview = ada.engine.preview(&Command::Tune(soak.clone()), fake.now).unwrap().effects.join(" ");
    let confirms = "are confirmed: max unavailable default (2), max pulling default (2), ";
    assert!(
        preview.contains(confirms) && !preview.contains(", soak ") && preview.contains("finish release."),
        "{preview}"
    );
    let said = ada.ask(&mut fake, Command::Tune(soak.clone())).unwrap();
    assert_eq!(said, "soak: 10s → 1m; the others are confirmed as they are");
    let mut eve = FakeConsole::open(&fake, "eve");
    let told = eve.snapshot(&fake).timeline.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(told.iter().all(|told| !told.contains("max unavailable default")), "{told:?}");
    assert_eq!(one_shot(&mut fake, "ada", Command::Tune(soak)).unwrap(), "nothing to change: it is so already");
}

#[test]
fn whoever_begins_anew_is_told_every_setting_that_is_not_as_by_default() {
    let (mut fake, _) = without_record();
    let restarts = Tuning { max_restarts: Some(7), ..Tuning::default() };
    let said = one_shot(&mut fake, "bob", Command::Step(Step::Updated(Int(4))).under(restarts)).unwrap();
    assert!(said.contains(", soak 10s (default), failure threshold 1 (default), max restarts 7; "), "{said}");
}

#[test]
fn whoever_begins_anew_with_limits_has_set_them_and_a_first_rollout_has_lost_none() {
    let (mut fake, _) = without_record();
    let soak = Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() };
    one_shot(&mut fake, "bob", Command::Step(Step::Updated(Int(4))).under(soak)).unwrap();
    let mut eve = FakeConsole::open(&fake, "eve");
    assert_eq!(limits_lost(&mut eve, &fake), None);
    assert!(eve.snapshot(&fake).begun_anew.is_some());

    let mut fake = FakeCluster::rolling(10, 2);
    one_shot(&mut fake, "ada", Command::Adopt).unwrap();
    let mut eve = FakeConsole::open(&fake, "eve");
    assert_eq!(limits_lost(&mut eve, &fake), None);
    assert_eq!(eve.snapshot(&fake).begun_anew, None);
}

/// Each of these begins a record without naming a setting.
#[test]
fn every_command_that_begins_a_record_anew_notes_that_limits_were_lost() {
    for command in [Command::Pause { why: None }, Command::Undo { to: None }, Command::Step(Step::Updated(Int(4)))] {
        let (mut fake, _) = without_record();
        fake.defaults = Tuning { soak_secs: Some(Secs(30)), ..Tuning::default() };
        one_shot(&mut fake, "bob", command.clone()).unwrap();
        let lost = limits_lost(&mut FakeConsole::open(&fake, "eve"), &fake);
        assert!(lost.as_ref().is_some_and(|lost| lost.contains("a soak time of 30s")), "{command:?}: {lost:?}");
    }
}

/// Who sees the Events only learns of the pause of a rollout whose record is gone; a rollout that is recorded anew is not paused.
#[test]
fn a_pause_that_went_with_the_record_is_named() {
    let (mut fake, mut ada) = without_record();
    one_shot(&mut fake, "ada", Command::Adopt).unwrap();
    ada.ask(&mut fake, Command::Pause { why: None }).unwrap();
    ada.run_for(&mut fake, 2);
    delete_lease(&mut fake, &mut ada);
    let waits = ada.snapshot(&fake).guidance().unwrap().waits;
    assert!(waits.starts_with("held: no record is left; it was paused by ada"), "{waits}");
    one_shot(&mut fake, "ada", Command::Adopt).unwrap();
    ada.run_for(&mut fake, 2);
    delete_lease(&mut fake, &mut ada);
    ada.run_for(&mut fake, 2);
    ada.ask(&mut fake, Command::Adopt).unwrap();
    delete_lease(&mut fake, &mut ada);
    let waits = ada.snapshot(&fake).guidance().unwrap().waits;
    assert_eq!(
        waits,
        "held: no record is left; as this process saw last, it had the default limits, led to revision 2, before its first step"
    );
}

/// A step would begin a record with other limits: it is not what is offered beside the alarm.
#[test]
fn where_no_record_is_left_one_thing_is_advised() {
    let (mut fake, _) = without_record();
    let mut eve = FakeConsole::open(&fake, "eve");
    let snapshot = eve.snapshot(&fake);
    assert_eq!(snapshot.guidance().unwrap().waits, "held: no record is left");
    assert_eq!(snapshot.remedies(), vec![Remedy::RecordAnew]);
    let outdated = snapshot.nodes.iter().find(|node| !node.at_target).unwrap();
    assert_eq!(outdated.hold.as_ref().unwrap().to_string(), "no record is left");
    fake.wait(3_600);
    eve.run_for(&mut fake, 1);
    let snapshot = eve.snapshot(&fake);
    assert!(snapshot.counts.failed > 0, "its two nodes do not start");
    assert_eq!(snapshot.remedies(), vec![Remedy::RecordAnew, Remedy::Undo]);
}

/// A colleague deletes a pod under `OnDelete`; its next pod is ready for a moment and crashes. It stays his doing, whatever becomes of the pod.
#[test]
fn who_took_a_pod_away_stays_known_when_its_next_pod_crashes() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.set_image(&mut fake, "agent:v2");
    ada.partition(&mut fake, 9);
    ada.run_for(&mut fake, 60);
    fake.slow = true;
    fake.remove_pod("n7");
    ada.run_for(&mut fake, 1);
    fake.create_pod("n7");
    fake.set_ready("n7", false);
    ada.run_for(&mut fake, 1);
    let down = |console: &mut FakeConsole, fake: &FakeCluster| console.snapshot(fake).budget.to_string();
    assert_eq!(down(&mut ada, &fake), "down 1 of 2: 1 by others");
    fake.set_ready("n7", true);
    ada.run_for(&mut fake, 30);
    fake.crash("n7");
    ada.run_for(&mut fake, 1);
    assert_eq!(down(&mut ada, &fake), "down 1 of 2: 1 by others");
    // One that the rollout replaced is its own.
    let ours = fake.deleted[0].clone();
    fake.crash(&ours);
    ada.run_for(&mut fake, 1);
    assert_eq!(down(&mut ada, &fake), "down 2 of 2: 1 ours, 1 by others");
}

/// Whoever drives now did not take them down, and does not say so.
#[test]
fn nodes_that_were_down_without_a_record_do_not_become_those_of_the_next_driver() {
    let (mut fake, _) = without_record();
    let three = Tuning { max_unavailable: Some("3".parse().unwrap()), ..Tuning::default() };
    one_shot(&mut fake, "bob", Command::Step(Step::Updated(Int(3))).under(three)).unwrap();
    let mut bob = FakeConsole::open(&fake, "bob");
    bob.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    bob.run_for(&mut fake, 5);
    let said = "down 3 of 3: 1 ours, 2 not recorded by whom";
    assert_eq!(bob.snapshot(&fake).budget.to_string(), said);
    assert_eq!(FakeConsole::open(&fake, "eve").snapshot(&fake).budget.to_string(), said);
}

/// Nobody ends the pod that the driver deletes on a node that goes down meanwhile. It was made before the rollout, and the driver is recorded to have deleted it.
#[test]
fn a_node_that_went_down_while_its_pod_is_replaced_is_the_drivers() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.wait(600);
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.set_image(&mut fake, "agent:v2");
    fake.hung = true;
    ada.partition(&mut fake, 9);
    ada.run_for(&mut fake, 5);
    let going = fake.deleted.last().unwrap().clone();
    fake.set_node_ready(&going, false);
    ada.run_for(&mut fake, 5);
    let mut bob = FakeConsole::open(&fake, "bob");
    for console in [&mut ada, &mut bob] {
        let snapshot = console.snapshot(&fake);
        let node = snapshot.nodes.iter().find(|node| node.name == going).unwrap();
        assert_eq!((node.state, node.down_by), (NodeState::NodeDown, None));
        assert_eq!(snapshot.budget.to_string(), "down 1 of 2: 1 ours");
    }
}
