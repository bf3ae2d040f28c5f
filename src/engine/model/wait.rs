//! Waits of a rollout for something other than a limit or a person: answers, proofs, the rate.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::Str;
use super::time::Timestamp;

/// The distance to the API server. Both durations are rounded up: to hundredths of a second, from a second on to tenths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DistanceView {
    /// How long the API server takes to answer; `None` before this is measured.
    pub round_trip: Option<Duration>,
    /// When that was measured last, by the API server's clock; `None` while this console drives: it renews its lease every few seconds, and measures
    /// with each renewal.
    pub measured_at: Option<Timestamp>,
    /// Whether the last writes were not answered, so that earlier measurements say nothing of the present.
    pub silent: bool,
    /// How long a pause from elsewhere takes to take effect, at the present round trip; `None` if this console does not drive.
    pub pause_within: Option<Duration>,
}

impl DistanceView {
    /// The shortest round trip that is worth a place on the screen.
    const NOTABLE: Duration = Duration::from_millis(200);

    /// For how long a measurement tells of the present. A console that only looks asks the API server for little beside its watches.
    const CURRENT: Duration = Duration::from_secs(60);

    /// Until when the round trip is the present one; `None` while each renewal of the lease measures it again.
    pub fn current_until(&self) -> Option<Timestamp> {
        self.measured_at.map(|at| at + Self::CURRENT)
    }

    /// The round trip, where it is long enough to matter.
    pub fn notable(&self) -> Option<Duration> {
        self.round_trip.filter(|round_trip| *round_trip >= Self::NOTABLE && !self.silent)
    }
}

impl fmt::Display for DistanceView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.round_trip {
            _ if self.silent => f.write_str("does not answer")?,
            Some(round_trip) => write!(f, "answers in {}", Short(round_trip))?,
            None => f.write_str("not measured yet")?,
        }
        match self.pause_within {
            Some(within) => write!(f, "; a pause from elsewhere takes effect within {}", Short(within)),
            None => Ok(()),
        }
    }
}

/// A short span: `620 ms`, `1.4 s`.
#[derive(Clone, Copy, Debug)]
pub struct Short(pub Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            0 => f.write_str("<1 ms"),
            millis @ 1..1_000 => write!(f, "{millis} ms"),
            millis => write!(f, "{}.{} s", millis / 1_000, millis % 1_000 / 100),
        }
    }
}

/// The reason why the next node in line, or a command, waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "for", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Wait {
    /// A renewal of the lease. None has come through for so long that this console may not act.
    Lease {
        /// Since when.
        since: Timestamp,
    },
    /// A write of the Lease that proves that nobody paused meanwhile.
    Proof {
        /// When it was sent.
        since: Timestamp,
    },
    /// The record is being written.
    Record {
        /// Since when.
        since: Timestamp,
    },
    /// The API server's answer.
    Answer {
        /// The request that it answers.
        to: Str,
        /// When the request was sent.
        since: Timestamp,
    },
    /// The watch event of a deletion that was confirmed.
    WatchEvent {
        /// When it was confirmed.
        since: Timestamp,
    },
    /// A deletion whose answer was lost: either the watch shows that the pod goes, or the deletion is sent again.
    Lost {
        /// When it is sent again.
        until: Timestamp,
    },
    /// The rate at which pods are deleted.
    Rate {
        /// Deletions a second.
        per_sec: u32,
        /// How many nodes wait for it.
        waiting: u32,
        /// When the rate allows the deletion for the last of these nodes.
        until: Timestamp,
    },
    /// A write that failed is sent again.
    Retry {
        /// When it is sent again.
        until: Timestamp,
    },
    /// A watch was down, and changes missed meanwhile may still be on their way.
    Watch {
        /// Since when.
        since: Timestamp,
    },
    /// The lease is being handed over, or given back.
    Handover {
        /// To whom.
        to: Option<Str>,
    },
}

impl Wait {
    /// Since when it waits, where that is what matters.
    pub fn since(&self) -> Option<Timestamp> {
        match self {
            Self::Lease { since }
            | Self::Proof { since }
            | Self::Record { since }
            | Self::Answer { since, .. }
            | Self::WatchEvent { since }
            | Self::Watch { since } => Some(*since),
            Self::Lost { .. } | Self::Rate { .. } | Self::Retry { .. } | Self::Handover { .. } => None,
        }
    }

    /// Until when it waits, where that is known.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Lost { until } | Self::Rate { until, .. } | Self::Retry { until } => Some(*until),
            _ => None,
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lease { .. } => f.write_str("the lease is not renewed"),
            Self::Proof { .. } => f.write_str("the lease is renewed first"),
            Self::Record { .. } => f.write_str("the record is being written"),
            Self::Answer { to, .. } => write!(f, "no answer to {to} yet"),
            Self::WatchEvent { .. } => f.write_str("deleted, not seen yet"),
            Self::Lost { .. } => f.write_str("the answer to its deletion was lost"),
            Self::Rate { per_sec, .. } => write!(f, "rate: {per_sec} deletions/s"),
            Self::Retry { .. } => f.write_str("a deletion failed, tried again soon"),
            Self::Watch { .. } => f.write_str("a watch is just back"),
            Self::Handover { to: Some(to) } => write!(f, "handing over to {to}"),
            Self::Handover { to: None } => f.write_str("giving the lease back"),
        }
    }
}
