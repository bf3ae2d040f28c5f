//! A line of text that is being typed: after `:`, after `/`, and in the fields of dialogs.

use crossterm::event::{KeyCode, KeyModifiers};
use tui_input::{Input, InputRequest};

use super::key::Key;
use crate::engine::model::printable::{is_printable, stripped};

/// A line that is being typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prompt {
    pub(crate) input: Input,
    /// What is wrong with the text so far.
    pub(crate) complaint: Option<String>,
    /// Which entry of the history is shown, counted from the newest.
    recalled: Option<usize>,
    /// What the text could become; tab goes from one to the next.
    completions: Vec<String>,
    /// Which of them is in the line.
    chosen: Option<usize>,
}

impl Prompt {
    pub(crate) fn with(text: &str) -> Self {
        Self { input: Input::new(text.to_owned()), ..Self::default() }
    }

    pub(crate) fn text(&self) -> &str {
        self.input.value()
    }

    pub(crate) fn set(&mut self, text: &str) {
        self.input = Input::new(text.to_owned());
    }

    /// Offers these as what the text could become.
    pub(crate) fn offer(&mut self, completions: Vec<String>) {
        (self.completions, self.chosen) = (completions, None);
    }

    pub(crate) fn completions(&self) -> &[String] {
        &self.completions
    }

    /// Which of the completions is in the line.
    pub(crate) fn chosen(&self) -> Option<usize> {
        self.chosen
    }

    /// Puts the next completion (or the one before) into the line. Tells whether it was the only one.
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

    /// Shows the entry before (or after) the one that is shown.
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

/// Applies an editing key to a line. Tells whether it was one.
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

/// Inserts what was pasted: as one line, and without characters that are not printable.
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
