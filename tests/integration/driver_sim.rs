//! The driver and the cluster adapter over HTTP against the simulated cluster.

mod gitops;
#[cfg(target_os = "linux")]
mod idle_closing;
mod large;
mod rollout;
mod unsent;
