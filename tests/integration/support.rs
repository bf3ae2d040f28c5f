//! What several tests use: the program and its terminal, clusters to run it against, and the ledger of a rollout.

pub(crate) mod control_plane;
pub(crate) mod figures;
pub(crate) mod hollow;
pub(crate) mod kubelet;
pub(crate) mod ledger;
pub(crate) mod line;
pub(crate) mod missing;
pub(crate) mod modelled;
pub(crate) mod practice;
pub(crate) mod program;
#[cfg(target_os = "linux")]
pub(crate) mod pty;
pub(crate) mod reading;
#[cfg(target_os = "linux")]
pub(crate) mod refusing;
pub(crate) mod simulated_fixture;
pub(crate) mod terminal;
pub(crate) mod tls;
pub(crate) mod unread;
