//! Nodes whose pod is not available by itself: when they go, what a preview says of them, and what waits for them.

use super::*;
use crate::engine::model::Str;
use crate::engine::model::command::Step;

fn says(console: &mut FakeConsole, fake: &FakeCluster, command: &Command) -> Vec<String> {
    console.engine.preview(command, fake.now).unwrap().effects.to_vec()
}

#[test]
fn what_is_not_available_by_itself_goes_once_a_node_is_well_and_previews_say_so() {
    let mut fake = FakeCluster::rolling(6, 2);
    fake.set_ready("n5", false);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 2);
    let step = Command::Step(Step::Updated(IntOrPercent::Int(2)));
    let first = says(&mut console, &fake, &step);
    let all = says(&mut console, &fake, &Command::Step(Step::Partition(IntOrPercent::Int(0))));
    let later = "n5 is not available as it is: it goes once a node that serves is updated and well, and then before the others.";
    assert!(all.contains(&later.to_owned()), "{all:?}");
    assert!(!first.iter().any(|line| line.contains("n5")), "it is not among the first two: {first:?}");

    console.ask(&mut fake, Command::Step(Step::Updated(IntOrPercent::Int(1)))).unwrap();
    console.run_for(&mut fake, 60);
    assert_eq!(fake.deleted.len(), 1);
    assert_ne!(fake.deleted[0], Str::from("n5"));
    let next = says(&mut console, &fake, &Command::Step(Step::Updated(IntOrPercent::Int(3))));
    let before = "n5 is not available as it is: it goes before the others.";
    assert!(next.contains(&before.to_owned()), "{next:?}");
    console.ask(&mut fake, Command::Step(Step::Updated(IntOrPercent::Int(2)))).unwrap();
    console.run_for(&mut fake, 10);
    assert_eq!(fake.deleted[1], Str::from("n5"), "as the preview says");
}

#[test]
fn who_uses_the_budget_is_named_in_the_preview_and_in_what_it_waits_for() {
    let mut fake = FakeCluster::rolling(8, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    console.run_for(&mut fake, 120);
    let updated = fake.deleted.clone();
    assert_eq!(updated.len(), 4);
    // Two that were updated are not ready any more: they use the budget until they are again.
    updated[..2].iter().for_each(|node| fake.set_ready(node, false));
    console.run_for(&mut fake, 5);
    let step = Command::Step(Step::Partition(IntOrPercent::Int(0)));
    let preview = says(&mut console, &fake, &step);
    let waits = format!("2 nodes are down already ({}, {}), and 2 may be", updated[0], updated[1]);
    assert!(preview.iter().any(|line| line.contains(&waits)), "{preview:?}");
    console.ask(&mut fake, step).unwrap();
    console.run_for(&mut fake, 5);
    let guidance = console.snapshot(&fake).guidance().map(|guidance| guidance.waits);
    let waits =
        format!("4 nodes wait, as 2 are down and 2 may be: until one is back of {}, {}", updated[0], updated[1]);
    assert_eq!(guidance, Some(waits));
}

/// Updates in their ordinary course are no outage.
#[test]
fn what_uses_the_budget_because_it_is_being_updated_is_called_so() {
    let mut fake = FakeCluster::rolling(8, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 4);
    while console.snapshot(&fake).budget.charged < 2 {
        console.run_for(&mut fake, 1);
    }
    let step = Command::Step(Step::Partition(IntOrPercent::Int(0)));
    let preview = says(&mut console, &fake, &step);
    let waits = "and wait: 2 nodes are being updated (n1, n2), and 2 may be down at once. They move once one of those is updated";
    assert!(preview.iter().any(|line| line.contains(waits)), "{preview:?}");
}
