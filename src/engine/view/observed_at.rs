//! When something was seen, and whether we saw it happen.

use std::time::Duration;

use crate::engine::model::time::Timestamp;

/// An instant by our clock, with how it came about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ObservedAt {
    /// We watched it happen then.
    Happen(Timestamp),
    /// It was already so then, when the API server's clock minus ours was this, if that was known.
    Already(Timestamp, Option<i64>),
}

impl ObservedAt {
    /// When we saw it, by our clock.
    pub(crate) fn seen_at(self) -> Timestamp {
        match self {
            Self::Happen(at) | Self::Already(at, _) => at,
        }
    }

    /// How long ago it was. If we saw it happen: by our own clock. Otherwise: how long ago it was by the cluster's dates when we
    /// first saw it, plus the time since then by our own clock. So nothing becomes older because somebody sets a clock.
    pub(crate) fn elapsed(self, said_at: Option<Timestamp>, now: Timestamp, server_now: Timestamp) -> Duration {
        match self {
            Self::Happen(at) => now.since(at),
            Self::Already(at, skew) => {
                let seen_for = now.since(at);
                let Some(said) = said_at else { return seen_for };
                match skew {
                    Some(skew) => {
                        let server_then = Timestamp::from_millis(at.millis().saturating_add(skew));
                        server_then.since(said) + seen_for
                    }
                    None => server_now.since(said).max(seen_for),
                }
            }
        }
    }
}
