//! The record on the Lease: whether there is one, whose it is, and since when one that was seen is gone.

use super::lock::{KnownLease, Lock};
use crate::engine::model::record::Record;
use crate::engine::model::time::Timestamp;

impl Lock {
    /// The lease's record, as far as it can be read and is not of another DaemonSet.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.any_record().filter(|record| !self.is_foreign(record))
    }

    /// The lease's record, where it is of another DaemonSet of the same name.
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

    /// Notes, after the Lease was seen, whether a record that was there has gone.
    pub(super) fn follow_record(&mut self, had_record: bool, now: Timestamp) {
        match (had_record, self.any_record().is_some()) {
            (_, true) => self.record_gone_at = None,
            (true, false) => self.record_gone_at = Some(now),
            (false, false) => {}
        }
    }

    /// Since when a record that was seen here is not there any more.
    pub(crate) fn record_gone_at(&self) -> Option<Timestamp> {
        self.record_gone_at
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
