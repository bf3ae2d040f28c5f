//! Injected faults: failures between a client and the API server, on demand.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::access::ResourceAttributes;

/// How a request fails.
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
    /// The connection breaks before the server does anything.
    LostRequest,
    /// The server carries the request out, but the connection breaks before the answer arrives.
    LostAnswer,
    /// The server carries the request out after this delay.
    Delay(Duration),
}

/// A failure and the requests that it happens to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiFault {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`; `None`: any.
    pub verb: Option<&'static str>,
    /// `pods`, `pods/eviction`, …; `None`: any.
    pub resource: Option<&'static str>,
    /// How many requests fail before the fault ends.
    pub times: u32,
    /// How these requests fail.
    pub failure: ApiFailure,
}

/// The faults that have not ended yet.
#[derive(Debug, Default)]
pub(super) struct ApiFaults(Mutex<Vec<ApiFault>>);

impl ApiFaults {
    /// Adds a fault.
    pub(super) fn inject(&self, fault: ApiFault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }

    /// Removes all faults.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The failure of the first fault that covers this request; counts the request against that fault.
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
