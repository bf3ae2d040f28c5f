//! The simulated world's API as its clients see it: over HTTP, and through kubectl where there is one.

#![cfg(feature = "console")]

mod sim_api {
    mod faults;
    mod kubectl;
    mod read;
    mod support;
    mod watch;
    mod write;
}
