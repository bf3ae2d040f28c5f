//! Rules as pure functions of model values: who is eligible, what ails a pod, whose DaemonSet it is, how clocks differ.

pub(super) mod causes;
pub(super) mod change;
pub mod clocks;
pub(super) mod commands;
pub mod comparison;
pub(super) mod diagnose;
pub(crate) mod distance;
pub mod eligibility;
pub(super) mod estimates;
pub mod fleet_state;
pub(super) mod halting_gates;
pub mod holder;
pub(super) mod holds;
pub(crate) mod injected;
pub mod ownership;
pub(crate) mod pace;
pub(super) mod pulls;
pub mod rate;
pub(crate) mod recognise;
pub mod site;
pub mod starting_pod;
pub(super) mod strategy_drift;
pub(super) mod surge;
pub(super) mod suspects;
pub mod warm_pod;
pub mod warm_set;
