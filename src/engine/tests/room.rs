//! The record has a size. What does not fit in takes nobody down, and keeps nobody waiting for ever.

use std::time::Duration;

use super::*;
use crate::engine::Str;
use crate::engine::facts::{ConditionStatus, PodFact};
use crate::engine::quantity::IntOrPercent::Int;
use crate::engine::record::{EXCEPTIONS_LIMIT, RECORD_LIMIT, Record};
use crate::engine::tuning::{Limit, Tuning};

fn saved(lab: &Lab) -> Record {
    lab.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()).unwrap()
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
fn power_off(lab: &mut Lab, name: &str, pod_left: bool) {
    let since = lab.now - Duration::from_secs(7200);
    let node = lab.nodes.get_mut(name).unwrap();
    node.ready = ConditionStatus::Unknown;
    node.ready_since = Some(since);
    lab.pods.retain(|_, pod| pod_left || pod.node.as_deref() != Some(name));
    for pod in lab.pods.values_mut().filter(|pod| pod.node.as_deref() == Some(name)) {
        pod.ready = false;
        pod.deletion_at = Some(since);
    }
}

#[test]
fn five_thousand_nodes_with_fifteen_hundred_down_are_driven_to_the_end() {
    const NODES: usize = 5_000;
    const DOWN: usize = 1_500;
    const BUDGET: usize = 500;
    let mut lab = Lab::rolling(NODES, 1);
    let down: Vec<Str> = (0..DOWN).map(|nth| format!("n{}", nth * 3 + 1).into()).collect();
    // Nothing but what the cluster says of the node tells that the rollout did not take these down.
    down.iter().enumerate().for_each(|(nth, name)| power_off(&mut lab, name, nth % 2 == 0));
    // The garbage collector, say, has no say in them: they go when their nodes are back.
    let gone: Vec<PodFact> = lab.pods.values().filter(|pod| pod.deletion_at.is_some()).cloned().collect();
    gone.iter().for_each(|pod| drop(lab.pods.remove(&pod.uid)));
    let mut console = Console::open(&lab, "ops");
    gone.iter().for_each(|pod| console.engine.observe(Event::Pod(Box::new(pod.clone())), lab.now));
    console.set_image(&mut lab, "agent:v2");
    let before = lab.down();
    console.ask(&mut lab, budget(500)).unwrap();
    console.partition(&mut lab, 0);
    for _ in 0..(NODES - DOWN) / BUDGET + 3 {
        console.run(&mut lab);
        lab.wait(1);
        lab.kubelets();
        assert!(lab.worst_down - before <= BUDGET, "{} more than {before}", lab.worst_down);
    }
    let snapshot = console.snapshot(&lab);
    assert_eq!(snapshot.budget.charged, 0, "{:?}", snapshot.budget);
    assert_eq!(snapshot.counts.updated as usize, NODES - DOWN);
    assert_eq!(lab.worst_down - before, BUDGET, "all of the budget was used");
    let record = saved(&lab);
    assert_eq!(record.progress.down_before.len(), EXCEPTIONS_LIMIT);
    assert!(record.progress.left_out_since.is_some());
    assert!(lab.largest_record <= RECORD_LIMIT);
}

#[test]
fn no_node_is_taken_whose_name_does_not_fit() {
    const NODES: usize = 600;
    let mut lab = Lab::rolling(0, 1);
    lab.add_nodes((0..NODES).map(long_name));
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    console.ask(&mut lab, budget(500)).unwrap();
    lab.slow = true;
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 5);
    let taken = lab.deleted.len();
    assert!((200..260).contains(&taken), "{taken} names of 253 bytes");
    assert!(lab.largest_record <= RECORD_LIMIT && lab.largest_record > RECORD_LIMIT - 4096, "{}", lab.largest_record);
    let record = saved(&lab);
    assert!(lab.deleted.iter().all(|node| record.progress.taken.contains(node)), "whoever drives next knows them all");
    let snapshot = console.snapshot(&lab);
    let waiting = snapshot.nodes.iter().filter(|node| node.hold == Some(Hold::RecordFull)).count();
    assert!(waiting > 0, "what waits says why");

    // Whoever comes next takes no more either, and knows whose doing it is.
    drop(console);
    let mut other = Console::open(&lab, "eve");
    lab.wait(20);
    other.ask(&mut lab, Command::Drive(Takeover::Ask)).unwrap();
    other.run_for(&mut lab, 5);
    assert_eq!(lab.deleted.len(), taken);
    assert_eq!(other.snapshot(&lab).budget.rollout as usize, taken);

    // And it ends.
    lab.slow = false;
    let nodes: Vec<Str> = lab.nodes.keys().cloned().collect();
    nodes.iter().for_each(|node| lab.set_ready(node, true));
    other.run_for(&mut lab, 20);
    assert_eq!(lab.at("hash2"), NODES);
}

#[test]
fn more_names_than_fit_of_nodes_that_were_down_before() {
    const UP: usize = 40;
    let mut lab = Lab::rolling(0, 1);
    lab.add_nodes((0..EXCEPTIONS_LIMIT + UP).map(long_name));
    (UP..EXCEPTIONS_LIMIT + UP).for_each(|nth| power_off(&mut lab, &long_name(nth), false));
    let mut console = Console::open(&lab, "ops");
    console.engine.observe(Event::Skew(0), lab.now);
    console.set_image(&mut lab, "agent:v2");
    lab.wait(60);
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, UP as u64 + 5);
    let named = saved(&lab).progress.down_before.len();
    assert!((100..EXCEPTIONS_LIMIT).contains(&named), "{named} of {EXCEPTIONS_LIMIT}");
    let snapshot = console.snapshot(&lab);
    assert_eq!((snapshot.counts.updated as usize, snapshot.budget.charged), (UP, 0));
    assert!(lab.worst_down <= EXCEPTIONS_LIMIT + 1, "one at a time: {}", lab.worst_down);
}

#[test]
fn names_of_nodes_that_are_gone_make_room() {
    let mut lab = Lab::rolling(6, 2);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    lab.slow = true;
    console.partition(&mut lab, 0);
    let first = lab.deleted[0].clone();
    assert!(saved(&lab).progress.taken.contains(&first));
    let pods: Vec<PodFact> = lab.pods.values().filter(|pod| pod.node.as_ref() == Some(&first)).cloned().collect();
    for pod in pods {
        lab.pods.remove(&pod.uid);
        console.engine.observe(Event::PodGone(pod.uid, Some(1_000)), lab.now);
    }
    lab.nodes.remove(&first);
    console.engine.observe(Event::NodeGone(first.clone()), lab.now);
    console.run_for(&mut lab, 3);
    assert!(!saved(&lab).progress.taken.contains(&first), "{:?}", saved(&lab).progress.taken);
}

/// A node that fell after the rollout began is no node that was down before, however many of those there are.
#[test]
fn what_fell_later_is_not_taken_for_what_was_down_before() {
    let mut lab = Lab::rolling(EXCEPTIONS_LIMIT + 40, 4);
    for nth in 1..=EXCEPTIONS_LIMIT + 10 {
        power_off(&mut lab, &format!("n{nth}"), false);
    }
    let mut console = Console::open(&lab, "ops");
    console.engine.observe(Event::Skew(0), lab.now);
    console.set_image(&mut lab, "agent:v2");
    lab.wait(60);
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 3);
    assert!(saved(&lab).progress.left_out_since.is_some());
    let updated = lab.deleted[0].clone();
    lab.set_node_ready(&updated, false);
    let snapshot = console.snapshot(&lab);
    let blame = |name: &str| snapshot.nodes.iter().find(|node| &*node.name == name).unwrap().blame;
    assert_eq!(blame(&updated), Some(Blame::Suspect));
    assert_eq!(snapshot.budget.suspect, 1);
    let others: Vec<_> = (1..=EXCEPTIONS_LIMIT + 10).map(|nth| blame(&format!("n{nth}"))).collect();
    assert!(others.iter().all(|blame| *blame == Some(Blame::PreExisting)), "named or not");
}

#[test]
fn a_command_that_asks_for_too_much_is_refused() {
    let mut lab = Lab::rolling(3, 1);
    let mut console = Console::open(&lab, "ops");
    console.set_image(&mut lab, "agent:v2");
    let values: Vec<String> = (0..2_000).map(|nth| format!("site-{nth}")).collect();
    let selector = format!("site in ({})", values.join(",")).parse().unwrap();
    let refused = console.ask(&mut lab, Command::Select(Some(selector))).unwrap_err();
    assert!(refused.contains("shorter selector"), "{refused}");
    console.ask(&mut lab, Command::Pause { why: Some("because ".repeat(20_000)) }).unwrap();
    let why = saved(&lab).intent.paused.unwrap().why.unwrap();
    assert!(why.len() <= 1024 && why.ends_with('…'), "{}", why.len());
}
