//! The attack on the promises: random clusters, random rollouts and random faults in virtual time, judged by an independent observer.
//! A seed determines a run, so the same seed replays the same run exactly.
//!
//! ```text
//!   seed ──▶ case ──▶ world  ◀── consoles (engine + bad network) ◀── operators, killers
//!                       └──▶ observer ──▶ violations
//! ```

pub mod api_client;
pub mod campaign;
pub mod case;
pub mod console;
pub mod faults;
pub mod file;
mod finish;
mod generator;
mod lease_edits;
pub mod network;
pub mod observer;
mod one_shot;
pub mod run;
pub mod shrink;
pub mod statistics;
mod surge;
mod trace;
mod watches;
