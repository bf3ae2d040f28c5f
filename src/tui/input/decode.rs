//! Decodes bytes from the terminal into keys, pastes and answers to questions.
//!
//! The decoder never blocks and never fails. It drops a control sequence (CSI) that it does not know, and no other byte.
//!
//! Why not a crate: crossterm's parser is private to its event source, which spins once the terminal is gone (crossterm#793).
//! termina 0.4 withholds all later keys after alt-P or an answer that it does not know, and reads the rest of a sequence that
//! it rejects as keys; anes 0.2 has neither bracketed paste nor answers to DECRQM; termwiz brings 100 crates; vte has no keys.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::tui::key::Key;

/// The longest escape sequence that is waited for; the longest we know has 25 bytes.
const SEQUENCE_LIMIT: usize = 64;
/// The most bytes of one paste.
const PASTE_LIMIT: usize = 64 * 1024;
const PASTE_END: &[u8] = b"\x1b[201~";
/// The beginning of the answer about the background colour, after `ESC ]`.
const BACKGROUND: &[u8] = b"11;";

/// An input from the terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TerminalInput {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted, in one go.
    Paste(String),
    /// The answer to DECRQM: the setting of this private mode (0: unknown to the terminal).
    Mode { mode: u16, setting: u16 },
    /// The answer to OSC 11: the colour of the background; red, green and blue.
    Background([u8; 3]),
}

/// Splits a stream of bytes into [`TerminalInput`]s, whatever pieces it arrives in.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    buffer: Vec<u8>,
    paste: Option<Vec<u8>>,
}

/// The meaning of the front of the buffer.
enum Parsed {
    /// This many bytes are consumed; they may have yielded an input.
    Take(usize, Option<TerminalInput>),
    /// A paste begins after this many bytes.
    Paste(usize),
    /// More bytes are needed.
    Wait,
}

impl Decoder {
    /// Takes in `bytes` and appends the inputs that they yield.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<TerminalInput>) {
        self.buffer.extend_from_slice(bytes);
        self.drain(out);
    }

    /// Whether an escape sequence has begun and not ended.
    pub(crate) fn pending(&self) -> bool {
        !self.buffer.is_empty() && self.paste.is_none()
    }

    /// Nothing followed for a while: an `ESC` that began a sequence is taken as the key.
    pub(crate) fn settle(&mut self, out: &mut Vec<TerminalInput>) {
        if self.paste.is_some() || self.buffer.is_empty() {
            return;
        }
        if self.buffer == [0x1b, b']'] {
            out.push(TerminalInput::Key(ALT_BRACKET));
            return self.buffer.clear();
        }
        if self.buffer[0] == 0x1b {
            out.push(TerminalInput::Key(Key::plain(KeyCode::Esc)));
        }
        self.buffer.remove(0);
        self.drain(out);
    }

    fn drain(&mut self, out: &mut Vec<TerminalInput>) {
        loop {
            if self.paste.is_some() {
                if !self.drain_paste(out) {
                    return;
                }
                continue;
            }
            match parse(&self.buffer) {
                Parsed::Wait if self.buffer.len() > SEQUENCE_LIMIT => self.buffer.clear(),
                Parsed::Wait => return,
                Parsed::Take(count, input) => {
                    self.buffer.drain(..count);
                    out.extend(input);
                }
                Parsed::Paste(count) => {
                    self.buffer.drain(..count);
                    self.paste = Some(Vec::new());
                }
            }
        }
    }

    /// Moves pasted text out of the buffer; returns false while the end of the paste is missing.
    fn drain_paste(&mut self, out: &mut Vec<TerminalInput>) -> bool {
        let end = self.buffer.windows(PASTE_END.len()).position(|window| window == PASTE_END);
        let keep = if end.is_some() { 0 } else { PASTE_END.len() - 1 };
        let count = end.unwrap_or(self.buffer.len().saturating_sub(keep));
        if let Some(paste) = &mut self.paste {
            let room = PASTE_LIMIT.saturating_sub(paste.len());
            paste.extend(self.buffer.drain(..count).take(room));
        }
        if end.is_none() {
            return false;
        }
        self.buffer.drain(..PASTE_END.len());
        let text = self.paste.take().unwrap_or_default();
        out.push(TerminalInput::Paste(String::from_utf8_lossy(&text).into_owned()));
        true
    }
}

fn parse(bytes: &[u8]) -> Parsed {
    match bytes {
        [] => Parsed::Wait,
        [0x1b] => Parsed::Wait,
        [0x1b, b'[', rest @ ..] => parse_csi(rest),
        [0x1b, b']', rest @ ..] => parse_osc(rest),
        [0x1b, b'O', rest @ ..] => match rest {
            [] => Parsed::Wait,
            [last, ..] => Parsed::Take(3, letter_key(*last, KeyModifiers::NONE)),
        },
        [0x1b, 0x1b, ..] => Parsed::Take(1, Some(TerminalInput::Key(Key::plain(KeyCode::Esc)))),
        [0x1b, rest @ ..] => match parse_plain(rest) {
            Parsed::Take(count, Some(TerminalInput::Key(key))) => {
                let key = Key { modifiers: key.modifiers | KeyModifiers::ALT, ..key };
                Parsed::Take(count + 1, Some(TerminalInput::Key(key)))
            }
            Parsed::Take(count, other) => Parsed::Take(count + 1, other),
            step => step,
        },
        _ => parse_plain(bytes),
    }
}

/// A character, or a control character.
fn parse_plain(bytes: &[u8]) -> Parsed {
    let Some(&first) = bytes.first() else { return Parsed::Wait };
    let key = match first {
        b'\r' => Key::plain(KeyCode::Enter),
        b'\t' => Key::plain(KeyCode::Tab),
        0x7f | 0x08 => Key::plain(KeyCode::Backspace),
        0 => Key::ctrl(' '),
        c @ 0x01..=0x1a => Key::ctrl(char::from(c - 1 + b'a')),
        c @ 0x1c..=0x1f => Key::ctrl(char::from(c - 0x1c + b'4')),
        c @ 0x20..=0x7e => Key::char(char::from(c)),
        _ => return parse_utf8(bytes),
    };
    Parsed::Take(1, Some(TerminalInput::Key(key)))
}

fn parse_utf8(bytes: &[u8]) -> Parsed {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Parsed::Take(1, None),
    };
    let available = &bytes[..length.min(bytes.len())];
    match std::str::from_utf8(available) {
        Ok(text) => Parsed::Take(length, text.chars().next().map(|c| TerminalInput::Key(Key::char(c)))),
        Err(error) if error.error_len().is_none() => Parsed::Wait,
        Err(_) => Parsed::Take(1, None),
    }
}

/// The key whose bytes also begin an answer of the terminal.
const ALT_BRACKET: Key = Key { code: KeyCode::Char(']'), modifiers: KeyModifiers::ALT };

/// Parses the bytes after `ESC ]`: the colour of the background, up to BEL or `ESC \`; or the key alt-].
fn parse_osc(rest: &[u8]) -> Parsed {
    if rest.len() < BACKGROUND.len() && BACKGROUND.starts_with(rest) {
        return Parsed::Wait;
    }
    let Some(answer) = rest.strip_prefix(BACKGROUND) else {
        return Parsed::Take(2, Some(TerminalInput::Key(ALT_BRACKET)));
    };
    let Some(end) = answer.iter().position(|byte| *byte < 0x20) else { return Parsed::Wait };
    let length = 2 + BACKGROUND.len() + end;
    let colour = || std::str::from_utf8(&answer[..end]).ok().and_then(background).map(TerminalInput::Background);
    match answer[end..] {
        [0x07, ..] => Parsed::Take(length + 1, colour()),
        [0x1b] => Parsed::Wait,
        [0x1b, b'\\', ..] => Parsed::Take(length + 2, colour()),
        _ => Parsed::Take(length, None),
    }
}

/// `rgb:1e1e/1e1e/1e1e`, `rgba:1e/1e/1e/ff` or `#1e1e1e`, as X11 writes colours.
fn background(text: &str) -> Option<[u8; 3]> {
    let level = |digits: &str| {
        let most = 16_u32.checked_pow(u32::try_from(digits.len()).ok().filter(|digits| (1..=4).contains(digits))?)? - 1;
        u8::try_from(u32::from_str_radix(digits, 16).ok()? * 255 / most).ok()
    };
    let levels: Vec<u8> = match text.strip_prefix('#') {
        Some(digits) if digits.is_ascii() && digits.len() % 3 == 0 && !digits.is_empty() => {
            let each = digits.len() / 3;
            (0..3).map(|nth| level(&digits[nth * each..(nth + 1) * each])).collect::<Option<_>>()?
        }
        _ => {
            let (kind, digits) = text.split_once(':')?;
            matches!(kind, "rgb" | "rgba").then_some(())?;
            digits.split('/').take(3).map(level).collect::<Option<_>>()?
        }
    };
    levels.try_into().ok()
}

/// Parses the bytes after `ESC [`: parameters, intermediates, and a final byte.
fn parse_csi(rest: &[u8]) -> Parsed {
    // The Linux console sends F1 to F5 as `ESC [ [ A` to `E`.
    if let [b'[', tail @ ..] = rest {
        return match tail {
            [] => Parsed::Wait,
            [c @ b'A'..=b'E', ..] => Parsed::Take(4, Some(TerminalInput::Key(Key::plain(KeyCode::F(1 + c - b'A'))))),
            _ => Parsed::Take(4, None),
        };
    }
    let Some(length) = rest.iter().position(|byte| !(0x20..=0x3f).contains(byte)) else { return Parsed::Wait };
    let last = rest[length];
    if !(0x40..=0x7e).contains(&last) {
        return Parsed::Take(2 + length, None);
    }
    let Ok(parameters) = std::str::from_utf8(&rest[..length]) else { return Parsed::Take(3 + length, None) };
    if last == b'~' && parameters == "200" {
        return Parsed::Paste(3 + length);
    }
    Parsed::Take(3 + length, csi(parameters, last))
}

fn csi(parameters: &str, last: u8) -> Option<TerminalInput> {
    if let Some(report) = parameters.strip_prefix('?') {
        let (mode, setting) = report.strip_suffix('$')?.split_once(';')?;
        let report = TerminalInput::Mode { mode: mode.parse().ok()?, setting: setting.parse().ok()? };
        return (last == b'y').then_some(report);
    }
    let mut numbers = parameters.split(';').map(|number| number.split(':').next().unwrap_or_default().parse::<u32>());
    let first = numbers.next().and_then(Result::ok);
    let modifiers = modifiers(numbers.next().and_then(Result::ok).unwrap_or(1));
    let code = match last {
        b'~' => tilde_key(first?)?,
        b'u' => return unicode_key(first?, modifiers),
        b'Z' => KeyCode::BackTab,
        _ => return letter_key(last, modifiers),
    };
    Some(TerminalInput::Key(Key { code, modifiers }))
}

/// xterm's modifier parameter: one more than a set of bits.
fn modifiers(parameter: u32) -> KeyModifiers {
    let bits = parameter.saturating_sub(1);
    let mut modifiers = KeyModifiers::NONE;
    modifiers.set(KeyModifiers::SHIFT, bits & 1 != 0);
    modifiers.set(KeyModifiers::ALT, bits & 2 != 0);
    modifiers.set(KeyModifiers::CONTROL, bits & 4 != 0);
    modifiers
}

fn letter_key(last: u8, modifiers: KeyModifiers) -> Option<TerminalInput> {
    let code = match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'M' => KeyCode::Enter,
        c @ b'P'..=b'S' => KeyCode::F(1 + c - b'P'),
        _ => return None,
    };
    Some(TerminalInput::Key(Key { code, modifiers }))
}

fn tilde_key(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(u8::try_from(number - 10).ok()?),
        17..=21 => KeyCode::F(u8::try_from(number - 11).ok()?),
        23 | 24 => KeyCode::F(u8::try_from(number - 12).ok()?),
        _ => return None,
    })
}

/// `CSI u`: a key by its character's number, as terminals with the kitty protocol may send it.
fn unicode_key(number: u32, modifiers: KeyModifiers) -> Option<TerminalInput> {
    let key = match char::from_u32(number)? {
        '\r' => Key { code: KeyCode::Enter, modifiers },
        '\t' => Key { code: KeyCode::Tab, modifiers },
        '\u{1b}' => Key { code: KeyCode::Esc, modifiers },
        '\u{7f}' => Key { code: KeyCode::Backspace, modifiers },
        c if modifiers == KeyModifiers::SHIFT => Key::char(c.to_ascii_uppercase()),
        c => Key { code: KeyCode::Char(c), modifiers },
    };
    Some(TerminalInput::Key(key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<TerminalInput> {
        let (mut decoder, mut out) = (Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.feed(piece, &mut out);
        }
        out
    }

    fn names(bytes: &[u8]) -> String {
        let names = decode(&[bytes]).into_iter().map(|input| match input {
            TerminalInput::Key(key) => key.to_string(),
            TerminalInput::Paste(text) => format!("paste {text:?}"),
            TerminalInput::Mode { mode, setting } => format!("mode {mode}={setting}"),
            TerminalInput::Background(colour) => format!("background {colour:?}"),
        });
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tells_keys_as_terminals_send_them() {
        for (bytes, want) in [
            (b"jG \r\t\x7f".as_slice(), "j G space enter tab backspace"),
            (b"\x03\x1a\x04\x00", "ctrl-c ctrl-z ctrl-d ctrl-space"),
            (b"\x1b[A\x1b[B\x1bOC\x1bOD", "up down right left"),
            (b"\x1b[1~\x1b[4~\x1b[5~\x1b[6~\x1b[3~", "home end pgup pgdn delete"),
            (b"\x1b[H\x1b[F\x1b[Z", "home end shift-tab"),
            (b"\x1b[1;5C\x1b[1;3A", "ctrl-right alt-up"),
            (b"\x1bOP\x1b[11~\x1b[[A\x1b[24~", "F1 F1 F1 F12"),
            (b"\x1bf\x1b\x1b[A", "alt-f esc up"),
            (b"\x1b[27u\x1b[97;5u\x1b[97;2u", "esc ctrl-a A"),
            ("ä→😀".as_bytes(), "ä → 😀"),
            (b"\x1b[?2026;2$y\x1b[?62;22c", "mode 2026=2"),
            (b"j\x1b]11;rgb:1e1e/ffff/0080\x1b\\k", "j background [30, 255, 0] k"),
            (b"\x1b]11;rgba:fd/f6/e3/ff\x07k", "background [253, 246, 227] k"),
            (b"\x1b]11;#fdf6e3\x07\x1b]11;#fff\x07", "background [253, 246, 227] background [255, 255, 255]"),
            (b"\x1b]11;teal\x07k\x1b]11;rgb:12/34\x07k", "k k"),
            (b"\x1b]x\x1b]112\x1b[A", "alt-] x alt-] 1 1 2 up"),
            (b"\x1b[200~a\x1b[Ab\n\x1b[201~q", "paste \"a\\u{1b}[Ab\\n\" q"),
            (b"\xff\xc3(x", "( x"),
        ] {
            assert_eq!(names(bytes), want, "{bytes:?}");
        }
    }

    #[test]
    fn an_escape_is_a_key_once_nothing_follows() {
        let (mut decoder, mut out) = (Decoder::default(), Vec::new());
        decoder.feed(b"\x1b", &mut out);
        assert!(out.is_empty() && decoder.pending());
        decoder.settle(&mut out);
        assert_eq!(out, [TerminalInput::Key(Key::plain(KeyCode::Esc))]);
        assert!(!decoder.pending());
        // The key begins like an answer of the terminal.
        out.clear();
        decoder.feed(b"\x1b]", &mut out);
        decoder.settle(&mut out);
        assert_eq!((out, decoder.pending()), (vec![TerminalInput::Key(ALT_BRACKET)], false));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(bytes in prop::collection::vec(prop_oneof![Just(0x1b_u8), Just(b'['), any::<u8>()], 0..60), cut in 0_usize..60) {
            let cut = cut.min(bytes.len());
            prop_assert_eq!(decode(&[&bytes]), decode(&[&bytes[..cut], &bytes[cut..]]));
        }

        #[test]
        fn what_was_typed_as_text_comes_out_as_text(text in "[ -~äöü€]{0,40}") {
            let typed: String = decode(&[text.as_bytes()]).into_iter().filter_map(|input| match input {
                TerminalInput::Key(key) => key.text(),
                _ => None,
            }).collect();
            prop_assert_eq!(typed, text);
        }
    }
}
