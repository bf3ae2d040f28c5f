//! What a change of the limits lets go at once: who raises a budget is told what a step would tell.

use super::*;
use crate::engine::model::settings::{Limit, OnDrift, Secs};
use crate::engine::model::time::UtcTime;

/// Ten nodes, of which the first two get the new revision.
fn two_of_ten(slow: bool, soak: u32) -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(10, 2);
    fake.defaults = Tuning { soak_secs: Some(Secs(soak)), ..Tuning::default() };
    fake.slow = slow;
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 0);
    console.run_for(&mut fake, 40);
    assert_eq!(fake.deleted.len(), 2);
    (fake, console)
}

fn down(nodes: u32) -> Command {
    let max_unavailable = Some(Limit::At(IntOrPercent::Int(nodes)));
    Command::Tune(Tuning { max_unavailable, ..Tuning::default() })
}

#[test]
fn a_larger_budget_names_the_nodes_that_go_at_once_and_that_nothing_is_known_of_the_revision() {
    let (mut fake, mut console) = two_of_ten(true, 0);
    let preview = console.engine.preview(&down(4), fake.now).unwrap();
    let lines = [
        "From now on at most 4 down and 4 pulling at a time.",
        "2 nodes more go at once: n3, n4.",
        "No node is updated yet (n1 and 1 more are on their way): nothing shows whether the new revision works.",
    ];
    assert_eq!(preview.effects[..3], lines, "{:?}", preview.effects);
    assert_eq!(preview.nodes.iter().map(|node| &**node).collect::<Vec<_>>(), ["n3", "n4"]);
    assert_eq!(preview.danger, Danger::Serious, "as a step");
    // Whoever drives: another operator is told the same.
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    bob.run(&mut fake);
    assert_eq!(bob.engine.preview(&down(4), fake.now).unwrap().effects[1], lines[1]);
    let fewer = console.engine.preview(&down(1), fake.now).unwrap();
    assert!(fewer.nodes.is_empty() && fewer.danger == Danger::Bounded, "{fewer:?}");
    // And so it is.
    console.ask(&mut fake, down(4)).unwrap();
    console.run_for(&mut fake, 5);
    assert_eq!(fake.deleted.iter().map(|node| &**node).collect::<Vec<_>>(), ["n1", "n2", "n3", "n4"]);
}

#[test]
fn where_nothing_moves_a_larger_budget_lets_nothing_go() {
    let (mut fake, mut console) = two_of_ten(true, 0);
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    let paused = console.engine.preview(&down(4), fake.now).unwrap();
    console.ask(&mut fake, Command::Resume).unwrap();
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run(&mut fake);
    let undriven = console.engine.preview(&down(4), fake.now).unwrap();
    for preview in [paused, undriven] {
        assert!(preview.nodes.is_empty(), "{preview:?}");
        assert!(!preview.effects.iter().any(|line| line.contains("at once")), "{preview:?}");
        assert_eq!(preview.danger, Danger::Bounded);
    }
}

#[test]
fn a_shorter_soak_names_the_nodes_that_no_longer_wait_for_it() {
    let (mut fake, mut console) = two_of_ten(false, 600);
    let soak = |secs: u32| Command::Tune(Tuning { soak_secs: Some(Secs(secs)), ..Tuning::default() });
    let preview = console.engine.preview(&soak(10), fake.now).unwrap();
    assert!(preview.effects.contains(&"2 nodes more go at once: n3, n4.".to_owned()), "{:?}", preview.effects);
    for as_long in [300, 590] {
        let preview = console.engine.preview(&soak(as_long), fake.now).unwrap();
        assert!(preview.nodes.is_empty(), "{preview:?}");
    }
    console.ask(&mut fake, soak(10)).unwrap();
    console.run_for(&mut fake, 2);
    assert_eq!(fake.deleted.iter().map(|node| &**node).collect::<Vec<_>>(), ["n1", "n2", "n3", "n4"]);
}

/// Under a pause others change limits, and change one of them back. Whoever resumes is told which are not as they were, and who changed them.
#[test]
fn a_resume_tells_which_limits_others_changed_since_the_pause() {
    let (mut fake, mut console) = two_of_ten(true, 0);
    let pause = Command::Pause { why: None };
    let soak = |secs: u32| Command::Tune(Tuning { soak_secs: Some(Secs(secs)), ..Tuning::default() });
    console.ask(&mut fake, pause.clone().under(Tuning { max_restarts: Some(7), ..Tuning::default() })).unwrap();
    let mut ben = FakeConsole::open_as(&fake, "ben", Role::OneShot);
    for command in [down(4), soak(60), down(5), soak(0)] {
        ben.ask(&mut fake, command).unwrap();
    }
    console.run_for(&mut fake, 2);
    // Another reason for the same pause does not make it forget what was changed.
    console.ask(&mut fake, Command::Pause { why: Some("lunch".into()) }).unwrap();
    console.ask(&mut fake, Command::Tune(Tuning { max_restarts: Some(8), ..Tuning::default() })).unwrap();
    let told = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|line| line.starts_with("Changed since the pause: ")).cloned().collect()
    };
    let at = UtcTime { at: fake.now, now: fake.now };
    let changed = format!("max unavailable: default → 5 (ben@bastion, {at})");
    let preview = console.engine.preview(&Command::Resume, fake.now).unwrap();
    assert_eq!(told(&preview.effects), [format!("Changed since the pause: {changed}.")], "{:?}", preview.effects);
    // Ben is told what she changed.
    ben.run_for(&mut fake, 2);
    let his = ben.engine.preview(&Command::Resume, fake.now).unwrap();
    assert_eq!(told(&his.effects).len(), 1, "{his:?}");
    assert!(told(&his.effects)[0].contains("max restarts: 7 → 8 (ada@bastion, "), "{his:?}");
    let said = console.ask(&mut fake, Command::Resume).unwrap();
    assert_eq!(said, format!("resumed; changed since the pause: {changed}"));
    // The next pause begins with what is so then.
    console.ask(&mut fake, pause).unwrap();
    let said = console.ask(&mut fake, Command::Resume).unwrap();
    assert_eq!(said, "resumed");
}

/// One key more or less: what takes most of the fleet down is asked about, and what takes all of it even more.
#[test]
fn a_budget_of_more_than_half_of_the_nodes_is_asked_about() {
    let fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ada");
    for (nodes, danger, says) in [
        (5, Danger::Bounded, None),
        (6, Danger::Serious, Some("More than half of the nodes may be down at once: 6 of 10.")),
        (10, Danger::ExceedsBudget, Some("Every one of the 10 nodes may be down at once.")),
    ] {
        let preview = console.engine.preview(&down(nodes), fake.now).unwrap();
        assert_eq!(preview.danger, danger, "{nodes}");
        let line = preview.effects.iter().find(|line| line.contains("may be down at once")).map(String::as_str);
        assert_eq!(line, says);
    }
}

/// A one-shot command only records what becomes of a strategy that is set back: it is a driver that does it.
#[test]
fn what_becomes_of_a_strategy_that_is_set_back_is_up_to_whoever_drives() {
    let mut fake = FakeCluster::rolling(3, 1);
    let mut console = FakeConsole::open(&fake, "ada");
    console.set_image(&mut fake, "agent:v2");
    let on_drift = |on_drift| Command::Tune(Tuning { on_drift: Some(on_drift), ..Tuning::default() });
    let mut bob = FakeConsole::open_as(&fake, "bob", Role::OneShot);
    let mut lines = |fake: &mut FakeCluster, now| {
        bob.load(fake);
        bob.run(fake);
        bob.engine.preview(&on_drift(now), fake.now).unwrap().effects.split_off(1)
    };
    let enforces =
        "If the update strategy is changed back, whoever drives sets OnDelete again at once, 5 times in 10m at most.";
    assert_eq!(lines(&mut fake, OnDrift::EnforceOnDelete), [enforces]);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run(&mut fake);
    let undriven = "Nobody drives: OnDelete is not set again before somebody does.";
    assert_eq!(lines(&mut fake, OnDrift::EnforceOnDelete), [enforces, undriven]);
    fake.set_strategy(json!({"type": "RollingUpdate"}));
    let already = "The update strategy is changed back already: whoever drives sets OnDelete again at once, 5 times in 10m at most.";
    assert_eq!(lines(&mut fake, OnDrift::EnforceOnDelete), [already, undriven]);
}

#[test]
fn a_soak_time_says_that_nothing_soaks_on_the_way_back() {
    let (mut fake, mut console) = two_of_ten(true, 0);
    let soak = Command::Tune(Tuning { soak_secs: Some(Secs(60)), ..Tuning::default() });
    let says = "No pod soaks on the way back: it counts from the next rollout on, where the record is kept.";
    let lines = console.engine.preview(&soak, fake.now).unwrap().effects;
    assert!(!lines.iter().any(|line| line == says), "{lines:?}");
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 2);
    let lines = console.engine.preview(&soak, fake.now).unwrap().effects;
    assert!(lines.iter().any(|line| line == says), "{lines:?}");
}

/// A longer soak time counts for nodes that are updated already: those that have been ready for less than that soak again, and use the budget. Whoever asks for
/// it is told before how many that are.
#[test]
fn a_longer_soak_time_says_how_many_updated_nodes_soak_again() {
    let soak = |secs| Command::Tune(Tuning { soak_secs: Some(Secs(secs)), ..Tuning::default() });
    let again = |console: &mut FakeConsole, fake: &FakeCluster, secs| {
        let effects = console.engine.preview(&soak(secs), fake.now).unwrap().effects;
        effects.into_iter().find(|line| line.contains(" soak again, ") || line.contains(" soaks again, "))
    };
    let soaking = |console: &mut FakeConsole, fake: &FakeCluster| {
        console.snapshot(fake).nodes.iter().filter(|node| node.state == NodeState::Soaking).count()
    };
    let mut told = Vec::new();
    for secs in [30, 300] {
        let (mut fake, mut console) = two_of_ten(true, 5);
        for node in ["n1", "n2"] {
            fake.set_ready(node, true);
            console.run_for(&mut fake, 20);
        }
        console.ask(&mut fake, Command::Pause { why: None }).unwrap();
        assert_eq!(again(&mut console, &fake, 2), None, "it is shorter");
        let (said, before) = (again(&mut console, &fake, secs), soaking(&mut console, &fake));
        console.ask(&mut fake, soak(secs)).unwrap();
        told.push((said.unwrap_or_default(), soaking(&mut console, &fake) - before));
    }
    let expected = [
        (
            "1 updated node has been ready for less than 30s: it soaks again, and counts as down until then."
                .to_owned(),
            1,
        ),
        (
            "2 updated nodes have been ready for less than 5m: they soak again, and count as down until then."
                .to_owned(),
            2,
        ),
    ];
    assert_eq!(told, expected);
}
