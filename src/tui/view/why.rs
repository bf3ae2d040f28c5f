//! The words for why a node is where it is tell ages: as of when.

use super::RenderContext;
use crate::engine::model::node::NodeState;
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::NodeView;
use crate::tui::model::ShownSnapshot;

/// The instant that the words for why a node is where it is are computed for.
pub(super) fn instant(ctx: &RenderContext<'_>, shown: &ShownSnapshot, node: &NodeView) -> Timestamp {
    match (node.state, node.since, node.pod_wait.as_ref().and_then(PodWait::instant)) {
        (NodeState::NodeDown, Some(since), _) => ctx.instant(shown, since),
        (NodeState::Pulling, ..) if node.usual_pull.is_some() => ctx.present(shown),
        (_, _, Some(until)) if until > shown.snapshot.at => ctx.present(shown),
        (_, _, Some(since)) => ctx.instant(shown, since),
        _ => shown.snapshot.at,
    }
}
