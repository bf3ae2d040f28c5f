//! Rollouts over HTTP while the network misbehaves, servers go away and drivers die.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::program::access;
use rolldeck::driver::{ClusterSession, CommandError, Rollout, Session};
use rolldeck::engine::model::command::{Command, Step, Takeover};
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::driver::DriverView;
use rolldeck::engine::model::event::{Permission, WatchHealth, Watched};
use rolldeck::engine::model::presence::Presence;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::report::snapshot::{Alarm, Phase, Snapshot};
use rolldeck::sim::api::{ApiFailure, ApiFault, ApiOptions, Server, serve};
use rolldeck::sim::world::World;
use rolldeck::sim::world::kind::Kind;
use rolldeck::sim::world::scenario::Scenario;

pub(super) const SOON: Duration = Duration::from_secs(120);
pub(super) const NODES: usize = 8;
const FLEET: &str = r#"
name = "eight"
about = "eight nodes and a new image that comes at once"

[[sites]]
name = "a"
link = "10Gbit/s"
nodes = [{ prefix = "node-", count = 8 }]

[[images]]
name = "registry.example/agent:v1"
size = "1MB"
starts-in = "20ms"
ready-in = "100ms"

[[images]]
name = "registry.example/agent:v2"
size = "1MB"
starts-in = "20ms"
ready-in = "100ms"

[[daemonsets]]
namespace = "edge"
name = "agent"
images = { agent = "registry.example/agent:v1" }
max-unavailable = 2
grace-seconds = 1
"#;

/// A simulated cluster behind its API, and a task that counts the pods that serve.
pub(super) struct Cluster {
    pub(super) server: Arc<Server>,
    least: Arc<AtomicUsize>,
    kubeconfig: tempfile::NamedTempFile,
    _witness: tokio::task::JoinSet<()>,
}

impl Cluster {
    pub(super) async fn start() -> Self {
        let scenario = Scenario::parse("eight.toml", FLEET).unwrap();
        let mut world = World::new(&scenario, 7);
        assert!(world.advance_until(Duration::from_secs(60), |world| world.serving("edge", "agent") == NODES));
        let server = Arc::new(serve(world, ApiOptions::default()).await.unwrap());
        let kubeconfig = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(kubeconfig.path(), server.kubeconfig()).unwrap();
        let least = Arc::new(AtomicUsize::new(NODES));
        let mut witness = tokio::task::JoinSet::new();
        witness.spawn({
            let (server, least) = (server.clone(), least.clone());
            async move {
                loop {
                    least.fetch_min(server.with_world(|world| world.serving("edge", "agent")), Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        });
        Self { server, least, kubeconfig, _witness: witness }
    }

    pub(super) fn kubeconfig(&self) -> &std::path::Path {
        self.kubeconfig.path()
    }

    pub(super) async fn session(&self) -> ClusterSession {
        ClusterSession::open(&access(self.kubeconfig.path())).await.unwrap()
    }

    pub(super) fn most_down(&self) -> usize {
        NODES - self.least.load(Ordering::Relaxed)
    }

    pub(super) fn inject(&self, verb: &'static str, resource: &'static str, times: u32, failure: ApiFailure) {
        self.server.inject(ApiFault { verb: Some(verb), resource: Some(resource), times, failure });
    }
}

pub(super) async fn until(rollout: &Rollout, what: &str, is: impl FnMut(&Arc<Snapshot>) -> bool) -> Arc<Snapshot> {
    let mut snapshots = rollout.snapshots.clone();
    let Ok(found) = tokio::time::timeout(SOON, snapshots.wait_for(is)).await else {
        let last = rollout.snapshot();
        panic!(
            "not within {SOON:?}: {what}; {:?}, {:?}, {:?}, {:?}, {:?}",
            last.phase, last.counts, last.driver, last.watches, last.alarms
        );
    };
    found.expect("the driver runs").clone()
}

pub(super) fn loaded(snapshot: &Snapshot) -> bool {
    snapshot.daemonset == Presence::Present
        && snapshot.counts.available as usize == NODES
        && snapshot.watches.iter().all(|watch| watch.health == WatchHealth::Live)
        && !snapshot.rights.is_empty()
        && snapshot.rights.iter().all(|(_, permission)| *permission == Permission::Allowed)
}

fn all_live(snapshot: &Snapshot) -> bool {
    snapshot.watches.iter().all(|watch| watch.health == WatchHealth::Live)
}

pub(super) fn image(image: &str) -> Command {
    Command::SetImage([("agent".to_owned(), image.parse().unwrap())].into())
}

pub(super) fn updated(count: u32) -> Command {
    Command::Step(Step::Updated(IntOrPercent::Int(count)))
}

pub(super) async fn open(session: &ClusterSession) -> Rollout {
    let rollout = session.open("edge", "agent", Role::Driver);
    until(&rollout, "everything is loaded", |is| loaded(is)).await;
    rollout
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_from_end_to_end() {
    let cluster = Cluster::start().await;
    let session = cluster.session().await;
    let rollout = open(&session).await;
    rollout.command(image("registry.example/agent:v2")).await.unwrap();
    until(&rollout, "held before the first step", |is| is.phase == Phase::Held).await;
    rollout.command(updated(3)).await.unwrap();
    until(&rollout, "three are updated", |is| is.counts.updated == 3 && is.phase == Phase::Held).await;
    rollout.command(updated(8)).await.unwrap();
    until(&rollout, "all are updated and it is released", |is| is.counts.updated == 8 && !is.adopted).await;
    assert!(cluster.most_down() <= 2, "{} were down", cluster.most_down());
    rollout.close().await;

    let cost = session.traffic();
    assert_eq!(cost.throttled + cost.failed, 0);
    assert!(cost.watches <= 12, "one list and watch a kind: {cost:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_misbehaves_changes_nothing_but_the_time_it_takes() {
    let cluster = Cluster::start().await;
    let session = cluster.session().await;
    let rollout = open(&session).await;
    rollout.command(image("registry.example/agent:v2")).await.unwrap();
    cluster.inject("delete", "pods", 2, ApiFailure::LostAnswer);
    cluster.inject("delete", "pods", 1, ApiFailure::TooManyRequests { retry_after_secs: 1 });
    cluster.inject("delete", "pods", 1, ApiFailure::InternalError);
    cluster.inject("update", "leases", 2, ApiFailure::Unavailable);
    cluster.inject("update", "leases", 1, ApiFailure::LostAnswer);
    rollout.command(updated(8)).await.unwrap();
    let trouble = tokio::spawn({
        let server = cluster.server.clone();
        async move {
            for round in 0.. {
                tokio::time::sleep(Duration::from_millis(1_500)).await;
                if round % 2 == 0 { server.cut_watches() } else { server.expire_watches() }
            }
        }
    });
    until(&rollout, "all are updated and it is released", |is| is.counts.updated == 8 && !is.adopted).await;
    trouble.abort();
    assert!(cluster.most_down() <= 2, "{} were down", cluster.most_down());
    until(&rollout, "sees clearly again", |is| loaded(is)).await;
    rollout.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_said_to_be_down_and_nothing_is_started() {
    let cluster = Cluster::start().await;
    let session = cluster.session().await;
    let rollout = open(&session).await;
    rollout.command(image("registry.example/agent:v2")).await.unwrap();
    cluster.server.inject(ApiFault { verb: None, resource: None, times: u32::MAX, failure: ApiFailure::LostRequest });
    cluster.server.cut_watches();
    let down = |is: &Arc<Snapshot>, watched| matches!(is.watch(watched), Some(WatchHealth::Down { .. }));
    until(&rollout, "every watch is down", |is| Watched::ALL.iter().all(|watched| down(is, *watched))).await;
    let refused = rollout.command(updated(8)).await.unwrap_err();
    assert!(matches!(refused, CommandError::Refused(_)), "{refused:?}");
    cluster.server.clear_faults();
    until(&rollout, "everything is live again", |is| loaded(is)).await;
    rollout.command(updated(8)).await.unwrap();
    until(&rollout, "all are updated", |is| is.counts.updated == 8).await;
    assert!(cluster.most_down() <= 2, "{} were down", cluster.most_down());
    rollout.close().await;
}

/// The server's watch cache stands still: its connections work and show an old state.
#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_watch_is_detected_by_our_own_writes() {
    let lags = |is: &Arc<Snapshot>, watched| matches!(is.watch(watched), Some(WatchHealth::Lagging { .. }));
    for (kind, watched) in [(Kind::Pod, Watched::Pods), (Kind::Lease, Watched::Lease)] {
        let cluster = Cluster::start().await;
        let session = cluster.session().await;
        let rollout = open(&session).await;
        rollout.command(image("registry.example/agent:v2")).await.unwrap();
        rollout.command(updated(2)).await.unwrap();
        until(&rollout, "two are updated", |is| is.counts.updated == 2).await;
        cluster.server.stall_watches(&[kind]);
        rollout.command(updated(6)).await.unwrap();
        let began = Instant::now();
        let seen = until(&rollout, "it is noticed", |is| lags(is, watched)).await;
        let noticed = began.elapsed();
        println!("a watch of {watched} that stands still is noticed after {noticed:.1?}: {}", seen.freshness());
        assert!(noticed < Duration::from_secs(16), "{noticed:?}");
        assert!(seen.alarms.iter().any(|alarm| matches!(alarm, Alarm::ViewStale { .. })), "{:?}", seen.alarms);
        let before = cluster.server.with_world(|world| world.serving("edge", "agent"));
        let refused = rollout.command(updated(8)).await.unwrap_err().to_string();
        assert!(refused.contains(&format!("{watched} as of 1")), "{refused}");
        assert!(rollout.preview(updated(8)).await.unwrap_err().to_string().contains("too stale to judge"));
        rollout.preview(Command::Pause { why: None }).await.unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(cluster.server.with_world(|world| world.serving("edge", "agent")) >= before, "nothing is started");

        cluster.server.stall_watches(&[]);
        until(&rollout, "it has caught up", |is| all_live(is)).await;
        rollout.command(updated(8)).await.unwrap();
        until(&rollout, "all are updated", |is| is.counts.updated == 8).await;
        assert!(cluster.most_down() <= 2, "{} were down", cluster.most_down());
        rollout.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_dies_is_succeeded() {
    let cluster = Cluster::start().await;
    let doomed = tokio::runtime::Runtime::new().unwrap();
    let kubeconfig = cluster.kubeconfig.path().to_owned();
    // Both are kept until the end, because a dropped rollout gives the Lease back.
    let (first, _held) = doomed
        .spawn(async move {
            let session = ClusterSession::open(&access(kubeconfig)).await.unwrap();
            let rollout = open(&session).await;
            rollout.command(image("registry.example/agent:v2")).await.unwrap();
            rollout.command(updated(2)).await.unwrap();
            until(&rollout, "two are updated", |is| is.counts.updated == 2).await;
            (rollout.snapshot(), rollout)
        })
        .await
        .unwrap();
    assert!(matches!(first.driver, DriverView::You { .. }));
    // Others see a killed process: nothing of it runs any more, and it still holds the Lease.
    doomed.shutdown_background();

    let session = cluster.session().await;
    let rollout = open(&session).await;
    assert!(matches!(rollout.snapshot().driver, DriverView::Unconfirmed { .. }), "{:?}", rollout.snapshot().driver);
    let lost = until(&rollout, "the lease runs out", |is| matches!(is.driver, DriverView::Lost { .. })).await;
    assert_eq!(lost.counts.updated, 2, "nothing was updated meanwhile");
    rollout.command(Command::Drive(Takeover::IfFree)).await.unwrap();
    rollout.command(updated(8)).await.unwrap();
    until(&rollout, "all are updated and it is released", |is| is.counts.updated == 8 && !is.adopted).await;
    assert!(cluster.most_down() <= 2, "{} were down", cluster.most_down());
    rollout.close().await;
}
