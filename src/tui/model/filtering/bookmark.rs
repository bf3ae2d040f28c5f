//! Named filters: `@press` in a filter stands for the filter of this name in the configuration file, `@marked` for the marked nodes.

use std::collections::BTreeSet;

use crate::config::Bookmark;
use crate::engine::model::Str;
use crate::tui::words::meant;

/// The name that stands for the marked nodes.
const MARKED: &str = "marked";

/// `text` with its names replaced by their filters. A word that begins with `@` and cannot be a name, such as `@sha256:…`,
/// stays as it is. The beginning of a name at the end of `text` is still being typed, and tests nothing yet.
///
/// # Errors
/// A name is unknown (the error suggests a similar name, or lists all), or no node is marked.
pub(super) fn expanded(text: &str, bookmarks: &[Bookmark], marked: Option<&BTreeSet<Str>>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(char::is_whitespace) {
        let word = part.trim_end();
        match word.strip_prefix('@') {
            Some(name) if let Some(known) = bookmarks.iter().find(|bookmark| bookmark.name == name) => {
                out.push_str(&known.filter);
                out.push_str(&part[word.len()..]);
            }
            Some(MARKED) => {
                let marked = marked.ok_or("no node is marked: space marks one")?;
                let names: Vec<String> = marked.iter().map(|name| name.replace('.', r"\.")).collect();
                out.push_str(&format!("name~^({})$", names.join("|")));
                out.push_str(&part[word.len()..]);
            }
            Some(name) if word == part && is_begun(name, bookmarks) => {}
            Some(name) if let Some(meant) = meant(name, names(bookmarks, marked)) => {
                return Err(format!("there is no bookmark `@{name}`: did you mean `@{meant}`?"));
            }
            Some(name) if is_name(name) && !names(bookmarks, marked).any(|known| known.starts_with(name)) => {
                let known: Vec<String> = names(bookmarks, marked).map(|known| format!("@{known}")).collect();
                return Err(match known.as_slice() {
                    [] => format!("there is no bookmark `@{name}`: [bookmarks] of the configuration file has none"),
                    known => format!("there is no bookmark `@{name}`; there are {}", known.join(", ")),
                });
            }
            _ => out.push_str(part),
        }
    }
    Ok(out)
}

/// Whether a filter asks for the marked nodes.
pub(super) fn asks_for_marks(text: &str) -> bool {
    text.split_whitespace().any(|word| word.strip_prefix('@') == Some(MARKED))
}

/// The whole lines that complete the last word, if it begins a name.
pub(super) fn completions(text: &str, bookmarks: &[Bookmark], marked: Option<&BTreeSet<Str>>) -> Vec<String> {
    let start = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let Some(begun) = text.get(start..).and_then(|word| word.strip_prefix('@')) else { return Vec::new() };
    let fitting = names(bookmarks, marked).filter(|name| name.starts_with(begun) && *name != begun);
    fitting.map(|name| format!("{}@{name}", &text[..start])).collect()
}

/// Whether a bookmark could have this name.
fn is_name(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// Whether a name begins with this text.
fn is_begun(begun: &str, bookmarks: &[Bookmark]) -> bool {
    let mut names = bookmarks.iter().map(|bookmark| bookmark.name.as_str()).chain([MARKED]);
    names.any(|name| name.starts_with(begun))
}

fn names<'a>(bookmarks: &'a [Bookmark], marked: Option<&BTreeSet<Str>>) -> impl Iterator<Item = &'a str> {
    bookmarks.iter().map(|bookmark| bookmark.name.as_str()).chain(marked.map(|_| MARKED))
}
