//! The time at which a failed write is tried again.

use std::time::Duration;

use crate::engine::model::effect::{EffectError, EffectErrorKind};
use crate::engine::model::time::Timestamp;

/// How long after a lost answer the write is taken as one that did not arrive, if nothing shows that it did: a pod that is still there and
/// untouched was not deleted, and a pod that is not there was not made. An API server gives up a request after a minute
/// (`--request-timeout`); until then one that stood still may carry it out.
pub(crate) const LOST_ANSWER: Duration = Duration::from_secs(60);

/// How long a failed write waits before the next try, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// When to try again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Retry {
    pub(crate) at: Timestamp,
    failures: u32,
    /// The answer to one of the failed writes was lost: it may have been carried out, or still be.
    lost: bool,
    /// The API server itself said how long to wait.
    throttled: bool,
}

impl Retry {
    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Whether a write may have been carried out, or may still be, without that being known.
    pub(crate) fn is_unsure(&self) -> bool {
        self.lost
    }

    /// Takes in that something else is to be written. What kept the last write from succeeding may not concern it, so that it waits only where the API
    /// server asked for that.
    pub(crate) fn something_else_is_asked(&mut self) {
        self.failures = 0;
        if !self.throttled {
            self.at = Timestamp::default();
        }
    }

    pub(crate) fn failed(&mut self, error: &EffectError, now: Timestamp) {
        self.throttled = matches!(error.kind, EffectErrorKind::Throttled { .. });
        self.failures = self.failures.saturating_add(1);
        self.lost |= error.kind.may_have_happened();
        let grown = RETRY.0.saturating_mul(1 << self.failures.min(8)).min(RETRY.1);
        let wait = match error.kind {
            EffectErrorKind::Throttled { retry_after_millis } => Duration::from_millis(retry_after_millis).max(RETRY.0),
            EffectErrorKind::Forbidden | EffectErrorKind::Invalid => RETRY.1,
            EffectErrorKind::Conflict | EffectErrorKind::NotFound => RETRY.0,
            EffectErrorKind::TooLate => Duration::ZERO,
            EffectErrorKind::Unauthorized | EffectErrorKind::NotSent | EffectErrorKind::Unknown => grown,
        };
        self.at = now + wait;
    }
}
