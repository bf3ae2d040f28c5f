//! A rollout of the DaemonSet's own controller that has replaced every old pod and was braked. Nodes that it took down are not down "by themselves": what
//! begins next takes no budget of its own on top, and mends them first.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole, template};
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::node::NodeState;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::report::snapshot::Phase;

const ALL: Command = Command::Step(Step::Partition(IntOrPercent::Int(0)));

/// 12 nodes, of which 2 may be down. Every old pod is gone. The new pods of all but the last `broken` nodes serve, those have never been Ready.
fn cascade(broken: usize) -> FakeCluster {
    let mut fake = FakeCluster::rolling(12, 2);
    fake.wait(1_000);
    fake.set_template(template("agent:v2"));
    fake.reconcile();
    fake.slow = true;
    for nth in 1..=12 {
        let node = format!("n{nth}");
        fake.wait(1);
        fake.remove_pod(&node);
        fake.create_pod(&node);
        fake.wait(1);
        if nth <= 12 - broken {
            fake.set_ready(&node, true);
        }
    }
    fake.wait(30);
    fake.slow = false;
    fake
}

/// The same, braked by somebody who has left. The nodes whose pods were replaced since are in `deleted`.
fn braked(broken: usize) -> (FakeCluster, FakeConsole) {
    let mut fake = cascade(broken);
    let mut first = FakeConsole::open(&fake, "ada");
    first.ask(&mut fake, Command::Pause { why: None }).unwrap();
    fake.reconcile();
    let console = FakeConsole::open(&fake, "ops");
    (fake, console)
}

fn broken_nodes(broken: usize) -> Vec<Str> {
    (13 - broken..=12).map(|nth| format!("n{nth}").into()).collect()
}

fn sorted(mut names: Vec<Str>) -> Vec<Str> {
    names.sort_by_key(|name| name.trim_start_matches('n').parse::<u32>().unwrap());
    names
}

#[test]
fn what_the_controller_took_down_is_its_doing_for_whoever_opens_a_console_after_the_brake() {
    let (fake, mut console) = braked(6);
    let shown = console.snapshot(&fake);
    assert_eq!(shown.budget.to_string(), "down 6 of 2: 6 by its controller");
    assert!(matches!(shown.phase, Phase::Paused(_)), "{:?}", shown.phase);
}

#[test]
fn a_roll_back_mends_what_is_down_first_and_takes_nothing_beside_it() {
    let (mut fake, mut console) = braked(6);
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    assert_eq!(console.snapshot(&fake).budget.to_string(), "down 6 of 2: 2 ours, 4 not recorded by whom");
    console.run(&mut fake);
    assert!(fake.deleted.iter().all(|node| broken_nodes(6).contains(node)), "{:?}", fake.deleted);
    console.run_for(&mut fake, 200);
    assert_eq!(sorted(fake.deleted[..6].to_vec()), broken_nodes(6));
    assert_eq!((fake.at("hash1"), fake.worst_down), (12, 6));
}

#[test]
fn a_roll_back_that_does_not_help_takes_no_further_node_down() {
    let (mut fake, mut console) = braked(6);
    fake.slow = true;
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 60);
    assert!(fake.deleted.iter().all(|node| broken_nodes(6).contains(node)), "{:?}", fake.deleted);
    assert_eq!(fake.down(), 6);
}

/// The new image has not been seen to work anywhere. A node that serves would go first, if the others were down by themselves.
#[test]
fn a_third_image_goes_to_what_is_down_first() {
    let (mut fake, mut console) = braked(6);
    console.set_image(&mut fake, "agent:v3");
    console.ask(&mut fake, ALL).unwrap();
    let _ = console.ask(&mut fake, Command::Resume);
    console.run(&mut fake);
    assert_eq!(console.snapshot(&fake).budget.to_string(), "down 6 of 2: 2 ours, 4 not recorded by whom");
    assert_eq!(fake.deleted.len(), 2, "as many as may pull");
    console.run_for(&mut fake, 200);
    assert_eq!(sorted(fake.deleted[..6].to_vec()), broken_nodes(6));
    assert_eq!((fake.at("hash3"), fake.worst_down), (12, 6));
}

#[test]
fn where_only_nodes_that_serve_are_selected_none_goes_until_the_others_are_back() {
    let (mut fake, mut console) = braked(6);
    (1..=6).for_each(|nth| {
        fake.change_node(&format!("n{nth}"), |node| node.labels = [("zone", "a")].into_iter().collect());
    });
    console.set_image(&mut fake, "agent:v3");
    console.ask(&mut fake, Command::Select(Some("zone=a".parse().unwrap()))).unwrap();
    console.ask(&mut fake, ALL).unwrap();
    let _ = console.ask(&mut fake, Command::Resume);
    console.run_for(&mut fake, 20);
    assert_eq!((fake.deleted.len(), fake.down()), (0, 6));
    // The next driver has only the record.
    let mut next = FakeConsole::open(&fake, "eve");
    assert_eq!(next.snapshot(&fake).budget.to_string(), "down 6 of 2: 6 not recorded by whom");
    for nth in 7..=12 {
        fake.set_ready(&format!("n{nth}"), true);
    }
    console.run_for(&mut fake, 60);
    assert_eq!((fake.at("hash3"), fake.worst_down), (6, 6));
}

/// Hours later they still are what the controller has not brought back.
#[test]
fn many_stay_its_doing_for_hours_and_a_single_one_until_the_progress_deadline() {
    for (broken, waited, expected) in [
        (6, 7_200, "down 6 of 2: 6 not recorded by whom"),
        (1, 60, "down 1 of 2: 1 not recorded by whom"),
        (1, 7_200, "down 0 of 2 + 1 by itself"),
    ] {
        let mut fake = cascade(broken);
        fake.wait(waited);
        let mut console = FakeConsole::open(&fake, "ops");
        console.set_image(&mut fake, "agent:v3");
        console.run(&mut fake);
        assert_eq!(console.snapshot(&fake).budget.to_string(), expected, "{broken} broken, {waited} s later");
    }
}

/// A node that joined after the rollout got its pod with the node: no rollout took it down.
#[test]
fn a_node_that_joined_since_is_down_by_itself() {
    let mut fake = cascade(0);
    fake.slow = true;
    fake.add_nodes(["n13".into(), "n14".into(), "n15".into()]);
    let now = fake.now;
    for nth in 13..=15 {
        fake.change_node(&format!("n{nth}"), |node| node.created_at = Some(now));
        fake.create_pod(&format!("n{nth}"));
    }
    fake.wait(60);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v3");
    console.run(&mut fake);
    assert_eq!(console.snapshot(&fake).budget.to_string(), "down 0 of 2 + 3 by themselves");
    assert_eq!(console.state(&fake, "n13").0, NodeState::Outdated);
}

/// Its controller goes on to a third template and stands still. Time alone makes the one node that has never been Ready a node that is down by itself.
#[test]
fn who_looks_on_is_told_when_a_single_node_is_no_longer_the_controllers_doing() {
    let mut fake = cascade(1);
    fake.set_template(template("agent:v3"));
    fake.reconcile();
    let mut looking = FakeConsole::open(&fake, "ops");
    assert_eq!(looking.snapshot(&fake).budget.to_string(), "down 1 of 2: 1 by its controller");
    looking.run_for(&mut fake, 560);
    assert_eq!(looking.snapshot(&fake).budget.to_string(), "down 1 of 2: 1 by its controller");
    looking.run_for(&mut fake, 60);
    assert_eq!(looking.snapshot(&fake).budget.to_string(), "down 0 of 2 + 1 by itself");
}
