//! A deterministic model of a Kubernetes cluster under a virtual clock.
//!
//! It is pure: it reads no clock and does no IO. The same scenario with the same seed gives the same changes at the same
//! instants.
//!
//! ```text
//!   object   what the world holds               store   get, list, create, update, delete, log of changes
//! ```

mod admission;
pub mod error;
pub mod kind;
pub mod object;
pub mod store;
