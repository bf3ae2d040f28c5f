//! The interactive console.
//!
//! ```text
//!  keys ─────┐                       ┌─► effects: open, ask, do, suspend, quit ─► the driver's handles
//!  snapshots ┼─► update(model, msg) ─┤
//!  answers ──┘      the only room    └─► model ─► draw(model) ─► what changed ─► one write to the terminal
//!  time             where it changes
//! ```
//!
//! The console knows the driver's handles and the engine's words, never the cluster. The [`model`] holds everything that is
//! shown. [`update`] is synchronous and total. [`view`] is a function of the model. [`action`] is the only table of the
//! possible actions. Only [`run`](mod@run), [`input`] and [`terminal`] do input and output.

mod action;
mod columns;
mod commands;
mod copy;
mod daemonset_ref;
mod dialog;
mod filter;
mod hidden_nodes;
mod input;
mod key;
mod key_map;
mod list;
mod log_pane;
mod message;
mod model;
mod node_list;
mod node_map;
mod node_page;
mod notify;
mod palette;
mod preview;
mod prewarm;
mod prompt;
mod revisions;
mod run;
mod status;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod timeline;
mod update;
mod view;
mod words;

pub use notify::NotifyBy;
pub use run::{Colour, ConsoleEnd, ConsoleError, ConsoleOptions, Start, check, run, usual_site_file};
pub use theme::{Depth, Glyphs};
