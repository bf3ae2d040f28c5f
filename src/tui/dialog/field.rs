//! Keys for the fields of forms.

use std::collections::BTreeSet;

use crossterm::event::KeyCode;
use tui_input::Input;

use crate::tui::key::Key;
use crate::tui::prompt::edit;

/// The effect of a key on a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Handled {
    /// The form used it, and the command changed.
    Changed,
    /// The form used it, and the command is the same.
    Yes,
    /// The form does not use the key.
    No,
}

/// A key for a text field.
pub(super) fn field(input: &mut Input, key: Key) -> Handled {
    let before = input.value().to_owned();
    match edit(input, key) {
        false => Handled::No,
        true if input.value() == before => Handled::Yes,
        true => Handled::Changed,
    }
}

/// Completes a text if this key asks for it: right, at the end of the text. Appends the longest common continuation of all
/// `texts` that begin with the typed text. Tells whether it appended anything.
pub(super) fn complete(input: &mut Input, key: Key, texts: impl FnOnce() -> Vec<String>) -> bool {
    let typed = input.value();
    if key != Key::plain(KeyCode::Right) || input.cursor() < typed.chars().count() {
        return false;
    }
    let texts: BTreeSet<String> = texts().into_iter().filter(|text| text.starts_with(typed)).collect();
    match common_start(&texts) {
        Some(common) if common.len() > typed.len() => {
            *input = Input::new(common.to_owned());
            true
        }
        _ => false,
    }
}

fn common_start(texts: &BTreeSet<String>) -> Option<&str> {
    let (first, last) = (texts.first()?, texts.last()?);
    // In a sorted set, all texts share the prefix that the first and the last share.
    let shared = first.char_indices().zip(last.chars()).take_while(|((_, a), b)| a == b);
    let end = shared.last().map_or(0, |((at, c), _)| at + c.len_utf8());
    Some(&first[..end])
}

/// Whether a key switches between two words.
pub(super) fn turns(key: Key) -> bool {
    matches!(key.code, KeyCode::Left | KeyCode::Right | KeyCode::Char(' ' | 'h' | 'l'))
}
