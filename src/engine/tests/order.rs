//! In which order nodes of several sites go.

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::command::{Command, PrewarmCommand, Step};
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, NodeOrder, Tuning};
use crate::engine::model::site::ZONE;

/// Nine nodes: the first six in hall-b, the others in hall-a; one at a time.
fn two_sites() -> (FakeCluster, FakeConsole) {
    let mut fake = FakeCluster::rolling(9, 1);
    for (nth, node) in fake.nodes.values_mut().enumerate() {
        node.labels = [(ZONE, if nth < 6 { "hall-b" } else { "hall-a" })].into_iter().collect();
    }
    let console = FakeConsole::open(&fake, "ops");
    (fake, console)
}

fn order(fake: &FakeCluster, console: &mut FakeConsole, order: NodeOrder) {
    let tuning = Tuning { order: Some(order), ..Tuning::default() };
    console.engine.command(Command::Tune(tuning), fake.now).unwrap();
}

fn rolled_out(fake: &mut FakeCluster, console: &mut FakeConsole) -> Vec<String> {
    console.set_image(fake, "agent:v2");
    let step = Command::Step(Step::Partition(IntOrPercent::Int(0)));
    let preview = console.engine.preview_of(&step, fake.now).unwrap();
    console.ask(fake, step).unwrap();
    console.run_for(fake, 30);
    let deleted: Vec<String> = fake.deleted.iter().map(ToString::to_string).collect();
    assert_eq!(preview.nodes.iter().map(ToString::to_string).collect::<Vec<_>>(), deleted, "as the preview said");
    deleted
}

#[test]
fn nodes_of_all_sites_go_in_turn_in_proportion_to_their_size() {
    let (mut fake, mut console) = two_sites();
    order(&fake, &mut console, NodeOrder::Spread);
    assert_eq!(rolled_out(&mut fake, &mut console), ["n1", "n7", "n2", "n3", "n8", "n4", "n5", "n9", "n6"]);
}

#[test]
fn one_site_goes_after_the_other() {
    let (mut fake, _) = two_sites();
    // In natural order of their first nodes, not of their names.
    for (node, site) in [("n1", "hall-b"), ("n7", "hall-b"), ("n2", "hall-a")] {
        fake.nodes.get_mut(node).unwrap().labels = [(ZONE, site)].into_iter().collect();
    }
    let mut console = FakeConsole::open(&fake, "ops");
    order(&fake, &mut console, NodeOrder::BySite);
    assert_eq!(rolled_out(&mut fake, &mut console), ["n1", "n3", "n4", "n5", "n6", "n7", "n2", "n8", "n9"]);
}

#[test]
fn by_default_names_decide() {
    let (mut fake, mut console) = two_sites();
    assert_eq!(rolled_out(&mut fake, &mut console), ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"]);
}

#[test]
fn pre_warming_keeps_the_order_of_the_rollout() {
    let (mut fake, mut console) = two_sites();
    order(&fake, &mut console, NodeOrder::Spread);
    fake.holds_images = false;
    let source = PrewarmSource::Images([("agent".to_owned(), "agent:v2".parse().unwrap())].into());
    let limits = PrewarmLimits { max_pulling: Limit::At(IntOrPercent::Int(2)), ..PrewarmLimits::default() };
    let start = PrewarmCommand::Start { source, nodes: PrewarmNodes::All, limits, method: PrewarmMethod::Pods };
    console.engine.command(Command::Prewarm(start), fake.now).unwrap();
    console.run(&mut fake);
    assert_eq!(fake.warm_nodes(), ["n1", "n7"]);
}
