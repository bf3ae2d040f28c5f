//! Fitting words into cells, and guessing what was meant.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How many cells `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// `text` in at most `cells`, with `…` for what was cut off its end.
pub(crate) fn fit(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    if cells == 0 {
        return Cow::Borrowed("");
    }
    let mut kept = head(text, cells - 1).to_owned();
    kept.push('…');
    Cow::Owned(kept)
}

/// `text` in at most `cells`, with `…` for what was cut out of its middle: names differ at their ends.
pub(crate) fn fit_middle(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    if cells < 5 {
        return fit(text, cells);
    }
    let tail_cells = (cells - 1) / 2;
    let mut tail = text;
    while width(tail) > tail_cells {
        let first = tail.graphemes(true).next().map_or(1, str::len);
        tail = &tail[first..];
    }
    Cow::Owned(format!("{}…{tail}", head(text, cells - 1 - tail_cells)))
}

/// As much of the beginning of `text` as fits into `cells`.
fn head(text: &str, cells: usize) -> &str {
    let mut used = 0;
    let mut end = 0;
    for grapheme in text.graphemes(true) {
        used += width(grapheme);
        if used > cells {
            break;
        }
        end += grapheme.len();
    }
    &text[..end]
}

/// `text` in lines of at most `cells`, broken at blanks where that is possible.
pub(crate) fn wrap(text: &str, cells: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if cells == 0 {
        return lines;
    }
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            let mut word = word;
            if !line.is_empty() && width(&line) + 1 + width(word) <= cells {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            while width(word) > cells {
                let kept = head(word, cells);
                if kept.is_empty() {
                    return lines;
                }
                lines.push(kept.to_owned());
                word = &word[kept.len()..];
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

/// The one among `known` that is most similar to `typed`, if one is similar enough.
pub(crate) fn meant<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (typed.chars().count() / 3).max(1);
    let near = known.into_iter().map(|name| (strsim::damerau_levenshtein(typed, name), name));
    near.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// `1 node`, `2 nodes`.
pub(crate) fn count(number: u32, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The domain that all of `names` end in (`.eu-west-1.compute.internal`), which a list may leave out; empty when none.
pub(crate) fn common_domain<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let domain = |name: &'a str| name.find('.').map_or("", |dot| &name[dot..]);
    let Some(first) = names.next().map(domain) else { return String::new() };
    if !first.is_empty() && names.all(|name| domain(name) == first) { first.to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cuts_ends_and_middles() {
        assert_eq!(fit("partition", 6), "parti…");
        assert_eq!(fit("pods", 6), "pods");
        assert_eq!(fit_middle("ip-10-0-12-34", 9), "ip-1…2-34");
        assert_eq!(fit("界界界", 4), "界…");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
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
            prop_assert!(width(&fit(&text, cells)) <= cells.max(width("")));
            prop_assert!(width(&fit_middle(&text, cells)) <= cells);
            for line in wrap(&text, cells) {
                prop_assert!(width(&line) <= cells);
            }
        }
    }
}
