//! Compares ways of rolling out one image on one cluster in virtual time: the controller alone, by hand, and with rolldeck.
//!
//! ```text
//!   scenario ──▶ world  ◀── operator: the DaemonSet controller alone, by hand, a StatefulSet that pulls first, rolldeck
//!                  └──▶ meter ──▶ figures of one run ──▶ a comparison of all
//! ```
//!
//! Every run begins with the same cluster. The faults of the scenario are left out, so only the load of pulls on the links causes trouble.
//! The meter reads only the cluster and does not know who drives.

pub mod figures;
pub mod method;
pub mod trial;

mod meter;
mod operators;

#[cfg(test)]
mod tests;
