//! The texts for the reasons of a node's state contain ages: this module chooses the instant of these ages.

use super::RenderContext;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::node::NodeState;
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::prewarm::{PrewarmState, PrewarmWait};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::pull_words::PullEstimate;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::model::ShownSnapshot;

/// The instant for which the text about the progress of pre-warming is computed.
pub(super) fn prewarm_instant(ctx: &RenderContext<'_>, shown: &ShownSnapshot, state: &PrewarmState) -> Timestamp {
    match state {
        PrewarmState::Pulling { since } | PrewarmState::Silent { since } => ctx.instant(shown, *since),
        PrewarmState::Failed { again_at: Some(_), .. }
        | PrewarmState::Waiting(PrewarmWait::RateLimited { again_at: Some(_), .. }) => ctx.present(shown),
        PrewarmState::Failed { again_at: None, .. }
        | PrewarmState::Waiting(_)
        | PrewarmState::Queued
        | PrewarmState::Present => shown.snapshot.at,
    }
}

/// How long the pull that pre-warms a node takes, beside what it usually takes; of finished ones only of images that are not the target's: the page of
/// the node tells of those.
pub(super) fn prewarm_pulls(ctx: &RenderContext<'_>, shown: &ShownSnapshot, node: &NodeView) -> Option<String> {
    let pulls = &shown.snapshot.prewarm.as_ref()?.pulls;
    match node.prewarm.as_deref() {
        Some(PrewarmState::Pulling { since }) => {
            let usual = shown.snapshot.usual_prewarm_pull(node)?;
            Some(PullEstimate { elapsed: ctx.present(shown).since(*since), usual }.to_string())
        }
        _ => pulls.words(node, shown.snapshot.at),
    }
}

/// The instant for which the text about the reason of a node's state is computed.
pub(super) fn instant(ctx: &RenderContext<'_>, shown: &ShownSnapshot, node: &NodeView) -> Timestamp {
    let are_seen = are_pods_seen(shown);
    match (node.state, node.since, node.pod_wait.as_deref().and_then(PodWait::instant)) {
        // While Pods are not observed, no time counts.
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
    // While Pods are not observed, no time counts.
    let at = if are_pods_seen(shown) { ctx.present(shown) } else { shown.snapshot.at };
    Snapshot { at, ..Snapshot::clone(&shown.snapshot) }
}

fn are_pods_seen(shown: &ShownSnapshot) -> bool {
    let pods = shown.snapshot.watches.iter().find(|watch| watch.watched == Watched::Pods);
    pods.is_none_or(|watch| watch.health == WatchHealth::Live)
}
