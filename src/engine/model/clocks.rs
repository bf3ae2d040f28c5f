//! The state of the clocks of nodes, as far as they were measured.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::Str;
use super::time::ShortDuration;

/// The state of the clocks of all nodes together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeClocks {
    /// How many clocks are notably off.
    pub off: u32,
    /// The node whose clock is off most, and by how many milliseconds.
    pub worst: Option<(Str, i64)>,
    /// How many available pods the DaemonSet controller counts as unavailable because of their node's clock.
    pub counted_unavailable: u32,
}

/// How far a clock is off, in words: `5m ahead`, `40s behind`.
#[derive(Clone, Copy, Debug)]
pub struct ClockOff(pub i64);

impl fmt::Display for ClockOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = ShortDuration(Duration::from_millis(self.0.unsigned_abs()));
        write!(f, "{span} {}", if self.0 < 0 { "behind" } else { "ahead" })
    }
}
