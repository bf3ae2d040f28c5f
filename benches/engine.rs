//! Measures the engine at 5,000 and 15,000 nodes: one event, a full decision, a snapshot. It prints the figures beside their budgets.
//!
//! Run it with `cargo bench --bench engine`; add `--no-default-features` to build the pure half alone.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "it prints, and ends where it cannot measure"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use rolldeck::engine::Engine;
use rolldeck::engine::model::Str;
use rolldeck::engine::model::command::{Command, Step};
use rolldeck::engine::model::config::{Config, Role, Timing};
use rolldeck::engine::model::effect::{Done, Effect};
use rolldeck::engine::model::event::{Event, WatchHealth, Watched};
use rolldeck::engine::model::facts::{
    ClusterEvent, ConditionStatus, ContainerFact, ContainerState, DaemonSetFact, LeaseFact, NodeFact, PodFact,
    PodPhase, RevisionFact, StrategyKind, UpdateStrategy,
};
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::model::record::ORIGINAL_STRATEGY;
use rolldeck::engine::model::template::ContainerRole;
use rolldeck::engine::model::template::Template;
use rolldeck::engine::model::time::Timestamp;

const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn main() {
    for nodes in [5_000, 15_000] {
        measure(nodes);
    }
}

fn measure(nodes: u32) {
    let mut engine = fleet(nodes);
    let mut version = 1_000_000;
    let mut now = START + Duration::from_secs(60);
    let event = mean(100_000, |nth| {
        version += 1;
        engine.observe(pod(nth % nodes, !nth.is_multiple_of(3), version), now);
    });
    let decision = mean(200, |nth| {
        version += 1;
        now = now + Duration::from_millis(1);
        engine.observe(pod(nth % nodes, !nth.is_multiple_of(3), version), now);
        black_box(engine.decide(now));
    });
    // Each pull event is the first of its container. The engine counts that pull as finished, and its next decision compares all kept pulls.
    let told = mean(nodes, |nth| engine.observe(pulled(nth, u64::from(nth)), now));
    let compared = mean(200, |nth| {
        now = now + Duration::from_millis(1);
        engine.observe(pulled(nth % nodes, u64::from(nodes + nth)), now);
        black_box(engine.decide(now));
    });
    let images = mean(20, |_| drop(black_box(engine.images_on_nodes(now))));
    let mut kept = engine.snapshot(now);
    let snapshot = mean(200, |_| kept = engine.snapshot(now));
    black_box(kept);
    println!(
        "{nodes:>6} nodes   event {event:>10.2?} (budget 5 µs)   decision {decision:>9.2?} (budget 5 ms)   snapshot {snapshot:>9.2?}"
    );
    println!("       where the images of each revision are {images:>9.2?}, once for each roll back that is looked at");
    println!("       with a pull   event {told:>10.2?} (budget 5 µs)   decision {compared:>9.2?} (budget 5 ms)");
}

fn mean(times: u32, mut run: impl FnMut(u32)) -> Duration {
    let began = Instant::now();
    (0..times).for_each(&mut run);
    began.elapsed() / times
}

fn template(image: &str) -> Template {
    Template::from_json(serde_json::json!({"spec": {"containers": [{"name": "agent", "image": image}]}}))
}

/// An engine in the middle of a rollout: the DaemonSet is adopted, the engine drives, and half of the fleet is allowed.
fn fleet(nodes: u32) -> Engine {
    let mut engine = Engine::new(Config {
        namespace: "edge".into(),
        name: "agent".into(),
        identity: "bench@here/1".into(),
        role: Role::Driver,
        timing: Timing { act: Duration::from_secs(86_400), lease: Duration::from_secs(172_800), ..Timing::default() },
        rate: rolldeck::engine::model::config::RateLimit::default(),
        defaults: Default::default(),
        restored_at: None,
    });
    for (number, image) in [(1, "agent:v1"), (2, "agent:v2")] {
        let revision = RevisionFact {
            name: format!("agent-r{number}").into(),
            hash: format!("r{number}").into(),
            number,
            owner: Some("ds".into()),
            template: template(image),
            ..RevisionFact::default()
        };
        engine.observe(Event::Revision(Box::new(revision)), START);
    }
    let daemonset = DaemonSetFact {
        namespace: "edge".into(),
        name: "agent".into(),
        uid: "ds".into(),
        resource_version: "1".into(),
        annotations: [(ORIGINAL_STRATEGY, r#"{"type":"RollingUpdate"}"#)].into_iter().collect(),
        strategy: UpdateStrategy {
            kind: StrategyKind::OnDelete,
            max_unavailable: Some(IntOrPercent::Int(20)),
            ..UpdateStrategy::default()
        },
        template: template("agent:v2"),
        ..DaemonSetFact::default()
    };
    engine.observe(Event::DaemonSet(Box::new(daemonset)), START);
    for nth in 0..nodes {
        let node = NodeFact {
            name: name(nth),
            labels: (0..12).map(|label| (format!("label-{label}"), format!("value-{}", nth % 40))).collect(),
            ready: ConditionStatus::True,
            ..NodeFact::default()
        };
        engine.observe(Event::Node(Box::new(node)), START);
        engine.observe(pod(nth, true, nth), START);
    }
    engine.observe(Event::LeaseGone(None), START);
    for watched in Watched::ALL {
        engine.observe(Event::Watch(watched, WatchHealth::Live), START);
    }
    let half = Command::Step(Step::Updated(IntOrPercent::Percent(50)));
    engine.command(half, START).unwrap_or_else(|refusal| unreachable!("{refusal}"));
    let mut version = 0;
    loop {
        let effects = engine.decide(START);
        if effects.is_empty() {
            return engine;
        }
        for (id, effect) in effects {
            let Effect::WriteLease { lease, .. } = effect else { continue };
            version += 1;
            let lease = LeaseFact {
                uid: "lease".into(),
                resource_version: version.to_string().into(),
                holder: lease.holder,
                duration_secs: lease.duration_secs,
                acquired_at: lease.acquired_at,
                renewed_at: lease.renewed_at,
                transitions: lease.transitions,
                record: Ok(lease.record),
                prewarm: Ok(None),
                pace: Default::default(),
                failing: None,
            };
            engine.outcome(id, Ok(Done::Lease(Box::new(lease))), START);
        }
    }
}

fn name(nth: u32) -> Str {
    format!("ipc-{nth:05}").into()
}

/// The event of a node's kubelet that it has pulled the image for a container of its pod; `version` is part of the container's name.
fn pulled(nth: u32, version: u64) -> Event {
    Event::Cluster(Box::new(ClusterEvent {
        version: Some(version),
        object: format!("uid-{nth}").into(),
        node: Some(name(nth)),
        container: Some(format!("agent-{version}").into()),
        reason: "Pulled".into(),
        message:
            "Successfully pulled image \"agent:v2\" in 41.2s (43.8s including waiting). Image size: 412345678 bytes."
                .into(),
        at: START,
        count: 1,
        ..ClusterEvent::default()
    }))
}

fn pod(nth: u32, ready: bool, version: u32) -> Event {
    Event::Pod(Box::new(PodFact {
        uid: format!("uid-{nth}").into(),
        name: format!("agent-{nth}").into(),
        resource_version: version.to_string().into(),
        node: Some(name(nth)),
        owner: Some("ds".into()),
        revision: Some(if nth.is_multiple_of(4) { "r2" } else { "r1" }.into()),
        created_at: START,
        phase: PodPhase::Running,
        ready,
        ready_since: Some(START),
        containers: vec![ContainerFact {
            name: "agent".into(),
            role: ContainerRole::Main,
            image_present: true,
            state: ContainerState::Running { since: Some(START) },
            last_end: None,
            last_exit: None,
            last_ran_secs: None,
            restarts: 0,
            ready,
            started: true,
        }],
        ..PodFact::default()
    }))
}
