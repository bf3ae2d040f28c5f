//! The columns of the table of DaemonSets. They are sorted by how bad their state is; no column sorts them otherwise.

use super::{Column, ColumnKind, MARGIN, Share, Width};
use crate::driver::{DrivenBy, Fleet, FleetRow};
use crate::engine::model::fleet_state::FleetState;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::width;

pub(crate) type FleetColumn = Column<FleetRow, Fleet, String>;

/// The columns, from left to right.
pub(crate) static FLEET_COLUMNS: &[FleetColumn] = &[
    FleetColumn {
        name: "namespace",
        headers: &["NAMESPACE"],
        help: "its namespace",
        kind: ColumnKind::Text,
        width: Width::Optional(&[Share {
            priority: 3,
            cells: |fleet, cells| longest(fleet, |row| &row.namespace).clamp(9, names(cells).0.max(9)),
            keep: 16,
        }]),
        order: None,
        words: None,
        cell: |row, _, _| (row.namespace.to_string(), ThemeRole::Text),
    },
    FleetColumn {
        name: "name",
        headers: &["DAEMONSET"],
        help: "its name",
        kind: ColumnKind::Name,
        width: Width::Always(|fleet, cells| longest(fleet, |row| &row.name).clamp(9, names(cells).1.max(9))),
        order: None,
        words: Some(|row, _| format!("{}/{}", row.namespace, row.name)),
        cell: |row, _, _| (row.name.to_string(), ThemeRole::Title),
    },
    FleetColumn {
        name: "desired",
        headers: &["DES"],
        help: "how many nodes should run its pods",
        kind: ColumnKind::Number,
        width: Width::Optional(&[Share { priority: 0, cells: digits, keep: 12 }]),
        order: None,
        words: None,
        cell: |row, _, _| (row.counters.desired.to_string(), ThemeRole::Text),
    },
    FleetColumn {
        name: "updated",
        headers: &["UPD"],
        help: "how many run the present template",
        kind: ColumnKind::Number,
        width: Width::Optional(&[Share { priority: 1, cells: digits, keep: 12 }]),
        order: None,
        words: None,
        cell: |row, _, _| (row.counters.updated.to_string(), ThemeRole::Text),
    },
    FleetColumn {
        name: "available",
        headers: &["AVL"],
        help: "how many are available",
        kind: ColumnKind::Number,
        width: Width::Optional(&[Share { priority: 2, cells: digits, keep: 12 }]),
        order: None,
        words: None,
        cell: |row, _, _| {
            let role = if row.counters.available < row.counters.desired { ThemeRole::Warn } else { ThemeRole::Text };
            (row.counters.available.to_string(), role)
        },
    },
    FleetColumn {
        name: "strategy",
        headers: &["STRATEGY"],
        help: "its update strategy",
        kind: ColumnKind::Text,
        width: Width::Optional(&[
            Share { priority: 5, cells: |_, _| 15, keep: 11 },
            Share { priority: 7, cells: |_, _| 5, keep: 18 },
        ]),
        order: None,
        words: Some(|row, _| row.strategy.clone()),
        cell: |row, _, _| (row.strategy.clone(), ThemeRole::Text),
    },
    FleetColumn {
        name: "state",
        headers: &["STATE"],
        help: "what its rollout does, and whether something is pre-warmed",
        kind: ColumnKind::Text,
        width: Width::Rest(0),
        order: None,
        words: Some(|row, _| row.standing()),
        cell: |row, _, _| (row.standing(), sign(row).1),
    },
    FleetColumn {
        name: "driver",
        headers: &["DRIVEN BY"],
        help: "who replaces its pods",
        kind: ColumnKind::Text,
        width: Width::Optional(&[
            Share { priority: 4, cells: |_, _| 10, keep: 16 },
            Share { priority: 6, cells: |_, _| 14, keep: 24 },
        ]),
        order: None,
        words: Some(|row, _| row.driven_by.to_string()),
        cell: |row, _, _| {
            let role = if row.driven_by == DrivenBy::You { ThemeRole::Live } else { ThemeRole::Text };
            (row.driven_by.to_string(), role)
        },
    },
];

/// The sign and the look of a DaemonSet.
pub(crate) fn sign(row: &FleetRow) -> (Glyph, ThemeRole) {
    match &row.state {
        FleetState::Halted(_) => (Glyph::Failed, ThemeRole::Bad),
        FleetState::Degraded(_) | FleetState::Misscheduled(_) => (Glyph::Down, ThemeRole::Warn),
        FleetState::Paused(_) => (Glyph::Paused, ThemeRole::Warn),
        FleetState::Rolling => (Glyph::Moving, ThemeRole::Busy),
        FleetState::Held | FleetState::Adopted => (Glyph::Outdated, ThemeRole::Text),
        FleetState::UpToDate => (Glyph::Updated, ThemeRole::Ok),
    }
}

/// The most cells of namespaces and of names: a seventh and a quarter of the table. Both are parts of one share, so that with one more
/// cell only one of them grows.
fn names(cells: usize) -> (usize, usize) {
    let both = cells.saturating_sub(MARGIN) * 11 / 28;
    let name = both * 7 / 11;
    (both - name, name)
}

fn longest(fleet: &Fleet, text: fn(&FleetRow) -> &str) -> usize {
    fleet.rows.iter().map(|row| width(text(row))).max().unwrap_or(0)
}

/// As wide as the largest count.
fn digits(fleet: &Fleet, _: usize) -> usize {
    let counters = fleet.rows.iter().map(|row| &row.counters);
    let most = counters.map(|counters| counters.desired.max(counters.updated)).max().unwrap_or(0);
    most.to_string().len().max(3)
}

#[cfg(test)]
mod tests {
    use super::super::tests::hidden_by_room;
    use super::*;
    use crate::engine::model::facts::DaemonSetCounters;

    #[test]
    fn more_room_never_hides_a_column() {
        let row = |namespace: usize, name: usize, desired: u32| FleetRow {
            namespace: "n".repeat(namespace).into(),
            name: "d".repeat(name).into(),
            counters: DaemonSetCounters { desired, ..DaemonSetCounters::default() },
            strategy: String::new(),
            state: FleetState::UpToDate,
            prewarm: None,
            driven_by: DrivenBy::Nobody,
        };
        for namespace in [1, 9, 12, 30, 63] {
            for name in [1, 9, 20, 40, 63] {
                for desired in [1, 120, 15_000] {
                    let fleet = Fleet { rows: vec![row(namespace, name, desired)], ..Fleet::default() };
                    let hidden = hidden_by_room(FLEET_COLUMNS, &fleet);
                    assert_eq!(hidden, [""; 0], "namespaces of {namespace} cells, names of {name}, {desired} pods");
                }
            }
        }
    }
}
