//! Which characters may be written to a terminal, and texts without the others.
//!
//! Names, reasons and messages come from the cluster, from colleagues and from files: anybody who may write an annotation could
//! otherwise clear the screen, set the clipboard, or reorder a line so that it reads as something else. Every text goes through
//! [`printable`] on its way to a terminal, through [`json`] on its way into JSON, and through [`stripped`] when it is typed.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

/// The replacement for a character that is not written.
pub const REPLACEMENT: char = '?';

/// Whether a terminal shows `c` as itself. It is false for control characters (C0, DEL and C1), for characters that have no
/// width, for those that change the direction of the text around them, and for line separators.
///
/// Joiners (U+200C, U+200D) are among the invisible ones: two names that differ only in them would look the same.
pub fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c,
            '\u{ad}' // soft hyphen
            | '\u{34f}' // combining grapheme joiner
            | '\u{61c}' // Arabic letter mark
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // Hangul fillers
            | '\u{17b4}' | '\u{17b5}' // Khmer inherent vowels
            | '\u{180b}'..='\u{180f}' // Mongolian variation selectors and vowel separator
            | '\u{200b}'..='\u{200f}' // zero-width space, joiners, direction marks
            | '\u{2028}'..='\u{202e}' // line and paragraph separators, embeddings, overrides
            | '\u{2060}'..='\u{206f}' // word joiner, invisible operators, isolates
            | '\u{feff}' // byte order mark
            | '\u{fff0}'..='\u{fffb}' // interlinear annotations
            | '\u{1bca0}'..='\u{1bca3}' // shorthand controls
            | '\u{1d173}'..='\u{1d17a}' // musical controls
            | '\u{e0000}'..='\u{e0fff}' // tags, and variation selectors without a use in names
        )
}

/// `text` as one line that is safe for a terminal: white space that is a control character becomes a space, every other
/// character that is not [printable](is_printable) becomes [`REPLACEMENT`].
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(shown).collect())
}

fn shown(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => ' ',
        c if is_printable(c) => c,
        _ => REPLACEMENT,
    }
}

/// `text` as it is taken in from whoever types or pastes it: white space that is a control character becomes a space, other
/// characters that are not [printable](is_printable) are left out.
pub fn stripped(text: &str) -> String {
    let kept = |c: &char| is_printable(*c) || matches!(c, '\t' | '\n' | '\r');
    text.chars().filter(kept).map(shown).collect()
}

/// `value` as JSON on one line, without a line feed. Characters that are not [printable](is_printable) are escaped, so whoever
/// parses it reads the same value. (serde_json itself escapes those below U+0020 only.)
///
/// # Errors
/// When `value` cannot be serialized.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    let written = serde_json::to_string(value)?;
    Ok(if written.chars().all(is_printable) { written } else { json_again(&written) })
}

/// One line of JSON that was written before, with the same escapes. `written` must be valid JSON.
pub fn json_again(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    for c in written.chars() {
        match c {
            // Valid JSON has these characters between values only.
            '\t' | '\n' | '\r' => text.push(' '),
            c if is_printable(c) => text.push(c),
            c => escape(&mut text, c),
        }
    }
    text
}

/// Appends the escape of `c`: one for each of its UTF-16 units.
fn escape(text: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\\u{unit:04x}");
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// One of each kind: C0, DEL, C1, bidi, zero-width, separators, tags, above the basic plane.
    pub(crate) const HOSTILE: &str = "a\u{1b}]0;x\u{7}b\u{7f}\u{9b}2J\u{61c}\u{200b}\u{200d}\u{200f}\u{202a}\u{202e}c\u{2028}\u{2060}\u{2066}\u{2069}\u{feff}\u{e0041}\u{ad}d";

    #[test]
    fn what_steers_a_terminal_is_replaced_and_letters_of_all_scripts_stay() {
        assert_eq!(printable(HOSTILE), "a?]0;x?b??2J??????c???????d");
        assert_eq!(printable("one\r\ntwo\tthree"), "one  two three");
        for text in ["→ … · é", "مرحبا", "שלום", "日本語", "🚀 e\u{301} ❤\u{fe0f}", ""] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn what_is_typed_loses_them() {
        assert_eq!(stripped(HOSTILE), "a]0;xb2Jcd");
        assert_eq!(stripped("the link\nis down"), "the link is down");
    }

    #[test]
    fn json_has_the_same_value_and_none_of_the_characters() {
        let value = json!({"why": HOSTILE, HOSTILE: ["\"\\\n\t", 1.5, null, "é"]});
        let written = super::json(&value).unwrap();
        assert!(written.chars().all(is_printable), "{written}");
        assert!(written.contains(r"\u009b2J\u061c") && written.contains(r"\udb40\udc41"), "{written}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);

        let plain = json!({"text": "é \" \\ \n", "list": [1, true]});
        assert_eq!(super::json(&plain).unwrap(), serde_json::to_string(&plain).unwrap());
    }

    #[test]
    fn a_line_that_was_written_with_them_keeps_its_value() {
        let value = json!({"why": HOSTILE});
        let written = serde_json::to_string_pretty(&value).unwrap();
        assert!(!written.chars().all(is_printable));
        let again = json_again(&written);
        assert!(again.chars().all(is_printable), "{again}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&again).unwrap(), value);
    }
}
