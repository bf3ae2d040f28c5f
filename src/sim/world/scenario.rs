//! Scenarios: a world's parts, and the faults that happen in it with their times.
//!
//! Scenarios are read from TOML files, or put together in code:
//!
//! ```toml
//! name = "two halls"
//!
//! [[sites]]
//! name = "hall-a"
//! link = "20Mbit/s"
//! nodes = [{ prefix = "ipc-a-", count = 30 }]
//!
//! [[images]]
//! name = "registry.example/agent:v1"
//! size = "180MB"
//!
//! [[registries]]
//! name = "registry.example"
//! pulls = 100
//! per = "6h"
//!
//! [[daemonsets]]
//! namespace = "edge"
//! name = "agent"
//! images = { agent = "registry.example/agent:v1" }
//!
//! [[faults]]
//! at = "90s"
//! do = "node-cut"
//! nodes = ["ipc-a-03"]
//! for = "60s"
//! ```

mod builtin;
mod fault;
mod file;
pub(crate) mod seconds;
mod units;

pub use builtin::{BUILT_IN, REFERENCE, built_in, built_in_text};
pub use fault::{ClusterFault, Fault, FleetFault};

use std::collections::BTreeMap;
use std::num::NonZeroU8;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::model::Str;
use crate::engine::model::facts::{StrategyKind, Taint};
use crate::engine::model::labels::Labels;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::time::Timestamp;

/// The label of every node with the name of its site.
pub const SITE_LABEL: &str = "topology.kubernetes.io/zone";

/// A world's parts, and the faults that happen in it with their times.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The scenario's subject, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The instant at which the scenario begins. Objects that exist at the beginning were set up a few minutes before.
    pub start: Timestamp,
    /// The generation of the DaemonSet controller.
    pub controller: ControllerVariant,
    /// How long a node's Lease may be silent before the node counts as unknown.
    #[serde(with = "seconds")]
    pub node_grace: Duration,
    /// Whether the admission plugin `AlwaysPullImages` gives every new pod the pull policy `Always`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always_pull_images: bool,
    /// The sites: nodes of one site share a link.
    pub sites: Vec<Site>,
    /// All nodes.
    pub nodes: Vec<NodeSpec>,
    /// The images in the registry.
    pub images: Vec<RegistryImage>,
    /// The DaemonSets that run at the beginning.
    pub daemon_sets: Vec<DaemonSetPlan>,
    /// The faults in order, each with its time after the beginning.
    #[serde(with = "seconds::timeline")]
    pub faults: Vec<(Duration, Fault)>,
    /// The rollout for `rolldeck simulate --compare`. It does not happen by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutPlan>,
}

/// A generation of the DaemonSet controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
pub enum ControllerVariant {
    /// Up to Kubernetes 1.20.
    #[serde(rename = "1.20")]
    V1_20,
    /// From 1.21 until kubernetes#123233: an unavailable old pod is replaced without being counted as unavailable.
    #[serde(rename = "1.21-bug")]
    V1_21Bug,
    /// From 1.31, and late patches of 1.28 to 1.30.
    #[default]
    #[serde(rename = "current")]
    Current,
}

impl ControllerVariant {
    /// How long a node's Lease may be silent in that generation.
    pub const fn node_grace(self) -> Duration {
        match self {
            Self::V1_20 | Self::V1_21Bug => Duration::from_secs(40),
            Self::Current => Duration::from_secs(50),
        }
    }
}

/// A place whose nodes share a link to the registry and to the API server.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Site {
    /// Its name.
    pub name: Str,
    /// The link's capacity, in bytes a second.
    pub bytes_per_sec: u64,
    /// The least capacity per pull at which the link counts as free, in bytes a second. Below that, requests to the API server get lost, the more the
    /// less each pull gets: so a rollout starves Lease renewals.
    pub floor_per_pull: u64,
}

/// A node of a scenario.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSpec {
    /// Its name.
    pub name: Str,
    /// Its site.
    pub site: Str,
    /// Its labels, besides hostname, architecture and site.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Its taints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// The most images that its kubelet pulls at once: `serializeImagePulls: false` with this `maxParallelImagePulls`. One at a time unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_pulls: Option<NonZeroU8>,
}

/// A machine that joins, with the images on its disk.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct NodeSetup {
    /// The node.
    pub spec: NodeSpec,
    /// The images that the disk holds from the beginning.
    pub images: Vec<Str>,
}

/// An image in the registry, and how a container of it behaves.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryImage {
    /// Its reference.
    pub name: Str,
    /// The bytes that a node has to pull.
    pub bytes: u64,
    /// The time from "image is there" to "process runs".
    #[serde(with = "seconds")]
    pub starts_in: Duration,
    /// The time from "process runs" to "ready".
    #[serde(with = "seconds")]
    pub ready_in: Duration,
    /// The time from SIGTERM to the end of the process, if its grace is that long.
    #[serde(with = "seconds")]
    pub stops_in: Duration,
    /// The process crashes this long after each start.
    #[serde(default, with = "seconds::option", skip_serializing_if = "Option::is_none")]
    pub crashes_after: Option<Duration>,
    /// Each start of the process makes the kubelet say for this long that its node is not ready, as where it restarts the container runtime or sets up the network
    /// of the node.
    #[serde(default, with = "seconds::option", skip_serializing_if = "Option::is_none")]
    pub node_not_ready_for: Option<Duration>,
    /// The image has no shell and no other programs: only its own `command` can be started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub distroless: bool,
    /// The registry's refusal of pulls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<PullError>,
}

impl RegistryImage {
    /// An image without faults: its process starts in half a second, is ready after two more, and stops in one.
    pub fn new(name: &str, bytes: u64) -> Self {
        Self {
            name: name.into(),
            bytes,
            starts_in: Duration::from_millis(500),
            ready_in: Duration::from_secs(2),
            stops_in: Duration::from_secs(1),
            crashes_after: None,
            node_not_ready_for: None,
            distroless: false,
            error: None,
        }
    }
}

/// Why an image cannot be pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PullError {
    /// The registry has no image of that name.
    NotFound,
    /// The registry asks for credentials.
    Denied,
    /// The registry cannot be reached.
    Network,
    /// The registry was asked too often.
    RateLimit,
    /// The registry counts pulls, and its limit is reached.
    PullQuota,
}

/// The number of pulls that a registry serves in any span of a given length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PullQuota {
    /// The number of pulls.
    pub pulls: u32,
    /// The length of the span.
    #[serde(with = "seconds")]
    pub per: Duration,
}

/// A DaemonSet that runs at the beginning.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DaemonSetPlan {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// Its containers' images, by container name; `volume/NAME` is an image volume that every container mounts at `/NAME`.
    pub images: BTreeMap<String, String>,
    /// The images of its earlier revisions, oldest first; a roll back can lead to each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<BTreeMap<String, String>>,
    /// Its update strategy.
    pub strategy: StrategyKind,
    /// `maxUnavailable`; 0 if the DaemonSet surges.
    pub max_unavailable: IntOrPercent,
    /// `maxSurge`; 0 if the DaemonSet does not surge.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub max_surge: IntOrPercent,
    /// `minReadySeconds`.
    pub min_ready_secs: u32,
    /// `revisionHistoryLimit`.
    pub history_limit: u32,
    /// `terminationGracePeriodSeconds`.
    pub grace_secs: u32,
    /// The labels of the nodes that it runs on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// The taints that it tolerates besides the automatic ones.
    pub tolerates: Tolerates,
    /// Whether each container asks the registry for its image at each start (`imagePullPolicy` Always), because a tag may have moved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pulls_always: bool,
}

impl DaemonSetPlan {
    /// A DaemonSet with one container, which has the DaemonSet's name.
    pub fn new(namespace: &str, name: &str, image: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            images: BTreeMap::from([(name.to_owned(), image.to_owned())]),
            history: Vec::new(),
            strategy: StrategyKind::RollingUpdate,
            max_unavailable: IntOrPercent::Int(1),
            max_surge: none(),
            min_ready_secs: 0,
            history_limit: 10,
            grace_secs: 30,
            node_selector: BTreeMap::new(),
            tolerates: Tolerates::Nothing,
            pulls_always: false,
        }
    }
}

/// A rollout for the comparison of methods.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RolloutPlan {
    /// Namespace and name of the DaemonSet.
    pub daemon_set: (Str, Str),
    /// The new images, by container name.
    pub images: BTreeMap<String, String>,
}

fn none() -> IntOrPercent {
    IntOrPercent::Int(0)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_none(limit: &IntOrPercent) -> bool {
    *limit == none()
}

/// A DaemonSet's tolerations besides the automatic ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tolerates {
    /// No more tolerations: the DaemonSet's pod is not wanted on a node that is not ready.
    #[default]
    Nothing,
    /// Everything, as agents on every node usually do.
    Everything,
}

/// An error in a scenario file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("scenario {file}: {message}")]
pub struct ScenarioError {
    /// The file's name.
    pub file: String,
    /// The line, and the error in it.
    pub message: String,
}

impl Scenario {
    /// An empty scenario: no sites, no nodes.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            about: String::new(),
            // 2026-03-02T06:00:00Z: the instant is fixed, so that runs can be compared.
            start: Timestamp::from_millis(1_772_431_200_000),
            controller: ControllerVariant::Current,
            node_grace: ControllerVariant::Current.node_grace(),
            always_pull_images: false,
            sites: Vec::new(),
            nodes: Vec::new(),
            images: Vec::new(),
            daemon_sets: Vec::new(),
            faults: Vec::new(),
            rollout: None,
        }
    }

    /// The scenario with this generation of the controller, and that generation's grace for silent nodes.
    #[must_use]
    pub fn with_controller(mut self, variant: ControllerVariant) -> Self {
        self.controller = variant;
        self.node_grace = variant.node_grace();
        self
    }

    /// The scenario with another site, which has `count` nodes called `<prefix>01`, `<prefix>02`, ….
    #[must_use]
    pub fn with_site(mut self, name: &str, bytes_per_sec: u64, prefix: &str, count: usize) -> Self {
        self.sites.push(Site { name: name.into(), bytes_per_sec, floor_per_pull: DEFAULT_FLOOR });
        let nodes = numbered(prefix, 1, count);
        self.nodes.extend(nodes.map(|node| NodeSpec { name: node, site: name.into(), ..NodeSpec::default() }));
        self
    }

    /// The scenario with this image in the registry.
    #[must_use]
    pub fn with_image(mut self, image: RegistryImage) -> Self {
        self.images.push(image);
        self
    }

    /// The scenario with this DaemonSet running at the beginning.
    #[must_use]
    pub fn with_daemon_set(mut self, plan: DaemonSetPlan) -> Self {
        self.daemon_sets.push(plan);
        self
    }

    /// Reads a scenario; `file` names it in errors.
    ///
    /// # Errors
    /// The first error, with its line.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        file::parse(text).map_err(|message| ScenarioError { file: file.to_owned(), message })
    }
}

/// Half a Mbit/s per pull: below that, TCP's own queues on a thin uplink delay everything else by seconds.
const DEFAULT_FLOOR: u64 = 62_500;

/// `count` names from `<prefix><first>` on, with two digits or as many as the last one has.
fn numbered(prefix: &str, first: usize, count: usize) -> impl Iterator<Item = Str> {
    let last = first + count.saturating_sub(1);
    let width = last.to_string().len().max(2);
    (first..first + count).map(move |nth| format!("{prefix}{nth:0width$}").into())
}

#[cfg(test)]
mod tests;
