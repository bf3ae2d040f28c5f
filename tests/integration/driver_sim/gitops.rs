//! Somebody sets the strategy back while a rollout runs: how soon the driver sees it, and how the rollout goes on.

use std::time::{Duration, Instant};

use rolldeck::engine::model::command::Command;
use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::engine::model::settings::{OnDrift, Tuning};
use rolldeck::engine::report::snapshot::Alarm;
use rolldeck::engine::report::snapshot::Phase;
use rolldeck::sim::world::kind::Kind;
use rolldeck::sim::world::scenario::ClusterFault;

use super::rollout::{Cluster, NODES, image, open, until, updated};

/// The watch reports a changed strategy within this time; the next list would be made after more than a minute. The test prints how long it took:
/// less than a second on an idle machine.
const NOTICED: Duration = Duration::from_secs(10);

fn drift(cluster: &Cluster) -> Instant {
    let kind = StrategyKind::RollingUpdate;
    let fault = ClusterFault::SetStrategy { daemon_set: "edge/agent".into(), kind, max_unavailable: None };
    cluster.server.with_world(|world| world.inject(&fault.into()));
    Instant::now()
}

fn strategy(cluster: &Cluster) -> StrategyKind {
    cluster.server.with_world(|world| {
        let object = world.store().get(Kind::DaemonSet, "edge", "agent").expect("it is there");
        object.daemon_set().expect("a DaemonSet").spec.strategy.kind
    })
}

/// The time from `since` until the strategy is `OnDelete` again.
async fn set_again(cluster: &Cluster, since: Instant) -> Duration {
    while strategy(cluster) != StrategyKind::OnDelete {
        assert!(since.elapsed() < Duration::from_secs(20), "it stays as it is");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    since.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_that_is_set_back_again_and_again_is_enforced_and_ends() {
    let cluster = Cluster::start().await;
    let session = cluster.session().await;
    let rollout = open(&session).await;
    let enforce = Tuning { on_drift: Some(OnDrift::EnforceOnDelete), ..Tuning::default() };
    rollout.command(image("registry.example/agent:v2").under(enforce)).await.unwrap();
    let mut took = Vec::new();
    for step in 1..=4 {
        rollout.command(updated(step)).await.unwrap();
        let drifted_at = drift(&cluster);
        took.push(set_again(&cluster, drifted_at).await);
        let said = until(&rollout, "the enforcement is said", |is| {
            is.alarms.iter().any(|alarm| matches!(alarm, Alarm::OnDeleteEnforced { times, .. } if *times == step))
        });
        assert!(said.await.adopted);
    }
    rollout.command(updated(8)).await.unwrap();
    until(&rollout, "all are updated and it is released", |is| is.counts.updated as usize == NODES && !is.adopted)
        .await;
    println!("OnDelete again after {took:.0?}, {} of {NODES} down at most", cluster.most_down());
    assert!(took.iter().all(|took| *took < NOTICED), "{took:?}");
    // Until `OnDelete` is set again, the controller replaces pods within its own budget beside the driver's: twice two.
    assert!(cluster.most_down() <= 4, "{} were down", cluster.most_down());
    rollout.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drift_is_reported_and_the_rollout_goes_on_when_told_to() {
    let cluster = Cluster::start().await;
    let session = cluster.session().await;
    let rollout = open(&session).await;
    rollout.command(image("registry.example/agent:v2")).await.unwrap();
    let drifted_at = drift(&cluster);
    let paused = until(&rollout, "it pauses", |is| matches!(is.phase, Phase::Paused(_))).await;
    let took = drifted_at.elapsed();
    println!("said after {took:.0?}: {}", paused.alarms[0]);
    assert!(took < NOTICED, "{took:?}");
    assert!(matches!(paused.alarms[0], Alarm::StrategyDrifted { enforced: 0, .. }), "{:?}", paused.alarms);
    assert_eq!(strategy(&cluster), StrategyKind::RollingUpdate);
    rollout.command(Command::Resume).await.unwrap();
    set_again(&cluster, Instant::now()).await;
    rollout.command(updated(8)).await.unwrap();
    until(&rollout, "all are updated and it is released", |is| is.counts.updated as usize == NODES && !is.adopted)
        .await;
    rollout.close().await;
}
