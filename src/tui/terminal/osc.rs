//! The requests to a terminal beside frames: its clipboard, its title, its bell.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::engine::model::printable::printable;
use crate::tui::words::fit;

/// Rings the bell.
pub(crate) const BELL: &[u8] = b"\x07";
/// Pushes the title (XTWINOPS).
pub(crate) const PUSH_TITLE: &[u8] = b"\x1b[22;0t";
/// Restores the pushed title.
pub(crate) const POP_TITLE: &[u8] = b"\x1b[23;0t";
/// The most cells of a title.
const TITLE: usize = 120;

/// Puts `text` into the clipboard (OSC 52). The text cannot steer the terminal, because it is sent as base64.
pub(crate) fn clipboard(text: &str) -> Vec<u8> {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(text)).into_bytes()
}

/// Sets the title (OSC 2).
pub(crate) fn title(text: &str) -> Vec<u8> {
    format!("\x1b]2;{}\x1b\\", fit(&printable(text), TITLE)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::printable::tests::HOSTILE;

    #[test]
    fn what_is_copied_comes_back_and_steers_nothing() {
        let sent = clipboard(HOSTILE);
        let inside = sent.strip_prefix(b"\x1b]52;c;").unwrap().strip_suffix(b"\x07").unwrap();
        assert_eq!(STANDARD.decode(inside).unwrap(), HOSTILE.as_bytes());
        assert!(inside.iter().all(u8::is_ascii_graphic));
    }

    #[test]
    fn a_title_is_printable_and_short() {
        let sent = String::from_utf8(title(&HOSTILE.repeat(100))).unwrap();
        let inside = sent.strip_prefix("\x1b]2;").unwrap().strip_suffix("\x1b\\").unwrap();
        assert!(!inside.contains(['\x1b', '\x07', '\u{9c}']), "{inside:?}");
        assert!(inside.chars().count() <= TITLE);
    }
}
