//! The words for what happened to a node: `pulled in 14s`, `well again: its pod is ready`.

use std::fmt;

use super::{NodeChange, NodeMoment};
use crate::engine::model::node::NodeState;
use crate::engine::model::time::ShortDuration;
use crate::engine::report::node_story::clock_time;
use crate::engine::report::snapshot::pull_words::Span;

impl fmt::Display for NodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to, after, down, why, recovers, again, in_update) = match self {
            Self::State { from, to, after, down, why, recovers, again, in_update } => {
                (*from, *to, *after, *down, why.as_deref(), *recovers, *again, *in_update)
            }
            Self::ReadySince => return f.write_str("its pod is ready"),
            Self::Trouble { why } => return f.write_str(why),
            Self::Readiness { ready: false } => return f.write_str("is not ready any more"),
            Self::Readiness { ready: true } => return f.write_str("well again: its pod is ready"),
            Self::Restarted { times, end } => {
                write!(f, "restarted (restart {times})")?;
                return end.map_or(Ok(()), |end| write!(f, ", {end}"));
            }
            Self::Evicted { times } => return write!(f, "its kubelet evicted its pod (eviction {times})"),
            Self::Gone => return f.write_str("gone from the list: it should not run the pod any more"),
        };
        let after = after.map(ShortDuration);
        // Both pods are dated in whole seconds: what took less is not told.
        let gone_after =
            || after.filter(|after| after.0.as_secs() > 0).map(|after| format!(" after {after}")).unwrap_or_default();
        if from == Some(NodeState::NodeDown) && to != NodeState::NodeDown {
            f.write_str("node is Ready again, ")?;
        } else if recovers {
            f.write_str("well again, ")?;
        }
        match (to, from, after) {
            (NodeState::Terminating, ..) => f.write_str("its pod is going"),
            (NodeState::Creating, Some(NodeState::Terminating), _) => {
                write!(f, "its old pod is gone{}, a new one is made", gone_after())
            }
            // The next pod was at work already when it was first seen.
            (to, Some(NodeState::Terminating), _) if to.is_moving() || to == NodeState::Updated => {
                let then = match to {
                    NodeState::Pulling => "the new one pulls the image",
                    NodeState::PullFailed => "the pull of the new one failed",
                    NodeState::Starting => "the new one starts",
                    NodeState::Updated => "updated",
                    _ => "the new one is ready, soaks",
                };
                write!(f, "its old pod is gone{}, {then}", gone_after())
            }
            // The Events of the pod tell of the pull before the status of its containers does.
            (NodeState::Creating | NodeState::Starting, Some(NodeState::Pulling), Some(after)) => {
                write!(f, "pulled in {}", Span(after.0))
            }
            (NodeState::Creating | NodeState::Starting, Some(NodeState::PullFailed), _) => {
                f.write_str("pulled after all")
            }
            (NodeState::Creating, ..) => f.write_str("its pod is made"),
            (NodeState::PullFailed, ..) => f.write_str("pull failed"),
            (NodeState::Pulling, ..) => f.write_str("pulls the image"),
            (NodeState::Starting, Some(NodeState::Updated | NodeState::Soaking), _) => {
                f.write_str("is not ready any more")
            }
            (NodeState::Starting, Some(NodeState::NodeDown), _) => f.write_str("its pod is not ready yet"),
            (NodeState::Starting, ..) => f.write_str("starts"),
            (NodeState::Soaking, Some(NodeState::Pulling), Some(after)) => {
                write!(f, "pulled and ready after {}, soaks", Span(after.0))
            }
            (NodeState::Updated, Some(NodeState::Pulling), Some(after)) => {
                write!(f, "updated, pulled and ready after {}", Span(after.0))
            }
            (NodeState::Soaking, Some(NodeState::Starting), Some(after)) if again => {
                write!(f, "ready again after {after}, soaks")
            }
            (NodeState::Soaking, Some(NodeState::Starting), Some(after)) => write!(f, "ready after {after}, soaks"),
            (NodeState::Soaking, ..) if again => f.write_str("ready again, soaks"),
            (NodeState::Soaking, ..) => f.write_str("ready, soaks"),
            (NodeState::Updated, Some(NodeState::NodeDown), _) => f.write_str("its pod is ready"),
            (NodeState::Updated, ..) => f.write_str("updated"),
            (NodeState::Failed, ..) => f.write_str("failed"),
            (NodeState::NodeDown, ..) if in_update => f.write_str("node is not Ready in its update"),
            (NodeState::NodeDown, ..) => f.write_str("node is not Ready"),
            (NodeState::Outdated, ..) => f.write_str("outdated: its pod is not at the target"),
            (NodeState::Unknown, ..) => f.write_str("pods may not be read any more"),
            (NodeState::Ineligible, ..) => f.write_str("should not run the pod any more"),
        }?;
        why.map_or(Ok(()), |why| write!(f, ": {why}"))?;
        down.map_or(Ok(()), |down| write!(f, ", {} after it went down", ShortDuration(down)))
    }
}

impl fmt::Display for NodeMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", clock_time(self.at), self.node, self.change)
    }
}
