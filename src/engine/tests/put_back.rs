//! An older copy of the Lease is put back while a rollout is driven, from a file or from a backup of this one object.

use super::*;
use crate::engine::model::facts::LeaseFact;
use crate::engine::model::record::{By, Change, Intent};

fn intent(fake: &FakeCluster) -> Intent {
    fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap().intent
}

/// Puts back what the Lease was, as the holder of now or as it was.
fn put_back(fake: &mut FakeCluster, older: &LeaseFact) {
    fake.lease = Some(older.clone());
    fake.tell_lease();
}

/// What was asked for since is lost, the pause among it: nobody has asked to go on.
#[test]
fn who_drives_pauses_where_an_older_copy_is_put_back() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 2);
    let older = fake.lease.clone().unwrap();
    let made = fake.at("hash2");
    console.ask(&mut fake, Command::Pause { why: Some("line 4 is being rebuilt".into()) }).unwrap();
    put_back(&mut fake, &older);
    console.run_for(&mut fake, 60);
    let Phase::Paused(paused) = console.snapshot(&fake).phase else { panic!("{:?}", console.snapshot(&fake).phase) };
    assert!(paused.why.unwrap().contains("an older copy of the Lease"));
    assert!(fake.at("hash2") <= made + 2, "those on their way, and no other");
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 5, "it goes on by the plan that is there");
}

/// A change that the older copy asks for was made, and followed by another one. A release that it asks for was called off.
#[test]
fn what_an_older_copy_asks_for_is_not_carried_out_again() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let mut older = fake.lease.clone().unwrap();
    let asked = &mut older.record.as_mut().unwrap().as_mut().unwrap().intent;
    asked.change = Some(Change::Images([("agent".to_owned(), "agent:v2".parse().unwrap())].into()));
    asked.releasing = Some(By { by: "ops".into(), at: fake.now });
    console.set_image(&mut fake, "agent:v3");
    let template = fake.daemonset.template.clone();
    put_back(&mut fake, &older);
    console.run_for(&mut fake, 60);
    assert_eq!(fake.daemonset.template, template);
    assert_eq!(fake.daemonset.strategy.raw["type"], "OnDelete", "it is not released");
    assert!(matches!(console.snapshot(&fake).phase, Phase::Paused(_)));
}

/// The writes of others are no older copies, however many come at once.
#[test]
fn what_others_write_is_no_older_copy() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let mut other = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    for keep in (2..9).rev() {
        other.partition(&mut fake, keep);
        other.run_for(&mut fake, 1);
        console.run_for(&mut fake, if keep % 3 == 0 { 3 } else { 0 });
    }
    console.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash2"), intent(&fake).paused), (8, None));
}

/// The driver has paused for it, and somebody has resumed: whoever looked on and drives later does not pause for it again.
#[test]
fn who_looked_on_does_not_pause_again_for_what_was_dealt_with() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    let older = fake.lease.clone().unwrap();
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    let mut looks = FakeConsole::open(&fake, "eve");
    looks.run_for(&mut fake, 1);
    put_back(&mut fake, &older);
    looks.hear(&fake);
    console.run_for(&mut fake, 5);
    console.ask(&mut fake, Command::Resume).unwrap();
    looks.run_for(&mut fake, 1);
    drop(console);
    fake.wait(30);
    looks.run_for(&mut fake, 1);
    looks.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    looks.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash2"), intent(&fake).paused), (5, None));
}
