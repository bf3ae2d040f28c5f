//! Twenty hollow nodes, a DaemonSet that runs on them, and a witness that watches its pods.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::support::hollow::{Hollow, HollowOptions, LeaseRenewal, Workloads};
use rolldeck::engine::model::facts::StrategyKind;
use rolldeck::engine::model::quantity::IntOrPercent;
use rolldeck::sim::world::scenario::{DaemonSetPlan, NodeSpec, PullError, RegistryImage, Scenario};
use serde_json::{Value, json};

use crate::support::control_plane::{ControlPlane, Grant, PodState, Sandbox, Witness, sandbox};
use crate::support::program::Operator;

/// The DaemonSet, as the command line names it.
pub(crate) const DS: &str = "ds/agent";
/// Its `maxUnavailable`.
pub(crate) const BUDGET: usize = 2;
/// How many nodes there are.
pub(crate) const NODES: usize = 20;
/// The time limit for steps that take a second on an idle machine.
pub(crate) const SOON: Duration = Duration::from_secs(120);
/// The kubelets run this much faster than real time: a pod is replaced in about 0.3 s.
pub(crate) const SPEED: f64 = 10.0;

/// Images of the agent that the registry has.
pub(crate) const GOOD: [&str; 3] = ["registry.test/agent:v1", "registry.test/agent:v2", "registry.test/agent:v3"];
/// An image that the registry does not have.
pub(crate) const MISSING: &str = "registry.test/agent:missing";

/// A sandbox with its nodes, its DaemonSet and its witness.
pub(crate) struct RolloutFixture {
    pub(crate) witness: Witness,
    pub(crate) hollow: Hollow,
    pub(crate) nodes: Vec<String>,
    pub(crate) sandbox: Sandbox,
}

/// Twenty nodes and the DaemonSet; a sandbox gives them names and a namespace of its own.
pub(crate) fn scenario(strategy: StrategyKind) -> Scenario {
    let mut plan = DaemonSetPlan::new("edge", "agent", GOOD[0]);
    plan.strategy = strategy;
    plan.max_unavailable = IntOrPercent::Int(2);
    plan.grace_secs = 2;
    let mut scenario = Scenario::new("yard").with_site("hall", 125_000_000, "n", NODES).with_daemon_set(plan);
    for image in GOOD {
        scenario = scenario.with_image(quick(image));
    }
    scenario.with_image(RegistryImage { error: Some(PullError::NotFound), ..quick(MISSING) })
}

/// An image whose pod is replaced in about three seconds of the kubelets' clock.
pub(crate) fn quick(name: &str) -> RegistryImage {
    RegistryImage {
        starts_in: Duration::from_millis(300),
        ready_in: Duration::from_millis(500),
        stops_in: Duration::from_millis(500),
        ..RegistryImage::new(name, 1_000_000)
    }
}

impl RolloutFixture {
    /// A fixture whose DaemonSet runs on all nodes, except those that are tainted; `None` where there is no control plane.
    pub(crate) fn new(name: &str) -> Option<Self> {
        Self::with(name, scenario(StrategyKind::RollingUpdate))
    }

    /// A fixture with another scenario.
    pub(crate) fn with(name: &str, scenario: Scenario) -> Option<Self> {
        Self::of_kubelets_named(HollowOptions::default().manager, name, scenario)
    }

    /// A fixture whose kubelets have this name in `managedFields` of nodes.
    pub(crate) fn of_kubelets_named(manager: &'static str, name: &str, scenario: Scenario) -> Option<Self> {
        let sandbox = sandbox(name)?;
        let scenario = sandbox.own(scenario);
        // The control plane of a sandbox waits an hour for silent nodes.
        let leases = LeaseRenewal::NotWritten;
        let workloads = Workloads::Create;
        let options = HollowOptions { speed: SPEED, workloads, leases, manager, ..HollowOptions::default() };
        let hollow = Hollow::start(&sandbox.target(), &scenario, options).expect("hollow nodes");
        let nodes: Vec<String> = scenario.nodes.iter().map(|NodeSpec { name, .. }| name.to_string()).collect();
        let meant: Vec<String> =
            scenario.nodes.iter().filter(|node| node.taints.is_empty()).map(|node| node.name.to_string()).collect();
        let witness = Witness::watch(&sandbox, sandbox.namespace(), "agent", &meant);
        let fixture = Self { witness, hollow, nodes, sandbox };
        fixture.until("the agent serves everywhere", |witness| witness.unavailable() == 0);
        Some(fixture)
    }

    /// Waits until `holds` is true of the witness.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Witness) -> bool) {
        let refused = || match self.hollow.refusals() {
            none if none.is_empty() => what.to_owned(),
            refusals => format!("{what}; the API server refused hollow nodes: {refusals:#?}"),
        };
        if !self.witness.holds_within(SOON, holds) {
            panic!("not within {SOON:?}: {}\n{}", refused(), self.witness.describe());
        }
    }

    /// The DaemonSet as it is now.
    pub(crate) fn daemon_set(&self) -> Value {
        self.sandbox.admin().get(&self.sandbox.path("daemonsets.apps", "agent")).ok()
    }

    /// Gives the DaemonSet another image without rolldeck.
    pub(crate) fn deploy(&self, image: &str) {
        let namespace = self.sandbox.namespace();
        let set = format!("agent={image}");
        self.sandbox.admin().kubectl_ok(["set", "image", "-n", namespace, "daemonset/agent", &set]);
    }

    /// Sets labels of a node.
    pub(crate) fn label(&self, node: &str, labels: &Value) {
        let path = format!("/api/v1/nodes/{node}");
        self.sandbox.admin().patch(&path, &json!({"metadata": {"labels": labels}})).ok();
    }

    /// An operator with the rights that a rollout needs, and no other.
    pub(crate) fn operator(&self) -> Operator {
        operator(&self.sandbox, self.sandbox.namespace())
    }
}

/// An operator with the rights that a rollout in this namespace needs, and no other.
pub(crate) fn operator(plane: &ControlPlane, namespace: &str) -> Operator {
    Operator::new(plane.user("alice", &grants(namespace)).kubeconfig(), namespace)
}

/// The resources that a rollout reads in its namespace; nodes are read in the whole cluster.
pub(crate) const READS: &str = "pods,events,daemonsets.apps,controllerrevisions.apps,leases.coordination.k8s.io";

/// The rights of `deploy/rbac.yaml`, without the right to read logs.
pub(crate) fn grants(namespace: &str) -> [Grant; 7] {
    [
        Grant::within(namespace, "get,list,watch", READS),
        Grant::within(namespace, "patch", "daemonsets.apps"),
        Grant::within(namespace, "create,delete", "pods"),
        Grant::within(namespace, "create,update", "leases.coordination.k8s.io"),
        Grant::within(namespace, "list,create,delete", "statefulsets.apps"),
        Grant::within(namespace, "create", "events"),
        Grant::everywhere("get,list,watch", "nodes"),
    ]
}

/// The nodes that have another pod than before.
pub(crate) fn replaced(before: &BTreeMap<String, PodState>, after: &BTreeMap<String, PodState>) -> BTreeSet<String> {
    let uid = |pods: &BTreeMap<String, PodState>, node: &str| pods.get(node).map(|pod| pod.uid.clone());
    before.keys().filter(|node| uid(before, node) != uid(after, node)).cloned().collect()
}

#[track_caller]
pub(crate) fn assert_within_budget(fixture: &RolloutFixture, from: Instant) {
    let worst = fixture.witness.worst_since(from);
    assert!(worst <= BUDGET, "{worst} nodes were down at once");
}
