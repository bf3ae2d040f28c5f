//! How fast pods are deleted: a token bucket without a clock.
//!
//! The engine hands out no more deletions than may leave at once, so that none of them waits for its turn while the proof
//! behind it grows old.

use std::time::Duration;

use crate::engine::model::config::RateLimit;
use crate::engine::model::time::Timestamp;

/// A thousandth of a deletion is the unit in which they are counted.
const WHOLE: u64 = 1_000;
/// What waits for its turn goes in groups of about a quarter of a second, so that deciding does not take all the time.
const GROUPS_A_SECOND: u32 = 4;

/// How many deletions may be sent now.
#[derive(Debug)]
pub(crate) struct Tokens {
    limit: RateLimit,
    /// As of `at`.
    left: u64,
    at: Option<Timestamp>,
}

impl Tokens {
    pub(crate) fn new(limit: RateLimit) -> Self {
        let limit = RateLimit { per_sec: limit.per_sec.max(1), burst: limit.burst.max(1) };
        Self { limit, left: u64::from(limit.burst) * WHOLE, at: None }
    }

    /// Deletions a second, in the long run.
    pub(crate) fn per_sec(&self) -> u32 {
        self.limit.per_sec
    }

    fn left_at(&self, now: Timestamp) -> u64 {
        let elapsed = self.at.map_or(0, |at| u64::try_from(now.since(at).as_millis()).unwrap_or(u64::MAX));
        let grown = self.left.saturating_add(elapsed.saturating_mul(u64::from(self.limit.per_sec)));
        grown.min(u64::from(self.limit.burst) * WHOLE)
    }

    /// How many may be sent at `now`.
    pub(crate) fn available(&self, now: Timestamp) -> usize {
        usize::try_from(self.left_at(now) / WHOLE).unwrap_or(usize::MAX)
    }

    /// So many were sent at `now`.
    pub(crate) fn take(&mut self, count: usize, now: Timestamp) {
        let in_progress = u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(WHOLE);
        self.left = self.left_at(now).saturating_sub(in_progress);
        self.at = Some(self.at.map_or(now, |at| at.max(now)));
    }

    /// When `count` more may have been sent, if nothing else is.
    pub(crate) fn ready_at(&self, count: usize, now: Timestamp) -> Timestamp {
        let needed = u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(WHOLE);
        let missing = needed.saturating_sub(self.left_at(now));
        now + Duration::from_millis(missing.div_ceil(u64::from(self.limit.per_sec)))
    }

    /// When to go on, where `waiting` wait for their turn.
    pub(crate) fn next_group_at(&self, waiting: usize, now: Timestamp) -> Timestamp {
        let group = (self.limit.per_sec / GROUPS_A_SECOND).clamp(1, self.limit.burst);
        self.ready_at(waiting.min(usize::try_from(group).unwrap_or(1)), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000 + millis)
    }

    #[test]
    fn a_burst_is_free_and_then_the_rate_holds() {
        let mut tokens = Tokens::new(RateLimit::default());
        assert_eq!(tokens.available(at(0)), 40);
        tokens.take(40, at(0));
        assert_eq!((tokens.available(at(0)), tokens.available(at(49)), tokens.available(at(50))), (0, 0, 1));
        assert_eq!(tokens.ready_at(110, at(0)), at(5_500), "150 at once take five and a half seconds");
        assert_eq!(tokens.next_group_at(110, at(0)), at(250));
        assert_eq!(tokens.next_group_at(1, at(0)), at(50));
        tokens.take(5, at(250));
        assert_eq!(tokens.available(at(250)), 0);
        assert_eq!(tokens.available(at(60_000)), 40, "no more than a burst is saved up");
    }

    #[test]
    fn a_clock_that_stands_still_gives_nothing_away() {
        let mut tokens = Tokens::new(RateLimit { per_sec: 0, burst: 0 });
        assert_eq!(tokens.available(at(5)), 1);
        tokens.take(1, at(5));
        tokens.take(0, at(0));
        assert_eq!((tokens.available(at(5)), tokens.available(at(1_005))), (0, 1));
    }
}
