//! What is watched for one rollout, and which engine event each change becomes.

mod many;
mod one;

pub(super) use many::{ClusterEvents, Nodes, Pods, WatchedWarmPods};
pub(super) use one::{LeaseSubject, Revisions, TheDaemonSet};

#[cfg(test)]
mod tests;
