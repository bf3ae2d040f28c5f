//! Things that go wrong between a client and an API server, on demand.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::access::ResourceAttributes;

/// What goes wrong with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ApiFailure {
    /// 429 with `Retry-After`.
    TooManyRequests {
        /// Seconds to wait.
        retry_after_secs: u32,
    },
    /// 500.
    InternalError,
    /// 503.
    Unavailable,
    /// The connection breaks before anything was done.
    LostRequest,
    /// It is done, but the connection breaks before the answer arrives.
    LostAnswer,
    /// It is done after this long.
    Delay(Duration),
}

/// A failure, and which requests meet it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiFault {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`; `None`: any.
    pub verb: Option<&'static str>,
    /// `pods`, `pods/eviction`, …; `None`: any.
    pub resource: Option<&'static str>,
    /// How many requests meet it before it is over.
    pub times: u32,
    /// What goes wrong.
    pub failure: ApiFailure,
}

/// The faults that are still to come.
#[derive(Debug, Default)]
pub(super) struct ApiFaults(Mutex<Vec<ApiFault>>);

impl ApiFaults {
    /// Adds one.
    pub(super) fn inject(&self, fault: ApiFault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// Takes them all back.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What this request meets.
    pub(super) fn meet(&self, asked: &ResourceAttributes<'_>) -> Option<ApiFailure> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hit = |fault: &ApiFault| {
            fault.verb.is_none_or(|verb| verb == asked.verb)
                && fault.resource.is_none_or(|resource| resource == asked.resource)
        };
        let at = faults.iter().position(hit)?;
        let fault = faults.get_mut(at)?;
        let failure = fault.failure;
        fault.times = fault.times.saturating_sub(1);
        if fault.times == 0 {
            faults.remove(at);
        }
        Some(failure)
    }
}
