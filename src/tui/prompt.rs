//! A line of text that is being typed: after `:`, after `/`, and in the fields of dialogs.

use crossterm::event::{KeyCode, KeyModifiers};
use tui_input::{Input, InputRequest};

use super::key::Key;
use crate::engine::model::printable::{is_printable, stripped};

/// A line that is being typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prompt {
    pub(crate) input: Input,
    /// The text when the line was opened.
    pub(crate) before: String,
    /// The error in the text so far.
    pub(crate) complaint: Option<String>,
    /// The entry of the history that is shown, counted from the newest.
    recalled: Option<usize>,
    /// The completions of the text; tab goes from one to the next.
    completions: Vec<String>,
    /// The completion that is in the line.
    chosen: Option<usize>,
}

impl Prompt {
    pub(crate) fn with(text: &str) -> Self {
        Self { input: Input::new(text.to_owned()), before: text.to_owned(), ..Self::default() }
    }

    pub(crate) fn text(&self) -> &str {
        self.input.value()
    }

    pub(crate) fn set(&mut self, text: &str) {
        self.input = Input::new(text.to_owned());
    }

    /// Offers these completions of the text.
    pub(crate) fn offer(&mut self, completions: Vec<String>) {
        (self.completions, self.chosen) = (completions, None);
    }

    pub(crate) fn completions(&self) -> &[String] {
        &self.completions
    }

    /// The completion that is in the line, as an index.
    pub(crate) fn chosen(&self) -> Option<usize> {
        self.chosen
    }

    /// Puts the next completion (or the previous one) into the line. Tells whether it was the only one.
    pub(crate) fn complete(&mut self, forward: bool) -> bool {
        let count = self.completions.len();
        if count == 0 {
            return false;
        }
        let next = match (self.chosen, forward) {
            (None, true) => 0,
            (None, false) => count - 1,
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
        };
        let text = self.completions[next].clone();
        self.set(&text);
        self.chosen = Some(next);
        count == 1
    }

    /// Shows the history entry before (or after) the present one.
    pub(crate) fn recall(&mut self, history: &[String], towards: Recall) {
        let next = match (towards, self.recalled) {
            (Recall::Older, None) => Some(0),
            (Recall::Older, Some(at)) => Some((at + 1).min(history.len().saturating_sub(1))),
            (Recall::Newer, Some(at)) => at.checked_sub(1),
            (Recall::Newer, None) => None,
        };
        let entry = next.and_then(|at| history.iter().rev().nth(at));
        self.set(entry.map_or("", String::as_str));
        self.recalled = entry.and(next);
    }
}

/// The direction in the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recall {
    Older,
    Newer,
}

/// Applies an editing key to a line. Tells whether the key edits.
pub(crate) fn edit(input: &mut Input, key: Key) -> bool {
    let request = match (key.code, key.modifiers) {
        (KeyCode::Char(c), KeyModifiers::NONE) if is_printable(c) => InputRequest::InsertChar(c),
        (KeyCode::Backspace, KeyModifiers::NONE) => InputRequest::DeletePrevChar,
        (KeyCode::Backspace, KeyModifiers::ALT) | (KeyCode::Char('w'), KeyModifiers::CONTROL) => {
            InputRequest::DeletePrevWord
        }
        (KeyCode::Delete, _) => InputRequest::DeleteNextChar,
        (KeyCode::Char('u'), KeyModifiers::CONTROL) => InputRequest::DeleteFromStart,
        (KeyCode::Char('k'), KeyModifiers::CONTROL) => InputRequest::DeleteTillEnd,
        (KeyCode::Left, KeyModifiers::NONE) => InputRequest::GoToPrevChar,
        (KeyCode::Right, KeyModifiers::NONE) => InputRequest::GoToNextChar,
        (KeyCode::Left, _) | (KeyCode::Char('b'), KeyModifiers::ALT) => InputRequest::GoToPrevWord,
        (KeyCode::Right, _) | (KeyCode::Char('f'), KeyModifiers::ALT) => InputRequest::GoToNextWord,
        (KeyCode::Home, _) | (KeyCode::Char('a'), KeyModifiers::CONTROL) => InputRequest::GoToStart,
        (KeyCode::End, _) | (KeyCode::Char('e'), KeyModifiers::CONTROL) => InputRequest::GoToEnd,
        _ => return false,
    };
    input.handle(request);
    true
}

/// Inserts pasted text as one line, without unprintable characters.
pub(crate) fn paste(input: &mut Input, text: &str) {
    for c in stripped(text.trim_matches(['\r', '\n'])).chars() {
        input.handle(InputRequest::InsertChar(c));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::printable::tests::HOSTILE;

    #[test]
    fn what_is_typed_or_pasted_has_printable_characters_only() {
        let mut pasted = Input::default();
        paste(&mut pasted, &format!("\n{HOSTILE}\nand more\r\n"));
        assert_eq!(pasted.value(), "a]0;xb2Jcd and more");
        let mut typed = Input::default();
        for c in HOSTILE.chars() {
            edit(&mut typed, Key::char(c));
        }
        assert_eq!(typed.value(), "a]0;xb2Jcd");
    }
}
