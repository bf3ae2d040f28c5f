//! The words for why a node is where it is tell ages: as of when.

use super::RenderContext;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::node::NodeState;
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::prewarm::{PrewarmState, PrewarmWait};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::model::ShownSnapshot;

/// The instant that the words for how far pre-warming is are computed for.
pub(super) fn prewarm_instant(ctx: &RenderContext<'_>, shown: &ShownSnapshot, state: &PrewarmState) -> Timestamp {
    match state {
        PrewarmState::Pulling { since } => ctx.instant(shown, *since),
        PrewarmState::Failed { again_at: Some(_), .. }
        | PrewarmState::Waiting(PrewarmWait::RateLimited { again_at: Some(_), .. }) => ctx.present(shown),
        PrewarmState::Failed { again_at: None, .. }
        | PrewarmState::Waiting(_)
        | PrewarmState::Queued
        | PrewarmState::Present => shown.snapshot.at,
    }
}

/// What pulls took that bring a node other images than the target's, and how they compare.
pub(super) fn prewarm_pulls(ctx: &RenderContext<'_>, shown: &ShownSnapshot, node: &NodeView) -> Option<String> {
    let pulls = &shown.snapshot.prewarm.as_ref()?.pulls;
    match node.prewarm.as_deref() {
        Some(PrewarmState::Pulling { .. }) => {
            pulls.usual(&node.name, &node.site)?;
            pulls.words(node, ctx.present(shown))
        }
        _ => pulls.words(node, shown.snapshot.at),
    }
}

/// The instant that the words for why a node is where it is are computed for.
pub(super) fn instant(ctx: &RenderContext<'_>, shown: &ShownSnapshot, node: &NodeView) -> Timestamp {
    let are_seen = are_pods_seen(shown);
    match (node.state, node.since, node.pod_wait.as_ref().and_then(PodWait::instant)) {
        // While pods are not seen no time counts.
        (NodeState::Soaking, ..) if !are_seen => shown.snapshot.at,
        (NodeState::NodeDown, Some(since), _) => ctx.instant(shown, since),
        (NodeState::Pulling, ..) if node.usual_pull.is_some() => ctx.present(shown),
        (_, _, Some(until)) if until > shown.snapshot.at => ctx.present(shown),
        (_, _, Some(since)) => ctx.instant(shown, since),
        _ => shown.snapshot.at,
    }
}

/// The snapshot as of the present instant, for texts about many nodes that compute ages themselves.
pub(super) fn as_of_now(ctx: &RenderContext<'_>, shown: &ShownSnapshot) -> Snapshot {
    // While pods are not seen no time counts.
    let at = if are_pods_seen(shown) { ctx.present(shown) } else { shown.snapshot.at };
    Snapshot { at, ..Snapshot::clone(&shown.snapshot) }
}

fn are_pods_seen(shown: &ShownSnapshot) -> bool {
    let pods = shown.snapshot.watches.iter().find(|watch| watch.watched == Watched::Pods);
    pods.is_none_or(|watch| watch.health == WatchHealth::Live)
}
