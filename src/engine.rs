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

#[cfg(test)]
pub(crate) mod fake_cluster;
#[cfg(test)]
mod regressions;
#[cfg(test)]
mod tests;
