//! Where a roll back goes that names no revision, and at which revisions a rollout is known to have halted.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, Step};
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::roll_back::NoRollBack;

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
    console.set_image(fake, image);
    console.ask(fake, Command::Step(Step::Updated(Int(3)))).unwrap();
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
    assert_eq!(leads_to(&mut console, &fake), Err(NoRollBack::OnlyHalted { number: 2 }));
    let refused = console.ask(&mut fake, Command::Undo { to: None }).unwrap_err();
    assert!(refused.contains("halted at revision 2") && refused.contains("name its revision"), "{refused}");
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
