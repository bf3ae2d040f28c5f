//! Agents that make their node NotReady for a moment when they start: the kubelet says so itself, and Kubernetes' own controllers taint the node.

use std::time::{Duration, Instant};

use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::sim::world::scenario::{RegistryImage, Scenario, Tolerates};

use super::fixture::{DS, GOOD, NODES, RolloutFixture, SOON, assert_within_budget, quick, scenario};

/// The kubelets say for five seconds of real time that the node is not ready.
fn agents(tolerates: Tolerates) -> Scenario {
    let mut scenario = scenario(StrategyKind::OnDelete);
    scenario.daemon_sets.iter_mut().for_each(|plan| plan.tolerates = tolerates);
    scenario.images.retain(|image| &*image.name != GOOD[1]);
    scenario.with_image(RegistryImage { node_not_ready_for: Some(Duration::from_secs(50)), ..quick(GOOD[1]) })
}

fn rolls_out(name: &str, tolerates: Tolerates) {
    let Some(fixture) = RolloutFixture::with(name, agents(tolerates)) else { return };
    let operator = fixture.operator();
    operator.ok(&["adopt", DS, "--max-unavailable", "2", "--soak", "3s", "--yes"]);
    operator.ok(&["set-image", DS, &format!("agent={}", GOOD[1]), "--yes"]);
    let began = Instant::now();
    let mut driver = operator.drive(DS, &["--to", "100%", "--until", "complete"]);
    let shown = operator.until_status(DS, "a node that is not ready is shown as one that is updated", SOON, |status| {
        let mut nodes = status["nodes"].as_array().into_iter().flatten();
        nodes.any(|node| node["suspect"]["state"] == "inUpdate")
    });
    let node = shown["nodes"].as_array().unwrap().iter().find(|node| node["suspect"]["state"] == "inUpdate").unwrap();
    println!("{}: {}", node["name"], node["why"]);
    let why = node["why"].as_str().unwrap();
    assert!(why.contains("while it is updated; counts as failed in"), "{why}");
    let message = node["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("Network plugin returns error: cni plugin not initialized"), "{node:#}");
    driver.end();
    println!("{}", driver.seen());
    fixture.until("all nodes serve v2", |witness| witness.serving(":v2").len() == NODES);
    assert_within_budget(&fixture, began);
}

#[test]
fn an_agent_that_makes_its_node_not_ready_is_rolled_out() {
    rolls_out("runtime", Tolerates::Everything);
}

/// While a node is not ready its controller makes no pod of this one there, and the node does not count as one of its own.
#[test]
fn an_agent_that_does_not_tolerate_what_it_does_to_its_node_is_rolled_out() {
    rolls_out("intolerant", Tolerates::Nothing);
}
