//! The driver and the cluster adapter over HTTP against the simulated cluster.

mod gitops;
mod large;
mod rollout;
mod unsent;
