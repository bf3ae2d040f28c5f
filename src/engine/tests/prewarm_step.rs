//! Pre-warming the nodes of the step.

use std::collections::BTreeMap;

use crate::engine::fake_cluster::{FakeCluster, FakeConsole};
use crate::engine::model::Str;
use crate::engine::model::command::{Command, PrewarmCommand};
use crate::engine::model::prewarm::{PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::Limit;

/// Admission refuses the adoption, so that the rollout has no target yet: it has a selector all the same (found by the attack, seed 17648).
#[test]
fn the_nodes_of_the_step_are_those_of_the_selector_also_before_there_is_a_target() {
    let mut fake = FakeCluster::rolling(20, 2);
    fake.holds_images = false;
    fake.rolling_only = true;
    let mut console = FakeConsole::open(&fake, "ops");
    let images: BTreeMap<_, _> = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
    console.ask(&mut fake, Command::SetImage(images.clone())).unwrap_err();
    console.ask(&mut fake, Command::Select(Some("zone=canary".parse().unwrap()))).unwrap();
    console.partition(&mut fake, 0);
    let source = PrewarmSource::Images(images);
    let limits = PrewarmLimits { max_pulling: Limit::At(IntOrPercent::Int(20)), ..PrewarmLimits::default() };
    for (nodes, says) in [
        (PrewarmNodes::All, "on every node of the fleet that has not got them;"),
        (PrewarmNodes::StepAhead, "the partition and the next step let go, of those with zone=canary;"),
        (PrewarmNodes::LetGo, "that the partition lets go, of those with zone=canary;"),
    ] {
        let (source, limits) = (source.clone(), limits.clone());
        let start = PrewarmCommand::Start { source, nodes, limits, method: PrewarmMethod::Pods };
        let preview = console.engine.preview(&Command::Prewarm(start), fake.now).unwrap();
        assert!(preview.effects.iter().any(|line| line.contains(says)), "{says}: {:?}", preview.effects);
    }
    let nodes = PrewarmNodes::LetGo;
    let start = PrewarmCommand::Start { source, nodes, limits, method: PrewarmMethod::Pods };
    console.engine.command(Command::Prewarm(start), fake.now).unwrap();
    console.run_for(&mut fake, 3);
    let canary = |name: &String| {
        fake.nodes[&Str::from(name.as_str())].labels.get("zone").is_some_and(|zone| &**zone == "canary")
    };
    let warmed = fake.warm_nodes();
    assert!(!warmed.is_empty() && warmed.iter().all(canary), "{warmed:?}");
}
