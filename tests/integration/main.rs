//! All integration tests that run the whole program or the whole engine, in one binary: the library is linked once.
//!
//! | module | what runs | against |
//! |---|---|---|
//! | `scenarios`, `founding` | the engine, in virtual time | the simulated cluster |
//! | `sim_api` | HTTP clients and kubectl | the simulated cluster's API |
//! | `driver_sim` | driver and cluster adapter | the simulated cluster's API |
//! | `blocked_output`, `cli`, `completion`, `demo`, `files`, `floods`, `hostile`, `prewarm`, `reaching` | the program itself | the simulated cluster's API, served by another process |
//! | `control_plane` | the program itself, and its driver | etcd, kube-apiserver and Kubernetes' controllers |
//!
//! Tests run beside each other, more of them than the machine has cores (`RUST_TEST_THREADS` in `.cargo/config.toml`), since most of their time is
//! waiting. So a test waits for a condition, never for a time in which something usually happens. Tests start in the order of their names: a test
//! that waits for a minute should not be among the last.

// A test target is compiled with `cfg(test)` in any case. The attribute tells clippy that these modules may panic and print.
#[cfg(test)]
#[cfg(target_os = "linux")]
mod blocked_output;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod completion;
#[cfg(test)]
mod control_plane;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod driver_sim;
#[cfg(test)]
mod files;
#[cfg(test)]
mod floods;
#[cfg(test)]
mod founding;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(test)]
mod prewarm;
#[cfg(test)]
mod reaching;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod sim_api;
#[cfg(test)]
mod support;
