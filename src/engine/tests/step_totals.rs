//! Steps to so many nodes in total, where the number of nodes changes later.

use super::*;
use crate::engine::model::quantity::IntOrPercent::{Int, Percent};
use crate::engine::model::template::TaintEffect;

/// Nodes that were under maintenance when the step was taken come back with their old pods. The step was to so many nodes in total: none of them goes by it.
#[test]
fn nodes_that_come_back_with_old_pods_do_not_go_by_a_step_that_was_taken_without_them() {
    let mut fake = FakeCluster::rolling(6, 1);
    for node in ["n4", "n5", "n6"] {
        fake.set_taints(node, &[("maintenance", "", TaintEffect::NoSchedule)]);
    }
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Updated(Int(1)))).unwrap();
    console.run_for(&mut fake, 30);
    for node in ["n4", "n5", "n6"] {
        fake.set_taints(node, &[]);
    }
    console.run_for(&mut fake, 60);
    let snapshot = console.snapshot(&fake);
    let plan = &snapshot.plan;
    // The partition is the one that was set.
    assert_eq!((fake.deleted.len(), plan.allowed, plan.keep, plan.partition), (1, 1, 5, Some(Int(2))));
    assert_eq!(snapshot.phase, Phase::Held);
    console.ask(&mut fake, Command::Step(Step::Updated(Int(3)))).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.deleted.len(), 3);
}

/// All of them is all of them, whoever comes later, and a partition is what it says.
#[test]
fn only_a_step_that_leaves_some_out_is_a_total() {
    for (step, total) in [
        (Step::Updated(Int(3)), Some(3)),
        (Step::Updated(Percent(50)), Some(3)),
        (Step::Next, Some(1)),
        (Step::Updated(Percent(100)), None),
        (Step::Partition(Int(3)), None),
    ] {
        let mut fake = FakeCluster::rolling(6, 1);
        fake.slow = true;
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v2");
        console.ask(&mut fake, Command::Step(step)).unwrap();
        let record = fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap();
        assert_eq!(record.intent.updated_in_total, total, "{step:?}");
    }
}

/// A step that moves no node is left out. Whoever steps back is told that stepping forward again leads further than where the rollout was.
#[test]
fn a_step_back_says_where_the_next_step_leads() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 5);
    console.run_for(&mut fake, 1);
    let back = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.engine.preview(&Command::Step(Step::Back), fake.now).unwrap().effects
    };
    let leads = |line: &String| line.starts_with("The next step goes to ");
    let lines = back(&mut console, &fake);
    assert!(!lines.iter().any(leads), "it leads back to 5: {lines:?}");
    console.run_for(&mut fake, 120);
    let lines = back(&mut console, &fake);
    let says =
        "The next step goes to 10 nodes in total then, not back to 5: 5 nodes are updated already or on the way.";
    assert_eq!(lines.last().map(String::as_str), Some(says));
    console.ask(&mut fake, Command::Step(Step::Back)).unwrap();
    console.ask(&mut fake, Command::Step(Step::Next)).unwrap();
    console.run(&mut fake);
    assert_eq!(console.snapshot(&fake).plan.allowed, 10);
}

/// A number that an operator lets go under a selector is not called a step of the plan: that would name more nodes than may be updated. A step that the selector
/// cuts short is one.
#[test]
fn a_number_by_hand_under_a_selector_is_not_called_a_step() {
    let mut fake = FakeCluster::rolling(20, 2);
    for node in ["n18", "n19", "n20"] {
        fake.change_node(node, |fact| fact.labels = [("canary", "true")].into_iter().collect());
    }
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.ask(&mut fake, Command::Step(Step::Updated(Int(2)))).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.at("hash2"), 2);
    console.ask(&mut fake, Command::Select(Some("canary=true".parse().unwrap()))).unwrap();
    let mut plan = |step| {
        console.ask(&mut fake, Command::Step(step)).unwrap();
        console.run(&mut fake);
        let plan = console.snapshot(&fake).plan;
        (plan.allowed, plan.by_hand(20), plan.to_string())
    };
    let only = "only canary=true (3 nodes)";
    let by_hand = format!("8 by hand, no step of the plan: 8 may be updated, partition 12, {only}");
    assert_eq!(plan(Step::Updated(Int(8))), (8, Some("8".to_owned()), by_hand));
    plan(Step::Updated(Int(2)));
    let cut = format!("step 3 of 4: 5 may be updated, partition 15, {only}");
    assert_eq!(plan(Step::Next), (5, None, cut));
}
