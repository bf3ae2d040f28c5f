//! A namespace and nodes of its own for one test, on the control plane that the tests of this process share.
//!
//! Nodes have no namespace. So a sandbox names and labels its nodes after its namespace, and its DaemonSets select those nodes. Tests that run beside
//! each other see each other's nodes in a list, but their DaemonSets never run there.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rolldeck::sim::world::scenario::Scenario;
use serde_json::{Value, json};

use super::{ControlPlane, Options, StartError};
use crate::support::hollow::{ApiEndpoint, Scope};
use crate::support::missing::skip;

/// The label that names the sandbox of a node.
const SANDBOX: &str = "test.rolldeck.io/sandbox";

/// The shared control plane is never dropped: its supervisor ends it when this process has ended.
static SHARED: OnceLock<Result<ControlPlane, StartError>> = OnceLock::new();

/// A sandbox called after `name`. Without a control plane the answer is `None`, and one line says so.
///
/// # Panics
///
/// As [`ControlPlane::start`] does.
pub(crate) fn sandbox(name: &str) -> Option<Sandbox> {
    static COUNT: AtomicUsize = AtomicUsize::new(1);
    match SHARED.get_or_init(|| ControlPlane::try_start(&Options::default())) {
        Ok(plane) => Some(Sandbox::new(plane, format!("{name}-{}", COUNT.fetch_add(1, Ordering::Relaxed)))),
        Err(StartError::Unavailable(unavailable)) => {
            skip(unavailable);
            None
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
}

/// A namespace on the shared control plane; deleted when dropped, but kept with the logs if the test panics.
#[derive(Debug)]
pub(crate) struct Sandbox {
    plane: &'static ControlPlane,
    namespace: String,
}

impl Deref for Sandbox {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        self.plane
    }
}

impl Sandbox {
    fn new(plane: &'static ControlPlane, namespace: String) -> Self {
        plane.admin().post("/api/v1/namespaces", &json!({"metadata": {"name": namespace}})).ok();
        Self { plane, namespace }
    }

    /// The namespace's name; also the prefix of the nodes' names.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The node selector of this sandbox's nodes: `{"test.rolldeck.io/sandbox": NAMESPACE}`.
    pub(crate) fn node_selector(&self) -> Value {
        json!({SANDBOX: self.namespace})
    }

    /// The label selector for the sandbox's nodes, as `kubectl -l` takes it.
    pub(crate) fn node_labels(&self) -> String {
        format!("{SANDBOX}={}", self.namespace)
    }

    /// The API server's address for this sandbox's hollow nodes, which watch only the sandbox's pods and nodes.
    pub(crate) fn target(&self) -> ApiEndpoint {
        let scope = Scope { namespace: self.namespace.clone(), node_label: (SANDBOX, self.namespace.clone()) };
        ApiEndpoint { scope: Some(scope), ..self.plane.target() }
    }

    /// Makes the scenario's nodes this sandbox's: they are named and labelled after it, and selected by the scenario's DaemonSets, which move to its
    /// namespace. A test gives faults that name nodes afterwards.
    pub(crate) fn own(&self, mut scenario: Scenario) -> Scenario {
        for node in &mut scenario.nodes {
            node.name = format!("{}-{}", self.namespace, node.name).into();
            let sandbox = (SANDBOX.into(), self.namespace.as_str().into());
            node.labels =
                node.labels.iter().map(|(key, value)| (key.clone(), value.clone())).chain([sandbox]).collect();
        }
        for plan in &mut scenario.daemon_sets {
            plan.namespace = self.namespace.as_str().into();
            plan.node_selector.insert(SANDBOX.to_owned(), self.namespace.clone());
        }
        scenario
    }

    /// Creates Ready nodes `NAMESPACE-n1` to `NAMESPACE-n`*count* and returns their names.
    pub(crate) fn nodes(&self, count: usize) -> Vec<String> {
        (1..=count).map(|number| self.node(&format!("{}-n{number}", self.namespace), &json!({}))).collect()
    }

    /// Creates one Ready node that also has these labels, and returns its name.
    pub(crate) fn node(&self, name: &str, labels: &Value) -> String {
        let mut node = ready_node(name);
        node["metadata"]["labels"] = labels.clone();
        node["metadata"]["labels"][SANDBOX] = json!(self.namespace);
        node["metadata"]["labels"]["kubernetes.io/hostname"] = json!(name);
        self.plane.admin().post("/api/v1/nodes", &node).ok();
        name.to_owned()
    }

    /// Creates `daemon_set` (see [`daemon_set`]) in this namespace; it runs only on this sandbox's nodes.
    pub(crate) fn create_daemon_set(&self, mut daemon_set: Value) -> Value {
        daemon_set["spec"]["template"]["spec"]["nodeSelector"] = self.node_selector();
        self.plane.admin().post(&self.path("daemonsets.apps", ""), &daemon_set).ok()
    }

    /// The API path of a resource in this namespace: `path("pods", "a")`, `path("daemonsets.apps", "")`.
    pub(crate) fn path(&self, resource: &str, name: &str) -> String {
        let (resource, api) = match resource.split_once('.') {
            None => (resource, "/api/v1".to_owned()),
            Some((resource, group)) => (resource, format!("/apis/{group}/v1")),
        };
        let path = format!("{api}/namespaces/{}/{resource}/{name}", self.namespace);
        path.trim_end_matches('/').to_owned()
    }

    /// The pods of this namespace.
    pub(crate) fn pods(&self) -> Vec<Value> {
        self.plane.admin().get(&self.path("pods", "")).items()
    }

    /// Plays kubelet once: bound pods that do not run yet become Running and Ready with the images that they ask for, and terminating pods are
    /// removed.
    pub(crate) fn run_pods(&self) {
        self.run_those(&self.pods(), &BTreeSet::new());
    }

    /// Plays kubelet once for these pods, as they were just listed, except on the nodes `asleep`.
    pub(crate) fn run_those(&self, pods: &[Value], asleep: &BTreeSet<String>) {
        let runs = |pod: &Value| pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null();
        let awake = |pod: &Value| pod["spec"]["nodeName"].as_str().is_none_or(|node| !asleep.contains(node));
        for pod in pods.iter().filter(|pod| !runs(pod) && awake(pod)) {
            let path = self.path("pods", pod["metadata"]["name"].as_str().expect("a pod has a name"));
            if !pod["metadata"]["deletionTimestamp"].is_null() {
                let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}});
                let _ = self.plane.admin().request(reqwest::Method::DELETE, &path, Some(&options));
            } else if pod["spec"]["nodeName"].is_string() {
                // The pod may be deleted meanwhile; then the error is ignored.
                let _ = self.plane.admin().patch(&format!("{path}/status"), &json!({"status": running(pod)}));
            }
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.plane.keep();
            return;
        }
        let admin = self.plane.admin();
        let namespace = format!("/api/v1/namespaces/{}", self.namespace);
        let nodes = format!("/api/v1/nodes?labelSelector={SANDBOX}%3D{}", self.namespace);
        for path in [namespace, nodes] {
            let _ = admin.request(reqwest::Method::DELETE, &path, None);
        }
    }
}

/// A node as a kubelet registers it.
fn ready_node(name: &str) -> Value {
    let capacity = json!({"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "100Gi"});
    json!({
        "metadata": {"name": name},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {
                "architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.36.3", "osImage": "",
                "bootID": "", "machineID": "", "systemUUID": "", "kernelVersion": "", "kubeProxyVersion": "",
                "containerRuntimeVersion": "containerd://2.2.0",
            },
        },
    })
}

/// The status of a pod whose containers have just started.
fn running(pod: &Value) -> Value {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
        .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": now}));
    let containers: Vec<_> = pod["spec"]["containers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|container| {
            json!({
                "name": container["name"], "image": container["image"], "imageID": container["image"],
                "ready": true, "started": true, "restartCount": 0, "state": {"running": {"startedAt": now}},
            })
        })
        .collect();
    json!({"phase": "Running", "startTime": now, "conditions": conditions, "containerStatuses": containers})
}

/// A DaemonSet with one container on `image`, under RollingUpdate with `maxUnavailable: 1`; a test changes the fields that it needs.
pub(crate) fn daemon_set(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "containers": [{"name": name, "image": image}],
                    "terminationGracePeriodSeconds": 1,
                },
            },
        },
    })
}
