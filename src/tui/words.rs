//! Fits words into cells, and guesses the meaning of mistyped words.
//!
//! Texts come from clusters and may be of any length: every function here reads a text once, from its beginning, and stops
//! as soon as the cells are full. Widths are those of graphemes, because a cell holds a grapheme.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::engine::model::image::{is_same_repository, registry_of};
use crate::engine::model::rollout_event::RevisionHalt;

/// The most bytes of a cell. Graphemes of natural languages, and emoji, have fewer; a grapheme with more was made to flood a
/// terminal, and marks without a width of their own would never fill a line.
pub(crate) const CELL_BYTES: usize = 32;

/// Tells that the image comes from another repository, which the versions alone would hide.
pub(crate) fn repository_change(was: &str, new: &str) -> Option<&'static str> {
    match is_same_repository(was, new) {
        true => None,
        false if registry_of(was) == registry_of(new) => Some("repository changes!"),
        false => Some("registry changes!"),
    }
}

/// What a revision has beside other images than the one before: ` + 2 fields`. Empty where nothing else differs.
pub(crate) fn other_fields(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " + 1 field".to_owned(),
        count => format!(" + {count} fields"),
    }
}

/// When and why a rollout halted at a revision: `halted 12m ago: image not found on 2 nodes`. `ago` is its age.
pub(crate) fn halt_in_words(halt: &RevisionHalt, ago: &str) -> String {
    format!("halted {ago} ago: {}", halt.why)
}

/// The width of `text` in cells.
pub(crate) fn width(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        read(text.len());
        return text.len();
    }
    graphemes(text).map(|(_, _, cells)| cells).sum()
}

/// Whether `text` is wider than `cells`. Reads only as much of it as needed.
pub(crate) fn is_wider(text: &str, cells: usize) -> bool {
    head(text, cells, cells * CELL_BYTES).len() < text.len()
}

/// `text` in at most `cells`, with `…` for a cut end. Reads only as much of it as needed.
pub(crate) fn fit(text: &str, cells: usize) -> Cow<'_, str> {
    let kept = head(text, cells, cells * CELL_BYTES);
    if kept.len() == text.len() {
        return Cow::Borrowed(text);
    }
    if cells == 0 {
        return Cow::Borrowed("");
    }
    Cow::Owned(format!("{}…", head(kept, cells - 1, kept.len())))
}

/// `text` in at most `cells`, with `…` for a cut middle: names differ at their ends.
pub(crate) fn fit_middle(text: &str, cells: usize) -> Cow<'_, str> {
    if cells < 5 || !is_wider(text, cells) {
        return fit(text, cells);
    }
    let tail_cells = (cells - 1) / 2;
    let head = head(text, cells - 1 - tail_cells, (cells - 1 - tail_cells) * CELL_BYTES);
    // The place from which the rest fits is found by going forward, because a step back may have to read everything before it.
    let mut left = width(text);
    let mut bytes = text.len();
    let mut tail = text.len();
    for (at, grapheme, cells) in graphemes(text) {
        if left <= tail_cells && bytes <= tail_cells * CELL_BYTES {
            tail = at;
            break;
        }
        left -= cells;
        bytes -= grapheme.len();
    }
    Cow::Owned(format!("{head}…{}", &text[tail..]))
}

/// `text` for a number of lines of `cells`. Without room for all of it, the first directories of its longest path are left
/// out: the end of a path tells more than its beginning.
pub(crate) fn fit_path(text: &str, cells: usize, lines: usize) -> Cow<'_, str> {
    if wrap(text, cells).nth(lines).is_none() {
        return Cow::Borrowed(text);
    }
    let is_path = |word: &&str| word.trim_start_matches(['`', '"', '(', '~']).starts_with('/');
    let path = text.split([' ', '\n']).filter(is_path).max_by_key(|word| word.len());
    let Some((path, begins)) = path.and_then(|path| Some((path, text.find(path)?))) else { return Cow::Borrowed(text) };
    let (before, after) = (&text[..begins], &text[begins + path.len()..]);
    // The path shares its line with the text before it, or with the text behind it.
    let room = match lines {
        0 | 1 => cells.saturating_sub(width(before) + width(after)),
        _ => cells.saturating_sub(width(before).min(width(after))),
    };
    let tails = path.match_indices('/').skip(1).map(|(at, _)| &path[at..]);
    let fitting = tails.clone().find(|tail| width(tail) < room).or(tails.last());
    fitting.map_or(Cow::Borrowed(text), |tail| Cow::Owned(format!("{before}…{tail}{after}")))
}

/// As much of the beginning of `text` as fits into `cells` and `bytes`.
fn head(text: &str, cells: usize, bytes: usize) -> &str {
    let mut used = 0;
    for (at, grapheme, wide) in graphemes(text) {
        used += wide;
        if used > cells || at + grapheme.len() > bytes {
            return &text[..at];
        }
    }
    text
}

/// The graphemes of `text`, each with its place and its width in cells.
fn graphemes(text: &str) -> impl Iterator<Item = (usize, &str, usize)> {
    text.grapheme_indices(true).map(|(at, grapheme)| {
        read(1);
        (at, grapheme, grapheme.width())
    })
}

/// `text` in lines of at most `cells`, broken at blanks if possible. Each line is made on demand: a caller that shows a few
/// lines reads only these.
pub(crate) fn wrap(text: &str, cells: usize) -> Wrap<'_> {
    Wrap { cells, paragraphs: text.lines(), words: None, rest: None, begun: false }
}

/// The lines of [`wrap`].
#[derive(Clone, Debug)]
pub(crate) struct Wrap<'a> {
    cells: usize,
    paragraphs: std::str::Lines<'a>,
    /// The rest of the paragraph.
    words: Option<std::str::Split<'a, char>>,
    /// The rest of a word, or a word for which the last line had no room.
    rest: Option<&'a str>,
    /// The paragraph has yielded a line.
    begun: bool,
}

impl Iterator for Wrap<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.cells == 0 {
            return None;
        }
        let bytes = self.cells * CELL_BYTES;
        let (mut line, mut used) = (String::new(), 0);
        loop {
            let Some(word) = self.rest.take().or_else(|| self.words.as_mut()?.next()) else {
                // A paragraph has at least one line.
                if self.words.take().is_some() && !(line.is_empty() && self.begun) {
                    return Some(line);
                }
                self.words = Some(self.paragraphs.next()?.split(' '));
                self.begun = false;
                continue;
            };
            let gap = usize::from(!line.is_empty());
            let free = self.cells.checked_sub(used + gap).zip(bytes.checked_sub(line.len() + gap));
            let fitting = free.map(|(cells, bytes)| head(word, cells, bytes));
            if fitting == Some(word) {
                used += gap + width(word);
                line.extend((gap > 0).then_some(' '));
                line.push_str(word);
                continue;
            }
            self.begun = true;
            if !line.is_empty() {
                self.rest = Some(word);
                return Some(line);
            }
            let fitting = fitting.filter(|fitting| !fitting.is_empty());
            // A grapheme that is wider than a line is replaced by one sign.
            let taken = fitting.or_else(|| word.graphemes(true).next()).map_or(word.len(), str::len);
            self.rest = Some(&word[taken..]).filter(|rest| !rest.is_empty());
            return Some(fitting.map_or_else(|| char::REPLACEMENT_CHARACTER.to_string(), str::to_owned));
        }
    }
}

/// Notes the amount of text read, so that tests can check that it does not exceed the text.
#[cfg(not(test))]
fn read(_graphemes: usize) {}

#[cfg(test)]
pub(crate) use self::tests::{amount_read, read};

/// The name in `known` that is most similar to `typed`, if one is similar enough.
pub(crate) fn meant<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (typed.chars().count() / 3).max(1);
    let near = known.into_iter().map(|name| (strsim::damerau_levenshtein(typed, name), name));
    near.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The names in `known` by their similarity to `typed`, however small, most similar first.
pub(crate) fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let mut near: Vec<(usize, &str)> =
        known.into_iter().map(|name| (strsim::damerau_levenshtein(typed, name), name)).collect();
    near.sort_unstable();
    near.into_iter().take(most).map(|(_, name)| name).collect()
}

/// The domain in which all `names` end (`.eu-west-1.compute.internal`), which a list may leave out; empty if there is none.
pub(crate) fn common_domain<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let domain = |name: &'a str| name.find('.').map_or("", |dot| &name[dot..]);
    let Some(first) = names.next().map(domain) else { return String::new() };
    if !first.is_empty() && names.all(|name| domain(name) == first) { first.to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::cell::Cell;

    use super::*;

    thread_local! {
        static READ: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn read(graphemes: usize) {
        READ.set(READ.get() + graphemes);
    }

    /// The number of graphemes that were read on this thread during `work`.
    pub(crate) fn amount_read<T>(work: impl FnOnce() -> T) -> (T, usize) {
        let before = READ.get();
        let done = work();
        (done, READ.get() - before)
    }

    #[test]
    fn cuts_ends_and_middles() {
        assert_eq!(fit("partition", 6), "parti…");
        assert_eq!(fit("pods", 6), "pods");
        assert_eq!(fit_middle("ip-10-0-12-34", 9), "ip-1…2-34");
        assert_eq!(fit("界界界", 4), "界…");
        let lines = |text: &'static str, cells| wrap(text, cells).collect::<Vec<_>>();
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(lines("abcdefgh ij k", 3), ["abc", "def", "gh", "ij", "k"]);
        assert_eq!(lines("a\n\n b  c", 9), ["a", "", "b  c"], "a paragraph has one line at least");
        assert_eq!(lines("界a", 1), ["\u{fffd}", "a"], "no line has room for it");
        assert_eq!(lines("a", 0), [""; 0]);
    }

    #[test]
    fn of_a_path_the_end_is_kept() {
        let text = "saved ~/.local/state/rolldeck/saved/edge-agent-20261126.txt, .json, .html";
        assert_eq!(fit_path(text, 80, 1), text);
        assert_eq!(fit_path(text, 67, 2), text, "it fits in two lines");
        assert_eq!(fit_path(text, 40, 2), "saved …/saved/edge-agent-20261126.txt, .json, .html");
        assert_eq!(fit_path(text, 60, 1), "saved …/rolldeck/saved/edge-agent-20261126.txt, .json, .html");
        assert_eq!(fit_path(text, 20, 1), "saved …/edge-agent-20261126.txt, .json, .html", "its name is kept whole");
        let failed = "not saved: /srv/home/very/long/state/saved: permission denied";
        assert_eq!(fit_path(failed, 30, 2), "not saved: …/long/state/saved: permission denied");
        assert_eq!(fit_path("no path, which is long", 5, 1), "no path, which is long");
        assert_eq!(fit_path("/no-directory and more", 5, 1), "/no-directory and more");
    }

    /// Texts with too many bytes or cells for a cell, each longer than any screen.
    fn floods() -> Vec<String> {
        let many = |text: &str| text.repeat(300_000 / text.len());
        let stacked = |base: &str| format!("{base}{}", many("\u{301}"));
        vec![
            many("x"),
            many("wort "),
            many(" "),
            many("\n"),
            many("界"),
            many("\u{200d}"),
            many("\u{200b} "),
            many("👩\u{200d}"),
            many("🇦"),
            many("\u{1100}"),
            many("\u{600}"),
            stacked("a"),
            stacked("a ").repeat(2),
            format!("{} end", many("e\u{301}")),
        ]
    }

    /// Every text is read once or a few times, not once for each of its characters; a caller that shows few lines reads few.
    #[test]
    fn the_work_grows_with_the_text_and_not_faster() {
        for text in floods() {
            let begins: String = text.chars().take(8).collect();
            for cells in [1, 5, 80] {
                let ((), work) = amount_read(|| {
                    assert!(width(&fit(&text, cells)) <= cells, "{begins:?}");
                    assert!(fit(&text, cells).len() <= cells * CELL_BYTES + '…'.len_utf8(), "{begins:?}");
                });
                assert!(work <= 8 * cells * CELL_BYTES, "{begins:?} at {cells}: {work} read to fit its beginning");
                let ((), work) = amount_read(|| assert!(width(&fit_middle(&text, cells)) <= cells, "{begins:?}"));
                assert!(work <= 4 * text.len(), "{begins:?} at {cells}: {work} read to fit both ends");
                let (_, work) = amount_read(|| wrap(&text, cells).take(3).count());
                assert!(work <= 12 * cells * CELL_BYTES, "{begins:?} at {cells}: {work} read for three lines");
                let (lines, work) = amount_read(|| wrap(&text, cells).collect::<Vec<_>>());
                assert!(work <= 6 * text.len(), "{begins:?} at {cells}: {work} read for all lines");
                for line in lines {
                    assert!(width(&line) <= cells && line.len() <= cells * CELL_BYTES, "{begins:?} at {cells}");
                }
            }
        }
    }

    #[test]
    fn guesses_what_was_meant() {
        assert_eq!(meant("parition", ["pause", "partition"]), Some("partition"));
        assert_eq!(meant("fgg", ["fg", "bg"]), Some("fg"));
        assert_eq!(meant("zzz", ["fg", "bg"]), None);
        assert_eq!(common_domain(["a.x.y", "b.x.y"]), ".x.y");
        assert_eq!(common_domain(["a.x.y", "b.x"]), "");
        assert_eq!(common_domain(["a", "b"]), "");
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked(text in ".{0,30}", cells in 0_usize..20) {
            prop_assert!(width(&fit(&text, cells)) <= cells);
            prop_assert!(width(&fit_middle(&text, cells)) <= cells);
            for line in wrap(&text, cells) {
                prop_assert!(width(&line) <= cells);
            }
        }
    }
}
