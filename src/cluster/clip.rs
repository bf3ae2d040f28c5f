//! Bounds the length of texts for people when they are received: the writer of an Event or a status decides on its length and content.
//!
//! Clipped texts are shown, searched for words and logged. Texts that identify an object, are compared or are written back
//! are never clipped: uids, resource versions, selectors, labels, templates, the record. [`clip_name`] bounds names of
//! processes and keeps different names different.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use unicode_segmentation::UnicodeSegmentation;

use crate::engine::model::printable::is_printable;

/// The most bytes of a name, of a reason or of an author: the longest name that Kubernetes gives an object.
pub(super) const NAME: usize = 253;
/// The most bytes of a message: as much as a kubelet keeps of a container's termination message (`terminationMessagePath`).
/// The API server accepts up to 1.5 MB.
pub(super) const MESSAGE: usize = 4 * 1024;
/// The most bytes of a change-cause, which is a command line as a rule.
pub(super) const CHANGE_CAUSE: usize = 1024;
/// The most bytes of a grapheme. The mark of a cut after it may join it; together they take at most 32 bytes. Natural
/// languages and emoji have fewer.
const GRAPHEME: usize = 32 - CUT.len();
/// Replaces the part that was cut off.
const CUT: &str = "…";
/// Replaces a grapheme that is too long.
const TOO_LONG: &str = "\u{fffd}";

/// `text` in at most `limit` bytes, with `…` in place of the part that was cut off. Characters that are invisible or change
/// the display of their neighbours are removed. Line breaks and tabs stay.
pub(super) fn clip(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit && text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    // The rest cannot change the last grapheme.
    let enough = limit + GRAPHEME;
    let mut seen = String::new();
    let mut more = false;
    for c in text.chars().filter(|c| !is_hidden(*c)) {
        if seen.len() > enough {
            more = true;
            break;
        }
        seen.push(c);
    }
    let (mut clipped, mut cut_at, mut last_at) = (String::new(), 0, 0);
    for grapheme in seen.graphemes(true) {
        if clipped.len() + CUT.len() <= limit {
            cut_at = clipped.len();
        }
        last_at = clipped.len();
        clipped.push_str(if grapheme.len() > GRAPHEME { TOO_LONG } else { grapheme });
        if clipped.len() > limit {
            more = true;
            break;
        }
    }
    if more {
        // The last grapheme may be incomplete.
        clipped.truncate(cut_at.min(last_at));
        clipped.push_str(CUT);
    }
    if clipped == text { Cow::Borrowed(text) } else { Cow::Owned(clipped) }
}

/// The name of a process or of an object, on one line and in at most [`NAME`] bytes. A changed name ends in a hash of the
/// whole original, so that two different names stay different.
pub(super) fn clip_name(name: &str) -> Cow<'_, str> {
    const NUMBER: usize = "~01234567".len();
    if let Cow::Borrowed(name) = clip(name, NAME)
        && !name.contains(['\n', '\t'])
    {
        return Cow::Borrowed(name);
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let kept = clip(name, NAME - NUMBER).replace(['\n', '\t'], " ");
    Cow::Owned(format!("{kept}~{:08x}", hasher.finish() & 0xffff_ffff))
}

/// Whether a character is left out: every character that a terminal does not show as itself, except line breaks and tabs.
fn is_hidden(c: char) -> bool {
    !matches!(c, '\n' | '\t') && !is_printable(c)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts as a hostile author of an object could write them: of any length, with every character that confuses a terminal or a reader.
    pub(in crate::cluster) fn hostile() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a",
            " ",
            "word ",
            "\n",
            "\t",
            "\r\n",
            "\u{0}",
            "\u{7f}",
            "\u{9b}31m",
            "\u{1b}[2J",
            "\u{1b}]0;x\u{7}",
            "\u{301}",
            "\u{200d}",
            "👩\u{200d}",
            "🇦",
            "界",
            "\u{1100}",
            "\u{600}",
            "\u{d4e}",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{feff}",
            "\u{e0041}",
            "ß",
            "…",
            "{}",
            "\"",
            "%s",
        ]);
        let times = prop_oneof![6 => 1_usize..4, 2 => 4_usize..600, 1 => Just(2_000_usize)];
        let run = (piece, times).prop_map(|(piece, times)| piece.repeat(times));
        prop_oneof![1 => ".{0,30}", 3 => prop::collection::vec(run, 1..12).prop_map(|runs| runs.concat())]
    }

    pub(in crate::cluster) fn is_bounded(text: &str, limit: usize) -> bool {
        text.len() <= limit
            && text.graphemes(true).all(|grapheme| grapheme.len() <= 32)
            && !text.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{200b}', '\r'])
            && text.chars().all(|c| !is_hidden(c))
    }

    #[test]
    fn ordinary_texts_stay_as_they_are() {
        for text in [
            "",
            "Back-off pulling image \"agent:v9\": ErrImagePull: manifest unknown",
            "panic: nil\n\n\tgoroutine 1 [running]:",
            "Größe 25 % – naïve café, 界面, Ελλάδα, हिन्दी, ไทย, 🇦🇹 👍🏽",
        ] {
            assert!(matches!(clip(text, MESSAGE), Cow::Borrowed(kept) if kept == text), "{text}");
        }
        for name in ["ada@console-3/1f00c3a9.1", "ipc-a-07", "kustomize.toolkit.fluxcd.io/v1"] {
            assert!(matches!(clip_name(name), Cow::Borrowed(kept) if kept == name), "{name}");
        }
        let full = "x".repeat(NAME);
        assert_eq!(clip_name(&full), full);
    }

    #[test]
    fn what_is_too_long_or_hidden_is_taken_out() {
        assert_eq!(clip(&"x".repeat(99), 9), "xxxxxx…");
        assert_eq!(clip("naïve café", 9), "naïve…");
        assert_eq!(clip("eve\u{202e}ada\u{200b} \u{1b}[31mred\u{7}", 99), "eveada [31mred");
        assert_eq!(clip(&format!("a{} b", "\u{301}".repeat(99)), 999), "\u{fffd} b");
        assert_eq!(clip(&format!("a{} b", "\u{301}".repeat(999)), 99), "…", "its end was not looked for");
    }

    /// The part that is cut off is not read, however long it is.
    #[test]
    fn a_message_of_a_megabyte_is_cut() {
        for flood in ["x", "word ", "e\u{301}", "\u{301}", "👩\u{200d}", "🇦", "\u{1b}"]
            .map(|text| text.repeat(1_000_000 / text.len()))
        {
            let clipped = clip(&flood, MESSAGE);
            assert!(is_bounded(&clipped, MESSAGE) && clip_name(&flood).len() <= NAME, "{} bytes", clipped.len());
        }
    }

    #[test]
    fn names_that_were_changed_stay_apart() {
        let long = |end: char| format!("{}{end}", "x".repeat(100_000));
        let (one, two) = (clip_name(&long('1')).into_owned(), clip_name(&long('2')).into_owned());
        assert!(one != two && one.len() <= NAME, "{one}");
        assert_ne!(clip_name("ada\u{200b}@host"), "ada@host", "it is somebody else");
        assert!(!clip_name("ada@host\nadmin").contains('\n'));
    }

    proptest! {
        #[test]
        fn nothing_hidden_and_nothing_long_is_left(text in hostile(), limit in 3_usize..5_000) {
            let clipped = clip(&text, limit).into_owned();
            prop_assert!(is_bounded(&clipped, limit), "{clipped:?}");
            let name = clip_name(&text).into_owned();
            prop_assert!(is_bounded(&name, NAME) && !name.contains(['\n', '\t']), "{name:?}");
        }
    }
}
