//! A table's rows as the filter sees them: a filter can name every column by its name and by its heading.

use std::borrow::Cow;

use super::{Column, ColumnKind};
use crate::engine::model::labels::Labels;
use crate::engine::model::time::Timestamp;
use crate::tui::filter::{FieldKind, FilterField, FilterRow, parse_age};

/// A width at which no cell is cut.
const WIDE: usize = 200;

/// The content of a cell, for the filter.
pub(crate) trait FilterableCell {
    /// The cell's text, if it has a text of its own.
    fn text(&self) -> Option<&str>;
    /// The instant from which the cell's age counts.
    fn since(&self) -> Option<Timestamp>;
    /// The number that the cell shows in another form than text.
    fn count(&self) -> Option<u32> {
        None
    }
}

/// The column of both tables that shows how long a row has been in its state.
const SINCE: &str = "since";

/// The columns of a table as the fields of a filter, in their order.
pub(crate) fn fields<R, P: 'static, C>(columns: &[Column<R, P, C>]) -> Vec<FilterField> {
    let field = |column: &Column<R, P, C>| {
        let headings = column.headers.iter().map(|heading| by_heading(heading));
        let kind = match column.kind {
            ColumnKind::Age => FieldKind::Age,
            ColumnKind::Revision => FieldKind::Revision,
            ColumnKind::Number => FieldKind::Number,
            ColumnKind::Text | ColumnKind::Name => FieldKind::Text,
        };
        let mut aliases: Vec<String> = headings.filter(|heading| heading != column.name).collect();
        match column.name {
            "namespace" => aliases.push("ns".to_owned()),
            // kubectl and k9s call a column of ages `age`.
            SINCE => aliases.push("age".to_owned()),
            _ => {}
        }
        FilterField { name: column.name.to_owned(), aliases, kind }
    };
    columns.iter().map(field).collect()
}

/// The name of a column that is derived from one of its headings.
pub(super) fn by_heading(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

/// A row of a table with these columns.
pub(crate) struct ColumnRow<'a, R: 'static, P: 'static, C: 'static> {
    pub(crate) columns: &'static [Column<R, P, C>],
    pub(crate) row: &'a R,
    pub(crate) page: &'a P,
    pub(crate) labels: Option<&'a Labels>,
    /// Whether the row is at the revision that is rolled out, if the row is a node.
    pub(crate) is_new: Option<bool>,
    /// The instant for which ages are computed.
    pub(crate) at: Timestamp,
    /// The text that words are searched in, if it was computed before.
    pub(crate) known: Option<&'a str>,
}

impl<R, P, C: FilterableCell> ColumnRow<'_, R, P, C> {
    fn cell(&self, column: &Column<R, P, C>) -> C {
        (column.cell)(self.row, self.page, WIDE).0
    }

    fn words_of(&self, column: &Column<R, P, C>) -> String {
        match column.words {
            Some(words) => words(self.row, self.page),
            None => self.cell(column).text().unwrap_or_default().to_owned(),
        }
    }
}

impl<R, P, C: FilterableCell> FilterRow for ColumnRow<'_, R, P, C> {
    fn searched(&self) -> Cow<'_, str> {
        if let Some(known) = self.known {
            return Cow::Borrowed(known);
        }
        let mut text = String::with_capacity(128);
        for column in self.columns.iter().filter(|column| column.searched) {
            text.push_str(&self.words_of(column));
            text.push('\n');
        }
        Cow::Owned(text)
    }

    fn words(&self, field: usize) -> String {
        self.columns.get(field).map(|column| self.words_of(column)).unwrap_or_default()
    }

    fn shown(&self, field: usize) -> Option<String> {
        Some(self.cell(self.columns.get(field)?).text()?.to_owned())
    }

    fn number(&self, field: usize) -> Option<f64> {
        let cell = self.cell(self.columns.get(field)?);
        match cell.since() {
            Some(since) => Some(self.at.since(since).as_secs_f64()),
            None if cell.count().is_some() => cell.count().map(f64::from),
            None => cell.text().and_then(|text| text.parse().ok().or_else(|| parse_age(text).map(|(secs, _)| secs))),
        }
    }

    fn is_new(&self) -> Option<bool> {
        self.is_new
    }

    fn labels(&self) -> Option<&Labels> {
        self.labels
    }
}
