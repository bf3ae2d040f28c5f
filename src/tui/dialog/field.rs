//! Keys for the fields of forms.

use crossterm::event::KeyCode;
use tui_input::Input;

use crate::tui::key::Key;
use crate::tui::prompt::edit;

/// What a key did to a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Handled {
    /// The form used it, and the command changed.
    Changed,
    /// The form used it, and the command is the same.
    Yes,
    /// The form has no use for it.
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

/// Whether a key switches between two words.
pub(super) fn turns(key: Key) -> bool {
    matches!(key.code, KeyCode::Left | KeyCode::Right | KeyCode::Char(' ' | 'h' | 'l'))
}
