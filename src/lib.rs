//! rolldeck rolls out Kubernetes DaemonSets node by node, safely.
//!
//! The library has a pure half and a half that does IO:
//!
//! ```text
//!             main.rs ── parse, run, map error to exit code
//!            ┌──────────────┴──────────────┐
//!          tui/                           cli/            front ends: view state and words; never import kube
//!            └──────────────┬──────────────┘
//!                    driver/    audit/                    the only room where async meets the engine · who did what
//!            ┌──────────────┼──────────────┐
//!         cluster/        engine/         sim/            adapter · rules · a world to practise on
//! ```
//!
//! Modules beside these layers: `process` (output that never blocks a driver, and signals) serves main and the front ends.
//! `scrub` (texts without secrets) serves `audit` and `cluster`. Three serve both front ends: `template_text` (templates as
//! YAML, and their differences), `handover` (a rollout as text, page and JSON) and `config` (the configuration file).
//!
//! Arrows point down only. Without the `console` feature only [`engine`] and the pure modules of [`sim`] exist.

pub mod engine;
pub mod sim;

#[cfg(feature = "console")]
pub mod audit;
#[cfg(feature = "console")]
pub mod cli;
#[cfg(feature = "console")]
pub mod cluster;
#[cfg(feature = "console")]
pub mod config;
#[cfg(feature = "console")]
pub mod driver;
#[cfg(feature = "console")]
mod handover;
#[cfg(feature = "console")]
mod process;
#[cfg(feature = "console")]
mod scrub;
#[cfg(feature = "console")]
mod template_text;
#[cfg(feature = "console")]
pub mod tui;
