//! Pre-warming: images are brought onto nodes before their pods are replaced, so that a node is down for a restart and not for a
//! download.
//!
//! The wishes of operators are a [`Prewarm`], kept in an annotation of the rollout's Lease beside the record. Pre-warming needs no
//! rollout: an image can be pre-warmed before the template has it. The driver makes one pod per node, a few at a time, or has
//! StatefulSets make them. Only these pods tell what has been done.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use super::Str;
use super::cause::{Cause, CauseKind};
use super::estimate::TimeRange;
use super::image::ImageRef;
use super::labels::Selector;
use super::pull::PrewarmPulls;
use super::record::By;
use super::settings::{Limit, Pace};
use super::site::SiteLabel;
use super::time::Timestamp;

/// Why pre-warming by StatefulSets is neither paused nor resumed.
pub const SETS_DO_NOT_PAUSE: &str = "a StatefulSet goes on by itself and cannot be paused: cancel it, what was pulled stays, or begin again with \
                                     --method pods";

/// Annotation of the Lease: the [`Prewarm`], as JSON. Also the label of every pod made for it: the uid of the DaemonSet.
pub const PREWARM: &str = "rolldeck.io/prewarm";
/// Label of every pod made for pre-warming: which images it brings, see [`crate::engine::rules::warm_pod::images_key`].
pub const PREWARM_IMAGES: &str = "rolldeck.io/prewarm-images";
/// Label of every pod that the driver made for pre-warming: when it was asked for or last tried again, see
/// [`crate::engine::rules::warm_pod::attempt_key`]. A pod whose pull failed and that was made before an operator asked again is made anew,
/// whoever drives by then.
pub const PREWARM_ATTEMPT: &str = "rolldeck.io/prewarm-attempt";
/// Label of every pod that a StatefulSet made for pre-warming, and of that StatefulSet: its name. The StatefulSet selects its pods by
/// this label alone.
pub const PREWARM_SET: &str = "rolldeck.io/prewarm-set";
/// Label of such a StatefulSet: for which nodes and limits it was made, see [`crate::engine::rules::warm_set::request_key`].
pub const PREWARM_REQUEST: &str = "rolldeck.io/prewarm-request";
/// The most nodes that the pods of StatefulSets may be meant for: each pod names those of its own.
pub const PREWARM_SET_NODES: usize = 1000;
/// The most a serialized [`Prewarm`] may take, in bytes.
pub const PREWARM_LIMIT: usize = 16 * 1024;

/// The most nodes whose failures are recorded: each takes some 100 bytes, and they may take half of [`PREWARM_LIMIT`].
pub const FAILURES_LIMIT: usize = 40;

/// A request of operators for pre-warming.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prewarm {
    /// `metadata.uid` of the DaemonSet of this request; the request says nothing of another DaemonSet of the same name.
    pub daemonset_uid: Str,
    /// Which images.
    pub source: PrewarmSource,
    /// On which nodes.
    #[serde(default)]
    pub nodes: PrewarmNodes,
    /// How many nodes may pull at once.
    #[serde(default)]
    pub limits: PrewarmLimits,
    /// Who makes the pods.
    #[serde(default, skip_serializing_if = "PrewarmMethod::is_pods")]
    pub method: PrewarmMethod,
    /// Whether StatefulSets may be there that were made for this request, or for one that it replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stateful_sets: bool,
    /// Who paused it; set while no more pods are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<By>,
    /// Who cancelled it; set once it is to end. Its pods are deleted, then this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<By>,
    /// On how many nodes the images were when all had them, if that is why it ends: nobody cancelled it then. [`Self::cancelled`] is set as
    /// well, so that its pods are deleted. Their number on the nodes falls meanwhile, and tells nothing any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete: Option<u32>,
    /// The last request to try again what failed. A driver that sees it change deletes the pods that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried: Option<By>,
    /// Who asks the holder for the lease if no rollout is recorded ([`super::record::Intent::handover`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<By>,
    /// Pulls that failed, by node, at most [`FAILURES_LIMIT`]. Their pods are deleted, so that nothing else in the cluster tells of
    /// them once the driver has ended. Only the holder of the lease writes them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<Str, PrewarmFailure>,
    /// How many nodes failed besides those in `failures`. Only the holder of the lease writes it.
    #[serde(default, skip_serializing_if = "UnrecordedFailures::are_none")]
    pub unrecorded: UnrecordedFailures,
    /// Who asked for it, and when.
    pub by: By,
    /// Identifiers of the last writes that carried edits, as in the record ([`super::record::Record::write_ids`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_ids: Vec<Str>,
}

/// Nodes on which the images did not arrive and which are not recorded by name, as there are more than [`FAILURES_LIMIT`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UnrecordedFailures {
    /// How many.
    pub failed: u32,
    /// Of those, how many are tried again by themselves.
    pub retrying: u32,
}

impl UnrecordedFailures {
    fn are_none(&self) -> bool {
        self.failed == 0
    }
}

/// Pulls that failed on one node, as they are recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrewarmFailure {
    /// Why the last pull failed. The kubelet's words are not kept.
    #[serde(default = "CauseKind::of_any_pull", deserialize_with = "CauseKind::read_of_a_pull")]
    pub cause: CauseKind,
    /// Which images were pulled, see [`crate::engine::rules::warm_pod::images_key`]: the request may be about others by now. Empty: an earlier version did not
    /// say so.
    #[serde(default)]
    pub images: Str,
    /// How many pulls failed in a row.
    pub times: u32,
    /// When the next pull is tried at the earliest, by the clock of whoever drove.
    pub again_at: Timestamp,
}

impl CauseKind {
    fn of_any_pull() -> Self {
        Self::ImagePull
    }

    /// A cause that this version does not know is read as a pull that failed.
    fn read_of_a_pull<'de, D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(text)?;
        Ok(serde_json::from_value(value).unwrap_or_else(|_unknown| Self::of_any_pull()))
    }
}

impl Prewarm {
    /// Whether this stands in for a request that is gone while its pods are still seen: nobody has asked for it, at no time.
    pub fn stands_in(&self) -> bool {
        self.by.is_rolldeck() && self.by.at == Timestamp::default()
    }

    /// Reads the annotation.
    ///
    /// # Errors
    /// The text says what is wrong with the annotation.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > PREWARM_LIMIT {
            return Err(format!("annotation {PREWARM} takes {} bytes, more than {PREWARM_LIMIT}", text.len()));
        }
        serde_json::from_str(text).map_err(|error| format!("annotation {PREWARM}: {error}"))
    }
}

/// Which images are pre-warmed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrewarmSource {
    /// The images of the DaemonSet's template as it is at each time.
    Template,
    /// The images of the template with these by container name (`*`: all main containers), as `set-image` takes them.
    Images(BTreeMap<String, ImageRef>),
    /// The images of the ControllerRevision with this hash, as when rolling back to it.
    Revision(Str),
}

/// Who makes the pods that bring the images.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrewarmMethod {
    /// The driver makes one on each node, in the order of the rollout.
    #[default]
    Pods,
    /// One StatefulSet for each node that may pull at once. It makes its next pod once the last one is ready, also while
    /// nobody drives.
    StatefulSet,
}

impl PrewarmMethod {
    fn is_pods(&self) -> bool {
        *self == Self::Pods
    }
}

/// On which of the nodes that may run the DaemonSet's pods.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrewarmNodes {
    /// On all of them.
    #[default]
    All,
    /// On those whose labels match.
    Selector(Selector),
    /// On those that the rollout's partition and selector let be updated, as both are at each time. Its former name is read as well.
    #[serde(alias = "nextStep")]
    LetGo,
    /// On those, and on the first nodes in line that the next step of the plan lets be updated besides.
    StepAhead,
    /// On this node.
    Node(Str),
}

/// How many nodes may pull at once. Each limit holds for pre-warming and updates together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrewarmLimits {
    /// Overall; a percentage of all nodes, rounded up; `default`: as many as the rollout may have pulling.
    #[serde(skip_serializing_if = "Limit::is_default")]
    pub max_pulling: Limit,
    /// In each site; a percentage of its nodes, rounded up; `default`: no limit of its own.
    #[serde(skip_serializing_if = "Limit::is_default")]
    pub max_pulling_per_site: Limit,
    /// The label whose value tells nodes apart into sites while no rollout is recorded; the label of a recorded rollout takes its
    /// place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site_label: Option<SiteLabel>,
    /// Whether limits of sites follow what their links bear. They also do so if the rollout's own setting says so.
    #[serde(skip_serializing_if = "Pace::is_fixed")]
    pub pace: Pace,
}

/// How far the pre-warming of one node is.
#[derive(Clone, PartialEq, Debug)]
pub enum PrewarmState {
    /// No pod is made there yet, for this reason.
    Waiting(PrewarmWait),
    /// Its pod is there, and its kubelet has not begun to pull: other pulls of the node may come first.
    Queued,
    /// Its pod is there, and its kubelet has shown no sign of a pull for minutes. It may pull all the same: what it told may not be seen here.
    Silent {
        /// Since when, by our clock.
        since: Timestamp,
    },
    /// The images are on their way.
    Pulling {
        /// Since when, by the kubelet's clock.
        since: Timestamp,
    },
    /// The images are on the node.
    Present,
    /// The images did not arrive.
    Failed {
        /// Why.
        cause: Cause,
        /// How often so far.
        times: u32,
        /// When it is tried again by itself; `None`: only when an operator says so.
        again_at: Option<Timestamp>,
    },
}

/// Why no pod for pre-warming is made on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrewarmWait {
    /// Nothing: its pod is the next to be made.
    Next,
    /// A StatefulSet makes the pods one after the other, and has not made this one yet.
    InLine,
    /// The overall pull limit is reached.
    Limit {
        /// How many pull.
        used: u32,
        /// How many may.
        limit: u32,
    },
    /// The pull limit of its site is reached.
    SiteLimit {
        /// The site.
        site: Str,
        /// How many pull.
        used: u32,
        /// How many may.
        limit: u32,
    },
    /// The registry gives the image to no node: no further pull is tried.
    Unobtainable(Unobtainable),
    /// The registry refused a pull because there were too many: one node at a time tries, until the registry serves again.
    RateLimited {
        /// The node that was refused.
        node: Str,
        /// When the next one tries; `None`: one does now.
        again_at: Option<Timestamp>,
    },
    /// Somebody paused it.
    Paused,
    /// It was cancelled, and is being cleaned up.
    Cancelled,
    /// Every node has the images, and it is being cleaned up.
    Complete,
    /// The node is down, or takes no pods at the moment.
    NodeDown,
    /// Its kubelet reports this pressure: no StatefulSet brings the images there.
    Pressure(Str),
    /// Its pod is being replaced: the update pulls the images.
    Updating,
    /// The pull failed, and was asked for again since: the pod that failed is deleted first.
    TriedAgain,
    /// Its last pod is being deleted and is still there; with the finalizer that keeps it, if its kubelet has ended it.
    Ending(Option<Str>),
    /// The API server refuses such pods at the moment, in these words.
    Refused(Str),
    /// Nobody drives.
    NobodyDrives,
    /// The facts that pre-warming needs cannot be seen.
    ViewStale(Str),
}

/// How far pre-warming is.
#[derive(Clone, PartialEq, Debug)]
pub struct PrewarmView {
    /// The request.
    pub request: Prewarm,
    /// The images.
    pub images: Arc<[Str]>,
    /// Why it cannot be done at all; the other fields are then empty.
    pub error: Option<Str>,
    /// How many nodes are in each state.
    pub counts: PrewarmCounts,
    /// Of those that failed, on how many it is not known which they are: whoever drives or drove could not record them all. They are shown as waiting.
    pub failed_elsewhere: u32,
    /// How many nodes may pull at once, overall.
    pub limit: u32,
    /// How many nodes pull, updates included.
    pub pulling: u32,
    /// The same by site, by name. Nodes without a site's label are one site, whose name is empty.
    pub sites: Vec<PrewarmSite>,
    /// How long until every node that can get the images has them; `None` if there is nothing to compute it from, as before a site that has
    /// many of the nodes left has pulled anything.
    pub estimate: Option<TimeRange>,
    /// How many bytes a second come over all links; `None` where nothing is pulled, or kubelets do not tell sizes.
    pub throughput: Option<u64>,
    /// Why no more pods are made, if the registry gives the image to no node.
    pub unobtainable: Option<Unobtainable>,
    /// What the API server said when it last refused a pod, on which node.
    pub refusal: Option<(Str, Str)>,
    /// The StatefulSets that do not go on.
    pub stuck: Vec<StuckSet>,
    /// The pods that nobody needs any more.
    pub leftover: PrewarmLeftover,
    /// How long pulls took, where the images are others than the target's.
    pub pulls: PrewarmPulls,
}

/// Pods for pre-warming that nobody needs any more and that are still there: their node is updated or is not meant, other images
/// were asked for, or it was cancelled.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PrewarmLeftover {
    /// How many have still to be deleted. The driver deletes them.
    pub pods: u32,
    /// How many are deleted but not ended yet by their kubelets. No driver is needed for that.
    pub ending: u32,
    /// Whether nobody drives, so that none is deleted.
    pub undriven: bool,
    /// Where the last deletion of one of them failed, and what the API server said.
    pub refusal: Option<(Str, Str)>,
}

/// A StatefulSet that does not come to its next node.
#[derive(Clone, PartialEq, Debug)]
pub struct StuckSet {
    /// Its name.
    pub name: Str,
    /// The pod that it waits for; `None`: it may not make one.
    pub pod: Option<Str>,
    /// The node of that pod; `None`: it has none.
    pub node: Option<Str>,
    /// Why.
    pub why: StuckWhy,
}

/// The registry refused the image on several nodes, and none got it. More pods would get the same answer, and use up the registry's
/// limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unobtainable {
    /// On how many nodes.
    pub nodes: u32,
    /// The registry's answer.
    pub cause: CauseKind,
}

/// Why a StatefulSet does not come to its next node.
#[derive(Clone, PartialEq, Debug)]
pub enum StuckWhy {
    /// The images of the pod do not arrive.
    Failed(Cause),
    /// The images are there, but a container of the pod cannot run, in its kubelet's words; for example, its image has no `sleep`.
    NotRunning(Str),
    /// The node of the pod is down.
    NodeDown,
    /// No node takes the pod, in the scheduler's words.
    Unschedulable(Str),
    /// The API server refuses the pod, in these words.
    Refused(Str),
}

/// How many nodes are in each state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrewarmCounts {
    /// The nodes that it is about.
    pub nodes: u32,
    /// The images are there.
    pub present: u32,
    /// They are on their way, or in their kubelet's queue.
    pub pulling: u32,
    /// No pod is made there yet.
    pub waiting: u32,
    /// They did not arrive.
    pub failed: u32,
    /// Of those, how many are tried again by themselves.
    pub retrying: u32,
}

/// How far one site is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrewarmSite {
    /// Its name.
    pub name: Str,
    /// How many of its nodes are how far.
    pub counts: PrewarmCounts,
    /// How many of its nodes pull, updates included.
    pub pulling: u32,
    /// How many may; `None`: as many as overall.
    pub limit: Option<u32>,
    /// How long until each of its nodes has the images, as [`PrewarmView::estimate`].
    pub estimate: Option<TimeRange>,
    /// How many bytes a second come over its link, as [`PrewarmView::throughput`].
    pub throughput: Option<u64>,
}
