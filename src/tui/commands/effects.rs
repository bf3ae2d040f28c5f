//! The return type of every action.

use crate::tui::message::ConsoleEffect;
use crate::tui::model::Model;
use crate::tui::status::StatusSeverity;

pub(super) type Effects = Vec<ConsoleEffect>;

/// Shows why nothing is done, until another action is done.
pub(super) fn refuse(model: &mut Model, why: String) -> Effects {
    model.say(StatusSeverity::KeyRefused, why);
    Vec::new()
}
