//! Since when this process holds the Lease, and when it last renewed it.

use crate::engine::model::time::Timestamp;

/// The time for which this process holds the Lease, by the writes of it that succeeded, on our own clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tenure {
    /// When the write was sent by which this process came to hold it.
    pub(super) since: Timestamp,
    /// When the last successful renewal was sent. Not before `since`.
    pub(super) renewed_at: Timestamp,
}

impl Tenure {
    /// The tenure after a write that was sent at `sent_at` made us the holder or kept us. Answers may come out of order.
    pub(super) fn renewed(known: Option<Self>, sent_at: Timestamp) -> Self {
        let known = known.unwrap_or(Self { since: sent_at, renewed_at: sent_at });
        Self { since: known.since.min(sent_at), renewed_at: known.renewed_at.max(sent_at) }
    }
}
