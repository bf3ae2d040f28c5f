//! The nodes that need a look. The console groups, pins and marks them, and `status --nodes` prints them first.

use super::snapshot::{NodeView, Snapshot};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::record::Direction;
use crate::engine::model::time::Timestamp;

impl Snapshot {
    /// Whether an `undo` that names no revision leads anywhere.
    pub fn undo_is_free(&self) -> bool {
        self.direction == Direction::Forward && self.roll_back.is_ok()
    }

    /// Whether the new revision fails somewhere: a node counts as failed, or its new pod has a cause that speaks against the revision.
    pub(super) fn revision_fails(&self) -> bool {
        let fails = |node: &NodeView| {
            let speaks = node.cause.as_ref().is_some_and(|cause| cause.kind.speaks_against_revision());
            node.counts_as_failed() || (node.at_target && speaks && !starts_in_time(node))
        };
        self.counts.failed > 0 || self.nodes.iter().any(fails)
    }
}

/// The kinds of trouble that nodes are grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum TroubleKind {
    /// Failed at the target revision.
    Failed(Option<CauseKind>),
    /// Went down after the update.
    Suspect,
    /// Its node is down, and its pod was deleted: by its controller outside of every budget, or by the update that was under way.
    DownReplaced,
    /// Its node went down when it was about to be updated: it is charged to the budget, and its old pod is untouched.
    DownNext,
    /// Its containers restarted after it had been ready; it is soaking because of that.
    Restarted,
    /// Not failed yet, but its pod has a cause for not being available.
    Struggling(CauseKind),
}

impl TroubleKind {
    /// The trouble of this node; `None` if it has none.
    pub fn of(node: &NodeView) -> Option<Self> {
        let cause = node.cause.as_ref().map(|cause| cause.kind);
        match (node.state, node.blame, cause) {
            (NodeState::Failed, _, cause) => Some(Self::Failed(cause)),
            (_, Some(Blame::Suspect), _) => Some(Self::Suspect),
            _ if node.counts_as_failed() => Some(Self::Suspect),
            (NodeState::Soaking, _, None) if node.restarted.is_some() => Some(Self::Restarted),
            // Between two crashes its container runs, and nothing else tells of the restarts.
            (NodeState::Starting, Some(Blame::Rollout), cause)
                if node.keeps_restarting() && cause.is_none_or(CauseKind::is_ordinary_at_start) =>
            {
                Some(Self::Restarted)
            }
            (NodeState::NodeDown, Some(Blame::Rollout), _) if node.committed => Some(Self::DownReplaced),
            (NodeState::NodeDown, Some(Blame::Rollout), _) => Some(Self::DownNext),
            // Another image was given after a failing one: a pod that the rollout took down stays in sight until it serves again.
            (NodeState::Outdated, Some(Blame::Rollout), Some(cause)) => Some(Self::Struggling(cause)),
            (NodeState::NodeDown | NodeState::Outdated | NodeState::Ineligible, _, _) => None,
            _ if starts_in_time(node) => None,
            (_, Some(Blame::Rollout), Some(cause)) => Some(Self::Struggling(cause)),
            _ => None,
        }
    }

    /// Since when `node` is in this trouble. If its pod was in trouble for another cause before: since the present cause was seen.
    pub fn since(self, node: &NodeView) -> Option<Timestamp> {
        match self {
            Self::Failed(Some(_)) | Self::Struggling(_) => node.cause_since.or(node.since),
            Self::Failed(None) | Self::Suspect | Self::DownReplaced | Self::DownNext | Self::Restarted => node.since,
        }
    }

    /// The rank of this trouble; the worst comes first.
    pub fn rank(self) -> u8 {
        match self {
            Self::Failed(_) => 0,
            Self::Suspect => 1,
            Self::DownReplaced | Self::DownNext => 2,
            Self::Restarted => 3,
            Self::Struggling(_) => 4,
        }
    }
}

/// Whether its pod has just started and is not ready for an ordinary reason, which is no trouble. A pod that was ready already, or that keeps
/// restarting, does not start in time.
pub fn starts_in_time(node: &NodeView) -> bool {
    let is_ordinary = node.cause.as_ref().is_some_and(|cause| cause.kind.is_ordinary_at_start());
    matches!(node.state, NodeState::Starting | NodeState::Soaking)
        && is_ordinary
        && !node.lost_readiness
        && !node.keeps_restarting()
}

/// Whether a node is in trouble, or its containers restarted after it had been ready.
pub fn is_in_trouble(node: &NodeView) -> bool {
    TroubleKind::of(node).is_some() || node.restarted.is_some()
}
