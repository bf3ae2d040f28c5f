//! Transcripts of the command line against a scripted driver: what is typed, what is printed, how it exits.

mod asks;
mod completion;
mod connecting;
mod diagnose;
mod drive;
mod drive_end;
mod drive_meanwhile;
mod drive_prewarm;
mod formats;
mod halts;
mod help;
mod hostile;
mod lines;
mod next;
mod offered;
mod prewarm;
mod report;
mod reported;
mod revisions;
mod script;
mod status;
mod times;
mod writes;

pub(in crate::cli) use script::rollout;

use super::suggested_commands::CommandPlace;

/// The cluster of the scripts.
pub(in crate::cli) fn place() -> CommandPlace {
    CommandPlace::of(&script::Script::of(rollout()))
}
