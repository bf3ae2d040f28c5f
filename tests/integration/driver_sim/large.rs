//! Three thousand nodes, a budget of 150 and an image that takes minutes: the whole budget comes into use, near by and from far away. The test prints
//! how long that takes; tests of the engine prove the rule on the rate on virtual time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rolldeck::driver::{ClusterSession, Rollout, Session};
use rolldeck::engine::model::command::{Command, Step};
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::event::WatchHealth;
use rolldeck::engine::model::hold::Hold;
use rolldeck::engine::model::node::NodeState;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::model::settings::{Budgets, Limit, Tuning};
use rolldeck::engine::model::wait::Wait;
use rolldeck::engine::report::snapshot::{Phase, Snapshot};
use rolldeck::sim::api::{ApiOptions, serve};
use rolldeck::sim::world::World;
use rolldeck::sim::world::scenario::Scenario;

use crate::support::line::{Line, server_of};
use crate::support::program::access;

const NODES: usize = 3_000;
const BUDGET: u32 = 150;
const FLEET: &str = r#"
name = "three thousand"
about = "three thousand nodes and a new image that takes five minutes"

[[sites]]
name = "a"
link = "100Gbit/s"
nodes = [{ prefix = "node-", count = 3000 }]

[[images]]
name = "registry.example/agent:v1"
size = "1MB"
starts-in = "20ms"
ready-in = "100ms"

[[images]]
name = "registry.example/agent:v2"
size = "1MB"
starts-in = "5m"
ready-in = "100ms"

[[daemonsets]]
namespace = "edge"
name = "agent"
images = { agent = "registry.example/agent:v1" }
max-unavailable = 2
grace-seconds = 1
"#;

async fn until(rollout: &Rollout, what: &str, is: impl FnMut(&Arc<Snapshot>) -> bool) -> Arc<Snapshot> {
    let mut snapshots = rollout.snapshots.clone();
    let Ok(found) = tokio::time::timeout(Duration::from_secs(180), snapshots.wait_for(is)).await else {
        let last = rollout.snapshot();
        panic!("not within 180 s: {what}; {:?}, {:?}, {:?}, {:?}", last.phase, last.counts, last.waits, last.alarms);
    };
    found.expect("the driver runs").clone()
}

fn in_progress(snapshot: &Snapshot) -> u32 {
    let nodes = snapshot.nodes.iter().filter(|node| node.state.is_moving());
    u32::try_from(nodes.count()).unwrap()
}

async fn measure(round_trip: Duration) {
    let scenario = Scenario::parse("large.toml", FLEET).unwrap();
    let mut world = World::new(&scenario, 7);
    assert!(world.advance_until(Duration::from_secs(120), |world| world.serving("edge", "agent") == NODES));
    let server = Arc::new(serve(world, ApiOptions::default()).await.unwrap());
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(kubeconfig.path(), server.kubeconfig()).unwrap();
    let line = Line::to(&server_of(kubeconfig.path()), round_trip);
    let session = ClusterSession::open(&access(line.kubeconfig(kubeconfig.path()))).await.unwrap();
    let rollout = session.open("edge", "agent", Role::Driver);
    until(&rollout, "everything is loaded", |is| {
        is.counts.available as usize == NODES && is.watches.iter().all(|watch| watch.health == WatchHealth::Live)
    })
    .await;
    let image = Command::SetImage([("agent".to_owned(), "registry.example/agent:v2".parse().unwrap())].into());
    let budgets = Budgets { max_unavailable: Limit::At(IntOrPercent::Int(BUDGET)), ..Budgets::default() };
    rollout.command(image.under(Tuning::from(budgets))).await.unwrap();
    until(&rollout, "held before the first step", |is| is.phase == Phase::Held).await;

    let began = Instant::now();
    rollout.command(Command::Step(Step::Updated(IntOrPercent::Percent(100)))).await.unwrap();
    let mut marks = Vec::new();
    for mark in [1, 40, 100, BUDGET] {
        until(&rollout, &format!("{mark} are in progress"), |is| {
            let silent = |hold: &Option<Hold>| hold.is_none();
            let outdated = is.nodes.iter().find(|node| node.state == NodeState::Outdated && silent(&node.hold));
            assert!(outdated.is_none(), "{outdated:?} does not say why it waits");
            in_progress(is) >= mark
        })
        .await;
        let waits = rollout.snapshot().waits.clone().filter(|wait| matches!(wait, Wait::Rate { .. }));
        marks.push((mark, format!("{:.1?}", began.elapsed()), waits.map(|wait| wait.to_string())));
    }
    println!("round trip {round_trip:?}: {BUDGET} of {NODES} in progress: {marks:?}");
    let serving = server.with_world(|world| world.serving("edge", "agent"));
    assert!(serving + BUDGET as usize >= NODES, "{serving} serve");
    rollout.command(Command::Pause { why: None }).await.unwrap();
    rollout.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_a_large_budget_is_used() {
    measure(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_a_large_budget_is_used_from_far_away() {
    measure(Duration::from_secs(1)).await;
}
