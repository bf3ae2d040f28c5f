//! A token bucket without a clock: the caller hands in the time.
//!
//! Used for deletions of pods (`writes/sending.rs`), of which the engine hands out no more than may be sent at once, so that
//! none waits while the proof behind it grows old; for Events on the DaemonSet (`cluster/recorder.rs`); for the events of the
//! simulated DaemonSet controller (`sim/world/controllers/daemonset.rs`); and for requests of hollow nodes
//! (`tests/integration/support/hollow/outbox.rs`).

use std::time::Duration;

use crate::engine::model::config::RateLimit;
use crate::engine::model::time::Timestamp;

/// Where many wait, tokens are handed out in groups, so that not every token causes a decision. A group is the tokens added within this time.
const GROUP_MILLIS: u64 = 250;

/// How many of something may happen now.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    /// Tokens that are added in each period.
    refill: u32,
    period_millis: u64,
    /// The most tokens that it holds.
    burst: u32,
    /// The content as of `at`, in parts: `period_millis` parts are one token.
    left: u64,
    at: Option<Timestamp>,
}

impl TokenBucket {
    /// A full bucket that holds at most `burst` tokens and gains `refill` in each `period`. A value of 0 is taken as 1 (for the period: 1 ms).
    pub fn new(burst: u32, refill: u32, period: Duration) -> Self {
        let (burst, refill) = (burst.max(1), refill.max(1));
        let period_millis = u64::try_from(period.as_millis()).unwrap_or(u64::MAX).max(1);
        Self { refill, period_millis, burst, left: u64::from(burst).saturating_mul(period_millis), at: None }
    }

    /// How fast pods may be deleted.
    pub(crate) fn of_deletions(limit: RateLimit) -> Self {
        Self::new(limit.burst, limit.per_sec, Duration::from_secs(1))
    }

    /// Tokens that are added in each period.
    pub(crate) fn refill(&self) -> u32 {
        self.refill
    }

    fn parts(&self, tokens: usize) -> u64 {
        u64::try_from(tokens).unwrap_or(u64::MAX).saturating_mul(self.period_millis)
    }

    fn left_at(&self, now: Timestamp) -> u64 {
        let elapsed = self.at.map_or(0, |at| u64::try_from(now.since(at).as_millis()).unwrap_or(u64::MAX));
        let grown = self.left.saturating_add(elapsed.saturating_mul(u64::from(self.refill)));
        grown.min(u64::from(self.burst).saturating_mul(self.period_millis))
    }

    /// How many tokens it holds at `now`.
    pub fn available(&self, now: Timestamp) -> usize {
        usize::try_from(self.left_at(now) / self.period_millis).unwrap_or(usize::MAX)
    }

    /// Takes `count` tokens at `now`.
    pub fn take(&mut self, count: usize, now: Timestamp) {
        self.left = self.left_at(now).saturating_sub(self.parts(count));
        self.at = Some(self.at.map_or(now, |at| at.max(now)));
    }

    /// When it will hold `count` tokens, if none is taken before; `now` if it holds them already.
    pub fn ready_at(&self, count: usize, now: Timestamp) -> Timestamp {
        let missing = self.parts(count).saturating_sub(self.left_at(now));
        now + Duration::from_millis(missing.div_ceil(u64::from(self.refill)))
    }

    /// When to go on, if `waiting` callers need a token each.
    pub(crate) fn next_group_at(&self, waiting: usize, now: Timestamp) -> Timestamp {
        let group = u64::from(self.refill) * GROUP_MILLIS / self.period_millis;
        let group = group.clamp(1, u64::from(self.burst));
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
        let mut tokens = TokenBucket::of_deletions(RateLimit::default());
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
        let mut tokens = TokenBucket::of_deletions(RateLimit { per_sec: 0, burst: 0 });
        assert_eq!(tokens.available(at(5)), 1);
        tokens.take(1, at(5));
        tokens.take(0, at(0));
        assert_eq!((tokens.available(at(5)), tokens.available(at(1_005))), (0, 1));
    }

    #[test]
    fn a_token_may_take_longer_than_a_second() {
        let mut events = TokenBucket::new(2, 1, Duration::from_secs(10));
        events.take(2, at(0));
        assert_eq!((events.available(at(9_999)), events.available(at(10_000))), (0, 1));
        assert_eq!(events.ready_at(1, at(4_000)), at(10_000));
    }
}
