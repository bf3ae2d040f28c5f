//! The rules: one state machine that knows Kubernetes' rules for DaemonSets and ours.
//!
//! ```text
//! observe(Event, now)        facts from the cluster
//! command(Command, now)      what the operator asks
//! decide(now)  -> effects    what to do next
//! outcome(id, result, now)   what came of it
//! snapshot(now)              everything a front end shows, with a reason on every node
//! wake_at()                  when time alone would change the answer
//! ```
//!
//! It never awaits, never reads a clock, never does IO. The driver runs it against a cluster, the simulated world runs
//! it ten thousand times a second against faults.

mod accept;
mod allowance;
mod assess;
mod causes;
mod change;
pub mod clocks;
mod commands;
mod decide;
mod diagnose;
pub(crate) mod distance;
mod edit;
pub mod eligibility;
mod event_log;
pub mod fleet_state;
pub mod guidance;
pub mod holder;
mod idle;
mod lock;
mod machine;
pub mod model;
mod outcome;
pub mod ownership;
mod placement;
mod plan;
pub mod rate;
mod recreated;
mod refused;
mod release;
mod report;
mod resolved;
mod restarts;
mod room;
mod sending;
pub mod site;
pub mod snapshot;
mod stopped;
mod strategy_drift;
mod surge;
pub mod suspects;
pub mod unsent;
mod view;
mod waits;
mod watch_health;
pub mod words;

pub use machine::Engine;
pub use model::{Str, person_of};

/// What an engine is told once, when it is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// The DaemonSet's namespace.
    pub namespace: Str,
    /// The DaemonSet's name.
    pub name: Str,
    /// Who we are, as the Lease's holder: `user@host/1a2b3c`, unique per process.
    pub identity: Str,
    /// What this engine is there for.
    pub role: Role,
    /// Lease timing.
    pub timing: Timing,
    /// How fast pods may be deleted.
    pub rate: rate::RateLimit,
}

/// What an engine is there for.
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
    pub lease: std::time::Duration,
    /// How long after its last successful renewal a holder may still act.
    pub act: std::time::Duration,
    /// How often a holder renews.
    pub renew: std::time::Duration,
}

impl Default for Timing {
    fn default() -> Self {
        use std::time::Duration;
        Self { lease: Duration::from_secs(15), act: Duration::from_secs(8), renew: Duration::from_secs(3) }
    }
}

#[cfg(test)]
pub(crate) mod fake_cluster;
#[cfg(test)]
mod regressions;
#[cfg(test)]
mod tests;
