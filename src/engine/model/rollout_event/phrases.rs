//! The phrases by which the words of another process are read again: writing and reading have to agree on them.

/// How the words for a changed template and for a halt begin, and what names a revision by its earlier number.
pub(super) const CHANGED: &str = "template changed: revision ";
pub(super) const CHANGED_TO: &str = "template changed to that of revision ";
pub(super) const THAT_OF: &str = "that of revision ";
pub(super) const HALTED_AT: &str = "halted at revision ";

/// The number with which a text begins.
pub(super) fn number_at_the_beginning(text: &str) -> Option<i64> {
    text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())].parse().ok()
}
