//! Keys for the help: a search in it.

use crossterm::event::KeyCode;

use crate::tui::key::Key;
use crate::tui::log_pane::contains;
use crate::tui::model::{HelpFind, Model, Overlay};
use crate::tui::prompt::{Prompt, edit};
use crate::tui::view::help_lines;

/// Applies a key to the search. Tells whether the search used it.
pub(super) fn takes(model: &mut Model, key: Key) -> bool {
    let Overlay::Help { find, .. } = &mut model.overlay else { return false };
    let Some(prompt) = &mut find.prompt else {
        match key.code {
            KeyCode::Char('/') => find.prompt = Some(Prompt::default()),
            KeyCode::Char('n') if !find.text.is_empty() => go(model, Towards::After),
            KeyCode::Char('N' | 'b') if !find.text.is_empty() => go(model, Towards::Before),
            // The first esc ends the search.
            KeyCode::Esc if !find.text.is_empty() => find.text.clear(),
            _ => return false,
        }
        return true;
    };
    match key.code {
        KeyCode::Enter => find.prompt = None,
        KeyCode::Esc => *find = HelpFind::default(),
        KeyCode::Backspace if prompt.text().is_empty() => *find = HelpFind::default(),
        // These keys move the help itself.
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => return false,
        _ => {
            edit(&mut prompt.input, key);
            refind(model);
        }
    }
    true
}

/// Shows the first line from here on that contains the typed text.
pub(super) fn refind(model: &mut Model) {
    if let Overlay::Help { find, .. } = &mut model.overlay {
        find.text = find.prompt.as_ref().map(|prompt| prompt.text().to_owned()).unwrap_or_default();
        go(model, Towards::Here);
    }
}

/// The direction in which the next line with the text is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Towards {
    Here,
    After,
    Before,
}

/// Goes to the next or previous line with the searched text, around the end.
fn go(model: &mut Model, towards: Towards) {
    let lines = help_lines(model);
    let Overlay::Help { top, find, .. } = &mut model.overlay else { return };
    let (at, len) = ((*top).min(lines.len().saturating_sub(1)), lines.len());
    let hit = |nth: &usize| contains(&lines[*nth], &find.text);
    let found = match towards {
        Towards::Here => (at..len).chain(0..at).find(hit),
        Towards::After => (at + 1..len).chain(0..(at + 1).min(len)).find(hit),
        Towards::Before => (0..at).rev().chain((at..len).rev()).find(hit),
    };
    if let Some(found) = found {
        *top = found;
    }
}
