//! A node object that is deleted in the middle of a rollout: its kubelet may register the node again and go on with its pod.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::event::Event;
use crate::engine::model::facts::StrategyKind;
use crate::engine::report::snapshot::Phase;

/// Four nodes, all but `n4` at `agent:v2`, and it may go as well.
fn all_but_the_last() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 1);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 3);
    (fake, console)
}

fn vanish(fake: &FakeCluster, console: &mut FakeConsole, node: &str) {
    console.hear(fake);
    console.engine.observe(Event::NodeGone(node.into()), fake.now);
}

fn register(fake: &FakeCluster, console: &mut FakeConsole, node: &str) {
    console.engine.observe(Event::Node(Box::new(fake.nodes[&Str::from(node)].clone())), fake.now);
}

fn waits(console: &mut FakeConsole, fake: &FakeCluster) -> String {
    console.snapshot(fake).guidance().map(|guidance| guidance.waits).unwrap_or_default()
}

#[test]
fn a_rollout_is_not_complete_while_the_old_pod_of_a_vanished_node_is_there() {
    let (mut fake, mut console) = all_but_the_last();
    vanish(&fake, &mut console, "n4");
    console.run_for(&mut fake, 5);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.counts.updated, snapshot.counts.nodes, snapshot.phase), (3, 3, Phase::Held));
    assert_eq!(waits(&mut console, &fake), "waits for n4: its node is not there, its old pod still is");
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::OnDelete, "it is not handed back");

    // It registers again with the pod that it had: the rollout goes on with it where the partition allows that.
    register(&fake, &mut console, "n4");
    console.run_for(&mut fake, 5);
    assert_eq!(fake.at("hash2"), 3, "it is the one that the partition keeps");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 4);
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::RollingUpdate, "complete, and handed back");
}

#[test]
fn a_rollout_is_complete_once_the_pod_of_a_vanished_node_is_gone() {
    let (mut fake, mut console) = all_but_the_last();
    vanish(&fake, &mut console, "n4");
    fake.remove_pod("n4");
    fake.nodes.remove("n4");
    console.run_for(&mut fake, 5);
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::RollingUpdate, "complete, and handed back");
}

/// A vanished node that was updated keeps nobody waiting, and a roll back waits for those that were not.
#[test]
fn a_roll_back_waits_for_the_updated_pod_of_a_vanished_node() {
    let (mut fake, mut console) = all_but_the_last();
    vanish(&fake, &mut console, "n1");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 20);
    assert_eq!(waits(&mut console, &fake), "waits for n1: its node is not there, its old pod still is");
    register(&fake, &mut console, "n1");
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash1"), 4);
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::RollingUpdate);
}

/// On the way back the partition keeps no node, however many it names, and a step to all of them would end nothing.
#[test]
fn a_roll_back_waits_for_its_last_pod_also_where_the_partition_named_more_nodes_than_are_left() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 1);
    for node in ["n3", "n4"] {
        vanish(&fake, &mut console, node);
        fake.remove_pod(node);
        fake.nodes.remove(node);
    }
    vanish(&fake, &mut console, "n1");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 20);
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.counts.updated, snapshot.counts.nodes, snapshot.phase), (1, 1, Phase::Held));
    assert_eq!(waits(&mut console, &fake), "waits for n1: its node is not there, its old pod still is");
}

/// Most nodes leave while the partition keeps them: that the one that is left is updated was nobody's last step.
#[test]
fn a_rollout_is_not_complete_because_the_nodes_that_its_partition_keeps_have_left() {
    let mut fake = FakeCluster::rolling(4, 1);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 3);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.at("hash2"), 1);
    let kept = fake.nodes[&Str::from("n4")].clone();
    for node in ["n2", "n3", "n4"] {
        vanish(&fake, &mut console, node);
        fake.remove_pod(node);
        fake.nodes.remove(node);
        console.run_for(&mut fake, 5);
    }
    let snapshot = console.snapshot(&fake);
    assert_eq!((snapshot.counts.updated, snapshot.counts.nodes, snapshot.phase), (1, 1, Phase::Held));
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::OnDelete, "it is not handed back");
    assert_eq!(
        waits(&mut console, &fake),
        "the partition keeps 3 nodes, and the DaemonSet runs on 1 node by now: the others were deleted, relabelled or tainted; a step to 100% \
         ends the rollout without them"
    );
    // One of them comes back, with a pod of the present template.
    fake.nodes.insert(kept.name.clone(), kept);
    register(&fake, &mut console, "n4");
    fake.create_pod("n4");
    console.run_for(&mut fake, 30);
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::OnDelete);
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 20);
    assert_eq!(fake.daemonset.strategy.kind, StrategyKind::RollingUpdate, "complete, and handed back");
}

/// Two nodes have not become ready at the new revision when their Node objects are deleted, and are registered again a little later; or their labels do not
/// fit for a moment. They are as much down as before: no other node gets their places in the budget.
#[test]
fn a_node_that_leaves_for_a_moment_while_it_is_updated_keeps_its_place_in_the_budget() {
    for (after, is_given) in [(20, false), (200, true)] {
        let mut fake = FakeCluster::rolling(8, 2);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        fake.slow = true;
        console.partition(&mut fake, 0);
        console.run_for(&mut fake, 5);
        let first = fake.deleted.clone();
        assert_eq!(first.len(), 2);
        let nodes: Vec<_> = first.iter().map(|node| fake.nodes[node].clone()).collect();
        for node in &first {
            vanish(&fake, &mut console, node);
            fake.remove_pod(node);
            fake.nodes.remove(node);
        }
        console.run_for(&mut fake, after);
        let taken = fake.deleted.len() > 2;
        assert_eq!(taken, is_given, "after {after} s, {:?}", console.snapshot(&fake).budget);
        if is_given {
            continue;
        }
        let budget = console.snapshot(&fake).budget;
        assert_eq!((budget.charged, budget.rollout, budget.by_others), (2, 2, 0));
        for node in nodes {
            fake.nodes.insert(node.name.clone(), node.clone());
            console.engine.observe(Event::Node(Box::new(node)), fake.now);
        }
        console.run_for(&mut fake, 30);
        let budget = console.snapshot(&fake).budget;
        assert_eq!((fake.deleted.len(), budget.charged, budget.by_others), (2, 2, 0), "they are ours, and still down");
    }
}
