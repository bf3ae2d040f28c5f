//! The phrases by which this process reads the words of another one: writing and reading have to agree on them.

/// The beginnings of the words for a changed template and for a halt, and the phrase that names a revision by its earlier number.
pub(super) const CHANGED: &str = "template changed: revision ";
pub(super) const CHANGED_TO: &str = "template changed to that of revision ";
pub(super) const THAT_OF: &str = "that of revision ";
pub(super) const HALTED_AT: &str = "halted at revision ";

/// The number with which a text begins.
pub(super) fn number_at_the_beginning(text: &str) -> Option<i64> {
    text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())].parse().ok()
}
