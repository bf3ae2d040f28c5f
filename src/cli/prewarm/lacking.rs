//! Which nodes lack the images that were to be pre-warmed, and why.

use std::collections::BTreeMap;

use crate::cli::status::some_of;
use crate::engine::model::prewarm::{PrewarmState, PrewarmWait};
use crate::engine::report::snapshot::{NodeView, Snapshot};

/// `2 of 3 nodes lack the images: 1 image not found (ipc-002), 1 down (ipc-003)`; `None` where each node has them.
pub(super) fn lacking_in_words(snapshot: &Snapshot) -> Option<String> {
    let prewarm = snapshot.prewarm.as_ref().filter(|prewarm| prewarm.error.is_none())?;
    let counts = prewarm.counts;
    let lacking = counts.nodes.saturating_sub(counts.present);
    if lacking == 0 {
        return None;
    }
    let mut groups: BTreeMap<(u8, String), Vec<&NodeView>> = BTreeMap::new();
    for node in snapshot.nodes.iter() {
        if let Some(why) = node.prewarm.as_deref().and_then(why_it_lacks) {
            groups.entry(why).or_default().push(node);
        }
    }
    let words =
        |((_, why), nodes): ((u8, String), Vec<&NodeView>)| format!("{} {why} ({})", nodes.len(), some_of(&nodes));
    let mut reasons: Vec<String> = groups.into_iter().map(words).collect();
    if prewarm.failed_elsewhere > 0 {
        reasons.push(format!("{} of them failed, which is recorded without their names", prewarm.failed_elsewhere));
    }
    let lack = if lacking == 1 { "lacks" } else { "lack" };
    Some(format!("{lacking} of {} nodes {lack} the images: {}", counts.nodes, reasons.join(", ")))
}

/// Why a node has no images yet, and the place of this reason among the others: what does not come by itself is first.
fn why_it_lacks(state: &PrewarmState) -> Option<(u8, String)> {
    Some(match state {
        PrewarmState::Present => return None,
        PrewarmState::Failed { cause, .. } if state.is_retried() => (1, format!("{cause}, tried again")),
        PrewarmState::Failed { cause, .. } => (0, cause.to_string()),
        PrewarmState::Waiting(PrewarmWait::Unobtainable(why)) => (0, format!("not tried, as elsewhere: {}", why.cause)),
        PrewarmState::Waiting(PrewarmWait::NodeDown) => (2, "down".to_owned()),
        PrewarmState::Waiting(PrewarmWait::Refused(why)) => (2, format!("refused its pod: {why}")),
        PrewarmState::Waiting(PrewarmWait::Pressure(what)) => (2, format!("under pressure: {what}")),
        PrewarmState::Waiting(PrewarmWait::RateLimited { .. }) => {
            (3, "waiting for the registry's rate limit".to_owned())
        }
        PrewarmState::Waiting(PrewarmWait::NobodyDrives) => (3, "not begun, as nobody pre-warms".to_owned()),
        PrewarmState::Waiting(PrewarmWait::Paused) => (3, "not begun, as pre-warming is paused".to_owned()),
        PrewarmState::Waiting(PrewarmWait::Ending(_)) => (3, "not begun, as its last pod has not ended".to_owned()),
        PrewarmState::Silent { .. } => (4, "queued, without a sign of a pull".to_owned()),
        PrewarmState::Queued | PrewarmState::Pulling { .. } => (5, state.word().to_owned()),
        PrewarmState::Waiting(
            PrewarmWait::Next
            | PrewarmWait::InLine
            | PrewarmWait::Limit { .. }
            | PrewarmWait::SiteLimit { .. }
            | PrewarmWait::Cancelled
            | PrewarmWait::Complete
            | PrewarmWait::Updating
            | PrewarmWait::TriedAgain
            | PrewarmWait::ViewStale(_),
        ) => (6, "not begun".to_owned()),
    })
}
