//! From a key or a name to what its action does.

use crate::tui::action::{Action, ActionId, bound};
use crate::tui::commands;
use crate::tui::key::Key;
use crate::tui::message::ConsoleEffect;
use crate::tui::model::{Model, Page};
use crate::tui::status::StatusSeverity;
use crate::tui::view;

/// Does what the key is bound to, or says why not.
pub(super) fn dispatch(model: &mut Model, key: Key) -> Vec<ConsoleEffect> {
    match bound(model, key) {
        Some(action) if !is_idle_space(model, action, key) => run(model, action, ""),
        bound => {
            if bound.is_some() || key.text().is_some_and(|c| !c.is_whitespace()) {
                model.say(StatusSeverity::KeyRefused, format!("{key} does nothing here; ? lists what does"));
            }
            Vec::new()
        }
    }
}

/// Whether it is a space where that would go a page down, and the whole list is seen: who expects that it marks the row is answered.
fn is_idle_space(model: &Model, action: &Action, key: Key) -> bool {
    let rows = model.fleet.as_ref().filter(|_| model.page == Page::Fleet).map(|page| page.rows.len());
    let is_seen = || rows.is_some_and(|rows| rows <= view::list_height(model));
    action.id == ActionId::PageDown && key.text() == Some(' ') && is_seen()
}

/// Does `action`, or says why not.
pub(super) fn run(model: &mut Model, action: &Action, argument: &str) -> Vec<ConsoleEffect> {
    match action.available(model) {
        Ok(()) => {
            // What is done now replaces the last message. Actions that only look leave it, unless it was about a key.
            let about_a_key = model.status.as_ref().is_some_and(|status| status.severity == StatusSeverity::KeyRefused);
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
