//! The attack on the promises: random clusters, random rollouts, random faults, in virtual time; an independent observer
//! judges. One seed is one run, and replays exactly.
//!
//! ```text
//!   seed ──▶ case ──▶ world  ◀── consoles (engine + bad network) ◀── operators, killers
//!                       └──▶ observer ──▶ violations
//! ```

pub mod author;
pub mod case;
mod closing;
pub mod console;
mod errand;
pub mod faults;
pub mod file;
mod maker;
pub mod network;
pub mod observer;
pub mod run;
pub mod shrink;
mod story;
mod surge;
pub mod tally;
mod tamper;
mod watches;
