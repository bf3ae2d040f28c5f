//! Changes of images that could not be pre-warmed on a node. Its serving pod does not show them.

use super::NodeChange;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::node::NodeState;
use crate::engine::model::prewarm::PrewarmState;
use crate::engine::report::snapshot::{NodeView, Snapshot};

/// Why the images could not be brought onto this node.
pub(super) fn failed(node: &NodeView) -> Option<CauseKind> {
    match node.prewarm.as_deref()? {
        PrewarmState::Failed { cause, .. } => Some(cause.kind),
        PrewarmState::Waiting(_)
        | PrewarmState::Queued
        | PrewarmState::Silent { .. }
        | PrewarmState::Pulling { .. }
        | PrewarmState::Present => None,
    }
}

/// The cause that is kept in mind, where `told` was reported last: a pull that is tried again and fails for the same cause is no news. One of
/// other images is, and one after the images had come.
pub(super) fn remembered(told: Option<CauseKind>, node: &NodeView) -> Option<CauseKind> {
    let is_over = matches!(node.prewarm.as_deref(), None | Some(PrewarmState::Present));
    failed(node).or(told.filter(|_| !is_over))
}

/// What is reported of a node whose images could not be brought. Of images that the target does not need, no update is mentioned.
pub(super) fn trouble(snapshot: &Snapshot, node: &NodeView) -> Option<NodeChange> {
    let PrewarmState::Failed { cause, .. } = node.prewarm.as_deref()? else { return None };
    let why = match snapshot.of_what_is_prewarmed() {
        none if none.is_empty() => format!("its image could not be pulled before its update: {cause}"),
        _ => format!("{} failed: {cause}", snapshot.prewarming_as_subject()),
    };
    Some(NodeChange::Trouble { why: why.into() })
}

/// Whether a pod has a pull behind it: the image is there, or its kubelet waits to try again.
pub(super) fn may_have_pulled(was: NodeState, is: NodeState) -> bool {
    was == NodeState::Pulling && matches!(is, NodeState::Creating | NodeState::Starting)
}
