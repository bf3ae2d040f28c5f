//! Who drives a rollout, as far as this console knows.

use std::time::Duration;

use super::Str;
use super::time::Timestamp;

/// Who drives a rollout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DriverView {
    /// Not known: the Lease cannot be seen.
    Unknown,
    /// Nobody.
    Nobody,
    /// This console.
    You {
        /// When the lease was last renewed, by our clock.
        renewed_at: Timestamp,
        /// A whole lease has passed since: it starts nothing, and whether somebody else drives it does not know.
        lapsed: bool,
    },
    /// This console has asked for the lease and waits for it.
    Waiting {
        /// Who holds it now, if anybody.
        holder: Option<Str>,
    },
    /// The Lease names somebody else whom this console has not seen renew it yet. They are alive if they renew it, which a driver does every few
    /// seconds, and count as gone if they do not for the whole duration of a lease.
    Unconfirmed {
        /// Their identity.
        holder: Str,
        /// When they renewed it last, by their own clock.
        renewed_at: Option<Timestamp>,
    },
    /// Somebody else.
    Other {
        /// Their identity.
        holder: Str,
        /// When we last saw them renew, by our clock.
        renewal_observed_at: Timestamp,
    },
    /// Somebody else, who has not renewed for a whole lease: their console is gone.
    Lost {
        /// Their identity.
        holder: Str,
        /// When we last saw them renew, by our clock; when we first saw the Lease, if they never did.
        renewal_observed_at: Timestamp,
        /// When they renewed it last, by their own clock: only where we never saw them renew it.
        renewed_at: Option<Timestamp>,
    },
}

impl DriverView {
    /// Whether somebody else holds the lease whom we have not seen renew it, and who has not for longer than a lease lasts, by their own
    /// clock. `at` is the API server's time.
    pub(crate) fn is_silent(&self, at: Timestamp, lease: Duration) -> bool {
        self.silent_from(lease).is_some_and(|silent| at >= silent)
    }

    /// From when on, by the API server's time, [`DriverView::is_silent`] holds unless they renew it; `None`: it does not, whatever the time.
    pub(crate) fn silent_from(&self, lease: Duration) -> Option<Timestamp> {
        match self {
            Self::Unconfirmed { renewed_at, .. } => renewed_at.map(|renewed_at| renewed_at + lease),
            Self::Unknown
            | Self::Nobody
            | Self::You { .. }
            | Self::Other { .. }
            | Self::Waiting { .. }
            | Self::Lost { .. } => None,
        }
    }
}
