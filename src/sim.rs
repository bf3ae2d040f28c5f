//! A cluster to practise on.
//!
//! ```text
//!   world/   pure: nodes, kubelets, links, controllers, under a virtual clock
//! ```
//!
//! [`world`] compiles without the `console` feature: any program can embed it, and tests run it by the thousand.

pub mod world;
