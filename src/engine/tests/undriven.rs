//! A rollout whose driver was killed: what is said of its nodes, its budget and its driver agrees, for who looks once and for who has watched.

use super::*;
use crate::engine::model::settings::Limit;
use crate::engine::report::diagnosis::Diagnosis;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::{NodeView, Snapshot};

/// Ten nodes of which two are updated and well, four more may go, and the driver was killed 40 s ago, between two nodes.
fn killed_between_nodes() -> FakeCluster {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 60);
    // The step reaches the record in the moment in which the driver dies.
    FakeConsole::open_as(&fake, "ben", Role::OneShot).partition(&mut fake, 4);
    fake.wait(40);
    fake.nodes.values_mut().for_each(|node| node.clock_skew_millis = Some(0));
    fake
}

#[test]
fn no_node_is_next_where_nobody_is_seen_driving() {
    let mut fake = killed_between_nodes();
    let mut looks = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    let once = looks.snapshot(&fake);
    assert_eq!(once.budget.to_string(), "down 0 of 2");
    let waits = |snapshot: &Snapshot| {
        let words = snapshot.nodes.iter().filter_map(|node| node.hold.as_ref()).map(ToString::to_string);
        let mut words: Vec<String> = words.collect();
        words.sort();
        words.dedup();
        words
    };
    assert_eq!(waits(&once), ["nobody is seen driving", "partition keeps 4"]);
    assert_eq!((once.phase.clone(), once.doing().to_string().as_str()), (Phase::Held, "held"));
    let driving = once.driving().to_string();
    assert_eq!(driving, "nobody is seen driving: ada@bastion renewed its lease 42s ago by its clock");
    let guidance = once.guidance().unwrap();
    assert_eq!(guidance.waits, "nobody is seen driving: 4 nodes may be updated, and nothing moves");
    assert_eq!(guidance.remedies, [Remedy::Drive]);
    let titles: Vec<String> = Diagnosis::of(&once).findings.into_iter().map(|found| found.title).collect();
    assert!(!titles.iter().any(|title| title == "next" || title.starts_with("budget")), "{titles:?}");

    // Who watches for as long as the lease lasts knows more, and says the rest alike.
    looks.run_for(&mut fake, 20);
    let watched = looks.snapshot(&fake);
    assert_eq!(waits(&watched), ["nobody drives", "partition keeps 4"]);
    assert_eq!((watched.phase.clone(), watched.doing().to_string().as_str()), (Phase::Held, "held"));
    assert_eq!(watched.guidance().unwrap().waits, "nobody drives: 4 nodes may be updated, and nothing moves");
}

/// What is under way goes on without a driver: it does not look as if more followed.
#[test]
fn a_rollout_that_moves_undriven_says_so_behind_its_phase() {
    for (back, word) in [(false, "running"), (true, "rolling back")] {
        let mut fake = FakeCluster::rolling(10, 2);
        let mut console = FakeConsole::open(&fake, "ada");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, if back { 40 } else { 1 });
        fake.slow = true;
        if back {
            console.ask(&mut fake, Command::Undo { to: None }).unwrap();
        }
        console.run_for(&mut fake, 20);
        fake.wait(40);
        let mut looks = FakeConsole::open_as(&fake, "eve", Role::OneShot);
        assert_eq!(looks.snapshot(&fake).doing().to_string(), format!("{word}, nobody is seen driving"));
        looks.run_for(&mut fake, 20);
        assert_eq!(looks.snapshot(&fake).doing().to_string(), format!("{word}, nobody drives"));
    }
}

/// The nodes that are next take the rest of the budget, and are not down yet: the figure of the header is not added up with them.
#[test]
fn a_budget_that_is_taken_is_the_figure_of_the_header() {
    let mut fake = killed_between_nodes();
    fake.lease.as_mut().unwrap().renewed_at = Some(fake.now);
    let snapshot = FakeConsole::open_as(&fake, "eve", Role::OneShot).snapshot(&fake);
    assert_eq!(snapshot.budget.to_string(), "down 0 of 2");
    let held = |words: &str| {
        let words = |node: &&NodeView| node.hold.as_ref().is_some_and(|hold| hold.to_string() == words);
        snapshot.nodes.iter().filter(words).count()
    };
    assert_eq!((held("next"), held("budget: 0 of 2 taken, 2 next")), (2, 2), "{:?}", snapshot.nodes);
}

/// A driver that is not seen may live, if its clock is behind: who raises the budget is told what it would do.
#[test]
fn what_an_unseen_driver_would_do_is_told_before_the_budget_is_raised() {
    let fake = killed_between_nodes();
    let mut looks = FakeConsole::open_as(&fake, "eve", Role::OneShot);
    let more = Tuning { max_unavailable: Some(Limit::At(IntOrPercent::Int(4))), ..Tuning::default() };
    let preview = looks.engine.preview(&Command::Tune(more), fake.now).unwrap();
    assert_eq!(preview.nodes.len(), 2, "{preview:?}");
    assert!(preview.effects.iter().any(|line| line.starts_with("2 nodes more go at once: ")), "{preview:?}");
}

/// Its step is done, and whoever drove may be gone: the next step needs a driver as well.
#[test]
fn a_silent_driver_whose_step_is_done_is_told_and_a_drive_is_offered() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 60);
    let driven = FakeConsole::open_as(&fake, "eve", Role::OneShot).snapshot(&fake).guidance().unwrap();
    assert!(!driven.remedies.contains(&Remedy::Drive), "{driven:?}");
    fake.wait(40);
    fake.nodes.values_mut().for_each(|node| node.clock_skew_millis = Some(0));
    let silent = FakeConsole::open_as(&fake, "eve", Role::OneShot).snapshot(&fake).guidance().unwrap();
    assert!(silent.waits.starts_with("nobody is seen driving: ada@bastion renewed its lease"), "{}", silent.waits);
    assert!(matches!(silent.remedies[..], [Remedy::Step(_), Remedy::Drive]), "{silent:?}");
}

/// The nodes of the next step would wait for the budget.
#[test]
fn where_accepted_failures_use_up_the_budget_no_step_is_offered() {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.broken.push("agent:bad".into());
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:bad");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 60);
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run(&mut fake);
    let snapshot = console.snapshot(&fake);
    let guidance = snapshot.guidance().unwrap();
    assert_eq!((snapshot.phase, snapshot.budget.charged), (Phase::Held, 2), "{guidance:?}");
    assert!(guidance.waits.contains("another step moves nothing while 2 are down and 2 may be"), "{}", guidance.waits);
    assert!(!guidance.remedies.iter().any(|remedy| matches!(remedy, Remedy::Step(_))), "{guidance:?}");
}

/// The driver ended while a new pod crashes. Whoever drives on takes it to its halt: the way back comes first, and is not offered of a revision that works.
#[test]
fn where_nobody_drives_a_revision_that_fails_the_way_back_is_offered() {
    for (crashes, offered) in [(false, vec![Remedy::Drive]), (true, vec![Remedy::Undo, Remedy::Drive])] {
        let mut fake = FakeCluster::rolling(4, 1);
        fake.slow = true;
        let mut console = FakeConsole::open(&fake, "ada");
        console.set_image(&mut fake, "agent:v2");
        console.partition(&mut fake, 3);
        console.run_for(&mut fake, 5);
        if crashes {
            fake.crash("n1");
        }
        console.run_for(&mut fake, 5);
        console.ask(&mut fake, Command::StopDriving).unwrap();
        console.run_for(&mut fake, 2);
        let snapshot = console.snapshot(&fake);
        let guidance = snapshot.guidance().unwrap();
        assert_eq!((snapshot.phase.clone(), guidance.remedies), (Phase::Running, offered), "{}", guidance.waits);
    }
}
