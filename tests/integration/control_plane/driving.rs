//! The driver and the cluster adapter against real controllers: a rollout from end to end, two consoles, and users who may not see everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rolldeck::driver::{Access, ClusterSession, CommandError, DrivenBy, Rollout, Session};
use rolldeck::engine::model::command::{Command, Early, Refusal, Step, Takeover};
use rolldeck::engine::model::config::Role;
use rolldeck::engine::model::driver::DriverView;
use rolldeck::engine::model::event::{Permission, Right, WatchHealth, Watched};
use rolldeck::engine::model::fleet_state::FleetState;
use rolldeck::engine::model::presence::Presence;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::engine::report::snapshot::{Phase, Snapshot};
use serde_json::Value;

use crate::support::control_plane::{Grant, Sandbox, User, daemon_set, sandbox};
use crate::support::program::access;

pub(super) const SOON: Duration = Duration::from_secs(60);

/// Plays kubelet in a thread of its own, and counts the pods that are down meanwhile.
pub(super) struct Kubelet {
    sandbox: Arc<Sandbox>,
    stop: Arc<AtomicBool>,
    worst: Arc<AtomicUsize>,
    asleep: Arc<Mutex<BTreeSet<String>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Kubelet {
    pub(super) fn run(sandbox: &Arc<Sandbox>, nodes: usize) -> Self {
        let (stop, worst) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let asleep = Arc::<Mutex<BTreeSet<String>>>::default();
        let thread = std::thread::spawn({
            let (sandbox, stop, worst, asleep) = (sandbox.clone(), stop.clone(), worst.clone(), asleep.clone());
            move || {
                let mut begun = false;
                while !stop.load(Ordering::Relaxed) {
                    let pods = sandbox.pods();
                    let up = pods.iter().filter(|pod| is_up(pod)).count();
                    begun |= up == nodes;
                    if begun {
                        worst.fetch_max(nodes.saturating_sub(up), Ordering::Relaxed);
                    }
                    let asleep = asleep.lock().unwrap().clone();
                    sandbox.run_those(&pods, &asleep);
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        });
        Self { sandbox: sandbox.clone(), stop, worst, asleep, thread: Some(thread) }
    }

    /// From now on the kubelets of these nodes, and no others, do nothing.
    pub(super) fn sleep_on(&self, nodes: &[&str]) {
        *self.asleep.lock().unwrap() = nodes.iter().map(|node| (*node).to_owned()).collect();
    }

    /// The most pods that were down at once after all had been up.
    pub(super) fn most_down(&self) -> usize {
        self.worst.load(Ordering::Relaxed)
    }

    /// Each node's image and pod.
    pub(super) fn running(&self) -> BTreeMap<String, (String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let pods = self.sandbox.pods().into_iter().filter(is_up);
        pods.map(|pod| {
            let image = text(&pod["spec"]["containers"][0]["image"]);
            (text(&pod["spec"]["nodeName"]), (image, text(&pod["metadata"]["uid"])))
        })
        .collect()
    }

    pub(super) fn count(&self, image: &str) -> usize {
        self.running().values().filter(|(running, _)| running == image).count()
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn is_up(pod: &Value) -> bool {
    let ready = pod["status"]["conditions"].as_array().into_iter().flatten();
    pod["metadata"]["deletionTimestamp"].is_null()
        && ready.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

pub(super) async fn session(user: &User) -> ClusterSession {
    ClusterSession::open(&access(user.kubeconfig())).await.unwrap()
}

pub(super) async fn until(rollout: &Rollout, what: &str, mut is: impl FnMut(&Snapshot) -> bool) -> Arc<Snapshot> {
    let mut snapshots = rollout.snapshots.clone();
    let waiting = async {
        loop {
            let snapshot = snapshots.borrow_and_update().clone();
            if is(&snapshot) {
                return snapshot;
            }
            snapshots.changed().await.expect("the driver runs");
        }
    };
    match tokio::time::timeout(SOON, waiting).await {
        Ok(snapshot) => snapshot,
        Err(_) => {
            let last = rollout.snapshot();
            panic!(
                "not within {SOON:?}: {what}; phase {:?}, counts {:?}, driver {:?}, watches {:?}, rights {:?}, alarms {:?}",
                last.phase, last.counts, last.driver, last.watches, last.rights, last.alarms
            );
        }
    }
}

pub(super) fn loaded(snapshot: &Snapshot) -> bool {
    let live = snapshot.watches.iter().all(|watch| watch.health == WatchHealth::Live);
    let rights = snapshot.rights.iter().all(|(_, permission)| *permission != Permission::Unknown);
    snapshot.daemonset == Presence::Present && live && rights && !snapshot.rights.is_empty()
}

pub(super) fn image(image: &str) -> Command {
    Command::SetImage([("agent".to_owned(), image.parse().unwrap())].into())
}

pub(super) fn updated(count: u32) -> Command {
    Command::Step(Step::Updated(IntOrPercent::Int(count)))
}

/// A sandbox with a DaemonSet `agent` at v1, running on `count` nodes.
pub(super) async fn agent(name: &str, count: usize) -> Option<(Arc<Sandbox>, Kubelet)> {
    let name = name.to_owned();
    tokio::task::spawn_blocking(move || {
        let sandbox = Arc::new(sandbox(&name)?);
        sandbox.nodes(count);
        sandbox.create_daemon_set(daemon_set("agent", "registry.test/agent:v1"));
        let kubelet = Kubelet::run(&sandbox, count);
        Some((sandbox, kubelet))
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_from_end_to_end() {
    let Some((sandbox, kubelet)) = agent("whole", 6).await else { return };
    let path = sandbox.path("daemonsets.apps", "agent");
    let strategy = || sandbox.admin().get(&path).ok()["spec"]["updateStrategy"].to_string();
    let before = strategy();

    let session = session(sandbox.admin()).await;
    assert!(session.probe().await.unwrap().starts_with("v1."));
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    until(&rollout, "six nodes run v1", |is| loaded(is) && is.counts.nodes == 6 && is.counts.available == 6).await;
    let uids = kubelet.running();

    rollout.command(image("registry.test/agent:v2")).await.unwrap();
    let held = until(&rollout, "held before the first step", |is| is.phase == Phase::Held && is.adopted).await;
    assert_eq!((held.counts.updated, held.plan.allowed), (0, 0));
    assert!(matches!(held.driver, DriverView::You { .. }));
    assert_eq!(kubelet.running(), uids, "nothing moves before the first step");

    rollout.command(updated(2)).await.unwrap();
    until(&rollout, "two are updated", |is| is.counts.updated == 2 && is.phase == Phase::Held).await;
    assert_eq!(kubelet.count("registry.test/agent:v2"), 2);

    rollout.command(Command::Pause { why: Some("lunch".into()) }).await.unwrap();
    rollout.command(updated(6)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(kubelet.count("registry.test/agent:v2"), 2, "paused means paused");
    assert!(matches!(&rollout.snapshot().phase, Phase::Paused(paused) if paused.why.as_deref() == Some("lunch")));

    rollout.command(Command::Resume).await.unwrap();
    until(&rollout, "all are updated and it is released", |is| is.counts.updated == 6 && !is.adopted).await;
    assert_eq!(kubelet.count("registry.test/agent:v2"), 6);
    assert_eq!(strategy(), before, "byte for byte");
    assert!(kubelet.most_down() <= 1, "{} were down", kubelet.most_down());
    rollout.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_back_replaces_only_pods_that_left_the_old_revision() {
    let Some((sandbox, kubelet)) = agent("undo", 5).await else { return };
    let session = session(sandbox.admin()).await;
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    until(&rollout, "five nodes run v1", |is| loaded(is) && is.counts.available == 5).await;
    let before = kubelet.running();

    rollout.command(image("registry.test/agent:v2")).await.unwrap();
    rollout.command(updated(2)).await.unwrap();
    until(&rollout, "two are updated", |is| is.counts.updated == 2).await;
    rollout.command(Command::Undo { to: None }).await.unwrap();
    until(&rollout, "all are back and it is released", |is| is.counts.updated == 5 && !is.adopted).await;
    let after = kubelet.running();
    let kept = before.iter().filter(|(node, was)| after.get(*node) == Some(was)).count();
    assert_eq!((kept, kubelet.count("registry.test/agent:v1")), (3, 5));
    rollout.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_console_sees_who_drives_and_takes_over() {
    let Some((sandbox, kubelet)) = agent("two", 4).await else { return };
    let (one, two) = (session(sandbox.admin()).await, session(sandbox.admin()).await);
    let first = one.open(sandbox.namespace(), "agent", Role::Driver);
    until(&first, "four nodes run v1", |is| loaded(is) && is.counts.available == 4).await;
    first.command(image("registry.test/agent:v2")).await.unwrap();
    first.command(updated(1)).await.unwrap();

    let second = two.open(sandbox.namespace(), "agent", Role::Driver);
    let seen = until(&second, "sees who drives", |is| {
        loaded(is) && is.counts.updated == 1 && !matches!(is.driver, DriverView::Unconfirmed { .. })
    })
    .await;
    assert!(matches!(&seen.driver, DriverView::Other { .. }), "{:?}", seen.driver);
    let refused = second.command(Command::Drive(Takeover::IfFree)).await.unwrap_err();
    assert!(matches!(refused, CommandError::Refused(Refusal::DrivenBy { .. })), "{refused:?}");

    second.command(Command::Pause { why: None }).await.unwrap();
    until(&first, "the driver sees the pause", |is| matches!(is.phase, Phase::Paused(_))).await;

    second.command(Command::Drive(Takeover::Ask)).await.unwrap();
    until(&first, "the first sees who drives now", |is| matches!(is.driver, DriverView::Other { .. })).await;
    second.command(Command::Resume).await.unwrap();
    second.command(updated(4)).await.unwrap();
    until(&first, "the observer sees the end", |is| is.counts.updated == 4 && !is.adopted).await;
    assert_eq!(kubelet.count("registry.test/agent:v2"), 4);
    assert!(kubelet.most_down() <= 1, "{} were down", kubelet.most_down());

    first.close().await;
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_leaves_gives_the_lease_back() {
    let Some((sandbox, _kubelet)) = agent("leave", 3).await else { return };
    let session = session(sandbox.admin()).await;
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    until(&rollout, "three nodes run v1", |is| loaded(is) && is.counts.available == 3).await;
    rollout.command(image("registry.test/agent:v2")).await.unwrap();
    let lease = sandbox.path("leases.coordination.k8s.io", "rolldeck-agent");
    let held = sandbox.admin().get(&lease).ok();
    assert!(held["spec"]["holderIdentity"].as_str().is_some_and(|holder| holder.contains('@')), "{held}");
    assert_eq!(held["metadata"]["ownerReferences"][0]["name"], "agent");
    assert_eq!(held["metadata"]["labels"]["app.kubernetes.io/managed-by"], "rolldeck");

    let mut fleet = session.fleet(Some(sandbox.namespace()));
    let rows = fleet.wait_for(|fleet| fleet.rows.iter().any(|row| row.driven_by == DrivenBy::You));
    let row = tokio::time::timeout(SOON, rows).await.unwrap().unwrap().rows[0].clone();
    assert_eq!((&*row.name, &row.state, &*row.strategy), ("agent", &FleetState::Held, "OnDelete (ours)"));

    tokio::time::timeout(SOON, rollout.close()).await.unwrap();
    let left = sandbox.admin().get(&lease).ok();
    assert!(left["spec"]["holderIdentity"].as_str().unwrap_or_default().is_empty(), "{left}");
    assert!(left["metadata"]["annotations"]["rolldeck.io/rollout"].is_string(), "the record stays");
    let rows = fleet.wait_for(|fleet| fleet.rows.iter().any(|row| row.driven_by == DrivenBy::Nobody));
    tokio::time::timeout(SOON, rows).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn forbidden_watches_are_shown_and_the_rest_works() {
    let Some((sandbox, _kubelet)) = agent("rights", 3).await else { return };
    let namespace = sandbox.namespace().to_owned();
    let grants = [Grant::within(
        &namespace,
        "get,list,watch",
        "pods,daemonsets.apps,controllerrevisions.apps,leases.coordination.k8s.io",
    )];
    let user = tokio::task::block_in_place(|| sandbox.user("restricted", &grants));
    let access = Access { namespace: Some(namespace.clone()), ..access(user.kubeconfig()) };
    let session = ClusterSession::open(&access).await.unwrap();
    let rollout = session.open(&namespace, "agent", Role::Driver);
    until(&rollout, "sees the pods and not the nodes, and knows that it may not write", |is| {
        let forbidden = |watched| matches!(is.watch(watched), Some(WatchHealth::Forbidden { .. }));
        is.daemonset == Presence::Present
            && is.watch(Watched::Pods) == Some(&WatchHealth::Live)
            && is.watch(Watched::Revisions) == Some(&WatchHealth::Live)
            && forbidden(Watched::Nodes)
            && forbidden(Watched::Events)
            && is.rights.contains(&(Right::DeletePods, Permission::Denied))
            && is.rights.contains(&(Right::PatchDaemonSet, Permission::Denied))
    })
    .await;
    let refused = rollout.command(image("registry.test/agent:v2")).await.unwrap_err();
    assert!(matches!(refused, CommandError::Refused(Refusal::NotPermitted(_))), "{refused:?}");

    let mut fleet = session.fleet(None);
    let narrowed =
        |is: &WatchHealth| matches!(is, WatchHealth::Forbidden { why } if why.contains("only namespace rights"));
    let shown = fleet.wait_for(|fleet| !fleet.rows.is_empty() && narrowed(&fleet.health));
    let shown = tokio::time::timeout(SOON, shown).await.map(|fleet| fleet.unwrap().rows.len());
    assert_eq!(shown.ok(), Some(1), "{:?}", fleet.borrow());
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_credentials_and_absent_daemonsets_are_reported() {
    let Some(sandbox) = tokio::task::spawn_blocking(|| sandbox("nobody")).await.unwrap() else { return };
    let stranger = sandbox.stranger();
    let session = session(&stranger).await;
    let error = session.probe().await.unwrap_err();
    assert!(error.message.contains("401") && error.hints[0].contains("log in again"), "{error:?}");
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    let refused = |health: Option<&WatchHealth>| matches!(health, Some(WatchHealth::Down { why, .. }) if why.contains("Unauthorized"));
    until(&rollout, "says 401", |is| refused(is.watch(Watched::DaemonSet))).await;

    let known = self::session(sandbox.admin()).await;
    let rollout = known.open(sandbox.namespace(), "no-such", Role::Driver);
    until(&rollout, "says that it is absent", |is| is.daemonset == Presence::Absent).await;
    let refused = rollout.command(Command::Release(Early::Refuse)).await.unwrap_err();
    assert!(matches!(refused, CommandError::Refused(Refusal::NotLoaded(_))), "{refused:?}");
}
