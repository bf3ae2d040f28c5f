//! Kubelets, the links they pull over, and the registry they pull from: a fleet of nodes, independent of any store.
//!
//! ```text
//!   pods and nodes as seen ──→ ┌─────────────────────────────────────────────┐
//!   faults ──────────────────→ │ Fleet  kubelet · kubelet · kubelet · …      │ ──→ actions: statuses, Leases, events,
//!   time ────────────────────→ │        └── site link ──┴── registry         │             final deletes, registrations
//!                              └─────────────────────────────────────────────┘
//! ```
//!
//! The simulated world applies the actions to its store; hollow nodes send the same actions to a real API server. So nothing here assumes that a
//! write is seen at once, or at all: an unconfirmed write is tried again on a later heartbeat.
//!
//! All pulls of a site's nodes share the site's link. When each pull gets less than the link's floor, requests get lost in proportion: Leases are not
//! renewed, and nodes turn unknown with all consequences.
//!
//! A full disk makes room by removing images that no container uses. A pod that has ended for good uses no image then, as its containers are removed
//! first; a container that waits for its restart keeps its image.

mod container_log;
mod ending;
mod env;
mod images;
mod link;
mod machine;
mod notes;
mod pod;
mod process;
mod pull;
mod pull_queue;
mod quota;
mod report;
mod status;
pub(crate) mod words;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::ConditionStatus;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;

use super::object::{Condition, DeletionMark, EventBody, NodeImage, Object, PodStatus};
use super::scenario::{FleetFault, NodeSetup, RegistryImage, Scenario, Site};

pub use container_log::LoggedRun;
use env::Env;
use machine::Kubelet;

/// The namespace that nodes keep their Leases in.
pub const LEASE_NAMESPACE: &str = "kube-node-lease";
/// The duration of a node's Lease, in seconds.
pub const LEASE_SECS: u32 = 40;
/// The label with a node's name.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// A pod as a kubelet sees it through its watch.
#[derive(Clone, PartialEq, Debug)]
pub struct AssignedPod {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// Its uid.
    pub uid: Str,
    /// The node that it is bound to.
    pub node: Str,
    /// Its template: what to run.
    pub template: Template,
    /// The deletion's time and grace, once the pod is being deleted.
    pub deletion: Option<DeletionMark>,
    /// Whether the API server has the pod as ready; other writers may have changed that.
    pub ready: bool,
}

impl AssignedPod {
    /// The pod as its kubelet sees it; `None` when the object is no pod, or is not bound to a node.
    pub fn of(object: &Object) -> Option<Self> {
        let pod = object.pod()?;
        Some(Self {
            namespace: object.meta.namespace.clone(),
            name: object.meta.name.clone(),
            uid: object.meta.uid.clone(),
            node: pod.node.clone()?,
            template: pod.template.clone(),
            deletion: object.meta.deletion,
            ready: pod.ready().is_some(),
        })
    }
}

/// A write that a kubelet asks of the API server.
#[derive(Clone, PartialEq, Debug)]
pub enum KubeletAction {
    /// Create a node with its kubelet's own fields.
    Register(Box<Object>),
    /// Write a node's own conditions and images; conditions of other types stay.
    NodeStatus {
        /// The node's name.
        node: Str,
        /// `Ready` and the pressures.
        conditions: Arc<[Condition]>,
        /// `status.images`.
        images: Arc<[NodeImage]>,
    },
    /// Renew a node's Lease in [`LEASE_NAMESPACE`], or create it.
    RenewLease {
        /// The node's name, which is also its Lease's name; the node is the Lease's holder and owner.
        node: Str,
        /// `renewTime`.
        at: Timestamp,
    },
    /// Write a pod's status, if the pod still has this uid; conditions of other types stay.
    PodStatus {
        /// Its namespace.
        namespace: Str,
        /// Its name.
        name: Str,
        /// Its uid.
        uid: Str,
        /// The status.
        status: Box<PodStatus>,
    },
    /// Delete a pod whose containers have ended, with grace 0 and its uid as precondition.
    RemovePod {
        /// Its namespace.
        namespace: Str,
        /// Its name.
        name: Str,
        /// Its uid.
        uid: Str,
    },
    /// Create an event, or update one (when `count` is not 1).
    Event {
        /// Its namespace.
        namespace: Str,
        /// Its name.
        name: Str,
        /// The event's content.
        body: Box<EventBody>,
    },
}

/// All kubelets of a world, their links, and the registry.
#[derive(Debug)]
pub struct Kubelets {
    nodes: Vec<Kubelet>,
    by_name: BTreeMap<Str, usize>,
    env: Env,
}

impl Kubelets {
    /// A fleet without nodes. The same seed and the same inputs lead to the same actions.
    pub fn new(sites: &[Site], images: &[RegistryImage], seed: u64, now: Timestamp) -> Self {
        Self { nodes: Vec::new(), by_name: BTreeMap::new(), env: Env::new(sites, images, seed, now) }
    }

    /// A scenario's fleet with all its nodes. Every disk holds the images that DaemonSets run at the beginning.
    pub fn of(scenario: &Scenario, seed: u64, now: Timestamp) -> Self {
        let mut fleet = Self::new(&scenario.sites, &scenario.images, seed, now);
        for setup in setups(scenario) {
            fleet.join(&setup, now);
        }
        fleet
    }

    /// Adds a machine: it registers, and renews its Lease from now on.
    pub fn join(&mut self, setup: &NodeSetup, now: Timestamp) {
        self.env.now = now;
        let index = self.nodes.len();
        let site = self.env.site_of(&setup.spec.site);
        let mut kubelet = Kubelet::new(index, setup, site, &mut self.env);
        kubelet.join(&mut self.env);
        self.by_name.insert(setup.spec.name.clone(), index);
        self.nodes.push(kubelet);
    }

    /// Takes in that a pod was added or changed.
    pub fn pod_changed(&mut self, seen: AssignedPod, now: Timestamp) {
        self.env.now = now;
        if let Some(kubelet) = self.by_name.get(&seen.node).and_then(|index| self.nodes.get_mut(*index)) {
            kubelet.take_in_pod(seen, &mut self.env);
        }
    }

    /// Takes in that a pod of this node is gone from the API server.
    pub fn pod_gone(&mut self, node: &str, uid: &Str, now: Timestamp) {
        self.env.now = now;
        if let Some(kubelet) = self.by_name.get(node).and_then(|index| self.nodes.get_mut(*index)) {
            kubelet.see_pod_gone(uid, &mut self.env);
        }
    }

    /// Takes in a node's `Ready` condition from the API server; a healthy kubelet corrects a wrong one.
    pub fn node_seen(&mut self, node: &str, ready: ConditionStatus) {
        if let Some(kubelet) = self.by_name.get(node).and_then(|index| self.nodes.get_mut(*index)) {
            kubelet.seen_ready = ready;
        }
    }

    /// Makes a fault happen.
    pub fn inject(&mut self, fault: &FleetFault, now: Timestamp) {
        self.env.now = now;
        match fault {
            FleetFault::Join(setup) => self.join(setup, now),
            FleetFault::Link { site, bytes_per_sec } => self.env.set_link(site, *bytes_per_sec),
            FleetFault::Registry { image, error } => self.env.set_registry(image, *error),
            FleetFault::LimitPulls { registry, quota } => self.env.quotas.set(registry, *quota),
            FleetFault::Publish(image) => self.env.publish(image),
            FleetFault::PowerOff(node)
            | FleetFault::PowerOn(node)
            | FleetFault::Cut(node)
            | FleetFault::Restore(node)
            | FleetFault::ProbesFail(node)
            | FleetFault::ProbesPass(node)
            | FleetFault::DiskFull(node)
            | FleetFault::DiskFree(node)
            | FleetFault::EvictAll(node)
            | FleetFault::Leave(node)
            | FleetFault::Clock { node, .. } => {
                if let Some(kubelet) = self.by_name.get(node).and_then(|index| self.nodes.get_mut(*index)) {
                    kubelet.suffer(fault, &mut self.env);
                }
            }
        }
    }

    /// The next instant at which something happens.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.env.next_at()
    }

    /// Lets time pass until `to`.
    pub fn advance(&mut self, to: Timestamp) {
        while let Some((at, node, what)) = self.env.next_until(to) {
            self.env.now = at;
            if let Some(kubelet) = self.nodes.get_mut(node) {
                kubelet.wake(what, &mut self.env);
            }
        }
        self.env.now = self.env.now.max(to);
    }

    /// Takes the actions since the last call, in order.
    pub fn take_actions(&mut self) -> Vec<KubeletAction> {
        std::mem::take(&mut self.env.actions)
    }

    /// How many nodes pull at this moment.
    pub fn pulling(&self) -> usize {
        self.nodes.iter().filter(|kubelet| kubelet.is_pulling()).count()
    }

    /// How many images come over each site's link at this moment.
    pub fn pulls_by_site(&self) -> impl Iterator<Item = (&Str, usize)> {
        self.env.links.iter().map(|link| (&link.site, link.pulling()))
    }

    /// Whether a node has an image on its disk.
    pub fn has_image(&self, node: &str, image: &str) -> bool {
        self.by_name.get(node).and_then(|index| self.nodes.get(*index)).is_some_and(|kubelet| kubelet.has(image))
    }

    /// Whether a node has the image that the registry now serves under this name: a pull would transfer nothing.
    pub fn has_current_image(&self, node: &str, image: &str) -> bool {
        let kubelet = self.by_name.get(node).and_then(|index| self.nodes.get(*index));
        let there = kubelet.and_then(|kubelet| kubelet.image_id(image));
        there.is_some() && there == self.env.id_of(image).as_ref()
    }

    /// Whether the pod of this name serves on its machine, whatever the API server believes: on a node that is only cut off it still does.
    pub fn serves(&self, pod: &str) -> bool {
        self.nodes.iter().any(|kubelet| kubelet.serves(pod))
    }
}

/// The machines of a scenario, with the images that its DaemonSets run at the beginning.
pub fn setups(scenario: &Scenario) -> Vec<NodeSetup> {
    let running = scenario.daemon_sets.iter().flat_map(|plan| plan.images.values());
    let images: BTreeSet<Str> = running.map(|image| Str::from(image.as_str())).collect();
    let images: Vec<Str> = images.into_iter().collect();
    scenario.nodes.iter().map(|spec| NodeSetup { spec: spec.clone(), images: images.clone() }).collect()
}

/// How often a kubelet renews its Lease and looks at its node's status.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How often a node's status is written although nothing changed.
const STATUS_AT_LEAST: Duration = Duration::from_secs(300);
/// The time from power-on to a running kubelet.
const BOOT: Duration = Duration::from_secs(20);
/// The first back-off after a failed pull or a crash, and the longest.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(300));
/// The crash back-off begins anew after a container has run for this long.
const BACK_OFF_RESET: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests;
