//! A simulated cluster to practise on.
//!
//! ```text
//!   api/     the world as a Kubernetes API over HTTP, in real time or faster
//!     │
//!   compare/ pure: one image rolled out by several methods in the world, measured
//!     │
//!   attack/  pure: random rollouts and faults in the world, judged by an observer of its own
//!     │
//!   world/   pure: nodes, kubelets, links, controllers, under a virtual clock
//! ```
//!
//! [`world`], [`attack`] and [`compare`] compile without the `console` feature: any program can embed them, and tests run
//! the world by the thousand.

#[cfg(feature = "console")]
pub mod api;
pub mod attack;
pub mod compare;
pub mod world;
