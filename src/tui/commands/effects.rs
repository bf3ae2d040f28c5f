//! What every action returns.

use crate::tui::message::ConsoleEffect;
use crate::tui::model::Model;
use crate::tui::status::StatusSeverity;

pub(super) type Effects = Vec<ConsoleEffect>;

/// Says why nothing is done, until something else is.
pub(super) fn refuse(model: &mut Model, why: String) -> Effects {
    model.say(StatusSeverity::KeyRefused, why);
    Vec::new()
}
