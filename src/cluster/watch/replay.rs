//! The beginning of a watch that continues from a version: the API server first sends what has changed since then, one object after the other, the oldest
//! change first. Until that is over, what was told shows an earlier state.
//!
//! ```text
//!   down ─▶ newest version? 900 ─▶ watch from 500 ─▶ 501 … 899 ─▶ 900: live
//!                                                  └▶ nothing for a second: live
//! ```
//!
//! Over a thin link, thousands of nodes that report meanwhile take longer than any fixed time.

use std::time::Duration;

use super::{Subject, Watch, WatchEnd};

/// After such a pause in what the server sends nothing is outstanding: over a link that is slower than an object in this time, no fleet can be watched.
const PAUSE: Duration = Duration::from_secs(1);

/// The state of a replay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Replay {
    /// Objects come one by one. It is over with one of this version, or after a pause; `None`: the server's versions are no numbers.
    Runs(Option<u64>),
    /// Nothing is outstanding.
    Over,
}

impl Replay {
    /// That of a watch that was not down: what it missed meanwhile is what any watch is behind by.
    pub(super) const SHORT: Self = Self::Runs(Some(0));

    /// Waits until nothing was sent for long enough; for ever where it is over.
    pub(super) async fn pauses(self) {
        match self {
            Self::Runs(_) => tokio::time::sleep(PAUSE).await,
            Self::Over => std::future::pending().await,
        }
    }

    /// Whether an object or bookmark of this version ends it.
    pub(super) fn ends_with(self, version: &str) -> bool {
        match self {
            Self::Runs(Some(until)) => version.parse::<u64>().is_ok_and(|version| version >= until),
            Self::Runs(None) | Self::Over => false,
        }
    }
}

impl<S: Subject> Watch<S> {
    /// Reports that everything is told that was missed.
    pub(super) async fn end_replay(&mut self) -> Result<(), WatchEnd> {
        self.heard_at = Some(self.http.clock().now());
        self.tell_open().await?;
        self.tell_heard().await
    }
}
