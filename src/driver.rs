//! Runs one rollout: feed → engine → effects → outcomes, with the clock and the lease.
//!
//! This is the only module in which async code meets the engine. Front ends hold a [`Rollout`] handle: they read snapshots
//! and send commands, and never wait for the network.

pub mod access;
mod audit_sink;
mod fleet;
pub mod handle;
mod identity;
mod own_events;
pub mod practice;
pub(crate) mod private_file;
mod run;
mod seen_holders;
mod session;

pub use crate::cluster::{Clock, IN_CLUSTER, context_names, server_of_context};
pub use access::{Access, AccessError, Impersonate, ServerPath};
pub use handle::{
    CommandError, DrivenBy, Fleet, FleetPrewarm, FleetPulls, FleetRevision, FleetRow, IdentityInUse, Request, Rollout,
    Session, SessionOpening,
};
pub use session::ClusterSession;
