//! The order of a table.

use std::cmp::Ordering;
use std::fmt;

use super::Column;

/// The order of a table with these columns.
#[derive(Default)]
pub(crate) enum TableSort<R: 'static, P: 'static, C: 'static> {
    /// The rows' own order: the worst first.
    #[default]
    Trouble,
    /// A column that has an order; equal rows stay in the rows' own order.
    By(&'static Column<R, P, C>),
}

/// A column that knows the others of its table.
pub(crate) trait TableColumn: Sized + 'static {
    /// The columns of the table, from left to right.
    fn all() -> &'static [Self];
}

// Written by hand: derived implementations would demand the same traits of rows and cells.
impl<R, P, C> Clone for TableSort<R, P, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, P, C> Copy for TableSort<R, P, C> {}

impl<R, P, C> fmt::Debug for TableSort<R, P, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<R, P, C> TableSort<R, P, C> {
    /// The name that `:sort` takes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Trouble => "trouble",
            Self::By(column) => column.name,
        }
    }

    /// The order in words, as an answer to the command that chose it.
    pub(crate) fn in_words(self) -> String {
        match self {
            Self::Trouble => "sorted by trouble, the worst first".to_owned(),
            Self::By(column) => format!("sorted by {}", column.name),
        }
    }

    /// How two rows compare; `None`: the rows' own order stays.
    pub(crate) fn order(self) -> Option<fn(&R, &R) -> Ordering> {
        match self {
            Self::Trouble => None,
            Self::By(column) => column.order,
        }
    }
}

impl<R, P, C> TableSort<R, P, C>
where
    Column<R, P, C>: TableColumn,
{
    /// All orders, in the sequence in which `:sort` without a name goes through them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let columns = Column::<R, P, C>::all().iter().filter(|column| column.order.is_some());
        std::iter::once(Self::Trouble).chain(columns.map(Self::By))
    }

    /// The order after this one; the first follows the last.
    fn next(self) -> Self {
        Self::all().skip_while(|sort| sort.name() != self.name()).nth(1).unwrap_or_default()
    }

    /// The order called `name`, in capitals or not, or by the column that has this heading on the screen; without a name the next one. `state` is the order by
    /// trouble where no column of that name orders otherwise.
    ///
    /// # Errors
    /// There is no order of that name: the error lists the names.
    pub(crate) fn named(self, name: &str) -> Result<Self, String> {
        if name.is_empty() {
            return Ok(self.next());
        }
        let is_headed = |sort: &Self| match sort {
            Self::Trouble => false,
            Self::By(column) => column.headers.iter().any(|header| header.eq_ignore_ascii_case(name)),
        };
        let column = Self::all().find(|sort| sort.name().eq_ignore_ascii_case(name));
        let column = column.or_else(|| Self::all().find(is_headed));
        column.or_else(|| name.eq_ignore_ascii_case("state").then_some(Self::Trouble)).ok_or_else(|| {
            let known: Vec<&str> = Self::all().map(Self::name).collect();
            format!("cannot sort by `{name}`; there are {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fleet::FleetSort;
    use super::super::nodes::{Sort, node_columns};
    use super::*;
    use crate::config::NodeColumnName;

    /// The names of the orders in sequence, until the first one comes again.
    fn round<R, P, C>(first: TableSort<R, P, C>) -> Vec<&'static str>
    where
        Column<R, P, C>: TableColumn,
    {
        let mut names = vec![first.name()];
        let mut sort = first.named("").unwrap();
        while sort.name() != first.name() {
            names.push(sort.name());
            sort = sort.named("").unwrap();
        }
        names
    }

    #[test]
    fn sorting_goes_round_and_begins_with_what_asks_to_be_looked_at() {
        let of_fleet = ["trouble", "namespace", "name", "up-to-date", "available", "since", "driver"];
        assert_eq!(round(FleetSort::default()), of_fleet);
        let columns = node_columns(&NodeColumnName::ALL).into_iter().filter(|column| column.order.is_some());
        let of_nodes: Vec<&str> = std::iter::once("trouble").chain(columns.map(|column| column.name)).collect();
        assert!(of_nodes.len() > 1);
        assert_eq!(round(Sort::default()), of_nodes);
        assert_eq!(Sort::default().named("zone").unwrap_err(), {
            let known: Vec<&str> = Sort::all().map(Sort::name).collect();
            format!("cannot sort by `zone`; there are {}", known.join(", "))
        });
        assert_eq!(Sort::default().named("NAME").unwrap().name(), "name");
        let by_state =
            (FleetSort::default().named("STATE").unwrap().name(), Sort::default().named("state").unwrap().name());
        assert_eq!(by_state, ("trouble", "state"));
        for (heading, name) in [("for", "since"), ("avl", "available"), ("New", "up-to-date"), ("driven by", "driver")]
        {
            assert_eq!(FleetSort::default().named(heading).unwrap().name(), name);
        }
    }
}
