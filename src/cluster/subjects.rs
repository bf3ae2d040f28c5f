//! The watched kinds of one rollout, and the engine events that their changes become.

mod many;
mod one;

pub(super) use many::{ClusterEvents, Nodes, Pods, WatchedWarmPods};
pub(super) use one::{LeaseSubject, Revisions, TheDaemonSet};

#[cfg(test)]
mod tests;
