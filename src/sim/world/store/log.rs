//! The log of changes of one kind: a ring that feeds watches.

use std::collections::{VecDeque, vec_deque};
use std::sync::Arc;

use crate::engine::model::time::Timestamp;

use super::super::error::ApiError;
use super::super::object::Object;

/// The kind of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// The object was created.
    Added,
    /// The object was changed.
    Modified,
    /// The object is gone.
    Deleted,
}

/// One change.
#[derive(Clone, Debug)]
pub struct StoreChange {
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The object after the change; if it is gone, its last state. Its resource version is the change's.
    pub object: Arc<Object>,
    /// The object before the change; `None` when it was created. It tells whether an object leaves or enters a selector.
    pub before: Option<Arc<Object>>,
    /// The time of the change.
    pub at: Timestamp,
}

impl StoreChange {
    /// The change's version.
    pub fn version(&self) -> u64 {
        self.object.meta.resource_version
    }

    /// A digest of the changes so far and this one. It is computed for every change, so it is a plain multiply and rotate, not a cryptographic hash.
    fn mixed_into(&self, digest: u64) -> u64 {
        let mix = |digest: u64, part: u64| (digest.rotate_left(5) ^ part).wrapping_mul(0x517c_c1b7_2722_0a95);
        let facts = [self.kind as u64, self.at.millis().unsigned_abs(), self.version()];
        let name = self.object.meta.name.bytes().map(u64::from);
        name.chain(facts).fold(digest, mix)
    }
}

/// Changes, oldest first.
pub type Changes<'a> = vec_deque::Iter<'a, StoreChange>;

#[derive(Debug)]
pub(super) struct ChangeLog {
    changes: VecDeque<StoreChange>,
    limit: usize,
    /// The version of the newest change that was dropped.
    dropped: u64,
    digest: u64,
}

impl ChangeLog {
    pub(super) fn new(limit: usize) -> Self {
        Self { changes: VecDeque::new(), limit, dropped: 0, digest: 0 }
    }

    pub(super) fn push(&mut self, change: StoreChange) {
        self.digest = change.mixed_into(self.digest);
        self.changes.push_back(change);
        self.trim();
    }

    pub(super) fn keep(&mut self, limit: usize) {
        self.limit = limit;
        self.trim();
    }

    pub(super) fn since(&self, version: u64) -> Result<Changes<'_>, ApiError> {
        if version < self.dropped {
            return Err(ApiError::expired(version, self.dropped + 1));
        }
        // The search begins at the end: a watch has seen all but the last few changes.
        let unseen = self.changes.iter().rev().take_while(|change| change.version() > version).count();
        Ok(self.changes.range(self.changes.len() - unseen..))
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    fn trim(&mut self) {
        while self.changes.len() > self.limit {
            if let Some(oldest) = self.changes.pop_front() {
                self.dropped = oldest.version();
            }
        }
    }
}
