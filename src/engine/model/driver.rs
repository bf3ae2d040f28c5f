//! Who drives a rollout, as far as this console knows.

use super::Str;
use super::config::LEASE;
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
        /// Whether a whole lease duration has passed since: this console then starts nothing, and does not know whether somebody else
        /// drives.
        lapsed: bool,
    },
    /// This console has asked for the lease and waits for it.
    Waiting {
        /// Who holds it now, if anybody.
        holder: Option<Str>,
    },
    /// The Lease names somebody else, and this console has not seen them renew it yet. They are alive if they renew it, which a driver
    /// does every few seconds. They count as gone if they do not renew it for the whole duration of a lease.
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
    /// Somebody else who has not renewed for a whole lease duration: their console is gone.
    Lost {
        /// Their identity.
        holder: Str,
        /// When we last saw them renew, by our clock; when we first saw the Lease, if they never did.
        renewal_observed_at: Timestamp,
        /// When they renewed it last, by their own clock; set only if we never saw them renew it.
        renewed_at: Option<Timestamp>,
    },
}

impl DriverView {
    /// Whether nobody drives for certain: nobody holds the lease, or its holder was not seen to renew it for as long as a lease lasts.
    pub(crate) fn is_nobody(&self) -> bool {
        match self {
            Self::Nobody | Self::Lost { .. } => true,
            Self::Unknown | Self::You { .. } | Self::Waiting { .. } | Self::Unconfirmed { .. } | Self::Other { .. } => {
                false
            }
        }
    }

    /// Whether somebody drives or is about to, as far as is known: we, or who holds the lease and has not run out of it.
    pub fn is_driven(&self) -> bool {
        match self {
            Self::You { .. } | Self::Waiting { .. } | Self::Unconfirmed { .. } | Self::Other { .. } => true,
            Self::Unknown | Self::Nobody | Self::Lost { .. } => false,
        }
    }

    /// Whether this process drives.
    pub fn is_you(&self) -> bool {
        match self {
            Self::You { .. } => true,
            Self::Unknown
            | Self::Nobody
            | Self::Waiting { .. }
            | Self::Unconfirmed { .. }
            | Self::Other { .. }
            | Self::Lost { .. } => false,
        }
    }

    /// Whether this process drives, or has asked for the lease.
    pub fn is_ours(&self) -> bool {
        match self {
            Self::You { .. } | Self::Waiting { .. } => true,
            Self::Unknown | Self::Nobody | Self::Unconfirmed { .. } | Self::Other { .. } | Self::Lost { .. } => false,
        }
    }

    /// Whether nobody drives yet: for certain nobody, or the lease is free and we are about to take it.
    pub fn is_nobody_yet(&self) -> bool {
        match self {
            Self::Waiting { holder } => holder.is_none(),
            Self::Unknown
            | Self::Nobody
            | Self::You { .. }
            | Self::Unconfirmed { .. }
            | Self::Other { .. }
            | Self::Lost { .. } => self.is_nobody(),
        }
    }

    /// Whether nobody drives, as far as can be told without waiting: besides what is certain, a holder whose last renewal is too long ago by its own clock, and a
    /// lease that is free and that we are about to take. `at` is the API server's time. Whoever looks only once has no other way to tell that a holder is gone.
    pub(crate) fn is_undriven(&self, at: Timestamp) -> bool {
        self.is_nobody_yet() || self.is_silent(at)
    }

    /// Whether somebody else holds the lease whom we have not seen renew it, and whose last renewal, by their own clock, is longer ago
    /// than a lease lasts. `at` is the API server's time.
    pub(crate) fn is_silent(&self, at: Timestamp) -> bool {
        self.silent_from().is_some_and(|silent| at >= silent)
    }

    /// From when on, by the API server's time, [`DriverView::is_silent`] holds unless they renew the lease; `None`: it never holds.
    pub(crate) fn silent_from(&self) -> Option<Timestamp> {
        match self {
            Self::Unconfirmed { renewed_at, .. } => renewed_at.map(|renewed_at| renewed_at + LEASE),
            Self::Unknown
            | Self::Nobody
            | Self::You { .. }
            | Self::Other { .. }
            | Self::Waiting { .. }
            | Self::Lost { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of every driver: whether somebody drives or is about to, whether that is us, whether nobody drives for certain, and whether nobody does yet.
    #[test]
    fn whoever_asks_who_drives_is_told_the_same() {
        let (holder, at) = (Str::from("ada@bastion/1"), Timestamp::default());
        for (driver, driven, ours, nobody, nobody_yet) in [
            (DriverView::Unknown, false, false, false, false),
            (DriverView::Nobody, false, false, true, true),
            (DriverView::You { renewed_at: at, lapsed: false }, true, true, false, false),
            (DriverView::You { renewed_at: at, lapsed: true }, true, true, false, false),
            (DriverView::Waiting { holder: None }, true, true, false, true),
            (DriverView::Waiting { holder: Some(holder.clone()) }, true, true, false, false),
            (DriverView::Unconfirmed { holder: holder.clone(), renewed_at: None }, true, false, false, false),
            (DriverView::Other { holder: holder.clone(), renewal_observed_at: at }, true, false, false, false),
            (DriverView::Lost { holder, renewal_observed_at: at, renewed_at: None }, false, false, true, true),
        ] {
            let told = (driver.is_driven(), driver.is_ours(), driver.is_nobody(), driver.is_nobody_yet());
            assert_eq!(told, (driven, ours, nobody, nobody_yet), "{driver:?}");
        }
    }
}
