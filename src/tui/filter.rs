//! Filters choose the rows of a list that are shown.
//!
//! ```text
//!  failed ipc-01            both words, each in any column that shows text
//!  "image not found"        with its blanks
//!  !pulling                 not this
//!  state=failed  why!=pull  the column contains this, or does not; `==`: it is exactly this; `*`: any characters
//!  rst>0  age<5m            numbers and ages are compared
//!  rev=old                  not at the target; `rev=new`: at it
//!  zone=munich              a label of the node, by its key or what follows the `/` of its key
//!  /ipc-0[12]/  why~crash|oom   regular expressions
//!  -l line in (line3,line4) a label selector, as kubectl has it: alone
//! ```
//!
//! Filters ignore case. A filter is read once ([`grammar`]) and applied to each row. A row answers its conditions through
//! [`FilterRow`]; [`FilterSchema`] lists the columns and labels that a filter may name.

mod complete;
mod grammar;
mod term;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use self::complete::{completions, last_part};
pub(crate) use self::grammar::parse_age;
use self::term::FilterTerm;
pub(crate) use self::term::label_values;
use crate::engine::model::labels::{Labels, Selector};
use crate::engine::report::snapshot::NodeView;

/// The end of a refusal that is about the filter: the next `esc` clears the filter, instead of only removing the refusal.
pub(crate) const ESC_CLEARS_IT: &str = "esc clears it";

/// The choice of the rows that are shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// The text as typed.
    text: String,
    test: FilterTest,
}

#[derive(Clone, Debug, Default)]
enum FilterTest {
    #[default]
    All,
    /// All of these conditions hold.
    Terms(Vec<FilterTerm>),
    Labels(Selector),
}

/// The columns and labels that a filter may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilterSchema<'a> {
    /// The columns. Without columns and labels, `a=b` is plain text.
    pub(crate) fields: Vec<FilterField>,
    /// The nodes whose labels may be asked for; `None` where rows have no labels.
    pub(crate) labelled: Option<&'a [Arc<NodeView>]>,
}

/// A column that a filter can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FilterField {
    pub(crate) name: String,
    /// Other names for it, such as its heading.
    pub(crate) aliases: Vec<String>,
    pub(crate) kind: FieldKind,
}

/// The kind of a column's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldKind {
    Text,
    Number,
    /// The number of a revision; for nodes also `new` and `old`: whether the revision is the target at the time of the test.
    Revision,
    /// A length of time; compared with one that has a unit.
    Age,
}

/// A row that a filter looks at. A field is an index in the schema's list.
pub(crate) trait FilterRow {
    /// The text in which a word without a column is searched, each column on a line of its own.
    fn searched(&self) -> Cow<'_, str>;
    /// The field's text, which may be longer than its cell has room for.
    fn words(&self, field: usize) -> String;
    /// The text of the field's cell, if the cell shows another text.
    fn shown(&self, field: usize) -> Option<String>;
    /// The field's number, or its age in seconds.
    fn number(&self, field: usize) -> Option<f64>;
    /// Whether the row is at the revision that is rolled out; `None` if the row is not about a Pod.
    fn is_new(&self) -> Option<bool> {
        None
    }
    /// The labels of the row's node.
    fn labels(&self) -> Option<&Labels>;
}

/// A row that is one text, such as a line of a template.
pub(crate) struct TextLine(pub(crate) String);

impl FilterRow for TextLine {
    fn searched(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.0)
    }

    fn words(&self, _: usize) -> String {
        self.0.clone()
    }

    fn shown(&self, _: usize) -> Option<String> {
        None
    }

    fn number(&self, _: usize) -> Option<f64> {
        None
    }

    fn labels(&self) -> Option<&Labels> {
        None
    }
}

impl FilterSchema<'_> {
    /// The place of the field with this name.
    pub(crate) fn field(&self, name: &str) -> Option<usize> {
        let is_it = |known: &str| known.eq_ignore_ascii_case(name);
        let has_it = |field: &FilterField| is_it(&field.name) || field.aliases.iter().any(|alias| is_it(alias));
        self.fields.iter().position(|field| is_it(&field.name)).or_else(|| self.fields.iter().position(has_it))
    }
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// The text cannot be read: a column that does not exist, named with the most similar one; a regular expression; a number; a selector.
    pub(crate) fn parse(text: &str, schema: &FilterSchema<'_>) -> Result<Self, String> {
        let trimmed = text.trim();
        Ok(Self { text: trimmed.to_owned(), test: grammar::parse(trimmed, schema)? })
    }

    /// The same filter with another text: bookmarks are shown by name, as typed.
    #[must_use]
    pub(crate) fn shown_as(self, typed: &str) -> Self {
        Self { text: typed.trim().to_owned(), ..self }
    }

    /// The text as typed; empty if every row passes.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether every row passes.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self.test, FilterTest::All)
    }

    /// Whether a row that passes now may fail later merely because time passes.
    pub(crate) fn tells_time(&self) -> bool {
        matches!(&self.test, FilterTest::Terms(terms) if terms.iter().any(FilterTerm::is_about_age))
    }

    /// Whether the filter has words that are searched in every column.
    pub(crate) fn searches(&self) -> bool {
        matches!(&self.test, FilterTest::Terms(terms) if terms.iter().any(FilterTerm::is_about_anything))
    }

    /// Whether this row passes.
    pub(crate) fn passes(&self, row: &dyn FilterRow) -> bool {
        match &self.test {
            FilterTest::All => true,
            FilterTest::Labels(selector) => row.labels().is_some_and(|labels| selector.matches(labels)),
            FilterTest::Terms(terms) => {
                let mut searched = None;
                terms.iter().all(|term| term.holds(row, &mut searched))
            }
        }
    }

    /// The byte ranges of a cell's `text` that match the filter, in their order.
    pub(crate) fn hits(&self, field: usize, text: &str) -> Vec<Range<usize>> {
        let FilterTest::Terms(terms) = &self.test else { return Vec::new() };
        let mut hits: Vec<Range<usize>> = terms.iter().flat_map(|term| term.hits(field, text)).collect();
        hits.sort_by_key(|hit| hit.start);
        hits
    }
}
