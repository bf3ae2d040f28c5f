//! The state of a node: its place in a rollout, the blame for its unavailability, and whether it has the images.

use std::fmt;

use serde::Serialize;

use super::cause::CauseKind;
use super::quantity::counted;
use super::time::Timestamp;
use super::with_all::with_all;

/// Index of a node in [`View::nodes`]; stable for the life of the view.
pub(crate) type NodeIx = usize;

with_all! {
/// The state of a node in a rollout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum NodeState {
    /// Its pod failed at the target revision.
    Failed,
    /// It is not Ready. [`NodeView::blame`] tells whether it was before, or is suspect.
    NodeDown,
    /// Its old pod is going.
    Terminating,
    /// It has no pod, or one that is not bound or not begun.
    Creating,
    /// Its pod's image is being pulled.
    Pulling,
    /// Its pod's image could not be pulled, or cannot be used. Its kubelet tries again by itself; until then nothing is pulled.
    PullFailed,
    /// Its containers start.
    Starting,
    /// Its pod is ready, but not for long enough to count as available.
    Soaking,
    /// Its pod is at another revision.
    Outdated,
    /// Its pod is at the target revision and available.
    Updated,
    /// Pods may not be read: whether it has one, and how that is, is not known.
    Unknown,
    /// It should not run the pod.
    Ineligible,
}
}

impl NodeState {
    /// Whether the node is being updated: from the deletion of its old pod until the new one is available.
    pub fn is_moving(self) -> bool {
        match self {
            Self::Terminating | Self::Creating | Self::Pulling | Self::PullFailed | Self::Starting | Self::Soaking => {
                true
            }
            Self::Failed | Self::NodeDown | Self::Outdated | Self::Updated | Self::Unknown | Self::Ineligible => false,
        }
    }

    /// The state, with a failed pull taken for the pull that follows it. Kubelets alternate between the two for as long as they try,
    /// and a single try is not reported.
    pub fn without_retries(self) -> Self {
        match self {
            Self::PullFailed => Self::Pulling,
            other => other,
        }
    }
}

/// The blame for an unavailable node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Blame {
    /// Its pod is at the new revision, or rolldeck is replacing it.
    Rollout,
    /// Its node went down after it got the new pod.
    Suspect,
    /// Its node is down, still at the old revision.
    Node,
    /// It was down before the rollout began, or its old pod fails by itself.
    PreExisting,
}

/// Who took down a node that is charged to the rollout ([`Blame::Rollout`]), where that is not known of the rollout itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DownBy {
    /// Somebody else, who took its pod away: the driver did not let the node go.
    Others,
    /// The DaemonSet's controller, or somebody else: the driver did not let the node go, and its pod was made while somebody had set the update strategy back,
    /// or soon after. Nothing tells which of the two it was.
    ControllerOrOthers,
    /// Nobody who is recorded: its pod was made before the record of the rollout began.
    Unrecorded,
}

/// The number of restarts, after the pod was ready, from which they speak against the revision.
pub(crate) const AGAINST: u16 = 2;

/// Restarts of a pod at the target revision, after it had been ready, that make it watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestartsView {
    /// How often, evictions included; 65,535 at most.
    pub times: u16,
    /// How many of them are evictions: the kubelet ended a pod that was ready, and its controller made this one.
    pub evictions: u16,
    /// How the container that ended last did, where its kubelet told.
    pub end: Option<RunEnd>,
    /// Until when the pod is watched for them, if it stays up and is seen until then, by our own clock.
    pub until: Timestamp,
}

impl RestartsView {
    /// Whether no serving pod is replaced until this pod has shown that it stays up.
    pub fn speaks_against_revision(self) -> bool {
        self.times >= AGAINST
    }

    /// What they are.
    pub(crate) fn kind(self) -> RestartKind {
        RestartKind::of(self.times.into(), self.evictions.into())
    }
}

/// What stands between how often a pod restarted that fails for it, and how often it might have, in the message of its cause: `3 restarts (max 2)`.
pub(crate) const FAILS_AT: &str = " (max ";

/// What the restarts of a pod are that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RestartKind {
    /// Its containers were started again.
    Restarts,
    /// Pods before it were evicted.
    Evictions,
    /// Some are restarts and some evictions.
    Both,
}

impl RestartKind {
    /// What `times` restarts are, of which so many are evictions.
    pub(crate) fn of(times: u32, evictions: u32) -> Self {
        match evictions {
            0 => Self::Restarts,
            evictions if evictions >= times => Self::Evictions,
            _ => Self::Both,
        }
    }

    /// So many of them: `1 restart`, `3 evictions`, `3 restarts and evictions`.
    pub(crate) fn counted(self, times: u32) -> String {
        match self {
            Self::Restarts => counted(times as usize, "restart"),
            Self::Evictions => counted(times as usize, "eviction"),
            Self::Both => format!("{times} restarts and evictions"),
        }
    }
}

/// How a run of a container ended that was started again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RunEnd {
    /// By itself, with this exit code.
    Exit(i32),
    /// Its node, or the container runtime of its node, was restarted.
    WithItsNode,
    /// Its kubelet evicted the pod.
    Evicted,
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::WithItsNode => f.write_str("its node restarted"),
            Self::Evicted => f.write_str("evicted"),
        }
    }
}

/// A pod at the target whose containers end again and again. It lasts across the crashes: in between a container runs, and nothing else tells of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CrashLoopView {
    /// By how the container ended last.
    pub cause: CauseKind,
    /// Since when a container of the pod ended first, as far as known; if the pod has never been ready, since it was created.
    pub since: Timestamp,
}

/// What is known about the target's images on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ImageState {
    /// Not known.
    #[default]
    Unknown,
    /// All of them are there.
    Present,
    /// A pull is under way.
    Pulling {
        /// Since when.
        since: Timestamp,
    },
    /// The last pull failed.
    Failed,
    /// An image is known not to be there: it could not be pulled for a pod that is gone.
    Absent,
}
