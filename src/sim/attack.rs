//! The attack on the promises: random clusters, random rollouts, random faults, in virtual time; an independent observer
//! judges. One seed is one run, and replays exactly.
//!
//! ```text
//!   seed ──▶ case ──▶ world  ◀── consoles (engine + bad network) ◀── operators, killers
//!                       └──▶ observer ──▶ violations
//! ```

pub mod author;
pub mod case;
pub mod console;
pub mod file;
pub mod network;
pub mod observer;
pub mod run;
pub mod shrink;
