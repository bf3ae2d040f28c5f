//! A DaemonSet that surges: what is shown of it, and what it takes to adopt it.

use serde_json::json;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::command::{Command, Early, Step, Takeover};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::node::NodeState;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Tuning};
use crate::engine::report::snapshot::Phase;

fn surging(count: usize) -> FakeCluster {
    FakeCluster::new(count, json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}))
}

fn budget(nodes: u32) -> Tuning {
    Tuning { max_unavailable: Some(Limit::At(IntOrPercent::Int(nodes))), ..Tuning::default() }
}

fn set_image() -> Command {
    Command::SetImage([("agent".to_owned(), "agent:v2".parse().unwrap())].into())
}

/// So many nodes, of which the first has its old pod and a new one that is not ready yet.
fn surge_begun(count: usize) -> (FakeCluster, FakeConsole) {
    let mut fake = surging(count);
    let console = FakeConsole::open(&fake, "ops");
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    fake.slow = true;
    fake.wait(5);
    fake.create_pod("n1");
    (fake, console)
}

#[test]
fn it_is_adopted_only_with_a_budget_that_somebody_named() {
    let mut fake = surging(6);
    let original = fake.daemonset.strategy.raw.clone();
    let mut console = FakeConsole::open(&fake, "ops");
    for command in [Command::Adopt, set_image()] {
        let refused = console.ask(&mut fake, command).unwrap_err();
        assert!(refused.contains("surges (maxSurge 1)") && refused.contains("max-unavailable"), "{refused}");
    }
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::RollingUpdate);
    let preview = console.engine.preview(&set_image().under(budget(2)), fake.now).unwrap();
    let lost = "It surges (maxSurge 1), which OnDelete cannot: each node is down while its pod is replaced, at most 2 at a time.";
    assert!(preview.effects.iter().any(|line| line == lost), "{:?}", preview.effects);
    console.ask(&mut fake, set_image().under(budget(2))).unwrap();
    let preview = console.engine.preview(&Command::Step(Step::Next), fake.now).unwrap();
    assert!(preview.effects.iter().any(|line| line == lost), "{:?}", preview.effects);
    assert_eq!(console.snapshot(&fake).original_strategy.as_deref(), Some("RollingUpdate, maxSurge 1"));
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 30);
    assert_eq!((fake.at("hash2"), fake.worst_down), (6, 2));
    assert_eq!(fake.daemonset.strategy.raw, original, "and it surges again");
}

#[test]
fn the_brake_asks_for_nothing_and_nothing_moves_until_a_budget_is_named() {
    let mut fake = surging(6);
    let mut console = FakeConsole::open(&fake, "ops");
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    console.hear(&fake);
    let brake = Command::Pause { why: None };
    let preview = console.engine.preview(&brake, fake.now).unwrap();
    assert!(preview.effects.iter().any(|line| line.contains("keeps the older one")), "{:?}", preview.effects);
    console.ask(&mut fake, brake).unwrap();
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::OnDelete);
    for command in [Command::Resume, Command::Step(Step::Next), Command::Undo { to: None }] {
        let refused = console.ask(&mut fake, command.clone()).unwrap_err();
        assert!(refused.contains("say first how many may be at once, with `tune`"), "{command:?}: {refused}");
    }
    console.ask(&mut fake, Command::Tune(budget(1))).unwrap();
    console.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    console.ask(&mut fake, Command::Resume).unwrap();
    console.partition(&mut fake, 0);
    // Whoever takes the budget back, or wrote the record with an older rolldeck: nothing more is taken down.
    let in_progress = fake.deleted.len();
    console
        .ask(&mut fake, Command::Tune(Tuning { max_unavailable: Some(Limit::Default), ..Tuning::default() }))
        .unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!(fake.deleted.len(), in_progress);
    assert_eq!(console.state(&fake, "n6"), (NodeState::Outdated, "maxSurge is set: name a budget first".into()));
    assert_eq!(console.snapshot(&fake).budget.to_string(), "down 0 of 0");
    console.ask(&mut fake, Command::Tune(budget(1))).unwrap();
    console.run_for(&mut fake, 30);
    assert_eq!((fake.at("hash2"), fake.worst_down), (6, 1));
}

#[test]
fn while_an_old_and_a_new_pod_are_there_the_oldest_available_one_serves() {
    let (mut fake, mut console) = surge_begun(4);
    let snapshot = console.snapshot(&fake);
    assert_eq!(snapshot.phase, Phase::Native);
    assert_eq!((snapshot.counts.available, snapshot.counts.updated, snapshot.counts.nodes), (4, 0, 4));
    assert_eq!(snapshot.budget.to_string(), "down 0 of 0");
    let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
    assert_eq!((node.state, node.blame, node.serves), (NodeState::Starting, None, true));
    assert_eq!((node.pod.as_deref(), node.at_target), (Some("agent-1"), false));

    // The old one fails: now the new one is all there is, and it is not available.
    let old = fake.pods.values().find(|pod| &*pod.name == "agent-1").unwrap().uid.clone();
    fake.tell_pod(&old, |pod| pod.ready = false);
    let snapshot = console.snapshot(&fake);
    let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
    assert_eq!((node.state, node.serves, node.pod.as_deref()), (NodeState::Starting, false, Some("agent-5")));
    assert_eq!(snapshot.budget.to_string(), "down 1 of 0: 1 by its controller");

    let now = fake.now;
    fake.tell_pod(&old, |pod| (pod.ready, pod.ready_since) = (true, Some(now)));
    let new = fake.pods.values().find(|pod| &*pod.name == "agent-5").unwrap().uid.clone();
    fake.tell_pod(&new, |pod| (pod.ready, pod.ready_since) = (true, Some(now)));
    let snapshot = console.snapshot(&fake);
    let node = snapshot.nodes.iter().find(|node| &*node.name == "n1").unwrap();
    assert_eq!((node.state, node.at_target), (NodeState::Updated, true), "both serve, the old one is about to go");
}

#[test]
fn a_node_with_two_pods_is_left_to_its_controller_first() {
    let (mut fake, mut console) = surge_begun(3);
    console.hear(&fake);
    console.ask(&mut fake, Command::Adopt.under(budget(1))).unwrap();
    console.partition(&mut fake, 0);
    assert!(!fake.deleted.iter().any(|node| &**node == "n1"), "{:?}", fake.deleted);
}

/// Whoever drove it is gone, and the budget was taken back: a release takes nothing down, so it needs none.
#[test]
fn a_release_is_driven_to_its_end_without_a_budget() {
    let mut fake = surging(3);
    let original = fake.daemonset.strategy.raw.clone();
    let mut gone = FakeConsole::open(&fake, "ops");
    gone.ask(&mut fake, set_image().under(budget(1))).unwrap();
    gone.ask(&mut fake, Command::Tune(Tuning { max_unavailable: Some(Limit::Default), ..Tuning::default() })).unwrap();
    let mut console = FakeConsole::open(&fake, "eve");
    console.hear(&fake);
    let said = console.ask(&mut fake, Command::Release(Early::Accept)).unwrap();
    assert!(said.contains("carries it out"), "{said}");
    let refused = console.ask(&mut fake, Command::Step(Step::Next)).unwrap_err();
    assert!(refused.contains("say first how many"), "{refused}");
    console.run_for(&mut fake, 60);
    assert!(matches!(console.snapshot(&fake).phase, Phase::Releasing(_)));
    console.ask(&mut fake, Command::Drive(Takeover::Ask)).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.daemonset.strategy.raw, original);
    assert_eq!(fake.lease.as_ref().and_then(|lease| lease.record.clone().unwrap()), None);
}

/// A surge was stopped half way: of two pods its controller keeps the older one, which is not at the target.
#[test]
fn it_is_not_complete_as_long_as_a_node_has_an_old_pod_beside_the_new_one() {
    let mut fake = surging(2);
    let original = fake.daemonset.strategy.raw.clone();
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, set_image().under(budget(1))).unwrap();
    let old: Vec<_> = fake.pods.values().map(|pod| (pod.node.clone(), pod.uid.clone())).collect();
    for (node, uid) in &old {
        fake.create_pod(node.as_ref().unwrap());
        if node.as_deref() != Some("n1") {
            fake.take_pod(uid);
        }
    }
    console.run_for(&mut fake, 30);
    assert_eq!(fake.at("hash2"), 2);
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::OnDelete);
    assert_eq!(console.snapshot(&fake).phase, Phase::Running);
    let (_, beside) = old.iter().find(|(node, _)| node.as_deref() == Some("n1")).unwrap();
    fake.take_pod(beside);
    console.run_for(&mut fake, 30);
    assert_eq!(fake.daemonset.strategy.raw, original);
}
