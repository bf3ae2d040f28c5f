//! What is still known of the limits of a record that was lost: from the process that saw it, and from Events.

use std::time::Duration;

use super::unrecorded::{delete_lease, limits_lost, one_shot};
use super::*;
use crate::engine::fake_cluster::template;
use crate::engine::model::config::Role;
use crate::engine::model::facts::{ClusterEvent, ReportedBy};
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::rollout_event::{RolloutEvent, Visibility};
use crate::engine::model::settings::{OnDrift, Secs, Tuning};
use crate::engine::report::remedies::Remedy;

/// A rollout with limits of its own, a selector and a pause, whose Lease is deleted while its driver lives.
fn with_limits_and_without_record() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.slow = true;
    let mut ada = FakeConsole::open(&fake, "ada");
    let limits = Tuning { max_unavailable: Some("1".parse().unwrap()), soak_secs: Some(Secs(90)), ..Tuning::default() };
    ada.ask(&mut fake, Command::Tune(limits)).unwrap();
    ada.set_image(&mut fake, "agent:v2");
    ada.ask(&mut fake, Command::Select(Some("zone=canary".parse().unwrap()))).unwrap();
    ada.partition(&mut fake, 8);
    ada.run_for(&mut fake, 5);
    delete_lease(&mut fake, &mut ada);
    ada.run_for(&mut fake, 5);
    (fake, ada)
}

const IT_HAD: &str = "it had max-unavailable=1 soak=90s and the other defaults, led to revision 2 with partition 8, only nodes with zone=canary";

/// Who saw the record names what it had, in what is asked before, in the answer and so in the Event, and in the alarm that stays.
#[test]
fn who_saw_the_lost_record_names_its_limits() {
    let (mut fake, mut ada) = with_limits_and_without_record();
    let known = format!("as this process saw last, {IT_HAD}");
    let step = Command::Step(Step::Updated(Int(4)));
    let warnings = ada.engine.preview(&step, fake.now).unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.contains(&known)), "{warnings:?}");
    // Somebody changes the template before it is recorded anew.
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    ada.run_for(&mut fake, 2);
    let said = ada.ask(&mut fake, step).unwrap();
    let began = "began without a record: max unavailable 2 (default), max pulling 2 (default), soak 0s, failure threshold 1 (default); ";
    assert!(
        said.contains(&format!(
            "; {began}{known}; the template was changed since: it leads to revision 3 (agent v2 → v3) now"
        )),
        "{said}"
    );
    let told =
        ada.happened.iter().find(|event| event.reason() == "RolloutStepped" && event.to_string().contains(&known));
    assert!(told.is_some_and(|event| event.visibility == Visibility::Cluster), "{:?}", ada.happened);
    let lost = limits_lost(&mut FakeConsole::open(&fake, "eve"), &fake).unwrap();
    assert!(lost.contains(&format!("and the other defaults ({known}): set its limits")), "{lost}");
}

/// Who drove tells everybody what the record had: who did not see it finds that in the Event.
#[test]
fn who_did_not_see_the_lost_record_names_what_an_event_says() {
    let (mut fake, ada) = with_limits_and_without_record();
    let deleted = ada.happened.iter().find(|event| event.reason() == "RolloutRecordDeleted").unwrap();
    assert!(
        deleted.to_string().starts_with("the Lease was deleted, ") && deleted.to_string().ends_with(IT_HAD),
        "{deleted}"
    );
    let said = one_shot(&mut fake, "bob", Command::Adopt).unwrap();
    assert!(said.ends_with("; which limits it had is not known"), "{said}");
    fake.lease = None;
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    bob.engine.observe(Event::Cluster(reported(&fake, deleted)), fake.now);
    let said = bob.ask(&mut fake, Command::Adopt).unwrap();
    assert!(said.contains("; as an Event of ") && said.ends_with(&format!(" UTC says, {IT_HAD}")), "{said}");

    // The record that was begun with this command is lost, too: the Event is about the one before it.
    let adopted = bob.happened.iter().find(|event| event.adopts()).unwrap().clone();
    fake.wait(30);
    fake.lease = None;
    let mut eve = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    let first = ClusterEvent { at: fake.now - Duration::from_secs(30), ..*reported(&fake, deleted) };
    eve.engine.observe(Event::Cluster(Box::new(first)), fake.now);
    let mut later = reported(&fake, &adopted);
    later.reported_by.as_mut().unwrap().event = "agent.2".into();
    eve.engine.observe(Event::Cluster(later), fake.now);
    let said = eve.ask(&mut fake, Command::Adopt).unwrap();
    assert!(said.ends_with("; which limits it had is not known"), "{said}");
}

/// The Event by which another process tells this.
fn reported(fake: &FakeCluster, told: &RolloutEvent) -> Box<ClusterEvent> {
    let (reason, message) = (told.reason().into(), format!("ada@bastion: {told} (driven by ada@bastion)").into());
    let reported_by = Some(Box::new(ReportedBy {
        identity: "ada@bastion/1".into(),
        event: "agent.1".into(),
        severity: told.severity(),
        revision: None,
    }));
    Box::new(ClusterEvent {
        object: "ds".into(),
        reason,
        message,
        at: fake.now,
        reported_by,
        ..ClusterEvent::default()
    })
}

/// Nobody drives any more when the Lease is deleted, so that no Event tells of that: what the record had is found in the Events of who began to drive and of
/// who changed its limits since, in the command that begins a record anew, and in the alarm that stays.
#[test]
fn limits_of_a_record_that_was_lost_while_nobody_drove_are_found_in_earlier_events() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.defaults = Tuning::default();
    let mut ada = FakeConsole::open(&fake, "ada");
    let limits = Tuning { max_unavailable: Some("1".parse().unwrap()), soak_secs: Some(Secs(90)), ..Tuning::default() };
    let image = Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    let said = ada.ask(&mut fake, image.under(limits)).unwrap();
    assert!(said.ends_with("; max unavailable: default → 1, soak: 10s → 90s"), "{said}");
    ada.run_for(&mut fake, 5);
    drop(ada);
    let mut bob = FakeConsole::open(&fake, "bob");
    bob.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap_err();
    bob.run_for(&mut fake, 60);
    bob.partition(&mut fake, 8);
    fake.wait(1);
    let enforce = Tuning { on_drift: Some(OnDrift::EnforceOnDelete), ..Tuning::default() };
    bob.ask(&mut fake, Command::Tune(enforce)).unwrap();
    fake.wait(1);
    bob.ask(&mut fake, Command::Pause { why: Some("was max-unavailable=5 meant?".into()) }).unwrap();
    bob.run_for(&mut fake, 2);
    let told: Vec<RolloutEvent> =
        bob.happened.iter().filter(|event| event.visibility == Visibility::Cluster).cloned().collect();
    drop(bob);
    fake.lease = None;

    let seen = |fake: &FakeCluster, who: &str, told: &[RolloutEvent]| {
        let mut eve = FakeConsole::open(fake, who);
        for (nth, event) in told.iter().enumerate() {
            let mut reported = ClusterEvent { at: event.at, ..*reported(fake, event) };
            reported.reported_by.as_mut().unwrap().event = format!("agent.{nth}").into();
            eve.engine.observe(Event::Cluster(Box::new(reported)), fake.now);
        }
        eve
    };
    let mut eve = seen(&fake, "eve", &told);
    let snapshot = eve.snapshot(&fake);
    let known = snapshot.lost_record.as_deref().unwrap_or_default();
    assert!(
        known.ends_with(" says in Events, it had max-unavailable=1 soak=90s on-drift=enforce and the other defaults"),
        "{known}"
    );
    let had = snapshot.lost_limits(Remedy::RecordAnew);
    assert_eq!(had.to_string(), "max-unavailable=1 soak=90s on-drift=enforce");
    assert!(snapshot.guidance().unwrap().waits.contains(known), "{:?}", snapshot.guidance());
    eve.ask(&mut fake, Command::Step(Step::Updated(Int(4)))).unwrap();
    let snapshot = eve.snapshot(&fake);
    let confirms = snapshot.remedies().into_iter().find(|remedy| matches!(remedy, Remedy::SetLimits { .. })).unwrap();
    assert_eq!(snapshot.lost_limits(confirms), had, "{:?}", snapshot.alarms);

    // The record that was begun then is lost as well: what went before it is no longer what the lost one had.
    let later: Vec<RolloutEvent> =
        eve.happened.iter().filter(|event| event.visibility == Visibility::Cluster).cloned().collect();
    let began = later.iter().position(|event| event.reason() == "RolloutStepped").unwrap();
    drop(eve);
    fake.lease = None;
    fake.wait(30);
    let told: Vec<RolloutEvent> = told.into_iter().chain([later[began].clone()]).collect();
    assert_eq!(seen(&fake, "kim", &told).snapshot(&fake).lost_record, None);
}
