//! Keys for the overlays of a page: the help, an event in full, the watches, the diagnosis.

use crossterm::event::KeyCode;

use super::dialog::close_help;
use super::dispatch::dispatch;
use crate::tui::action::{ActionId, bound};
use crate::tui::key::Key;
use crate::tui::message::ConsoleEffect;
use crate::tui::model::{Model, Overlay};
use crate::tui::view::overlay_end;

/// Scrolls the overlay, closes it, or closes it and runs the key's action on the page below. A key without an action there closes it too.
pub(super) fn overlay_key(model: &mut Model, key: Key) -> Vec<ConsoleEffect> {
    let opened_by = match &model.overlay {
        Overlay::Help { .. } => ActionId::Help,
        Overlay::Details { .. } => ActionId::Open,
        Overlay::Watches { .. } => ActionId::Watches,
        Overlay::Diagnosis { .. } => ActionId::Diagnose,
        Overlay::None | Overlay::Palette(_) | Overlay::Filter(_) | Overlay::Dialog(_) => return Vec::new(),
    };
    // The first line of the screen, a frame, and a line that stays visible.
    let page = isize::try_from(model.size.height.saturating_sub(4)).unwrap_or(1).max(1);
    let action = bound(model, key).map(|action| action.id);
    let by = match (key.code, action) {
        (KeyCode::Char(' '), _) | (_, Some(ActionId::PageDown)) => page,
        (_, Some(ActionId::PageUp)) => -page,
        (_, Some(ActionId::HalfDown)) => page / 2,
        (_, Some(ActionId::HalfUp)) => -(page / 2),
        (_, Some(ActionId::Down)) => 1,
        (_, Some(ActionId::Up)) => -1,
        (_, Some(ActionId::Top)) => isize::MIN,
        (_, Some(ActionId::Bottom)) => isize::MAX,
        // On the page below, a key that is pressed to close the overlay would leave, fold or quit.
        (KeyCode::Esc | KeyCode::Enter, _)
        | (_, None | Some(ActionId::Back | ActionId::Quit | ActionId::Left | ActionId::Right)) => {
            return close_help(model);
        }
        // Below the help is a dialog, which has keys of its own.
        (_, Some(_)) if matches!(model.overlay, Overlay::Help { dialog: Some(_), .. }) => return close_help(model),
        (_, Some(action)) => {
            model.overlay = Overlay::None;
            return if action == opened_by { Vec::new() } else { dispatch(model, key) };
        }
    };
    clamp(model);
    if let Some(top) = top(model) {
        *top = top.saturating_add_signed(by);
    }
    clamp(model);
    Vec::new()
}

/// The first visible line of the overlay.
fn top(model: &mut Model) -> Option<&mut usize> {
    match &mut model.overlay {
        Overlay::Help { top, .. }
        | Overlay::Details { top }
        | Overlay::Watches { top }
        | Overlay::Diagnosis { top, .. } => Some(top),
        Overlay::None | Overlay::Palette(_) | Overlay::Filter(_) | Overlay::Dialog(_) => None,
    }
}

/// Limits the scrolling to the end, so that the next key moves the visible part. While the help is searched, its first line
/// is the found one.
pub(super) fn clamp(model: &mut Model) {
    if top(model).is_none_or(|top| *top == 0) {
        return;
    }
    let end = overlay_end(model);
    if let Some(top) = top(model) {
        *top = (*top).min(end);
    }
}
