//! Tells a record that was lost from one that a release has dropped.

use std::time::Duration;

use crate::engine::model::record::Record;
use crate::engine::model::time::Timestamp;

/// An adoption writes the record before it sets `OnDelete`, a brake about the same time, and a release restores the strategy before it drops the record. Two watches show these
/// changes, and the one that shows the first of them may be later than the other by this much.
const BOTH_SEEN_WITHIN: Duration = Duration::from_secs(5);

/// Whether the rollout of this record is to end, so that the record may be dropped.
pub fn ends(record: &Record) -> bool {
    record.intent.releasing.is_some() || record.progress.completed.is_some()
}

/// From when on the record of an adopted DaemonSet counts as missing, if at this time one watch showed the second change of an adoption or a release:
/// that the DaemonSet was adopted, or that the record of a rollout that was to end was dropped.
pub fn missed_at(second_change: Timestamp) -> Timestamp {
    second_change + BOTH_SEEN_WITHIN
}
