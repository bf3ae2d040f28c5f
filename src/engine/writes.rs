//! Everything that was sent or asked for and is not settled yet: writes without an answer, refusals, retries, the rate, commands on their
//! way.

pub(super) mod daemonset;
pub(super) mod deletions;
pub(super) mod effects;
pub(super) mod failures;
pub(super) mod pending;
pub(super) mod refusals;
pub(super) mod retry;
pub(super) mod sending;
pub(super) mod trial;
pub(super) mod warm;
pub(super) mod warm_sets;
