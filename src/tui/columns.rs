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

/// A column of a table with rows of type `R`. `P` is what columns depend on beside the row, `C` what a cell
/// holds.
#[derive(Debug)]
pub(crate) struct Column<R, P: 'static, C> {
    /// As `:sort` takes it.
    pub(crate) name: &'static str,
    /// The longest that fits is shown; longest first.
    pub(crate) headers: &'static [&'static str],
    /// One line for the help.
    pub(crate) help: &'static str,
    pub(crate) kind: ColumnKind,
    pub(crate) width: Width<P>,
    /// How rows are sorted by it; nothing where the table cannot be sorted by it.
    pub(crate) order: Option<fn(&R, &R) -> Ordering>,
    /// What the filter finds in it; without it, what its cell says.
    pub(crate) words: Option<fn(&R, &P) -> String>,
    /// Whether what is typed without a column's name is looked for in it, also while it is hidden. Not where only the number counts, and
    /// not where all rows say the same: each word of it would match everywhere.
    pub(crate) searched: bool,
    /// What is in its cell of this row, when it is so many cells wide.
    pub(crate) cell: fn(&R, &P, usize) -> (C, ThemeRole),
}

/// How a column's text stands in its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColumnKind {
    /// To the left, cut at its end.
    Text,
    /// To the left, cut in its middle: names differ at their ends.
    Name,
    /// To the right.
    Number,
}

/// How wide a column is, in a table of so many cells.
#[derive(Debug)]
pub(crate) enum Width<P: 'static> {
    /// Always shown, this wide.
    Always(fn(&P, usize) -> usize),
    /// Shown where there is room.
    Optional(&'static [Share<P>]),
    /// What the others leave, if that is more than this.
    Rest(usize),
    /// What the others leave, if that is more than the first; at most the second, which is what there is to show.
    Content(usize, fn(&P) -> usize),
    /// Like `Optional`; and of what is left in the end so much that all of its text is shown.
    Growing(&'static [Share<P>], fn(&P) -> usize),
}

/// Cells that a column gets where there is room for them; a second share widens it.
#[derive(Debug)]
pub(crate) struct Share<P> {
    /// Lower numbers are served first.
    pub(crate) priority: u8,
    pub(crate) cells: fn(&P, usize) -> usize,
    /// How many cells have to be left for what is served later and for the rest, in a table with all of its columns. In one with fewer
    /// it is at most what those need that it has.
    pub(crate) keep: usize,
}

// Derived, they would ask the same of rows and cells, of which there are none in a declaration.
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
    /// How many cells it may take of what the others leave, the blank after it included; nothing where it takes none of that.
    fn rest(&self, page: &P) -> Option<usize> {
        match self {
            Self::Rest(_) => Some(usize::MAX / 2),
            Self::Content(_, most) => Some(most(page) + 1),
            Self::Always(_) | Self::Optional(_) | Self::Growing(..) => None,
        }
    }
}

impl<R, P: 'static, C> Column<R, P, C> {
    /// Its header in so many cells.
    pub(crate) fn header(&self, cells: usize) -> &'static str {
        let fitting = self.headers.iter().find(|header| header.len() <= cells);
        fitting.or(self.headers.last()).copied().unwrap_or_default()
    }
}

/// How wide each of `columns` is in a table of so many cells; zero where there is no room for it.
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
            Width::Rest(_) | Width::Content(..) => {}
        }
    }
    shares.sort_by_key(|(_, share)| share.priority);
    for (nth, (at, share)) in shares.iter().copied().enumerate() {
        let wanted = (share.cells)(page, cells);
        let later = || {
            let shares = shares[nth + 1..].iter().map(|(_, share)| (share.cells)(page, cells) + 1);
            shares.chain(columns.iter().filter_map(|column| column.width.rest(page))).sum()
        };
        let keep = if is_chosen { share.keep.min(later()) } else { share.keep };
        // Nor is one served after it, though it may fit: it would be hidden again where there is more room.
        if free < wanted + 1 + keep {
            break;
        }
        widths[at] += wanted;
        free -= wanted + 1;
    }
    for (at, column) in columns.iter().enumerate() {
        widths[at] += match column.width {
            Width::Rest(least) if free > least => free - 1,
            Width::Content(least, most) if free > least => (free - 1).min(most(page)),
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

/// How narrow a table of so many cells can become before a column loses some: what is left is blank.
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

    /// Which columns a wider terminal hides, from 40 to 400 cells.
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
