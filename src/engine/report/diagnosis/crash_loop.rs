//! What is said of a pod that crashes again and again.

use super::titles::{revision_of, title};
use super::{Finding, FindingKind, remedies};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::facts::Severity;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::engine::report::trouble::TroubleKind;

/// The finding of a node whose pod crashes again and again, while its container runs or has just ended: it is the same as in back-off, with the same
/// remedies.
pub(super) fn in_crash_loop(node: &NodeView, snapshot: &Snapshot) -> Option<Finding> {
    let kind = node.crash_loop?.cause;
    let is_up = node.cause.as_ref().is_none_or(|cause| cause.kind.is_ordinary_at_start());
    if !is_up || TroubleKind::of(node) != Some(TroubleKind::Struggling(kind)) {
        return None;
    }
    let images = revision_of(node, snapshot).map_or(&[][..], |revision| &revision.images);
    let container = match images {
        [(only, _)] if kind != CauseKind::Evicted => Some(only.clone()),
        _ => None,
    };
    let cause = Cause { kind, container, message: None };
    let end = node.restarted.as_ref().and_then(|restarted| restarted.end);
    let end = end.map(|end| format!(", last: {end}")).unwrap_or_default();
    let times = node.restart_kind().counted(node.counted_restarts());
    // Until then nothing halts.
    let fails = |at: u32| format!("; with {} it counts as failed", node.restart_kind().counted(at));
    let fails = snapshot.restarts_to_fail(node).map(fails).unwrap_or_default();
    let mut found = Finding::new(FindingKind::Cause(kind), title(&cause, node, snapshot), Severity::Warning).on(node);
    found = found.says(Some(format!("{times}{end}; its container is up for the moment{fails}").into()));
    found.remedies = remedies::of(&cause, node, snapshot);
    // No log is left of a pod that was evicted.
    found.commands = match &cause.container {
        None if kind != CauseKind::Evicted => remedies::restarts(node, snapshot),
        Some(_) | None => remedies::commands(&cause, node, snapshot),
    };
    Some(found)
}
