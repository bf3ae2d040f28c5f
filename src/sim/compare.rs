//! Ways of rolling out one image on one cluster, compared: by itself, by hand, and with rolldeck, in virtual time.
//!
//! ```text
//!   scenario ──▶ world  ◀── operator: the DaemonSet controller alone, by hand, a StatefulSet that pulls first, rolldeck
//!                  └──▶ meter ──▶ figures of one run ──▶ a comparison of all
//! ```
//!
//! Every run begins with the same cluster, and nothing goes wrong in it but what its pulls do to the links: the faults of
//! the scenario are left out. The meter reads the cluster alone and does not know who drives.

pub mod figures;
pub mod method;
pub mod trial;

mod meter;
mod operators;

#[cfg(test)]
mod tests;
