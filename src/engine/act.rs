//! Decides the next writes and takes in their outcomes. Beside these files, `refresh.rs` and `machine/suspects.rs` also change the
//! progress.

mod begin;
pub(super) mod change;
mod daemonset;
pub(super) mod decide;
mod deletions;
mod finish;
mod halt;
mod idle;
mod lease;
pub(super) mod outcome;
mod pods;
mod prewarm;
pub(super) mod recreated;
pub(super) mod refused;
mod refused_write;
pub(super) mod release;
pub(super) mod room;
mod send;
mod settle;
pub(super) mod stopped;
pub(super) mod strategy_drift;
mod trial;
mod warm_sets;
