//! Runs the action of a key or a name.

use crate::tui::action::{Action, ActionId, bound};
use crate::tui::commands;
use crate::tui::key::Key;
use crate::tui::message::ConsoleEffect;
use crate::tui::model::{Model, Page};
use crate::tui::status::StatusSeverity;
use crate::tui::view;

/// Runs the action to which the key is bound, or says why it cannot run.
pub(super) fn dispatch(model: &mut Model, key: Key) -> Vec<ConsoleEffect> {
    let now = model.now;
    let action = bound(model, key);
    // Another key selects nothing: the cursor stays on the first row, whichever it is.
    if action.is_some_and(Action::is_about_the_current_row)
        && let Some(page) = model.rollout_mut().filter(|page| view::shows_nodes(page))
        && let Some(shown) = page.shown().cloned()
    {
        page.nodes.select_what_was_read(&shown.snapshot.nodes, now);
    }
    match action {
        Some(action) if !is_idle_space(model, action, key) => run(model, action, ""),
        bound => {
            if bound.is_some() || key.text().is_none_or(|c| !c.is_whitespace()) {
                model.say(StatusSeverity::KeyRefused, format!("{key} does nothing here; ? lists what does"));
            }
            Vec::new()
        }
    }
}

/// Whether the key is a space that would page down although the whole list is visible: the user may expect it to mark the
/// row, and gets an answer.
fn is_idle_space(model: &Model, action: &Action, key: Key) -> bool {
    let rows = model.fleet.as_ref().filter(|_| model.page == Page::Fleet).map(|page| page.rows.len());
    let is_seen = || rows.is_some_and(|rows| rows <= view::list_height(model));
    action.id == ActionId::PageDown && key.text() == Some(' ') && is_seen()
}

/// Runs `action`, or says why it cannot run.
pub(super) fn run(model: &mut Model, action: &Action, argument: &str) -> Vec<ConsoleEffect> {
    match action.available(model) {
        Ok(()) => {
            // An action replaces the last message. An action that only looks keeps the message, unless it was about a key.
            let about_a_key = model.status.as_ref().is_some_and(|status| status.severity == StatusSeverity::KeyRefused);
            // `esc` removes a message itself.
            if about_a_key && action.id != ActionId::Back || !action.only_looks(model) {
                model.status = None;
            }
            commands::run(model, action.id, argument)
        }
        Err(why) => {
            model.say(StatusSeverity::KeyRefused, why);
            if let Some(status) = &mut model.status {
                status.refused = Some(action.name);
            }
            Vec::new()
        }
    }
}
