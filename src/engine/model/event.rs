//! Events for the engine: facts from the cluster, and how well it can be seen.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Str;
use super::facts::{ClusterEvent, DaemonSetFact, LeaseFact, NodeFact, PodFact, RevisionFact, WarmPodFact};
use super::time::Timestamp;
use super::with_all::with_all;

/// One fact from the cluster.
///
/// Each watched kind is listed first, as `Listing`, any number of facts, `Listed`. An object that was not named in between is gone.
/// Then facts follow as they happen. Late, repeated and reordered facts are expected.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The DaemonSet as it is now.
    DaemonSet(Box<DaemonSetFact>),
    /// The DaemonSet is not there, as of this resource version if that is a number.
    DaemonSetGone(Option<u64>),
    /// A ControllerRevision as it is now.
    Revision(Box<RevisionFact>),
    /// The ControllerRevision with this name is gone.
    RevisionGone(Str),
    /// A node as it is now.
    Node(Box<NodeFact>),
    /// The node with this name is gone.
    NodeGone(Str),
    /// A pod as it is now.
    Pod(Box<PodFact>),
    /// The pod with this uid has left the watch, as of this resource version if that is a number: the pod was deleted, or it lost a
    /// label by which it was selected.
    PodGone(Str, Option<u64>),
    /// A pod made for pre-warming as it is now.
    WarmPod(Box<WarmPodFact>),
    /// The pod made for pre-warming with this uid is gone from what is watched, as of this resource version where that is a number.
    WarmPodGone(Str, Option<u64>),
    /// An event about a pod or the DaemonSet.
    Cluster(Box<ClusterEvent>),
    /// The Lease with lock and record as it is now.
    Lease(Box<LeaseFact>),
    /// There is no such Lease, as of this resource version where that is a number: nobody drives, nothing is recorded.
    LeaseGone(Option<u64>),
    /// A full listing of this kind begins.
    Listing(Watched),
    /// The listing is complete, with the resource version that it shows, where that is a number.
    Listed(Watched, Option<u64>),
    /// How a watch is doing.
    Watch(Watched, WatchHealth),
    /// A watch was heard and had nothing to report: it sent a bookmark, or changes that no rule reads. With the resource version that
    /// the watch has reached, if that is a number.
    Heard(Watched, Option<u64>),
    /// An object of this kind could not be read and was skipped, with its name and the reason. Only kinds that are not needed have this
    /// event: if an object of a needed kind cannot be read, the watch of that kind is down.
    Skipped(Watched, Str),
    /// What we may do, as the API server answered.
    Rights(Vec<(Right, Permission)>),
    /// The API server's clock minus ours, measured from a response, in milliseconds.
    Skew(i64),
    /// The shortest time from sending a request to its answer, among requests other than the engine's own writes.
    RoundTrip(Duration),
}

impl Event {
    /// The watch that brings this event, if one does.
    pub fn watched(&self) -> Option<Watched> {
        match self {
            Self::DaemonSet(_) | Self::DaemonSetGone(_) => Some(Watched::DaemonSet),
            Self::Revision(_) | Self::RevisionGone(_) => Some(Watched::Revisions),
            Self::Node(_) | Self::NodeGone(_) => Some(Watched::Nodes),
            Self::Pod(_) | Self::PodGone(..) => Some(Watched::Pods),
            Self::WarmPod(_) | Self::WarmPodGone(..) => Some(Watched::WarmPods),
            Self::Cluster(_) => Some(Watched::Events),
            Self::Lease(_) | Self::LeaseGone(_) => Some(Watched::Lease),
            Self::Listing(watched) | Self::Listed(watched, _) | Self::Heard(watched, _) | Self::Skipped(watched, _) => {
                Some(*watched)
            }
            // `Live` comes from the watch itself. Any other health is reported by the adapter: the watch was not heard.
            Self::Watch(watched, WatchHealth::Live) => Some(*watched),
            Self::Watch(..) | Self::Rights(_) | Self::Skew(_) | Self::RoundTrip(_) => None,
        }
    }
}

with_all! {
/// A kind that is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Watched {
    /// The one DaemonSet.
    DaemonSet,
    /// Its ControllerRevisions.
    Revisions,
    /// The pods under its selector.
    Pods,
    /// All nodes.
    Nodes,
    /// Events about its pods.
    Events,
    /// The Lease with lock and record.
    Lease,
    /// The pods made for pre-warming.
    WarmPods,
}
}

impl Watched {
    /// The kinds that must be seen before anything is started.
    pub const NEEDED: [Self; Self::count_needed()] = Self::all_needed();

    /// Whether this kind must be seen before anything is started. The other kinds only tell more.
    pub const fn is_needed(self) -> bool {
        match self {
            Self::DaemonSet | Self::Revisions | Self::Pods | Self::Nodes | Self::Lease => true,
            Self::Events | Self::WarmPods => false,
        }
    }

    const fn count_needed() -> usize {
        let (mut count, mut nth) = (0, 0);
        while nth < Self::ALL.len() {
            count += Self::ALL[nth].is_needed() as usize;
            nth += 1;
        }
        count
    }

    const fn all_needed() -> [Self; Self::count_needed()] {
        let mut needed = [Self::ALL[0]; Self::count_needed()];
        let (mut count, mut nth) = (0, 0);
        while nth < Self::ALL.len() {
            if Self::ALL[nth].is_needed() {
                needed[count] = Self::ALL[nth];
                count += 1;
            }
            nth += 1;
        }
        needed
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DaemonSet => "daemonset",
            Self::Revisions => "revisions",
            Self::Pods => "pods",
            Self::Nodes => "nodes",
            Self::Events => "events",
            Self::Lease => "lease",
            Self::WarmPods => "prewarm",
        })
    }
}

/// How well a watched kind can be seen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum WatchHealth {
    /// Not listed yet.
    #[default]
    Loading,
    /// Listed, and the watch is open.
    Live,
    /// The watch broke and is being tried again. The facts of this kind are as old as `since`.
    Down {
        /// Since when.
        since: Timestamp,
        /// The message of the server or of the network.
        why: Str,
    },
    /// The watch is open, but its facts are old: it has been silent for too long, or does not show what we wrote. The facts are as old
    /// as `since`. The engine finds this out by itself.
    Lagging {
        /// When the facts were last known to be true.
        since: Timestamp,
        /// The sign by which the engine found it out.
        why: Str,
    },
    /// The API server does not let us see it.
    Forbidden {
        /// The server's message.
        why: Str,
    },
}

/// The objects of a watched kind that could not be read and were skipped since it was listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkippedObjects {
    /// How many times an object was skipped, at least once.
    pub count: u32,
    /// The first skipped object, and why it could not be read.
    pub first: Str,
}

with_all! {
/// A permission that a rollout needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Right {
    /// `patch daemonsets`: adopt, set image, roll back, release, brake.
    PatchDaemonSet,
    /// `delete pods`: update nodes.
    DeletePods,
    /// `create leases`: start a rollout.
    CreateLease,
    /// `update leases`: drive, or edit the intent of a rollout.
    UpdateLease,
    /// `create pods`: pre-warm. A lack of it refuses nothing else.
    CreatePods,
    /// `list statefulsets`: find those of pre-warming by StatefulSet. A lack of it refuses nothing else.
    ListStatefulSets,
    /// `create statefulsets`: pre-warm by StatefulSet. Nothing else is refused for want of it.
    CreateStatefulSets,
    /// `delete statefulsets`: end that. Nothing else is refused for want of it.
    DeleteStatefulSets,
    /// `create events`: tell on the DaemonSet who did what. Nothing is refused for want of it.
    CreateEvent,
}
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PatchDaemonSet => "`patch` on daemonsets.apps in this namespace",
            Self::DeletePods => "`delete` on pods in this namespace",
            Self::CreateLease => "`create` on leases.coordination.k8s.io in this namespace",
            Self::UpdateLease => "`update` on leases.coordination.k8s.io in this namespace",
            Self::CreatePods => "`create` on pods in this namespace",
            Self::ListStatefulSets => "`list` on statefulsets.apps in this namespace",
            Self::CreateStatefulSets => "`create` on statefulsets.apps in this namespace",
            Self::DeleteStatefulSets => "`delete` on statefulsets.apps in this namespace",
            Self::CreateEvent => "`create` on events in this namespace",
        })
    }
}

/// Whether we may.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Permission {
    /// Not asked yet, or the question itself failed.
    #[default]
    Unknown,
    /// Yes.
    Allowed,
    /// No.
    Denied,
}
