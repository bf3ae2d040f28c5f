//! The driver and the cluster adapter over HTTP against the simulated cluster.

#![cfg(feature = "console")]

// `cfg(test)` holds anyway; it tells clippy that panics belong here.
#[cfg(test)]
mod driver_sim {
    mod gitops;
    mod large;
    #[path = "../support/line.rs"]
    mod line;
    mod rollout;
    mod unsent;
}
