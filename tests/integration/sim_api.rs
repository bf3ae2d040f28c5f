//! Clients of the simulated cluster's API: over HTTP, and through kubectl where there is one.

mod compressed;
mod faults;
mod kubectl;
mod read;
mod same_facts;
mod support;
mod watch;
mod write;
