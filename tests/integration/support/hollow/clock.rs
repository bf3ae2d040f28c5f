//! The kubelets' clock, which may run faster than the real one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use rolldeck::engine::model::time::Timestamp;

/// The kubelets' clock. It shows the real time at the beginning; from then on it runs `speed` times as fast.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastClock {
    began_at: Timestamp,
    began: Instant,
    speed: f64,
}

impl FastClock {
    /// Begins now, with this machine's time.
    pub(super) fn new(speed: f64) -> Self {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let began_at = Timestamp::default() + epoch;
        Self { began_at, began: Instant::now(), speed: if speed.is_finite() { speed.max(0.001) } else { 1.0 } }
    }

    /// The present time of the kubelets' clock.
    pub(super) fn now(&self) -> Timestamp {
        self.began_at + self.began.elapsed().mul_f64(self.speed)
    }

    /// The instant at which the kubelets' clock will show `at`.
    pub(super) fn instant(&self, at: Timestamp) -> Instant {
        // The instant is rounded up by one millisecond of the kubelets' clock, so that the clock shows `at` when the task wakes.
        self.began + (at.since(self.began_at) + Duration::from_millis(1)).div_f64(self.speed)
    }

    /// An instant of the kubelets' clock, as it is written to the API server.
    pub(super) fn written(self, at: Timestamp) -> Timestamp {
        self.scaled(at, 1.0 / self.speed)
    }

    /// An instant that the API server wrote, by the kubelets' clock.
    pub(super) fn seen(self, at: Timestamp) -> Timestamp {
        self.scaled(at, self.speed)
    }

    /// A span in seconds that the API server wrote, by the kubelets' clock.
    pub(super) fn secs_seen(self, secs: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
        let scaled = (f64::from(secs) * self.speed).ceil() as u32;
        scaled
    }

    /// A clock's deviation by the API server's clock, by the kubelets' clock.
    pub(super) fn millis_seen(self, millis: i64) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
        let scaled = (millis as f64 * self.speed).round() as i64;
        scaled
    }

    fn scaled(self, at: Timestamp, factor: f64) -> Timestamp {
        let span = (at.millis() - self.began_at.millis()) as f64 * factor;
        #[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
        let span = span.round() as i64;
        Timestamp::from_millis(self.began_at.millis().saturating_add(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_seconds_of_theirs_are_one_of_ours() {
        let clock = FastClock::new(10.0);
        let later = clock.began_at + Duration::from_secs(10);
        assert_eq!(clock.written(later), clock.began_at + Duration::from_secs(1));
        assert_eq!(clock.seen(clock.written(later)), later);
        assert_eq!(clock.seen(clock.began_at - Duration::from_secs(1)), clock.began_at - Duration::from_secs(10));
        assert_eq!(clock.instant(later).duration_since(clock.began).as_millis(), 1000);
        assert_eq!(clock.secs_seen(3), 30);
        assert_eq!(clock.secs_seen(u32::MAX), u32::MAX);
    }
}
