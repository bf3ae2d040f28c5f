//! Counts of requests to the API server.

use std::sync::atomic::{AtomicU64, Ordering};

use http::Method;

/// Counts every request of a session.
#[derive(Debug, Default)]
pub struct Traffic {
    reads: AtomicU64,
    writes: AtomicU64,
    watches: AtomicU64,
    throttled: AtomicU64,
    failed: AtomicU64,
    streamed: AtomicU64,
    answered: AtomicU64,
}

/// The counts of one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TrafficCount {
    /// Requests that change nothing, opened watches included.
    pub reads: u64,
    /// All other requests.
    pub writes: u64,
    /// Watches opened.
    pub watches: u64,
    /// Requests answered with 429.
    pub throttled: u64,
    /// Requests without an answer.
    pub failed: u64,
    /// Bytes received through watches.
    pub streamed: u64,
    /// Bytes of all other answers as received: compressed if the server compressed them, without headers and TLS.
    pub answered: u64,
}

impl Traffic {
    /// The counts so far.
    pub fn count(&self) -> TrafficCount {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TrafficCount {
            reads: read(&self.reads),
            writes: read(&self.writes),
            watches: read(&self.watches),
            throttled: read(&self.throttled),
            failed: read(&self.failed),
            streamed: read(&self.streamed),
            answered: read(&self.answered),
        }
    }

    pub(super) fn requested(&self, method: &Method) {
        let counter = if *method == Method::GET { &self.reads } else { &self.writes };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn watch_opened(&self) {
        self.watches.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn throttled(&self) {
        self.throttled.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.streamed.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn answered(&self, bytes: usize) {
        self.answered.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
