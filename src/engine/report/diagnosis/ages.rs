//! Merges texts that differ only in an age or a number of times: `pulls for 22s` and `pulls for 40s` become `pulls for 22–40s`.

use std::ops::Range;

use crate::engine::model::Str;

/// The units of numbers: units of time, by their seconds, and times.
const UNITS: [(&str, u64); 5] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), (" times", 1)];

/// A number with its unit, `22s`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counted {
    number: u64,
    /// Index into [`UNITS`].
    unit: usize,
}

impl Counted {
    fn value(self) -> u64 {
        self.number.saturating_mul(UNITS[self.unit].1)
    }

    fn words(self) -> String {
        format!("{}{}", self.number, UNITS[self.unit].0)
    }
}

/// The amounts of one text or of several, as a range from least to most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CountedRange {
    least: Counted,
    most: Counted,
}

impl CountedRange {
    fn words(self) -> String {
        let Self { least, most } = self;
        match (least == most, least.unit == most.unit) {
            (true, _) => most.words(),
            (false, true) => format!("{}–{}", least.number, most.words()),
            (false, false) => format!("{}–{}", least.words(), most.words()),
        }
    }

    fn with(self, other: Self) -> Self {
        let least = if other.least.value() < self.least.value() { other.least } else { self.least };
        let most = if other.most.value() > self.most.value() { other.most } else { self.most };
        Self { least, most }
    }
}

/// `text` without its amounts: texts that differ only in these have the rest in common.
pub(super) fn without_amounts(text: &str) -> String {
    let mut common = String::new();
    let mut end = 0;
    for (at, range) in amounts(text) {
        common.push_str(&text[end..at.start]);
        // Numbers of times and ages get different placeholders.
        common.push_str(if UNITS[range.most.unit].0.len() > 1 { "\u{0}n" } else { "\u{0}t" });
        end = at.end;
    }
    common.push_str(&text[end..]);
    common
}

/// Both texts as one, with ranges where their amounts differ; `None` where they differ otherwise.
pub(super) fn merged(ours: &str, theirs: &str) -> Option<Str> {
    if ours == theirs {
        return Some(ours.into());
    }
    if without_amounts(ours) != without_amounts(theirs) {
        return None;
    }
    let mut text = String::new();
    let mut end = 0;
    for ((at, ours_range), (_, theirs_range)) in amounts(ours).into_iter().zip(amounts(theirs)) {
        text.push_str(&ours[end..at.start]);
        text.push_str(&ours_range.with(theirs_range).words());
        end = at.end;
    }
    text.push_str(&ours[end..]);
    Some(text.into())
}

/// The amounts in a text, each with its place. Numbers without such a unit (ports, exit codes, versions) are not amounts: texts with different ones
/// stay apart.
fn amounts(text: &str) -> Vec<(Range<usize>, CountedRange)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(|c: char| c.is_ascii_digit()).map(|at| from + at) {
        let begins = text[..start].chars().next_back().is_none_or(|before| matches!(before, ' ' | '~' | '('));
        match range(&text[start..]).filter(|_| begins) {
            Some((range, bytes)) => {
                found.push((start..start + bytes, range));
                from = start + bytes;
            }
            None => {
                from = start + text[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - start);
            }
        }
    }
    found
}

/// The range that `text` begins with, and how many bytes it takes: `22s`, `22–40s`, `50s–2m`.
fn range(text: &str) -> Option<(CountedRange, usize)> {
    let (least, first_unit, mut bytes) = amount(text)?;
    let (most, unit) = match text[bytes..].strip_prefix('–') {
        Some(rest) => {
            let (most, unit, more) = amount(rest)?;
            bytes += '–'.len_utf8() + more;
            (most, unit?)
        }
        None => (least, first_unit?),
    };
    if text[bytes..].starts_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let least = Counted { number: least, unit: first_unit.unwrap_or(unit) };
    Some((CountedRange { least, most: Counted { number: most, unit } }, bytes))
}

/// The number that `text` begins with, its unit if it has one, and how many bytes they take.
fn amount(text: &str) -> Option<(u64, Option<usize>, usize)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..digits].parse().ok()?;
    let unit = UNITS.iter().position(|(unit, _)| text[digits..].starts_with(unit));
    Some((number, unit, digits + unit.map_or(0, |unit| UNITS[unit].0.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_by_an_age_or_a_number_of_times_are_one() {
        for (ours, theirs, want) in [
            ("pulls for 22s", "pulls for 23s", Some("pulls for 22–23s")),
            ("pulls for 22–23s", "pulls for 21s", Some("pulls for 21–23s")),
            ("pulls for 50s", "pulls for 2m", Some("pulls for 50s–2m")),
            ("pulls for 50s–2m", "pulls for 59s", Some("pulls for 50s–2m")),
            (
                "pulling, 40s of est. 58s (7 peers)",
                "pulling, 41s of est. 58s (7 peers)",
                Some("pulling, 40–41s of est. 58s (7 peers)"),
            ),
            ("2 times, last exit 1", "3 times, last exit 1", Some("2–3 times, last exit 1")),
            ("2 times, last exit 1", "3 times, last exit 137", None),
            ("agent:v1.9.0 not found", "agent:v1.9.1 not found", None),
            ("port 9100", "port 9101", None),
            ("10.0.0.1", "10.0.0.2", None),
            ("image 22s-x", "image 23s-x", Some("image 22–23s-x")),
            ("99999999999999999999999s", "1s", None),
            ("same", "same", Some("same")),
        ] {
            assert_eq!(merged(ours, theirs).as_deref(), want, "{ours} and {theirs}");
        }
    }
}
