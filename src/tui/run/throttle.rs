//! The time of the next frame: soon after a key, later for news, later still over a slow link.

use std::time::{Duration, Instant};

/// The time between frames after a key.
const KEY_GAP: Duration = Duration::from_millis(16);
/// The time between frames of news.
const NEWS_GAP: Duration = Duration::from_millis(100);
/// The time between frames of news over SSH, when nobody has typed for [`IDLE`].
const IDLE_GAP: Duration = Duration::from_millis(250);
const IDLE: Duration = Duration::from_secs(5);
/// The longest time between frames, however slow the link.
const LONGEST_GAP: Duration = Duration::from_secs(1);
/// A write that took this long was blocked by a full pipe.
const STALL: Duration = Duration::from_millis(50);

/// The time of the next frame.
#[derive(Debug)]
pub(super) struct FrameThrottle {
    pub(super) typed: bool,
    pub(super) news: bool,
    pub(super) wake: Option<Instant>,
    pub(super) last_frame: Instant,
    pub(super) last_key: Instant,
    /// Grows while the terminal is slow to take frames.
    stalled_gap: Duration,
    over_ssh: bool,
}

impl FrameThrottle {
    pub(super) fn new(over_ssh: bool) -> Self {
        let now = Instant::now();
        let past = now.checked_sub(LONGEST_GAP).unwrap_or(now);
        Self { typed: true, news: false, wake: None, last_frame: past, last_key: now, stalled_gap: NEWS_GAP, over_ssh }
    }

    pub(super) fn news_gap(&self, now: Instant) -> Duration {
        let idle = self.over_ssh && now.duration_since(self.last_key) > IDLE;
        self.stalled_gap.max(if idle { IDLE_GAP } else { NEWS_GAP })
    }

    /// The time at which a frame is due, if nothing else happens.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        let typed = self.typed.then(|| self.last_frame + KEY_GAP);
        let news = self.news.then(|| self.last_frame + self.news_gap(now));
        [typed, news, self.wake].into_iter().flatten().min()
    }

    pub(super) fn drawn(&mut self, wake: Option<Instant>) {
        self.last_frame = Instant::now();
        (self.typed, self.news, self.wake) = (false, false, wake);
    }

    /// A frame was written in `took`; zero for a frame that changed nothing.
    pub(super) fn wrote(&mut self, took: Duration) {
        self.stalled_gap =
            if took > STALL { (self.stalled_gap * 2).min(LONGEST_GAP) } else { (self.stalled_gap / 2).max(NEWS_GAP) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_shown_sooner_than_news_and_slow_links_later() {
        let mut throttle = FrameThrottle::new(true);
        throttle.drawn(None);
        let now = Instant::now();
        assert_eq!(throttle.due(now), None, "nothing happened: nothing is due");
        throttle.news = true;
        assert_eq!(throttle.due(now), Some(throttle.last_frame + NEWS_GAP));
        assert_eq!(throttle.due(now + 2 * IDLE), Some(throttle.last_frame + IDLE_GAP), "over SSH, nobody typing");
        throttle.typed = true;
        assert_eq!(throttle.due(now), Some(throttle.last_frame + KEY_GAP));
        for _ in 0..9 {
            throttle.drawn(None);
            throttle.wrote(STALL * 2);
        }
        throttle.news = true;
        assert_eq!(throttle.due(now), Some(throttle.last_frame + LONGEST_GAP));
        for _ in 0..9 {
            throttle.drawn(None);
            throttle.wrote(Duration::ZERO);
        }
        assert_eq!(throttle.news_gap(throttle.last_key), NEWS_GAP);
    }
}
