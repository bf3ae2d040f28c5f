//! The simulated world's API as its clients see it: over HTTP, and through kubectl where there is one.

#![cfg(feature = "console")]

// `cfg(test)` holds anyway; it tells clippy that panics belong here.
#[cfg(test)]
mod sim_api {
    mod faults;
    mod kubectl;
    mod read;
    mod support;
    mod watch;
    mod write;
}
