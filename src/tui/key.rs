//! Keys, and their names in help, footer and documentation.

use std::fmt;

use crossterm::event::{KeyCode, KeyModifiers};

/// A key press. Shift is part of a character (`S`), never a separate modifier on one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    pub(crate) code: KeyCode,
    pub(crate) modifiers: KeyModifiers,
}

impl Key {
    pub(crate) const fn plain(code: KeyCode) -> Self {
        Self { code, modifiers: KeyModifiers::NONE }
    }

    pub(crate) const fn char(c: char) -> Self {
        Self::plain(KeyCode::Char(c))
    }

    pub(crate) const fn ctrl(c: char) -> Self {
        Self { code: KeyCode::Char(c), modifiers: KeyModifiers::CONTROL }
    }

    /// The character that this key types into a text field.
    pub(crate) fn text(self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if self.modifiers.is_empty() => Some(c),
            _ => None,
        }
    }
}

impl std::str::FromStr for Key {
    type Err = String;

    /// Reads a key as help and footer write it.
    fn from_str(text: &str) -> Result<Self, String> {
        const NAMED: [(&str, KeyCode); 15] = [
            ("space", KeyCode::Char(' ')),
            ("enter", KeyCode::Enter),
            ("esc", KeyCode::Esc),
            ("tab", KeyCode::Tab),
            ("shift-tab", KeyCode::BackTab),
            ("backspace", KeyCode::Backspace),
            ("insert", KeyCode::Insert),
            ("up", KeyCode::Up),
            ("down", KeyCode::Down),
            ("left", KeyCode::Left),
            ("right", KeyCode::Right),
            ("home", KeyCode::Home),
            ("end", KeyCode::End),
            ("pgup", KeyCode::PageUp),
            ("pgdn", KeyCode::PageDown),
        ];
        let (modifiers, name) = match (text.strip_prefix("ctrl-"), text.strip_prefix("alt-")) {
            (Some(name), _) => (KeyModifiers::CONTROL, name),
            (_, Some(name)) => (KeyModifiers::ALT, name),
            (None, None) => (KeyModifiers::NONE, text),
        };
        let mut letters = name.chars();
        let code = match (letters.next(), letters.next()) {
            (Some(c), None) if !c.is_control() && c != ' ' => Some(KeyCode::Char(c)),
            _ => NAMED.iter().find(|(known, _)| *known == name).map(|(_, code)| *code).or_else(|| {
                let number = name.strip_prefix('F')?.parse().ok().filter(|number| (1..=12).contains(number))?;
                Some(KeyCode::F(number))
            }),
        };
        code.map(|code| Self { code, modifiers }).ok_or_else(|| {
            format!("`{text}` is no key; keys are written as in the help: `x`, `X`, `F5`, `ctrl-x`, `alt-x`, `space`, `pgdn`")
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            f.write_str("ctrl-")?;
        }
        if self.modifiers.contains(KeyModifiers::ALT) {
            f.write_str("alt-")?;
        }
        if self.modifiers.contains(KeyModifiers::SHIFT) {
            f.write_str("shift-")?;
        }
        match self.code {
            KeyCode::Char(' ') => f.write_str("space"),
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::Enter => f.write_str("enter"),
            KeyCode::Esc => f.write_str("esc"),
            KeyCode::Tab => f.write_str("tab"),
            KeyCode::BackTab => f.write_str("shift-tab"),
            KeyCode::Backspace => f.write_str("backspace"),
            KeyCode::Delete => f.write_str("delete"),
            KeyCode::Insert => f.write_str("insert"),
            KeyCode::Up => f.write_str("up"),
            KeyCode::Down => f.write_str("down"),
            KeyCode::Left => f.write_str("left"),
            KeyCode::Right => f.write_str("right"),
            KeyCode::Home => f.write_str("home"),
            KeyCode::End => f.write_str("end"),
            KeyCode::PageUp => f.write_str("pgup"),
            KeyCode::PageDown => f.write_str("pgdn"),
            KeyCode::F(n) => write!(f, "F{n}"),
            other => write!(f, "{other:?}"),
        }
    }
}
