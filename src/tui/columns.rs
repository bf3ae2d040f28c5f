//! The columns of a table, each declared in one place.
//!
//! Header, help, widths, sorting, filter and cells are derived from the declaration: a table is an array of [`Column`]s, from
//! left to right. [`nodes`] and [`fleet`] declare the two tables; `view/table.rs` draws them.

mod filtering;
pub(crate) mod fleet;
pub(crate) mod nodes;
pub(crate) mod sorting;

use std::cmp::Ordering;

pub(crate) use self::filtering::{ColumnRow, FilterableCell, fields};
use self::sorting::TableColumn;
use super::theme::ThemeRole;

/// Cells left of the first column: the cursor, the row's sign, a blank.
pub(crate) const MARGIN: usize = 3;

/// A column of a table with rows of type `R`. `P` holds the values beside the row on which columns depend; `C` is the content of a cell.
#[derive(Debug)]
pub(crate) struct Column<R, P: 'static, C> {
    /// The name that `:sort` takes.
    pub(crate) name: &'static str,
    /// The column's headers, longest first; the longest that fits is shown.
    pub(crate) headers: &'static [&'static str],
    /// One line for the help.
    pub(crate) help: &'static str,
    pub(crate) kind: ColumnKind,
    pub(crate) width: Width<P>,
    /// The order by which rows are sorted; `None` if the table cannot be sorted by this column.
    pub(crate) order: Option<fn(&R, &R) -> Ordering>,
    /// The text that the filter searches in this column; if `None`, the text of the cell.
    pub(crate) words: Option<fn(&R, &P) -> String>,
    /// Whether a word typed without a column's name is searched in this column too, also while the column is hidden. `false`
    /// for columns in which only the number counts, and for columns with the same text in all rows, where each word would
    /// match everywhere.
    pub(crate) searched: bool,
    /// The content of this row's cell at the given width in cells.
    pub(crate) cell: fn(&R, &P, usize) -> (C, ThemeRole),
}

/// What a column shows: it decides how the text stands in its cells, and what a filter compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColumnKind {
    /// Left-aligned, cut at its end.
    Text,
    /// Left-aligned, cut in its middle: names differ at their ends.
    Name,
    /// A number. Right-aligned, as are the kinds below.
    Number,
    /// The number of a revision; a filter also takes `new` and `old`.
    Revision,
    /// How long something has lasted; its cells tell since when. A filter takes durations, and rows that grow older enter and leave the list.
    Age,
}

impl ColumnKind {
    /// Whether a filter compares numbers in this column, which stand at the right edge of its cells.
    pub(crate) fn is_number(self) -> bool {
        match self {
            Self::Number | Self::Revision | Self::Age => true,
            Self::Text | Self::Name => false,
        }
    }
}

/// The width of a column, in a table of a given width in cells.
#[derive(Debug)]
pub(crate) enum Width<P: 'static> {
    /// Always shown, this wide.
    Always(fn(&P, usize) -> usize),
    /// Shown where there is room.
    Optional(&'static [Share<P>]),
    /// The cells that the other columns leave, if they are more than this.
    Rest(usize),
    /// The cells that the other columns leave, if they are more than `least`; at most `most`. In a table with fewer columns, `kept` cells are kept
    /// for it before others get theirs.
    Leftover { least: usize, kept: usize, most: usize },
    /// Like `Optional`; the column also takes the cells left in the end, until all of its text is shown.
    Growing(&'static [Share<P>], fn(&P) -> usize),
}

/// Cells that a column gets if there is room for them; a second share widens the column.
#[derive(Debug)]
pub(crate) struct Share<P> {
    /// Lower numbers are served first.
    pub(crate) priority: u8,
    pub(crate) cells: fn(&P, usize) -> usize,
    /// The number of cells that have to remain for columns served later and for the rest, in a table with all of its
    /// columns. In a table with fewer columns, at most the cells that its own columns need are kept.
    pub(crate) keep: usize,
}

// Written by hand: derived implementations would demand the same traits of `R` and `C`, and a declaration holds no values of these types.
impl<R, P: 'static, C> Clone for Column<R, P, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, P: 'static, C> Copy for Column<R, P, C> {}

impl<P: 'static> Clone for Width<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: 'static> Copy for Width<P> {}

impl<P: 'static> Width<P> {
    /// The cells that are kept for a column that takes those the others leave, the blank after it included; `None` if it takes none of them.
    fn rest(&self) -> Option<usize> {
        match self {
            Self::Rest(_) => Some(usize::MAX / 2),
            Self::Leftover { kept, .. } => Some(kept + 1),
            Self::Always(_) | Self::Optional(_) | Self::Growing(..) => None,
        }
    }
}

impl<R, P: 'static, C> Column<R, P, C> {
    /// The column's header at the given width in cells.
    pub(crate) fn header(&self, cells: usize) -> &'static str {
        let fitting = self.headers.iter().find(|header| header.len() <= cells);
        fitting.or(self.headers.last()).copied().unwrap_or_default()
    }
}

/// The width of each of `columns` in a table of the given width in cells; zero for a column without room.
pub(crate) fn widths<R, P: 'static, C>(columns: &[Column<R, P, C>], page: &P, cells: usize) -> Vec<usize>
where
    Column<R, P, C>: TableColumn,
{
    let is_chosen = columns.len() < Column::<R, P, C>::all().len();
    let mut widths = vec![0; columns.len()];
    let mut free = cells.saturating_sub(MARGIN);
    let mut shares = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        match column.width {
            Width::Always(wanted) => {
                widths[at] = wanted(page, cells);
                free = free.saturating_sub(widths[at] + 1);
            }
            Width::Optional(all) | Width::Growing(all, _) => shares.extend(all.iter().map(|share| (at, share))),
            Width::Rest(_) | Width::Leftover { .. } => {}
        }
    }
    shares.sort_by_key(|(_, share)| share.priority);
    for (nth, (at, share)) in shares.iter().copied().enumerate() {
        let wanted = (share.cells)(page, cells);
        let later = || {
            let shares = shares[nth + 1..].iter().map(|(_, share)| (share.cells)(page, cells) + 1);
            shares.chain(columns.iter().filter_map(|column| column.width.rest())).sum()
        };
        let keep = if is_chosen { share.keep.min(later()) } else { share.keep };
        // Columns served after this one are hidden too, even if they would fit: otherwise they would vanish again in a wider table.
        if free < wanted + 1 + keep {
            break;
        }
        widths[at] += wanted;
        free -= wanted + 1;
    }
    for (at, column) in columns.iter().enumerate() {
        widths[at] += match column.width {
            Width::Rest(least) if free > least => free - 1,
            Width::Leftover { least, most, .. } if free > least => (free - 1).min(most),
            _ => continue,
        };
        free -= widths[at] + 1;
    }
    for (at, column) in columns.iter().enumerate() {
        if let Width::Growing(_, all) = column.width
            && widths[at] > 0
        {
            let more = all(page).saturating_sub(widths[at]).min(free);
            widths[at] += more;
            free -= more;
        }
    }
    widths
}

/// The width below which a table of the given width begins to take cells from a column: cells beyond it are blank.
pub(crate) fn needed<R, P: 'static, C>(columns: &[Column<R, P, C>], page: &P, cells: usize) -> usize
where
    Column<R, P, C>: TableColumn,
{
    let all = widths(columns, page, cells);
    (0..cells).rev().take_while(|fewer| widths(columns, page, *fewer) == all).last().unwrap_or(cells)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The columns that a wider terminal hides, from 40 to 400 cells.
    pub(crate) fn hidden_by_room<R, P: 'static, C>(columns: &[Column<R, P, C>], page: &P) -> Vec<String>
    where
        Column<R, P, C>: TableColumn,
    {
        let shown = |cells: usize| widths(columns, page, cells);
        let lost = |cells: usize| {
            let (narrow, wide) = (shown(cells), shown(cells + 1));
            let is_lost = move |at: &usize| narrow[*at] > 0 && wide[*at] == 0;
            let lost: Vec<usize> = (0..columns.len()).filter(is_lost).collect();
            lost.into_iter().map(move |at| format!("{} at {}", columns[at].name, cells + 1))
        };
        (40..400).flat_map(lost).collect()
    }
}
