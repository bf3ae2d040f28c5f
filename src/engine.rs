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
//! The engine never awaits, never reads a clock and never does IO. The driver runs it against a cluster. The simulated world
//! runs it ten thousand times a second against injected faults.

mod act;
mod assess;
mod calls;
mod commands;
mod event_log;
mod lease;
mod machine;
pub mod model;
mod refresh;
pub mod report;
pub mod rules;
mod view;
mod writes;

pub use machine::Engine;

#[cfg(test)]
pub(crate) mod fake_cluster;
#[cfg(test)]
mod regressions;
#[cfg(test)]
pub(crate) mod tests;
