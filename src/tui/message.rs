//! The last message gives way to what is newer and worse: a success does not stay under an alarm that came after it.

use std::mem::discriminant;

use super::model::{DaemonSetRef, Model, StatusTone};
use crate::engine::report::snapshot::Snapshot;

/// Takes the message away if it tells of a success and `snapshot` is the first to show that something went wrong since.
/// To be asked before the page takes the snapshot in.
pub(super) fn give_way(model: &mut Model, target: &DaemonSetRef, snapshot: &Snapshot) {
    let success = model.status.as_ref().is_some_and(|status| status.tone == StatusTone::Good);
    let page = model.rollout().filter(|page| page.target == *target);
    if success && page.is_some_and(|page| is_worse(page.snapshot().map(|known| &**known), snapshot)) {
        model.status = None;
    }
}

/// Whether it shows an alarm of a kind that was not there, more failed nodes, or something that keeps being not sent.
fn is_worse(before: Option<&Snapshot>, after: &Snapshot) -> bool {
    let known = |snapshot: &Snapshot| -> Vec<_> { snapshot.alarms.iter().map(discriminant).collect() };
    let known = before.map(known).unwrap_or_default();
    let failed = before.map_or(0, |before| before.counts.failed);
    after.alarms.iter().any(|alarm| !known.contains(&discriminant(alarm)))
        || after.counts.failed > failed
        || (after.not_sent().is_some() && before.is_none_or(|before| before.not_sent().is_none()))
}
