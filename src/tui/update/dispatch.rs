//! From a key or a name to what its action does.

use crate::tui::action::{Action, ActionId, bound};
use crate::tui::commands;
use crate::tui::key::Key;
use crate::tui::message::ConsoleEffect;
use crate::tui::model::Model;
use crate::tui::status::StatusSeverity;

/// Does what the key is bound to, or says why not.
pub(super) fn dispatch(model: &mut Model, key: Key) -> Vec<ConsoleEffect> {
    match bound(model, key) {
        Some(action) => run(model, action, ""),
        None => {
            if key.text().is_some_and(|c| !c.is_whitespace()) {
                model.say(StatusSeverity::KeyRefused, format!("{key} does nothing here; ? lists what does"));
            }
            Vec::new()
        }
    }
}

/// Does `action`, or says why not.
pub(super) fn run(model: &mut Model, action: &Action, argument: &str) -> Vec<ConsoleEffect> {
    match action.available(model) {
        Ok(()) => {
            // What is done now replaces the last message. Actions that only look leave it, unless it was about a key.
            let about_a_key = model.status.as_ref().is_some_and(|status| status.tone == StatusSeverity::KeyRefused);
            // `esc` puts a message away itself.
            if about_a_key && action.id != ActionId::Back || !action.only_looks(model) {
                model.status = None;
            }
            commands::run(model, action.id, argument)
        }
        Err(why) => {
            model.say(StatusSeverity::KeyRefused, why);
            Vec::new()
        }
    }
}
