//! The record has a size. What does not fit in takes nobody down, and keeps nobody waiting for ever.

use std::time::Duration;

use super::*;
use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, PodFact};
use crate::engine::model::quantity::IntOrPercent::Int;
use crate::engine::model::record::{EXCEPTIONS_LIMIT, RECORD_LIMIT, Record};
use crate::engine::model::settings::{Limit, Tuning};
use crate::engine::view::LEFT_FOR;

fn saved(fake: &FakeCluster) -> Record {
    fake.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()).unwrap()
}

fn budget(limit: u32) -> Command {
    Command::Tune(Tuning { max_unavailable: Some(Limit::At(Int(limit))), ..Tuning::default() })
}

/// As long as a name may be.
fn long_name(nth: usize) -> Str {
    let name = format!("n{nth:04}.");
    let rest = 253 - name.len();
    format!("{name}{}", "x".repeat(rest)).into()
}

/// A node that went down some time ago while its pod was on its way out: `pod_left` says whether that still shows.
fn power_off(fake: &mut FakeCluster, name: &str, pod_left: bool) {
    let since = fake.now - Duration::from_secs(7200);
    let node = fake.nodes.get_mut(name).unwrap();
    node.ready = ConditionStatus::Unknown;
    node.ready_since = Some(since);
    fake.pods.retain(|_, pod| pod_left || pod.node.as_deref() != Some(name));
    for pod in fake.pods.values_mut().filter(|pod| pod.node.as_deref() == Some(name)) {
        pod.ready = false;
        pod.deletion_at = Some(since);
    }
}

#[test]
fn five_thousand_nodes_with_fifteen_hundred_down_are_driven_to_the_end() {
    const NODES: usize = 5_000;
    const DOWN: usize = 1_500;
    const BUDGET: usize = 500;
    let mut fake = FakeCluster::rolling(NODES, 1);
    let down: Vec<Str> = (0..DOWN).map(|nth| format!("n{}", nth * 3 + 1).into()).collect();
    // Nothing but what the cluster says of the node tells that the rollout did not take these down.
    down.iter().enumerate().for_each(|(nth, name)| power_off(&mut fake, name, nth % 2 == 0));
    // The garbage collector, say, has no say in them: they go when their nodes are back.
    let gone: Vec<PodFact> = fake.pods.values().filter(|pod| pod.deletion_at.is_some()).cloned().collect();
    gone.iter().for_each(|pod| drop(fake.pods.remove(&pod.uid)));
    let mut console = FakeConsole::open(&fake, "ops");
    gone.iter().for_each(|pod| console.engine.observe(Event::Pod(Box::new(pod.clone())), fake.now));
    console.set_image(&mut fake, "agent:v2");
    let before = fake.down();
    console.ask(&mut fake, budget(500)).unwrap();
    console.partition(&mut fake, 0);
    for _ in 0..(NODES - DOWN) / BUDGET + 3 {
        console.run(&mut fake);
        fake.wait(1);
        fake.kubelets();
        assert!(fake.worst_down - before <= BUDGET, "{} more than {before}", fake.worst_down);
    }
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.budget.charged, 0, "{:?}", snapshot.budget);
    assert_eq!(snapshot.counts.updated as usize, NODES - DOWN);
    assert_eq!(fake.worst_down - before, BUDGET, "all of the budget was used");
    let record = saved(&fake);
    assert_eq!(record.progress.down_before.len(), EXCEPTIONS_LIMIT);
    assert!(record.progress.left_out_since.is_some());
    assert!(fake.largest_record <= RECORD_LIMIT);
}

#[test]
fn no_node_is_taken_whose_name_does_not_fit() {
    const NODES: usize = 600;
    let mut fake = FakeCluster::rolling(0, 1);
    fake.add_nodes((0..NODES).map(long_name));
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, budget(500)).unwrap();
    fake.slow = true;
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 5);
    let in_progress = fake.deleted.len();
    assert!((200..260).contains(&in_progress), "{in_progress} names of 253 bytes");
    assert!(
        fake.largest_record <= RECORD_LIMIT && fake.largest_record > RECORD_LIMIT - 4096,
        "{}",
        fake.largest_record
    );
    let record = saved(&fake);
    assert!(
        fake.deleted.iter().all(|node| record.progress.in_progress.contains(node)),
        "whoever drives next knows them all"
    );
    let snapshot = console.snapshot(&fake);
    let waiting = snapshot.nodes.iter().filter(|node| node.hold == Some(Hold::RecordFull)).count();
    assert!(waiting > 0, "what waits says why");

    // Whoever comes next takes no more either, and knows whose doing it is.
    drop(console);
    let mut other = FakeConsole::open(&fake, "eve");
    fake.wait(20);
    other.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
    other.run_for(&mut fake, 5);
    assert_eq!(fake.deleted.len(), in_progress);
    assert_eq!(other.snapshot(&fake).budget.rollout as usize, in_progress);

    // And it ends.
    fake.slow = false;
    let nodes: Vec<Str> = fake.nodes.keys().cloned().collect();
    nodes.iter().for_each(|node| fake.set_ready(node, true));
    other.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), NODES);
}

#[test]
fn more_names_than_fit_of_nodes_that_were_down_before() {
    const UP: usize = 40;
    let mut fake = FakeCluster::rolling(0, 1);
    fake.add_nodes((0..EXCEPTIONS_LIMIT + UP).map(long_name));
    (UP..EXCEPTIONS_LIMIT + UP).for_each(|nth| power_off(&mut fake, &long_name(nth), false));
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.observe(Event::Skew(0), fake.now);
    console.set_image(&mut fake, "agent:v2");
    fake.wait(60);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, UP as u64 + 5);
    let named = saved(&fake).progress.down_before.len();
    assert!((100..EXCEPTIONS_LIMIT).contains(&named), "{named} of {EXCEPTIONS_LIMIT}");
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.counts.updated as usize, snapshot.budget.charged), (UP, 0));
    assert!(fake.worst_down <= EXCEPTIONS_LIMIT + 1, "one at a time: {}", fake.worst_down);
}

#[test]
fn names_of_nodes_that_are_gone_make_room() {
    let mut fake = FakeCluster::rolling(6, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    fake.slow = true;
    console.partition(&mut fake, 0);
    let first = fake.deleted[0].clone();
    assert!(saved(&fake).progress.in_progress.contains(&first));
    let pods: Vec<PodFact> = fake.pods.values().filter(|pod| pod.node.as_ref() == Some(&first)).cloned().collect();
    for pod in pods {
        fake.pods.remove(&pod.uid);
        console.engine.observe(Event::PodGone(pod.uid, Some(1_000)), fake.now);
    }
    fake.nodes.remove(&first);
    console.engine.observe(Event::NodeGone(first.clone()), fake.now);
    console.run_for(&mut fake, 3);
    assert!(saved(&fake).progress.in_progress.contains(&first), "it may be registered again");
    console.run_for(&mut fake, LEFT_FOR.as_secs());
    assert!(!saved(&fake).progress.in_progress.contains(&first), "{:?}", saved(&fake).progress.in_progress);
}

/// A node that fell after the rollout began is no node that was down before, however many of those there are.
#[test]
fn what_fell_later_is_not_taken_for_what_was_down_before() {
    let mut fake = FakeCluster::rolling(EXCEPTIONS_LIMIT + 40, 4);
    for nth in 1..=EXCEPTIONS_LIMIT + 10 {
        power_off(&mut fake, &format!("n{nth}"), false);
    }
    let mut console = FakeConsole::open(&fake, "ops");
    console.engine.observe(Event::Skew(0), fake.now);
    console.set_image(&mut fake, "agent:v2");
    fake.wait(60);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 3);
    assert!(saved(&fake).progress.left_out_since.is_some());
    let updated = fake.deleted[0].clone();
    fake.set_node_ready(&updated, false);
    let snapshot = console.snapshot(&fake);
    let blame = |name: &str| snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().blame;
    assert_eq!(blame(&updated), Some(Blame::Suspect));
    assert_eq!(snapshot.budget.suspect, 1);
    let others: Vec<_> = (1..=EXCEPTIONS_LIMIT + 10).map(|nth| blame(&format!("n{nth}"))).collect();
    assert!(others.iter().all(|blame| *blame == Some(Blame::PreExisting)), "named or not");
}

#[test]
fn a_command_that_asks_for_too_much_is_refused() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let values: Vec<String> = (0..2_000).map(|nth| format!("site-{nth}")).collect();
    let selector = format!("site in ({})", values.join(",")).parse().unwrap();
    let refused = console.ask(&mut fake, Command::Select(Some(selector))).unwrap_err();
    assert!(refused.contains("shorter selector"), "{refused}");
    console.ask(&mut fake, Command::Pause { why: Some("because ".repeat(20_000)) }).unwrap();
    let why = saved(&fake).intent.paused.unwrap().why.unwrap();
    assert!(why.len() <= 1024 && why.ends_with('…'), "{}", why.len());
}
