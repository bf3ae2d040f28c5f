//! A DaemonSet that surges: what is shown of it, and what it takes to adopt it.

use serde_json::json;

use crate::engine::command::{Command, Early, Step, Takeover};
use crate::engine::facts::StrategyKind;
use crate::engine::lab::{Console, Lab, template};
use crate::engine::quantity::IntOrPercent;
use crate::engine::snapshot::{NodeState, Phase};
use crate::engine::tuning::{Limit, Tuning};

fn surging(count: usize) -> Lab {
    Lab::new(count, json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}))
}

fn budget(nodes: u32) -> Tuning {
    Tuning { max_unavailable: Some(Limit::At(IntOrPercent::Int(nodes))), ..Tuning::default() }
}

fn set_image() -> Command {
    Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into())
}

#[test]
fn it_is_adopted_only_with_a_budget_that_somebody_named() {
    let mut lab = surging(6);
    let original = lab.daemonset.strategy.raw.clone();
    let mut console = Console::open(&lab, "ops");
    for command in [Command::Adopt, set_image()] {
        let refused = console.ask(&mut lab, command).unwrap_err();
        assert!(refused.contains("surges (maxSurge 1)") && refused.contains("max-unavailable"), "{refused}");
    }
    assert_eq!(lab.daemonset.strategy.kind, StrategyKind::RollingUpdate);
    let preview = console.engine.preview(&set_image().under(budget(2)), lab.now).unwrap();
    let lost = "It surges (maxSurge 1), which OnDelete cannot: each node is down while its pod is replaced, at most 2 at a time.";
    assert!(preview.effects.iter().any(|line| line == lost), "{:?}", preview.effects);
    console.ask(&mut lab, set_image().under(budget(2))).unwrap();
    let preview = console.engine.preview(&Command::Step(Step::Next), lab.now).unwrap();
    assert!(preview.effects.iter().any(|line| line == lost), "{:?}", preview.effects);
    assert_eq!(console.snapshot(&lab).original_strategy.as_deref(), Some("RollingUpdate, maxSurge 1"));
    console.partition(&mut lab, 0);
    console.run_for(&mut lab, 30);
    assert_eq!((lab.at("hash2"), lab.worst_down), (6, 2));
    assert_eq!(lab.daemonset.strategy.raw, original, "and it surges again");
}

#[test]
fn the_brake_asks_for_nothing_and_nothing_moves_until_a_budget_is_named() {
    let mut lab = surging(6);
    let mut console = Console::open(&lab, "ops");
    lab.set_template(template("agent:v2"));
    lab.reconcile();
    console.hear(&lab);
    let brake = Command::Pause { why: None };
    let preview = console.engine.preview(&brake, lab.now).unwrap();
    assert!(preview.effects.iter().any(|line| line.contains("keeps the older one")), "{:?}", preview.effects);
    console.ask(&mut lab, brake).unwrap();
    assert_eq!(lab.daemonset.strategy.kind, StrategyKind::OnDelete);
    for command in [Command::Resume, Command::Step(Step::Next), Command::Undo { to: None }] {
        let refused = console.ask(&mut lab, command.clone()).unwrap_err();
        assert!(refused.contains("say first how many may be at once, with `tune`"), "{command:?}: {refused}");
    }
    console.ask(&mut lab, Command::Tune(budget(1))).unwrap();
    console.ask(&mut lab, Command::Drive(Takeover::IfFree)).unwrap();
    console.ask(&mut lab, Command::Resume).unwrap();
    console.partition(&mut lab, 0);
    // Whoever takes the budget back, or wrote the record with an older rolldeck: nothing more is taken down.
    let taken = lab.deleted.len();
    console
        .ask(&mut lab, Command::Tune(Tuning { max_unavailable: Some(Limit::Default), ..Tuning::default() }))
        .unwrap();
    console.run_for(&mut lab, 30);
    assert_eq!(lab.deleted.len(), taken);
    assert_eq!(console.state(&lab, "n6"), (NodeState::Outdated, "it surges: name a budget first".into()));
    assert_eq!(console.snapshot(&lab).budget.to_string(), "down 0 of 0");
    console.ask(&mut lab, Command::Tune(budget(1))).unwrap();
    console.run_for(&mut lab, 30);
    assert_eq!((lab.at("hash2"), lab.worst_down), (6, 1));
}

#[test]
fn while_an_old_and_a_new_pod_are_there_the_oldest_available_one_serves() {
    let mut lab = surging(4);
    let mut console = Console::open(&lab, "ops");
    lab.set_template(template("agent:v2"));
    lab.reconcile();
    lab.slow = true;
    lab.wait(5);
    lab.create_pod("n1");
    let snapshot = console.snapshot(&lab);
    assert_eq!(snapshot.phase, Phase::Native);
    assert_eq!((snapshot.counts.available, snapshot.counts.updated, snapshot.counts.nodes), (4, 0, 4));
    assert_eq!(snapshot.budget.to_string(), "down 0 of 0");
    let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
    assert_eq!((node.state, node.blame, node.serves), (NodeState::Starting, None, true));
    assert_eq!((node.pod.as_deref(), node.at_target), (Some("agent-1"), false));

    // The old one fails: now the new one is all there is, and it is not available.
    let old = lab.pods.values().find(|pod| &*pod.name == "agent-1").unwrap().uid.clone();
    lab.tell_pod(&old, |pod| pod.ready = false);
    let snapshot = console.snapshot(&lab);
    let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
    assert_eq!((node.state, node.serves, node.pod.as_deref()), (NodeState::Starting, false, Some("agent-5")));
    assert_eq!(snapshot.budget.to_string(), "down 1 of 0: 1 by its controller");

    let now = lab.now;
    lab.tell_pod(&old, |pod| (pod.ready, pod.ready_since) = (true, Some(now)));
    let new = lab.pods.values().find(|pod| &*pod.name == "agent-5").unwrap().uid.clone();
    lab.tell_pod(&new, |pod| (pod.ready, pod.ready_since) = (true, Some(now)));
    let snapshot = console.snapshot(&lab);
    let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
    assert_eq!((node.state, node.at_target), (NodeState::Updated, true), "both serve, the old one is about to go");
}

#[test]
fn a_node_with_two_pods_is_left_to_its_controller_first() {
    let mut lab = surging(3);
    let mut console = Console::open(&lab, "ops");
    lab.set_template(template("agent:v2"));
    lab.reconcile();
    lab.slow = true;
    lab.wait(5);
    lab.create_pod("n1");
    console.hear(&lab);
    console.ask(&mut lab, Command::Adopt.under(budget(1))).unwrap();
    console.partition(&mut lab, 0);
    assert!(!lab.deleted.iter().any(|node| &**node == "n1"), "{:?}", lab.deleted);
}

/// Whoever drove it is gone, and the budget was taken back: a release takes nothing down, so it needs none.
#[test]
fn a_release_is_driven_to_its_end_without_a_budget() {
    let mut lab = surging(3);
    let original = lab.daemonset.strategy.raw.clone();
    let mut gone = Console::open(&lab, "ops");
    gone.ask(&mut lab, set_image().under(budget(1))).unwrap();
    gone.ask(&mut lab, Command::Tune(Tuning { max_unavailable: Some(Limit::Default), ..Tuning::default() })).unwrap();
    let mut console = Console::open(&lab, "eve");
    console.hear(&lab);
    let said = console.ask(&mut lab, Command::Release(Early::Accept)).unwrap();
    assert!(said.contains("carries it out"), "{said}");
    let refused = console.ask(&mut lab, Command::Step(Step::Next)).unwrap_err();
    assert!(refused.contains("say first how many"), "{refused}");
    console.run_for(&mut lab, 60);
    assert_eq!(console.snapshot(&lab).phase, Phase::Releasing);
    console.ask(&mut lab, Command::Drive(Takeover::Ask)).unwrap();
    console.run_for(&mut lab, 5);
    assert_eq!(lab.daemonset.strategy.raw, original);
    assert_eq!(lab.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()), None);
}

/// A surge was stopped half way: of two pods its controller keeps the older one, which is not at the target.
#[test]
fn it_is_not_complete_as_long_as_a_node_has_an_old_pod_beside_the_new_one() {
    let mut lab = surging(2);
    let original = lab.daemonset.strategy.raw.clone();
    let mut console = Console::open(&lab, "ops");
    console.ask(&mut lab, set_image().under(budget(1))).unwrap();
    let old: Vec<_> = lab.pods.values().map(|pod| (pod.node.clone(), pod.uid.clone())).collect();
    for (node, uid) in &old {
        lab.create_pod(node.as_ref().unwrap());
        if node.as_deref() != Some("n1") {
            lab.take_pod(uid);
        }
    }
    console.run_for(&mut lab, 30);
    assert_eq!(lab.at("hash2"), 2);
    assert_eq!(lab.daemonset.strategy.kind, StrategyKind::OnDelete);
    assert_eq!(console.snapshot(&lab).phase, Phase::Running);
    let (_, beside) = old.iter().find(|(node, _)| node.as_deref() == Some("n1")).unwrap();
    lab.take_pod(beside);
    console.run_for(&mut lab, 30);
    assert_eq!(lab.daemonset.strategy.raw, original);
}
