//! Completions of a filter: names of columns and labels, then their values.

use super::grammar::name_and_operator;
use super::{FieldKind, FilterSchema};

/// The most completions that are offered.
const MOST: usize = 10_000;

/// The completions of `text`, as whole filters; `values` returns the values of a column or label.
pub(crate) fn completions(text: &str, schema: &FilterSchema<'_>, values: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let Some(begin) = last_word(text) else { return Vec::new() };
    // A selector knows only labels, by their whole keys.
    let of_selector = FilterSchema { fields: Vec::new(), labelled: schema.labelled };
    let is_selector = text.starts_with("-l");
    let schema = if is_selector { &of_selector } else { schema };
    let (before, word) = text.split_at(begin);
    let negation = word.len() - word.trim_start_matches('!').len();
    let (signs, word) = word.split_at(negation);
    let found = match name_and_operator(word) {
        Some((_, _, typed)) if typed.starts_with('/') => Vec::new(),
        Some((name, _, typed)) => {
            let known = word.strip_suffix(typed).unwrap_or(word);
            matching_names(values(name), typed.trim_start_matches('"'))
                .into_iter()
                .map(|value| format!("{known}{}", quoted(&value)))
                .collect()
        }
        None if word.is_empty() || word.starts_with(['/', '~', '"', '-']) => Vec::new(),
        None => {
            let short = if is_selector { Vec::new() } else { matching_names(names(schema), word) };
            // A label is offered by the last part of its key, unless the typed text begins the whole key.
            match short.is_empty() {
                true => matching_names(schema.label_keys().iter().map(|key| format!("{key}=")).collect(), word),
                false => short,
            }
        }
    };
    let whole = |end: String| format!("{before}{signs}{end}");
    found.into_iter().map(whole).filter(|whole| whole != text).take(MOST).collect()
}

/// The last word of a filter, which a completion ends.
pub(crate) fn last_part(text: &str) -> &str {
    &text[last_word(text).unwrap_or(0)..]
}

/// The place where the last word begins; `None` if a blank ended it.
fn last_word(text: &str) -> Option<usize> {
    let mut begin = 0;
    let mut in_quotes = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => in_quotes = !in_quotes,
            c if c.is_whitespace() && !in_quotes => begin = at + c.len_utf8(),
            _ => {}
        }
    }
    (begin < text.len()).then_some(begin)
}

/// Columns first, then labels by the last part of their keys.
fn names(schema: &FilterSchema<'_>) -> Vec<String> {
    let column = |name: &str, kind: FieldKind| match kind {
        FieldKind::Text => format!("{name}="),
        FieldKind::Number | FieldKind::Revision | FieldKind::Age => format!("{name}>"),
    };
    let mut names: Vec<String> = schema.fields.iter().map(|field| column(&field.name, field.kind)).collect();
    for field in &schema.fields {
        names.extend(field.aliases.iter().map(|alias| column(alias, field.kind)));
    }
    let keys = schema.label_keys();
    let short = |key: &str| format!("{}=", key.rsplit_once('/').map_or(key, |(_, last)| last));
    let short: Vec<String> = keys.iter().map(|key| short(key)).collect();
    names.extend(short);
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// First the names that begin with the typed text, then those that contain it.
fn matching_names(known: Vec<String>, typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    let (begin, contain): (Vec<String>, Vec<String>) =
        known.into_iter().partition(|one| one.to_lowercase().starts_with(&typed));
    let contain = contain.into_iter().filter(|one| one.to_lowercase().contains(&typed));
    begin.into_iter().chain(contain).collect()
}

/// A value as it has to be typed.
fn quoted(value: &str) -> String {
    if value.contains(char::is_whitespace) || value.starts_with('/') {
        format!("\"{value}\"")
    } else {
        value.to_owned()
    }
}
