//! The wait before the next attempt after a failure.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Exponential back-off with jitter: half a second doubling to half a minute. Each wait lies between half of that value and
/// all of it, so that consoles that lost the same server do not come back at the same instant.
#[derive(Debug)]
pub(super) struct Backoff {
    failures: u32,
    random: fastrand::Rng,
}

const FIRST: Duration = Duration::from_millis(500);
/// The longest wait for a server that does not answer or refuses requests.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

impl Backoff {
    pub(super) fn new() -> Self {
        Self::seeded(random_seed())
    }

    fn seeded(seed: u64) -> Self {
        Self { failures: 0, random: fastrand::Rng::with_seed(seed) }
    }

    /// The wait after one more failure, at most `longest`. `asked` is the wait that the server asked for; jitter is added to it.
    pub(super) fn next(&mut self, asked: Option<Duration>, longest: Duration) -> Duration {
        let full = FIRST.saturating_mul(1 << self.failures.min(10)).min(longest);
        self.failures = self.failures.saturating_add(1);
        let share = f64::from(self.random.u32(500..=1000)) / 1000.0;
        match asked {
            Some(asked) => asked + full.mul_f64(share - 0.5),
            None => full.mul_f64(share),
        }
    }

    /// `around`, up to a tenth more or less.
    pub(super) fn about(&mut self, around: Duration) -> Duration {
        around.mul_f64(f64::from(self.random.u32(900..=1100)) / 1000.0)
    }

    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

/// A seed from the system's randomness.
pub(super) fn random_seed() -> u64 {
    RandomState::new().hash_one(0_u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_longer_each_time_up_to_half_a_minute() {
        let mut backoff = Backoff::seeded(7);
        let mut full = FIRST;
        for _ in 0..20 {
            let wait = backoff.next(None, LONGEST);
            assert!(wait >= full / 2 && wait <= full, "{wait:?} of {full:?}");
            full = (full * 2).min(LONGEST);
        }
        backoff.reset();
        assert!(backoff.next(None, LONGEST) <= FIRST);
    }

    #[test]
    fn waits_at_least_what_the_server_asked() {
        let asked = Duration::from_secs(7);
        let mut backoff = Backoff::seeded(7);
        for _ in 0..20 {
            assert!(backoff.next(Some(asked), LONGEST) >= asked);
        }
    }
}
