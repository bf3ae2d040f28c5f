//! Scenarios: what a world consists of, and what happens in it when.
//!
//! They are read from TOML files, or put together in code:
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

/// The label that every node of a site carries: its site.
pub const SITE_LABEL: &str = "topology.kubernetes.io/zone";

/// What a world consists of, and what happens in it when.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it is about, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// When it begins. What is said to be there at the beginning was set up a few minutes before.
    pub start: Timestamp,
    /// Which version of the DaemonSet controller runs.
    pub controller: ControllerVariant,
    /// How long a node's Lease may be silent before the node counts as unknown.
    #[serde(with = "seconds")]
    pub node_grace: Duration,
    /// Whether the admission plugin `AlwaysPullImages` gives every new pod the pull policy `Always`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always_pull_images: bool,
    /// Places whose nodes share a link.
    pub sites: Vec<Site>,
    /// All nodes.
    pub nodes: Vec<NodeSpec>,
    /// What the registry has.
    pub images: Vec<RegistryImage>,
    /// The DaemonSets that run at the beginning.
    pub daemon_sets: Vec<DaemonSetPlan>,
    /// What happens, with how long after the beginning, in order.
    #[serde(with = "seconds::timeline")]
    pub faults: Vec<(Duration, Fault)>,
    /// What `rolldeck simulate --compare` rolls out. Nothing happens of it by itself.
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
    /// How long that generation lets a node's Lease be silent.
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
    /// What one pull must get for the link to count as free, in bytes a second. Below that, requests to the API server get
    /// lost, the more the less each pull gets: that is how a rollout starves Lease renewals.
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
    /// How many images its kubelet pulls at once: `serializeImagePulls: false` with this `maxParallelImagePulls`. One after the
    /// other unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_pulls: Option<NonZeroU8>,
}

/// A machine that joins, with the images that are on its disk.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct NodeSetup {
    /// What it is.
    pub spec: NodeSpec,
    /// Images that it has from the beginning.
    pub images: Vec<Str>,
}

/// An image in the registry, and how a container of it behaves.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistryImage {
    /// Its reference.
    pub name: Str,
    /// What a node has to pull, in bytes.
    pub bytes: u64,
    /// From "image is there" to "process runs".
    #[serde(with = "seconds")]
    pub starts_in: Duration,
    /// From "process runs" to "ready".
    #[serde(with = "seconds")]
    pub ready_in: Duration,
    /// From SIGTERM to its end, if it is given that long.
    #[serde(with = "seconds")]
    pub stops_in: Duration,
    /// It crashes this long after each start.
    #[serde(default, with = "seconds::option", skip_serializing_if = "Option::is_none")]
    pub crashes_after: Option<Duration>,
    /// It has no shell and no other programs: no `command` but its own can be started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub distroless: bool,
    /// The registry refuses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<PullError>,
}

impl RegistryImage {
    /// An image that behaves: starts in half a second, is ready after two more, stops in one.
    pub fn new(name: &str, bytes: u64) -> Self {
        Self {
            name: name.into(),
            bytes,
            starts_in: Duration::from_millis(500),
            ready_in: Duration::from_secs(2),
            stops_in: Duration::from_secs(1),
            crashes_after: None,
            distroless: false,
            error: None,
        }
    }
}

/// Why an image cannot be pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PullError {
    /// There is none of that name.
    NotFound,
    /// The registry asks for credentials.
    Denied,
    /// The registry cannot be reached.
    Network,
    /// The registry was asked too often.
    RateLimit,
    /// The registry counts pulls, and there were too many.
    PullQuota,
}

/// So many pulls does a registry serve in any span of so long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PullQuota {
    /// How many.
    pub pulls: u32,
    /// In how long.
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
    /// Images that it had before, oldest first: each is a revision to roll back to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<BTreeMap<String, String>>,
    /// How its controller replaces pods.
    pub strategy: StrategyKind,
    /// `maxUnavailable`; 0 where it surges.
    pub max_unavailable: IntOrPercent,
    /// `maxSurge`; 0 where it does not surge.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub max_surge: IntOrPercent,
    /// `minReadySeconds`.
    pub min_ready_secs: u32,
    /// `revisionHistoryLimit`.
    pub history_limit: u32,
    /// `terminationGracePeriodSeconds`.
    pub grace_secs: u32,
    /// Which nodes it runs on, by label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Which taints it tolerates besides the automatic ones.
    pub tolerates: Tolerates,
    /// Each container asks the registry for its image whenever it starts (`imagePullPolicy` Always): a tag may have moved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pulls_always: bool,
}

impl DaemonSetPlan {
    /// A DaemonSet with one container, called as the DaemonSet is.
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

/// A rollout that different ways of rolling out are compared by.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RolloutPlan {
    /// Namespace and name of the DaemonSet.
    pub daemon_set: (Str, Str),
    /// The images that it is given, by container name.
    pub images: BTreeMap<String, String>,
}

fn none() -> IntOrPercent {
    IntOrPercent::Int(0)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_none(limit: &IntOrPercent) -> bool {
    *limit == none()
}

/// What a DaemonSet of a scenario tolerates besides the automatic tolerations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tolerates {
    /// Nothing more: on a node that is not ready it is not wanted any more.
    #[default]
    Nothing,
    /// Everything, as agents on every node usually do.
    Everything,
}

/// What is wrong with a scenario file, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("scenario {file}: {message}")]
pub struct ScenarioError {
    /// The file's name.
    pub file: String,
    /// The line, and what is wrong there.
    pub message: String,
}

impl Scenario {
    /// An empty scenario: no sites, no nodes.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            about: String::new(),
            // 2026-03-02T06:00:00Z: a fixed instant, so that runs can be compared.
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

    /// With this generation of controllers, and its grace for silent nodes.
    #[must_use]
    pub fn with_controller(mut self, variant: ControllerVariant) -> Self {
        self.controller = variant;
        self.node_grace = variant.node_grace();
        self
    }

    /// With a site of `count` nodes called `<prefix>01`, `<prefix>02`, ….
    #[must_use]
    pub fn with_site(mut self, name: &str, bytes_per_sec: u64, prefix: &str, count: usize) -> Self {
        self.sites.push(Site { name: name.into(), bytes_per_sec, floor_per_pull: DEFAULT_FLOOR });
        let nodes = numbered(prefix, 1, count);
        self.nodes.extend(nodes.map(|node| NodeSpec { name: node, site: name.into(), ..NodeSpec::default() }));
        self
    }

    /// With this image in the registry.
    #[must_use]
    pub fn with_image(mut self, image: RegistryImage) -> Self {
        self.images.push(image);
        self
    }

    /// With this DaemonSet running at the beginning.
    #[must_use]
    pub fn with_daemon_set(mut self, plan: DaemonSetPlan) -> Self {
        self.daemon_sets.push(plan);
        self
    }

    /// With this fault that long after the beginning.
    #[must_use]
    pub fn with_fault(mut self, at: Duration, fault: impl Into<Fault>) -> Self {
        self.faults.push((at, fault.into()));
        self.faults.sort_by_key(|(at, _)| *at);
        self
    }

    /// Reads a scenario; `file` names it in errors.
    ///
    /// # Errors
    /// Says in which line what is wrong.
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
