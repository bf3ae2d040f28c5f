//! Clocks that differ: ours, the API server's, and one on every node.
//!
//! ```text
//!   what we see happen          counted on our own clock, which cannot be set
//!   what the server dated       creation, deletion: its clock; the difference to ours is measured from its answers
//!   what a kubelet dated        Ready, events: its node's clock; the difference to the server's is measured from heartbeats
//! ```
//!
//! The DaemonSet controller compares its own clock with the time at which a kubelet says that a pod became Ready
//! (`IsPodAvailable`). Under `minReadySeconds` a node whose clock is ahead therefore holds up a rolling update for as long
//! as it is ahead. A rollout by rolldeck does not wait for that, but shows which nodes the controller does not count.

use std::time::Duration;

use crate::engine::model::time::Timestamp;

/// Smaller differences between two clocks cannot be measured: instants are written in whole seconds, and a write takes its time.
const GRAIN_MILLIS: i64 = 3_000;
/// From this difference on, a node's clock is shown to be off.
pub const NOTABLE_MILLIS: i64 = 5_000;

/// An unmeasured clock of a node is assumed to be right to within this, which is the tolerance of Kerberos.
pub(crate) const UNMEASURED: Duration = Duration::from_secs(300);

/// A node's clock minus the API server's, in milliseconds: its kubelet dated a heartbeat `heartbeat_at`, and the server
/// dated the write that brought it `written_at`.
///
/// A difference too small to be measured counts as 0, and one close to `known` counts as `known`, so that not every heartbeat
/// makes a new fact.
pub fn clock_skew(heartbeat_at: Timestamp, written_at: Timestamp, known: Option<i64>) -> i64 {
    let measured = heartbeat_at.millis().saturating_sub(written_at.millis());
    match known {
        Some(known) if measured.saturating_sub(known).saturating_abs() < GRAIN_MILLIS => known,
        _ if measured.saturating_abs() < GRAIN_MILLIS => 0,
        _ => measured,
    }
}

/// The time by the API server's clock of an instant that a kubelet dated with a clock that is off by this much.
pub(crate) fn by_server(dated: Timestamp, skew_millis: Option<i64>) -> Timestamp {
    Timestamp::from_millis(dated.millis().saturating_sub(skew_millis.unwrap_or(0)))
}

#[cfg(test)]
mod tests;
