//! A rollout whose record cannot be read: nothing is started, what is refused says what helps, and what is advised works.

use super::*;
use crate::engine::model::command::{Early, Refusal, Step};
use crate::engine::model::config::Role;
use crate::engine::model::danger::Danger;
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::model::settings::{Limit, Tuning};
use crate::engine::report::remedies::Remedy;

const WHY: &str = "annotation rolldeck.io/rollout: key must be a string at line 1 column 2";

fn one_shot(fake: &mut FakeCluster, who: &str, command: Command) -> Result<String, String> {
    FakeConsole::open_as(fake, who, Role::OneShot).ask(fake, command)
}

fn garble(fake: &mut FakeCluster) {
    fake.lease.as_mut().unwrap().record = Err(WHY.into());
    fake.tell_lease();
}

/// A rollout of v2 with a budget of 3, which ada drives and whose record somebody garbles.
fn garbled() -> (FakeCluster, FakeConsole) {
    let (mut fake, mut ada) = driven();
    garble(&mut fake);
    ada.run_for(&mut fake, 2);
    (fake, ada)
}

fn driven() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut ada = FakeConsole::open(&fake, "ada");
    ada.set_image(&mut fake, "agent:v2");
    let three = Tuning { max_unavailable: Some(Limit::At(Int(3))), ..Tuning::default() };
    ada.ask(&mut fake, Command::Tune(three)).unwrap();
    ada.partition(&mut fake, 4);
    fake.slow = true;
    ada.run_for(&mut fake, 5);
    assert_eq!(fake.deleted.len(), 3);
    (fake, ada)
}

fn losses(console: &FakeConsole) -> Vec<RolloutEvent> {
    console.happened.iter().filter(|event| event.loses_the_record()).cloned().collect()
}

#[test]
fn a_driver_ends_and_leaves_the_record_as_it_is_with_the_limits_told_to_all() {
    let (mut fake, mut ada) = garbled();
    let lease = fake.lease.clone().unwrap();
    assert_eq!((lease.holder.clone(), lease.record.clone()), (None, Err(WHY.into())), "it may be of a newer version");
    let told = losses(&ada);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].reason(), told[0].visibility), ("RolloutRecordUnreadable", Visibility::Cluster));
    let said = told[0].said.as_deref().unwrap();
    assert!(said.contains(WHY) && said.contains("it had max-unavailable=3"), "{said}");
    let deleted = fake.deleted.len();
    ada.run_for(&mut fake, 120);
    assert_eq!((fake.deleted.len(), losses(&ada).len()), (deleted, 1));
    assert!(ada.engine.is_at_rest() && fake.lease.as_ref().unwrap().resource_version == lease.resource_version);
}

#[test]
fn a_driver_whose_record_is_taken_off_the_lease_ends_as_if_that_were_deleted() {
    let (mut fake, mut ada) = driven();
    fake.lease.as_mut().unwrap().record = Ok(None);
    fake.tell_lease();
    ada.run_for(&mut fake, 2);
    assert_eq!(fake.lease.as_ref().unwrap().holder, None);
    let told = losses(&ada);
    assert_eq!((told.len(), told[0].kind.clone()), (1, RolloutEventKind::RecordRemoved));
    assert_eq!((told[0].reason(), told[0].visibility), ("RolloutRecordDeleted", Visibility::Cluster));
    assert!(told[0].said.as_deref().unwrap().contains("it had max-unavailable=3"), "{told:?}");
    assert!(!ada.happened.iter().any(|event| matches!(event.kind, RolloutEventKind::LeaseGivenBack { .. })));
    let deleted = fake.deleted.len();
    ada.run_for(&mut fake, 60);
    assert_eq!(fake.deleted.len(), deleted);
}

#[test]
fn what_cannot_be_done_is_refused_at_once_and_what_is_advised_works() {
    let (mut fake, _) = garbled();
    let step = || Command::Step(Step::Partition(Int(0)));
    let commands = [
        step(),
        Command::Resume,
        Command::Undo { to: None },
        Command::Pause { why: None },
        Command::Tune(Tuning::default()),
        Command::Drive(Takeover::IfFree),
        Command::SetImage([("agent".to_owned(), "agent:v3".parse().unwrap())].into()),
    ];
    for command in commands {
        let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
        let refused = bob.engine.preview(&command, fake.now).unwrap_err();
        assert_eq!(refused, Refusal::RecordUnreadable { why: WHY.into() }, "{command:?}");
        assert_eq!(bob.engine.command(command, fake.now).unwrap_err(), refused);
    }
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    let snapshot = bob.snapshot(&fake);
    assert_eq!(snapshot.remedies(), [Remedy::RecordAnew], "a release would replace outdated pods, and is refused");
    assert_eq!(
        snapshot.guidance().unwrap().waits,
        "held: the record cannot be read, and nothing is started before it can"
    );

    let adopt = || {
        let soak = Tuning { max_unavailable: Some(Limit::At(Int(1))), ..Tuning::default() };
        Command::Tuned { tuning: soak, command: Box::new(Command::Adopt) }
    };
    let preview = bob.engine.preview(&adopt(), fake.now).unwrap();
    assert_eq!((preview.danger, preview.title.as_str()), (Danger::Serious, "Begin a new record"));
    let lost = "The record that cannot be read is dropped, for good";
    assert!(preview.warnings.iter().any(|warning| warning.starts_with(lost)), "{:?}", preview.warnings);
    let down = fake.down();
    let said = one_shot(&mut fake, "bob", adopt()).unwrap();
    assert!(
        said.starts_with("recorded anew: its controller replaces no pod any more; began without a record: "),
        "{said}"
    );
    let lease = fake.lease.clone().unwrap();
    let record = lease.record.unwrap().unwrap();
    assert!(record.intent.begun_anew.is_some() && record.progress.started_at.is_none());
    assert_eq!((down, fake.down()), (3, 3), "it takes nothing down");
    fake.slow = false;
    fake.deleted.clone().iter().for_each(|node| fake.set_ready(node, true));

    let mut eve = FakeConsole::open(&fake, "eve");
    eve.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    eve.ask(&mut fake, step()).unwrap();
    eve.run_for(&mut fake, 300);
    let snapshot = eve.snapshot(&fake);
    assert_eq!(fake.at("hash2"), 10, "{}, {:?}, {:?}", snapshot.doing(), snapshot.guidance(), snapshot.alarms);
}

#[test]
fn a_release_drops_it_and_restores_the_strategy() {
    let (mut fake, _) = garbled();
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    let preview = bob.engine.preview(&Command::Release(Early::Accept), fake.now).unwrap();
    assert!(preview.warnings.iter().any(|warning| warning.starts_with("The record that cannot be read is dropped")));
    bob.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    bob.run_for(&mut fake, 10);
    assert!(bob.settled.iter().all(|(_, result)| result.is_ok()), "{:?}", bob.settled);
    assert_eq!(fake.lease.as_ref().unwrap().record, Ok(None));
    let snapshot = bob.snapshot(&fake);
    assert!(!snapshot.adopted && snapshot.original_strategy.is_none());
}

/// Somebody who renews the Lease beside it reads it: a newer rolldeck.
#[test]
fn a_record_that_its_holder_may_be_able_to_read_is_not_replaced() {
    let (mut fake, mut ada) = driven();
    garble(&mut fake);
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    // Nobody knows yet whether ada lives: her lease has to run out.
    let preview = bob.engine.preview(&Command::Adopt, fake.now).unwrap();
    assert!(
        preview.effects.iter().any(|line| line.contains("its lease has to run out first")),
        "{:?}",
        preview.effects
    );
    bob.ask(&mut fake, Command::Adopt).unwrap_err();
    assert!(fake.lease.as_ref().unwrap().record.is_err());
    fake.lease.as_mut().unwrap().renewed_at = Some(fake.now);
    fake.tell_lease();
    bob.run_for(&mut fake, 1);
    let (_, given_up) = bob.settled.last().unwrap();
    assert!(
        given_up.as_ref().unwrap_err().to_string().contains("ada@bastion has just renewed the lease"),
        "{given_up:?}"
    );
    let refused = bob.engine.command(Command::Adopt, fake.now).unwrap_err().to_string();
    assert!(refused.contains("may be able to read it, with a newer rolldeck"), "{refused}");
    fake.wait(20);
    bob.run_for(&mut fake, 1);
    bob.ask(&mut fake, Command::Adopt).unwrap();
    assert!(matches!(fake.lease.as_ref().unwrap().record, Ok(Some(_))));
    let deleted = fake.deleted.len();
    ada.run_for(&mut fake, 30);
    assert_eq!(fake.deleted.len(), deleted, "she drives no more");
}

#[test]
fn what_was_asked_of_a_record_that_could_be_read_does_not_replace_it() {
    let (mut fake, mut ada) = driven();
    ada.ask(&mut fake, Command::StopDriving).unwrap();
    ada.run(&mut fake);
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    bob.engine.command(Command::Release(Early::Accept), fake.now).unwrap();
    garble(&mut fake);
    bob.run_for(&mut fake, 5);
    assert_eq!(fake.lease.as_ref().unwrap().record, Err(WHY.into()));
    let (_, given_up) = bob.settled.last().unwrap();
    assert!(
        given_up.as_ref().unwrap_err().to_string().contains("it could be read when this was asked for"),
        "{given_up:?}"
    );
}
