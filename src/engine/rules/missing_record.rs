//! Tells a record that was lost from one that a release has dropped.

use std::time::Duration;

use crate::engine::model::record::Record;
use crate::engine::model::time::Timestamp;

/// A release restores the strategy before it drops the record. Two watches show these changes, and the watch of the DaemonSet may be late by this
/// much.
const RELEASE_SEEN_WITHIN: Duration = Duration::from_secs(5);

/// Whether the rollout of this record is to end, so that the record may be dropped.
pub fn ends(record: &Record) -> bool {
    record.intent.releasing.is_some() || record.progress.completed.is_some()
}

/// From when on the record of an adopted DaemonSet counts as missing, if the record of a rollout that was to end was dropped at this time.
pub fn missed_at(dropped_at: Timestamp) -> Timestamp {
    dropped_at + RELEASE_SEEN_WITHIN
}
