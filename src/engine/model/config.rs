//! The configuration of an engine, given once when the engine is made.

use std::time::Duration;

use super::Str;
use super::settings::Tuning;
use super::time::Timestamp;

/// The configuration of an engine.
#[derive(Clone, Debug)]
pub struct Config {
    /// The DaemonSet's namespace.
    pub namespace: Str,
    /// The DaemonSet's name.
    pub name: Str,
    /// The name of this process as the Lease's holder: `user@host/1a2b3c`, unique per process.
    pub identity: Str,
    /// The purpose of this engine.
    pub role: Role,
    /// Lease timing.
    pub timing: Timing,
    /// How fast pods may be deleted.
    pub rate: RateLimit,
    /// The settings with which a record begins that this engine makes; the built-in defaults for settings that are not named. They
    /// never change an existing record.
    pub defaults: Tuning,
    /// When the cluster was found to have gone back to an earlier state, as after a restore from a backup. This engine then took the
    /// place of one whose knowledge was no longer true.
    pub restored_at: Option<Timestamp>,
}

/// The purpose of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It stays, and may replace pods while it holds the lease.
    Driver,
    /// It carries out one command and leaves: it may adopt, change the template and release, but never replaces a pod.
    OneShot,
}

/// Lease timing, as client-go's leader election has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// How long a lease is good for after its last change, on the observer's own clock.
    pub lease: Duration,
    /// How long after its last successful renewal a holder may still act.
    pub act: Duration,
    /// How often a holder renews.
    pub renew: Duration,
}

/// How long a lease is good for after its last change: what every rolldeck drives with, and so what is taken of a holder who was not seen to renew it.
pub const LEASE: Duration = Duration::from_secs(15);

impl Default for Timing {
    fn default() -> Self {
        Self { lease: LEASE, act: Duration::from_secs(8), renew: Duration::from_secs(3) }
    }
}

/// How fast pods may be deleted.
///
/// By default as fast as the DaemonSet controller replaces them: `--kube-api-qps=20`, for its creations, deletions, status
/// updates and Events together (docs/kubernetes.md, *Creating and deleting pods*). Faster would only leave nodes without a pod for longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateLimit {
    /// Deletions a second, in the long run. At least 1.
    pub per_sec: u32,
    /// Deletions at once, after a quiet time. At least 1.
    pub burst: u32,
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { per_sec: 20, burst: 40 }
    }
}
