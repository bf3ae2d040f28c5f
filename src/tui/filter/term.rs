//! One condition of a filter.

use std::borrow::Cow;
use std::ops::Range;

use regex::Regex;

use super::FilterRow;
use crate::engine::model::Str;
use crate::engine::model::labels::Labels;

/// A condition, or its negation.
#[derive(Clone, Debug)]
pub(super) struct FilterTerm {
    pub(super) negated: bool,
    pub(super) asks: FilterOperand,
}

/// The condition on a row.
#[derive(Clone, Debug)]
pub(super) enum FilterOperand {
    /// Any of the columns that are searched matches.
    Anywhere(Regex),
    /// A column passes the test.
    Field(usize, FieldTest),
    /// A label of the node passes the test; it is named by its key or by the part after the `/` of its key.
    Label(String, FieldTest),
}

/// The test of a column or a label.
#[derive(Clone, Debug)]
pub(super) enum FieldTest {
    Matches(Regex),
    /// The text is exactly this, in lower case.
    Is(String),
    Counts(NumberOrder, f64),
    /// The row is at the revision that is rolled out, or is not.
    IsNew(bool),
    /// An age in seconds. `=` accepts ages from `secs` up to one `unit` more.
    Ages {
        order: NumberOrder,
        secs: f64,
        unit: f64,
    },
}

/// The comparison of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NumberOrder {
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl NumberOrder {
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn holds(self, value: f64, than: f64) -> bool {
        match self {
            Self::Equal => value == than,
            Self::Less => value < than,
            Self::AtMost => value <= than,
            Self::More => value > than,
            Self::AtLeast => value >= than,
        }
    }
}

impl FieldTest {
    fn holds_for_text(&self, text: &str) -> bool {
        match self {
            Self::Matches(regex) => regex.is_match(text),
            Self::Is(wanted) => text.to_lowercase() == *wanted,
            Self::Counts(order, than) => text.parse().is_ok_and(|number| order.holds(number, *than)),
            Self::Ages { .. } | Self::IsNew(_) => false,
        }
    }

    fn holds_for_number(&self, value: f64) -> bool {
        match self {
            Self::Counts(order, than) => order.holds(value, *than),
            Self::Ages { order: NumberOrder::Equal, secs, unit } => value >= *secs && value < secs + unit,
            Self::Ages { order, secs, .. } => order.holds(value, *secs),
            Self::Matches(_) | Self::Is(_) | Self::IsNew(_) => false,
        }
    }
}

impl FilterTerm {
    /// `searched` keeps the text in which a row's words are searched from one term to the next.
    pub(super) fn holds<'a>(&self, row: &'a dyn FilterRow, searched: &mut Option<Cow<'a, str>>) -> bool {
        let found = match &self.asks {
            FilterOperand::Anywhere(regex) => regex.is_match(searched.get_or_insert_with(|| row.searched())),
            FilterOperand::Field(field, test @ FieldTest::Matches(_)) => test.holds_for_text(&row.words(*field)),
            FilterOperand::Field(field, test @ FieldTest::Is(_)) => {
                let shown = row.shown(*field).is_some_and(|shown| test.holds_for_text(&shown));
                shown || test.holds_for_text(&row.words(*field))
            }
            FilterOperand::Field(_, FieldTest::IsNew(is_new)) => row.is_new() == Some(*is_new),
            FilterOperand::Field(field, test) => row.number(*field).is_some_and(|value| test.holds_for_number(value)),
            FilterOperand::Label(key, test) => row
                .labels()
                .is_some_and(|labels| labels_called(labels, key).any(|(_, value)| test.holds_for_text(value))),
        };
        found != self.negated
    }

    /// The matching byte ranges in a cell of the field.
    pub(super) fn hits(&self, field: usize, text: &str) -> Vec<Range<usize>> {
        let whole = || std::iter::once(0..text.len()).collect();
        match &self.asks {
            _ if self.negated || text.is_empty() => Vec::new(),
            FilterOperand::Anywhere(regex) => matches(regex, text),
            FilterOperand::Field(asked, test) if *asked == field => match test {
                FieldTest::Matches(regex) => matches(regex, text),
                FieldTest::Is(_) | FieldTest::Counts(..) | FieldTest::IsNew(_) | FieldTest::Ages { .. } => whole(),
            },
            FilterOperand::Field(..) | FilterOperand::Label(..) => Vec::new(),
        }
    }

    pub(super) fn is_about_anything(&self) -> bool {
        matches!(self.asks, FilterOperand::Anywhere(_))
    }

    pub(super) fn is_about_age(&self) -> bool {
        matches!(self.asks, FilterOperand::Field(_, FieldTest::Ages { .. }))
    }
}

fn matches(regex: &Regex, text: &str) -> Vec<Range<usize>> {
    regex.find_iter(text).map(|found| found.range()).filter(|found| !found.is_empty()).collect()
}

/// The labels with this key, or with this name after the `/` of their key.
pub(super) fn labels_called<'a>(labels: &'a Labels, name: &'a str) -> impl Iterator<Item = (&'a Str, &'a Str)> {
    labels.iter().filter(move |(key, _)| is_called(key, name))
}

/// The values of these labels.
pub(crate) fn label_values<'a>(labels: &'a Labels, name: &'a str) -> impl Iterator<Item = &'a Str> {
    labels_called(labels, name).map(|(_, value)| value)
}

/// Whether `name` names the label with this key.
fn is_called(key: &str, name: &str) -> bool {
    key == name || key.rsplit_once('/').is_some_and(|(_, last)| last.eq_ignore_ascii_case(name))
}
