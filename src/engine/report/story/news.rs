//! Which moments of a node are bad news, and which concern a reader who follows only trouble.

use super::{NodeChange, is_trouble, loses_readiness};
use crate::engine::model::facts::Severity;
use crate::engine::model::node::NodeState;

impl NodeChange {
    /// Whether it is bad news.
    pub fn severity(&self) -> Severity {
        let bad = match self {
            Self::State { to: NodeState::NodeDown, in_update: true, .. } => false,
            Self::State { from, to, why, .. } => why.is_some() || is_trouble(*to) || loses_readiness(*from, *to),
            Self::Trouble { .. } | Self::Restarted { .. } | Self::Evicted { .. } => true,
            Self::Readiness { ready } => !ready,
            Self::ReadySince | Self::Gone => false,
        };
        if bad { Severity::Warning } else { Severity::Normal }
    }

    /// Whether it concerns a reader who follows only trouble: bad news, and the end of it.
    pub fn is_of_note(&self) -> bool {
        let recovers = match self {
            // The return of the node is news, whatever became of its pod.
            Self::State { from: Some(NodeState::NodeDown), in_update: false, .. } => true,
            Self::State { recovers, .. } => *recovers,
            Self::Readiness { ready } => *ready,
            Self::ReadySince | Self::Trouble { .. } | Self::Restarted { .. } | Self::Evicted { .. } | Self::Gone => {
                false
            }
        };
        recovers || self.severity() == Severity::Warning
    }
}
