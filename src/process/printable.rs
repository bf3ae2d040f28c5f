//! What may be written to a terminal.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::engine::model::printable::{REPLACEMENT, is_printable, json, json_again, printable};

/// Bytes that no text from elsewhere can steer a terminal with. Streams take nothing else, and only the functions here make one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Printable(Vec<u8>);

/// Colours of the command line; which of its tints a terminal shows is the user's choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineColour {
    Red,
    Green,
    Cyan,
}

impl Printable {
    /// One line, in colour.
    pub(crate) fn coloured(colour: LineColour, text: &str) -> Self {
        let sgr = match colour {
            LineColour::Red => 31,
            LineColour::Green => 32,
            LineColour::Cyan => 36,
        };
        Self(format!("\u{1b}[{sgr}m{}\u{1b}[m\n", printable(text)).into_bytes())
    }

    /// One line: line breaks within `text` become spaces. It ends in a line feed.
    pub(crate) fn line(text: &str) -> Self {
        Self(format!("{}\n", printable(text)).into_bytes())
    }

    /// Several lines of ours: line feeds within `text` stay, and a last one is added.
    pub(crate) fn lines(text: &str) -> Self {
        let mut lines = String::with_capacity(text.len() + 1);
        text.lines().for_each(|line| {
            lines.push_str(&printable(line));
            lines.push('\n');
        });
        Self(lines.into_bytes())
    }

    /// The same, and tabs within `text` stay. Nothing is made of an empty text.
    pub(crate) fn tabbed(text: &str) -> Self {
        let line = |line: &str| line.split('\t').map(printable).collect::<Vec<_>>().join("\t") + "\n";
        Self(text.lines().map(line).collect::<String>().into_bytes())
    }

    /// A question: like [`line`](Self::line), without the line feed.
    pub(crate) fn question(text: &str) -> Self {
        Self(printable(text).into_owned().into_bytes())
    }

    /// `value` as JSON on one line.
    ///
    /// # Errors
    /// When it cannot be serialized.
    pub(crate) fn json(value: &impl Serialize) -> serde_json::Result<Self> {
        let mut line = json(value)?;
        line.push('\n');
        Ok(Self(line.into_bytes()))
    }

    /// A value as JSON on several lines, indented as kubectl does it.
    ///
    /// # Errors
    /// When the value has no JSON.
    pub(crate) fn json_indented(value: &impl Serialize) -> serde_json::Result<Self> {
        let written = serde_json::to_string_pretty(value)?;
        // Within a text line feeds are escaped, so that each line can be taken by itself.
        let lines: String = written.lines().map(|line| format!("{}\n", json_again(line))).collect();
        Ok(Self(lines.into_bytes()))
    }

    /// A line of valid JSON that was written before, without a line feed.
    pub(crate) fn json_again(written: &str) -> Self {
        let mut line = json_again(written);
        line.push('\n');
        Self(line.into_bytes())
    }

    /// Escape sequences of ours, around cells that `tui::terminal` has made printable.
    pub(crate) fn control_sequences(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Text for a shell: a completion script, or the words that may come next. What separates words stays as it is: line feeds, tabs, and
    /// the vertical tabs that bash asks for.
    pub(crate) fn shell_text(text: &str) -> Self {
        let stays = |c: char| matches!(c, '\n' | '\t' | '\u{b}') || is_printable(c);
        Self(text.chars().map(|c| if stays(c) { c } else { REPLACEMENT }).collect::<String>().into_bytes())
    }

    /// A message with a backtrace, after a panic.
    pub(crate) fn panic(info: &impl fmt::Display) -> Self {
        let mut text = format!("rolldeck: internal error: {info}");
        let backtrace = std::backtrace::Backtrace::capture();
        if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{backtrace}");
        }
        Self::lines(&text)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::printable::tests::HOSTILE;

    #[test]
    fn whatever_is_made_of_a_hostile_text_has_line_feeds_and_printable_characters_only() {
        for made in [
            Printable::line(HOSTILE),
            Printable::lines(&format!("{HOSTILE}\nHint: {HOSTILE}")),
            Printable::question(HOSTILE),
            Printable::tabbed(&HOSTILE.replace('\t', "")),
            Printable::shell_text(&HOSTILE.replace(['\t', '\u{b}'], "")),
            Printable::json(&serde_json::json!({HOSTILE: HOSTILE})).unwrap(),
            Printable::json_indented(&serde_json::json!({HOSTILE: HOSTILE})).unwrap(),
            Printable::json_again(&serde_json::to_string(HOSTILE).unwrap()),
            Printable::panic(&HOSTILE),
        ] {
            let text = std::str::from_utf8(made.as_bytes()).unwrap();
            assert!(text.chars().all(|c| c == '\n' || is_printable(c)), "{text:?}");
            assert!(text.contains('d'), "the rest of the text is there: {text:?}");
        }
    }

    #[test]
    fn a_coloured_line_has_no_other_sequences_than_ours() {
        let made = Printable::coloured(LineColour::Red, &format!("-{HOSTILE}\u{1b}[2J"));
        let text = std::str::from_utf8(made.as_bytes()).unwrap();
        let inner = text.strip_prefix("\u{1b}[31m-").and_then(|text| text.strip_suffix("\u{1b}[m\n")).unwrap();
        assert!(inner.chars().all(is_printable), "{text:?}");
    }

    #[test]
    fn a_line_is_one_line_and_lines_are_as_many_as_they_were() {
        assert_eq!(Printable::line("a\nb").as_bytes(), b"a b\n");
        assert_eq!(Printable::lines("a\r\nb").as_bytes(), b"a\nb\n");
        assert_eq!(Printable::lines("a\n").as_bytes(), b"a\n");
        assert_eq!(Printable::tabbed("a\tb\u{1b}\nc").as_bytes(), b"a\tb?\nc\n");
        assert_eq!(Printable::tabbed("").as_bytes(), b"");
        assert_eq!(Printable::shell_text("a\u{b}b\tc\u{1b}\nd").as_bytes(), b"a\x0bb\tc?\nd");
        assert_eq!(Printable::question("Go on? ").as_bytes(), b"Go on? ");
    }
}
