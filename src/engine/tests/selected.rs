//! Nodes whose labels are changed while a rollout with a selector runs.

use super::*;
use crate::engine::model::labels::Labels;
use crate::engine::model::rollout_event::RolloutEventKind;

#[test]
fn a_label_that_changes_which_nodes_the_selector_means_is_told() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    let told = |console: &mut FakeConsole, fake: &FakeCluster| -> Vec<String> {
        let timeline = console.snapshot(fake).timeline;
        let told = timeline.iter().filter(|event| matches!(event.kind, RolloutEventKind::Selected { .. }));
        told.map(ToString::to_string).collect()
    };
    let set = |fake: &mut FakeCluster, node: &str, label: (&str, &str)| {
        fake.change_node(node, |node| {
            let labels = node.labels.iter().filter(|(key, _)| key.as_ref() != label.0);
            let labels = labels.map(|(key, value)| (key.clone(), value.clone()));
            node.labels = labels.chain([(label.0.into(), label.1.into())]).collect::<Labels>();
        });
    };
    console.set_image(&mut fake, "agent:v2");
    set(&mut fake, "n8", ("zone", "canary"));
    console.run_for(&mut fake, 5);
    assert_eq!(told(&mut console, &fake), [""; 0], "no selector is set");
    console.ask(&mut fake, Command::Select(Some("zone=canary".parse().unwrap()))).unwrap();
    set(&mut fake, "n8", ("rack", "7"));
    console.run_for(&mut fake, 5);
    assert_eq!(told(&mut console, &fake), [""; 0], "it means the same nodes as before");
    set(&mut fake, "n9", ("zone", "canary"));
    set(&mut fake, "n8", ("zone", "b"));
    console.run_for(&mut fake, 5);
    let says = [
        "the labels of n9 were changed: zone=canary means it now",
        "the labels of n8 were changed: zone=canary means it no more",
    ];
    assert_eq!(told(&mut console, &fake), says);
}
