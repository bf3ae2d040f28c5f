//! The promises of a rollout on real controllers, driven from the command line: twenty nodes, a budget of two.
//!
//! The kubelets are played by the test; what is up is counted by a watcher of its own, who knows nothing of rolldeck.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::control_plane::{ControlPlane, Grant, Sandbox, User, daemon_set, eventually, sandbox};
use crate::support::program::{Operator, text};

pub(super) const DS: &str = "ds/agent";
pub(super) const V1: &str = "registry.test/agent:1";
pub(super) const V2: &str = "registry.test/agent:2";
pub(super) const IMAGE: &str = "agent=registry.test/agent:2";
const NODES: usize = 20;
const BUDGET: usize = 2;
pub(super) const SOON: Duration = Duration::from_secs(60);

#[test]
fn each_step_updates_exactly_what_was_promised() {
    fleet("steps", |fleet, operator| {
        operator.ok(&["set-image", DS, IMAGE, "--yes"]);
        let mut before = fleet.pods();
        for (keep, updated) in [("18", 2), ("10", 10), ("0", 20)] {
            let until = if keep == "0" { "complete" } else { "held" };
            operator.ok(&["drive", DS, "--partition", keep, "--until", until, "--timeout", "120s"]);
            let after = fleet.pods();
            let new: Vec<_> = after.values().filter(|pod| pod.image == V2).collect();
            assert_eq!(new.len(), updated, "with partition {keep}");
            let touched = after.iter().filter(|(node, pod)| before[*node].uid != pod.uid).count();
            let more = updated - before.values().filter(|pod| pod.image == V2).count();
            assert_eq!(touched, more, "nothing but the step was touched");
            before = after;
        }
        assert!(fleet.most_down() <= BUDGET, "{} were down at once", fleet.most_down());
    });
}

#[test]
fn a_canary_selector_keeps_all_others_as_they_are() {
    fleet("canary", |fleet, operator| {
        let before = fleet.pods();
        let flags = ["--image", IMAGE, "--selector", "canary=true", "--to", "100%", "--until", "held"];
        operator.ok(&[&["drive", DS, "--yes", "--timeout", "120s"], &flags[..]].concat());
        let after = fleet.pods();
        let changed: Vec<&String> = after.keys().filter(|node| before[*node].uid != after[*node].uid).collect();
        assert_eq!(changed, fleet.canaries.iter().collect::<Vec<_>>());

        operator.ok(&["select", DS, "--clear"]);
        operator.ok(&["drive", DS, "--timeout", "120s"]);
        assert!(fleet.pods().values().all(|pod| pod.image == V2));
        assert!(fleet.most_down() <= BUDGET, "{} were down at once", fleet.most_down());
    });
}

#[test]
fn after_a_pause_nothing_is_deleted() {
    fleet("pause", |fleet, operator| {
        let mut drive = operator.drive(DS, &["--image", IMAGE, "--to", "100%"]);
        drive.until_updated(4);
        operator.ok(&["pause", DS, "--reason", "the link is down"]);
        drive.until("the link is down");
        let paused = fleet.deletions();
        std::thread::sleep(Duration::from_secs(5));
        assert_eq!(fleet.deletions(), paused, "paused means paused");
        drive.signal(Signal::TERM);
        assert_eq!(drive.end().code(), Some(143), "{}", drive.seen());
    });
}

#[test]
fn a_killed_driver_deletes_nothing_more_and_the_next_one_finishes() {
    fleet("killed", |fleet, operator| {
        let mut drive = operator.drive(DS, &["--image", IMAGE, "--to", "100%"]);
        drive.until_updated(4);
        drive.signal(Signal::KILL);
        drive.end();
        std::thread::sleep(Duration::from_secs(1));
        let killed = fleet.deletions();
        std::thread::sleep(Duration::from_secs(5));
        assert_eq!(fleet.deletions(), killed, "nobody drives, nobody deletes");

        operator.ok(&["drive", DS, "--image", IMAGE, "--take-over", "--yes", "--timeout", "180s"]);
        assert!(fleet.pods().values().all(|pod| pod.image == V2));
        assert!(fleet.most_down() <= BUDGET, "{} were down at once", fleet.most_down());
    });
}

#[test]
fn undo_replaces_only_pods_that_left_the_old_revision() {
    fleet("undo", |fleet, operator| {
        let before = fleet.pods();
        let mut drive = operator.drive(DS, &["--image", IMAGE, "--to", "50%"]);
        drive.until_updated(5);
        operator.ok(&["undo", DS, "--yes"]);
        assert_eq!(drive.end().code(), Some(0), "{}", drive.seen());
        let after = fleet.pods();
        assert!(after.values().all(|pod| pod.image == V1));
        let left = fleet.left();
        assert!((5..NODES).contains(&left.len()), "some left the old revision: {left:?}");
        for (node, pod) in after.iter().filter(|(node, _)| !left.contains(*node)) {
            assert_eq!(before[node].uid, pod.uid, "{node} never left the old revision");
        }
        assert!(fleet.most_down() <= BUDGET, "{} were down at once", fleet.most_down());
    });
}

#[test]
fn release_restores_the_update_strategy_to_the_byte() {
    fleet("release", |fleet, operator| {
        let before = fleet.daemon_set()["spec"]["updateStrategy"].to_string();
        operator.ok(&["adopt", DS]);
        let adopted = fleet.daemon_set();
        assert_eq!(adopted["spec"]["updateStrategy"]["type"], "OnDelete");
        assert_eq!(adopted["metadata"]["annotations"]["rolldeck.io/original-update-strategy"], before);
        operator.ok(&["release", DS]);
        let released = fleet.daemon_set();
        assert_eq!(released["spec"]["updateStrategy"].to_string(), before);
        assert!(released["metadata"]["annotations"]["rolldeck.io/original-update-strategy"].is_null());
    });
}

#[test]
fn a_second_driver_is_refused_unless_it_takes_over() {
    fleet("takeover", |fleet, operator| {
        let mut first = operator.drive(DS, &["--image", IMAGE, "--to", "100%", "--max-unavailable", "1"]);
        first.until_updated(2);
        let refused = operator.run(&["drive", DS]);
        assert_eq!(refused.status.code(), Some(7), "{}", text(&refused));
        assert!(text(&refused).contains("tester@"), "it says who drives: {}", text(&refused));
        let status = operator.run(&["status", DS]);
        assert!(text(&status).contains(" drives"), "{}", text(&status));

        let mut second = operator.drive(DS, &["--take-over"]);
        assert_eq!(first.end().code(), Some(7), "{}", first.seen());
        assert_eq!(second.end().code(), Some(0), "{}", second.seen());
        assert!(fleet.pods().values().all(|pod| pod.image == V2));
        assert!(fleet.most_down() <= BUDGET, "{} were down at once", fleet.most_down());
    });
}

#[test]
fn missing_rights_are_named() {
    let Some(sandbox) = sandbox("rights") else { return };
    sandbox.nodes(1);
    sandbox.create_daemon_set(daemon_set("agent", V1));
    let reader = sandbox.user("restricted", &[Grant::within(sandbox.namespace(), "get,list,watch", READS)]);
    let operator = Operator::new(reader.kubeconfig(), sandbox.namespace());
    let told = operator.run(&["pause", DS]);
    assert_eq!(told.status.code(), Some(1), "{}", text(&told));
    assert!(text(&told).contains("not permitted: `patch` on daemonsets.apps"), "{}", text(&told));
    let told = text(&operator.run(&["status", DS]));
    assert!(told.contains("nodes n/a (forbidden)"), "{told}");
    assert!(!told.contains("panicked"), "{told}");

    let stranger = Operator::new(sandbox.stranger().kubeconfig(), sandbox.namespace());
    let told = stranger.run(&["status", DS]);
    assert_eq!(told.status.code(), Some(1), "{}", text(&told));
    assert!(text(&told).contains("credentials"), "{}", text(&told));
}

/// What is read in the namespace; nodes are read in the whole cluster.
const READS: &str = "pods,events,daemonsets.apps,controllerrevisions.apps,leases.coordination.k8s.io";

/// Runs `story` on twenty nodes with pods that come up as fast as they are made, for an operator who has the rights of
/// `deploy/rbac.yaml` and no other.
pub(super) fn fleet(name: &str, story: impl FnOnce(&Fleet<'_>, &Operator)) {
    let Some(sandbox) = sandbox(name) else { return };
    let namespace = sandbox.namespace().to_owned();
    let canaries: Vec<String> =
        (1..=3).map(|nth| sandbox.node(&format!("{namespace}-c{nth}"), &json!({"canary": "true"}))).collect();
    sandbox.nodes(NODES - 3);
    let mut agent = daemon_set("agent", V1);
    agent["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = json!(BUDGET);
    sandbox.create_daemon_set(agent);
    let user = sandbox.user("alice", &grants(&namespace));
    let operator = Operator::new(user.kubeconfig(), &namespace);
    let fleet = Fleet {
        sandbox: &sandbox,
        canaries,
        most_down: AtomicUsize::new(0),
        left: Mutex::default(),
        over: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| fleet.kubelets());
        let ends = Ends(&fleet.over);
        eventually("every node runs its pod", SOON, || (fleet.up() == NODES).then_some(()));
        scope.spawn(|| fleet.count());
        story(&fleet, &operator);
        drop(ends);
    });
}

/// The rights of `deploy/rbac.yaml`.
pub(super) fn grants(namespace: &str) -> [Grant; 6] {
    [
        Grant::within(namespace, "get,list,watch", READS),
        Grant::within(namespace, "patch", "daemonsets.apps"),
        Grant::within(namespace, "delete", "pods"),
        Grant::within(namespace, "create,update", "leases.coordination.k8s.io"),
        Grant::within(namespace, "create", "events"),
        Grant::everywhere("get,list,watch", "nodes"),
    ]
}

/// Ends what goes on beside a story, also when it fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(super) struct Fleet<'a> {
    sandbox: &'a Sandbox,
    canaries: Vec<String>,
    most_down: AtomicUsize,
    left: Mutex<BTreeSet<String>>,
    over: AtomicBool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    uid: String,
    pub(super) image: String,
}

impl Fleet<'_> {
    /// Plays the kubelets: new pods come up a little later, terminating ones go.
    fn kubelets(&self) {
        while !self.over.load(Ordering::Relaxed) {
            self.sandbox.run_new_pods();
            std::thread::sleep(Duration::from_millis(600));
        }
    }

    /// Keeps count of how many nodes are without a pod that serves, and of which left the old revision.
    fn count(&self) {
        let all: BTreeSet<String> = self.pods().into_keys().collect();
        while !self.over.load(Ordering::Relaxed) {
            self.most_down.fetch_max(NODES - self.up(), Ordering::Relaxed);
            let old: BTreeSet<String> =
                self.pods().into_iter().filter(|(_, pod)| pod.image == V1).map(|(node, _)| node).collect();
            self.left.lock().unwrap().extend(all.difference(&old).cloned());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The nodes that ever left the old revision.
    fn left(&self) -> BTreeSet<String> {
        self.left.lock().unwrap().clone()
    }

    pub(super) fn most_down(&self) -> usize {
        self.most_down.load(Ordering::Relaxed)
    }

    /// How many nodes have a pod that serves.
    fn up(&self) -> usize {
        let ready = |pod: &Value| {
            let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
        };
        self.sandbox.pods().iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null() && ready(pod)).count()
    }

    /// The pods by node; terminating ones left out.
    pub(super) fn pods(&self) -> BTreeMap<String, Pod> {
        let pods = self.sandbox.pods();
        let living = pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        living
            .filter_map(|pod| {
                let node = pod["spec"]["nodeName"].as_str()?.to_owned();
                let uid = pod["metadata"]["uid"].as_str()?.to_owned();
                let image = pod["spec"]["containers"][0]["image"].as_str()?.to_owned();
                Some((node, Pod { uid, image }))
            })
            .collect()
    }

    /// How many pods are at the new revision or gone for it: it only grows when something is deleted.
    pub(super) fn deletions(&self) -> usize {
        NODES - self.pods().values().filter(|pod| pod.image == V1).count()
    }

    pub(super) fn daemon_set(&self) -> Value {
        self.sandbox.admin().get(&self.daemon_set_path()).ok()
    }

    pub(super) fn daemon_set_path(&self) -> String {
        self.sandbox.path("daemonsets.apps", "agent")
    }

    pub(super) fn namespace(&self) -> &str {
        self.sandbox.namespace()
    }

    /// The control plane that it runs on.
    pub(super) fn plane(&self) -> &ControlPlane {
        self.sandbox
    }

    pub(super) fn user(&self, name: &str, grants: &[Grant]) -> User {
        self.sandbox.user(name, grants)
    }
}
