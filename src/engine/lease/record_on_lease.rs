//! The record on the Lease: whether there is one, whose it is, and since when a record that was seen is gone.

use super::lock::{KnownLease, Lock};
use crate::engine::model::record::{Intent, Record};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::missing_record::ends;

impl Lock {
    /// The record on the Lease, if it can be read and is not of another DaemonSet.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.any_record().filter(|record| !self.is_foreign(record))
    }

    /// The record on the Lease, if it is of another DaemonSet of the same name.
    pub(crate) fn foreign_record(&self) -> Option<&Record> {
        self.any_record().filter(|record| self.is_foreign(record))
    }

    pub(super) fn any_record(&self) -> Option<&Record> {
        match &self.known {
            KnownLease::Present(fact) => fact.record.as_ref().ok()?.as_ref(),
            KnownLease::Nothing | KnownLease::Absent => None,
        }
    }

    pub(super) fn is_foreign(&self, record: &Record) -> bool {
        self.daemonset.as_ref().zip(record.daemonset_uid.as_ref()).is_some_and(|(seen, named)| seen != named)
    }

    /// Whether the record belongs to a rollout that ends, so that a release drops it next.
    pub(super) fn has_record_that_ends(&self) -> bool {
        self.record().is_some_and(ends)
    }

    /// Notes, after the Lease was seen, the intent of its record, and whether the record of a rollout that was to end (`ended`) is gone.
    pub(super) fn follow_record(&mut self, ended: bool, now: Timestamp) {
        self.last_intent = match self.record() {
            Some(record) => (!ends(record)).then(|| Box::new(record.intent.clone())),
            None if ended => None,
            None => self.last_intent.take(),
        };
        match (ended, self.any_record().is_some()) {
            (_, true) => self.record_dropped_at = None,
            (true, false) => self.record_dropped_at = Some(now),
            (false, false) => {}
        }
    }

    /// The intent of a record that was seen and is gone or cannot be read any more, although its rollout was not to end; `None` if there is a record
    /// that can be read, or if none was seen.
    pub(crate) fn lost_intent(&self) -> Option<&Intent> {
        self.last_intent.as_deref().filter(|_| self.shows_no_record() || self.has_unreadable_record())
    }

    /// Since when the record of a rollout that was to end is not there any more.
    pub(crate) fn record_dropped_at(&self) -> Option<Timestamp> {
        self.record_dropped_at
    }

    /// Whether it is known that there is no record, not even one that cannot be read or is of another DaemonSet.
    pub(crate) fn shows_no_record(&self) -> bool {
        match &self.known {
            KnownLease::Nothing => false,
            KnownLease::Absent => true,
            KnownLease::Present(fact) => matches!(fact.record, Ok(None)),
        }
    }
}
