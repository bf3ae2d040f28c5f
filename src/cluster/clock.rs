//! The clock that gives the engine its time.

use std::time::Duration;

use crate::engine::model::time::Timestamp;

/// Wall time that never jumps: the wall clock is read once, and a clock that cannot be set advances the value.
///
/// The clock also counts while the machine sleeps, so that a laptop that wakes up knows that its Lease has expired.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    anchor: Timestamp,
    started_at: Duration,
}

impl Clock {
    /// A clock that shows wall time now.
    pub fn start() -> Self {
        let wall = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let wall = Duration::try_from(wall).unwrap_or_default();
        Self { anchor: Timestamp::from_millis(0) + wall, started_at: uptime() }
    }

    /// The present instant.
    pub fn now(&self) -> Timestamp {
        self.anchor + uptime().saturating_sub(self.started_at)
    }
}

/// Time since boot, sleep included.
fn uptime() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const SLEEPLESS: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const SLEEPLESS: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    Duration::try_from(rustix::time::clock_gettime(SLEEPLESS)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_wall_time_and_goes_forward() {
        let clock = Clock::start();
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let wall = Timestamp::from_millis(0) + wall;
        assert!(wall.since(clock.now()) < Duration::from_secs(1), "{wall:?} {:?}", clock.now());
        let earlier = clock.now();
        assert!(clock.now() >= earlier);
    }
}
