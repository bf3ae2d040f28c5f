//! A changed field in words, as long as there is room for them.

use std::fmt;

use serde_json::{Map, Value};

use super::{FieldChange, FieldEdit};

/// A value in words is cut to about this many characters.
const WORDS: usize = 120;
/// For values that are cut, the most characters that are shown before a difference.
const BEFORE: usize = 24;
/// The fewest characters to which a value is cut.
const SHORTEST: usize = 12;

impl FieldChange {
    /// Whether it is a toleration whose path says all of it, and not its index.
    fn is_toleration(&self) -> bool {
        let key = self.path.strip_prefix("tolerations[").and_then(|rest| rest.strip_suffix(']'));
        key.is_some_and(|key| key.parse::<usize>().is_err())
    }

    /// The edit of the field, without its path.
    pub fn what(&self) -> String {
        self.what_within(2 * WORDS)
    }

    /// The path and the edit. `most` is the intended number of characters: of two long values that begin alike, the part in which they differ is
    /// shown. It is exceeded if the path is long, if less than [`SHORTEST`] characters per value would be left, and for added and removed fields,
    /// which are cut to [`WORDS`] characters whatever `most` is.
    pub fn within(&self, most: usize) -> String {
        let left = most.saturating_sub(self.path.chars().count() + 2);
        format!("{}: {}", self.path, self.what_within(left))
    }

    /// The edit of the field, without its path, in about `most` characters: `…/agent:v1 → …/agent:v2`.
    pub fn what_within(&self, most: usize) -> String {
        match &self.edit {
            FieldEdit::Added { .. } if self.is_toleration() => "added".to_owned(),
            FieldEdit::Removed { .. } if self.is_toleration() => "removed".to_owned(),
            FieldEdit::Added { to } => format!("added{}", described(to)),
            FieldEdit::Removed { from } => format!("removed{}", described(from)),
            FieldEdit::Changed { from, to } => {
                let (from, to) = both_in_words(from, to);
                excerpts(&from, &to, most)
            }
            FieldEdit::Reordered { from, to } => {
                format!("order {}", excerpts(&from.join(", "), &to.join(", "), most.saturating_sub(6)))
            }
        }
    }
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what())
    }
}

/// The words that follow `added` or `removed`. A container is described by its image.
fn described(value: &Value) -> String {
    let fields = value.as_object();
    match fields.and_then(|fields| fields.get("image")?.as_str()) {
        Some(image) => format!(", image {}", clipped(image)),
        None if fields.is_some_and(Map::is_empty) => String::new(),
        None => format!(" {}", clipped(&in_words(value))),
    }
}

/// Both sides of a change. If they are of different kinds, strings have quotes, to tell `"80"` from 80.
fn both_in_words(from: &Value, to: &Value) -> (String, String) {
    let same_kind = std::mem::discriminant(from) == std::mem::discriminant(to);
    let words = |value: &Value| if same_kind { in_words(value) } else { value.to_string() };
    (words(from), words(to))
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() || text.trim() != text => value.to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn clipped(text: &str) -> String {
    cut(text, WORDS)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `from → to` in about `most` characters: as much as necessary is left out of their common beginning, then of their ends.
fn excerpts(from: &str, to: &str, most: usize) -> String {
    // The arrow, and two signs for what is left out.
    let room = most.saturating_sub(7).max(2 * SHORTEST);
    let both = (from.chars().count(), to.chars().count());
    if both.0 + both.1 <= room {
        return format!("{from} → {to}");
    }
    let shared = from.chars().zip(to.chars()).take_while(|(a, b)| a == b).count();
    let excess = both.0.max(both.1).saturating_sub(room / 2);
    let skip = shared.saturating_sub(BEFORE.min(room / 8)).min(excess);
    // The cut is rather at the next part of a path or of a list than within a word.
    let begins = |c: char| matches!(c, '/' | ':' | '=' | ',' | ' ');
    let word = from.chars().enumerate().skip(skip).take(shared - skip).find(|(_, c)| begins(*c));
    let skip = word.filter(|_| skip > 0).map_or(skip, |(at, _)| at);
    let excerpt = |text: &str| {
        let begin = text.char_indices().nth(skip).map_or(text.len(), |(at, _)| at);
        format!("{}{}", if skip > 0 { "…" } else { "" }, cut(&text[begin..], room / 2))
    };
    format!("{} → {}", excerpt(from), excerpt(to))
}
