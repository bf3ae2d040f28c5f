//! A token bucket: our writes never become a storm, whatever the engine asks for.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// Deletes a second, in the long run.
const RATE: f64 = 20.0;
/// Deletes at once, after a quiet time.
const BURST: f64 = 40.0;

/// A bucket that refills at [`RATE`] up to [`BURST`].
#[derive(Clone, Debug)]
pub(super) struct Bucket(Arc<Mutex<Level>>);

#[derive(Debug)]
struct Level {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Level { tokens: BURST, at: Instant::now() })))
    }

    /// Waits for a token. Those who wait are served in order.
    pub(super) async fn take(&self) {
        let mut level = self.0.lock().await;
        let now = Instant::now();
        level.tokens = (level.tokens + now.duration_since(level.at).as_secs_f64() * RATE).min(BURST);
        level.at = now;
        if level.tokens < 1.0 {
            tokio::time::sleep(Duration::from_secs_f64((1.0 - level.tokens) / RATE)).await;
            level.at = Instant::now();
            level.tokens = 1.0;
        }
        level.tokens -= 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_free_and_then_the_rate_holds() {
        let bucket = Bucket::new();
        let began = Instant::now();
        for _ in 0..40 {
            bucket.take().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        for _ in 0..20 {
            bucket.take().await;
        }
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(990) && took < Duration::from_millis(1_100), "{took:?}");
    }
}
