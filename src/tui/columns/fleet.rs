//! The columns of the table of DaemonSets, and its orders: by default the worst state comes first.

use std::cmp::Reverse;

use super::sorting::{TableColumn, TableSort};
use super::{Column, ColumnKind, FilterableCell, MARGIN, Share, Width};
use crate::driver::{DrivenBy, Fleet, FleetRevision, FleetRow};
use crate::engine::model::Str;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::image::{version_of, without_user};
use crate::engine::model::time::Timestamp;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{repository_change, width};

pub(crate) type FleetColumn = Column<FleetRow, Fleet, FleetCell>;

/// The width of the bar in cells, with its brackets and the blank after it.
pub(crate) const BAR: usize = 13;
/// The number of digits of a digest that tell images apart.
const DIGEST_DIGITS: usize = 8;

/// The content of a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FleetCell {
    Text(String),
    /// A part of a total: as numbers, and in a wide cell as a bar too.
    Progress {
        /// `None`: unknown.
        updated: Option<u32>,
        /// The number of updated Pods that are known to be well.
        well: u32,
        desired: u32,
        /// The width of the numbers in cells.
        numbers: usize,
    },
    /// The time since this instant; `None` if the instant is unknown.
    Age(Option<Timestamp>),
}

impl FilterableCell for FleetCell {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Progress { .. } | Self::Age(_) => None,
        }
    }

    fn since(&self) -> Option<Timestamp> {
        match self {
            Self::Age(since) => *since,
            Self::Text(_) | Self::Progress { .. } => None,
        }
    }

    fn count(&self) -> Option<u32> {
        match self {
            Self::Progress { updated, .. } => *updated,
            Self::Text(_) | Self::Age(_) => None,
        }
    }
}

/// The columns, from left to right.
pub(crate) static FLEET_COLUMNS: &[FleetColumn] = &[
    FleetColumn {
        name: "namespace",
        headers: &["NAMESPACE"],
        help: "its namespace",
        kind: ColumnKind::Text,
        width: Width::Optional(&[Share {
            priority: 4,
            cells: |fleet, cells| longest(fleet, |row| &row.namespace).clamp(9, names(cells).0.max(9)),
            keep: 16,
        }]),
        order: Some(|a, b| natord::compare(&a.namespace, &b.namespace)),
        words: None,
        searched: true,
        cell: |row, _, _| text(&row.namespace, ThemeRole::Text),
    },
    FleetColumn {
        name: "name",
        headers: &["DAEMONSET"],
        help: "its name",
        kind: ColumnKind::Name,
        width: Width::Always(|fleet, cells| longest(fleet, |row| &row.name).clamp(9, names(cells).1.max(9))),
        order: Some(|a, b| natord::compare(&a.name, &b.name)),
        words: Some(|row, _| format!("{}/{}", row.namespace, row.name)),
        searched: true,
        cell: |row, _, _| text(&row.name, ThemeRole::Title),
    },
    FleetColumn {
        name: "revision",
        headers: &["REVISION", "REV"],
        help: "from which revision to which; `+1`: pods of one more revision run, as whoever drives tells; `?`: not known",
        kind: ColumnKind::Revision,
        width: Width::Optional(&[Share {
            priority: 3,
            cells: |fleet, _| longest_of(fleet, |row| width(&revisions(row))).clamp(3, 11),
            keep: 18,
        }]),
        order: None,
        words: None,
        searched: false,
        cell: |row, _, _| {
            let role = if row.from.is_some() { ThemeRole::Text } else { ThemeRole::Muted };
            text(&revisions(row), role)
        },
    },
    FleetColumn {
        name: "images",
        headers: &["IMAGES"],
        help: "the versions of its images, and from which where that differs",
        kind: ColumnKind::Text,
        width: Width::Optional(&[
            Share { priority: 6, cells: |_, _| 16, keep: 16 },
            Share {
                priority: 10,
                cells: |fleet, _| longest_of(fleet, |row| width(&images(row))).clamp(16, 48) - 16,
                keep: 38,
            },
        ]),
        order: None,
        words: Some(|row, _| images(row)),
        searched: true,
        cell: |row, _, _| {
            let role = if row.from.is_some() { ThemeRole::Text } else { ThemeRole::Muted };
            text(&images(row), role)
        },
    },
    FleetColumn {
        name: "up-to-date",
        headers: &["UP-TO-DATE", "NEW"],
        help: "pods of the new revision, well or not, of all that its controller wants; its page calls updated only nodes that are well, as \
               the full part of the bar does",
        kind: ColumnKind::Number,
        width: Width::Optional(&[
            Share { priority: 0, cells: |fleet, _| progress_width(fleet), keep: 12 },
            Share { priority: 7, cells: |_, _| BAR, keep: 18 },
        ]),
        order: Some(|a, b| done(a).cmp(&done(b))),
        words: None,
        searched: false,
        cell: |row, fleet, _| {
            let known = row.updated();
            let updated = known.map(|(_, updated)| updated);
            // As in the bar on the DaemonSet's page: Pods that are down leave the bar incomplete, even if all Pods are of one revision.
            let well = known.map_or(0, |(well, _)| well);
            let numbers = progress_width(fleet);
            (FleetCell::Progress { updated, well, desired: row.counters.desired, numbers }, ThemeRole::Text)
        },
    },
    FleetColumn {
        name: "available",
        headers: &["AVAIL", "AVL"],
        help: "how many are available",
        kind: ColumnKind::Number,
        width: Width::Optional(&[Share { priority: 2, cells: digits, keep: 18 }]),
        order: Some(|a, b| Reverse(unavailable(a)).cmp(&Reverse(unavailable(b)))),
        words: None,
        searched: false,
        cell: |row, _, _| {
            let role = if unavailable(row) > 0 { ThemeRole::Warn } else { ThemeRole::Text };
            text(&row.counters.available.to_string(), role)
        },
    },
    FleetColumn {
        name: "strategy",
        headers: &["STRATEGY"],
        help: "its update strategy",
        kind: ColumnKind::Text,
        width: Width::Optional(&[
            Share { priority: 8, cells: |_, _| 15, keep: 18 },
            Share { priority: 11, cells: |_, _| 5, keep: 38 },
        ]),
        order: None,
        words: Some(|row, _| row.strategy.clone()),
        searched: true,
        cell: |row, _, _| text(&row.strategy, ThemeRole::Text),
    },
    FleetColumn {
        name: "state",
        headers: &["STATE"],
        help: "nodes that fail (as its driver tells), what its rollout does, nodes that pull, pre-warming",
        kind: ColumnKind::Text,
        width: Width::Rest(0),
        order: None,
        words: Some(|row, _| standing(row)),
        searched: true,
        cell: |row, _, _| text(&standing(row), standing_role(row)),
    },
    FleetColumn {
        name: "since",
        headers: &["FOR"],
        help: "how long in this state: of a rollout that runs since it was let go, resumed or sent back; `?`: not known",
        kind: ColumnKind::Age,
        width: Width::Optional(&[Share { priority: 1, cells: |_, _| 4, keep: 18 }]),
        order: Some(|a, b| (a.since.is_none(), Reverse(a.since)).cmp(&(b.since.is_none(), Reverse(b.since)))),
        words: None,
        searched: false,
        cell: |row, _, _| match row.since {
            None => text("?", ThemeRole::Muted),
            since => (FleetCell::Age(since), ThemeRole::Text),
        },
    },
    FleetColumn {
        name: "driver",
        headers: &["DRIVEN BY"],
        help: "who replaces its pods",
        kind: ColumnKind::Text,
        width: Width::Optional(&[
            Share { priority: 5, cells: |_, _| 10, keep: 16 },
            Share { priority: 9, cells: |_, _| 14, keep: 38 },
        ]),
        order: Some(|a, b| driver_rank(a).cmp(&driver_rank(b))),
        words: Some(|row, _| row.driven_by.to_string()),
        searched: true,
        cell: |row, _, _| {
            let role = if row.driven_by == DrivenBy::You { ThemeRole::Live } else { ThemeRole::Text };
            text(&row.driven_by.to_string(), role)
        },
    },
];

/// The order of the list of DaemonSets.
pub(crate) type FleetSort = TableSort<FleetRow, Fleet, FleetCell>;

impl TableColumn for FleetColumn {
    fn all() -> &'static [Self] {
        FLEET_COLUMNS
    }
}

/// Brings `shown`, indices of `rows` with the worst first, into this order.
pub(crate) fn sort_rows(sort: FleetSort, shown: &mut [usize], rows: &[FleetRow]) {
    if let Some(order) = sort.order() {
        shown.sort_by(|a, b| order(&rows[*a], &rows[*b]));
    }
}

/// The sign and the colour of a DaemonSet.
pub(crate) fn sign(row: &FleetRow) -> (Glyph, ThemeRole) {
    match &row.state {
        FleetState::Halted(_) | FleetState::StrategyDrifted => (Glyph::Failed, ThemeRole::Bad),
        FleetState::BeingDeleted => (Glyph::Down, ThemeRole::Warn),
        _ if fails(row) => (Glyph::Failed, ThemeRole::Bad),
        _ if has_accepted_failures(row) => (Glyph::Failed, ThemeRole::Warn),
        FleetState::Degraded(_) | FleetState::Misscheduled(_) => (Glyph::Down, ThemeRole::Warn),
        FleetState::RecordMissing | FleetState::RecordUnreadable | FleetState::Unseen => {
            (Glyph::Outdated, ThemeRole::Warn)
        }
        // A driver pauses it, as its page says.
        FleetState::Undriven if row.template_of_others => (Glyph::Paused, ThemeRole::Warn),
        FleetState::Paused(_) => (Glyph::Paused, ThemeRole::Warn),
        // It stands still until somebody drives: as on its page.
        FleetState::Undriven => (Glyph::Outdated, ThemeRole::Warn),
        FleetState::Rolling | FleetState::RollingBack if row.undriven().is_some() => (Glyph::Outdated, ThemeRole::Warn),
        FleetState::Rolling | FleetState::RollingBack => (Glyph::Moving, ThemeRole::Busy),
        FleetState::Held if unavailable(row) > 0 => (Glyph::Down, ThemeRole::Warn),
        FleetState::Held | FleetState::Adopted => (Glyph::Outdated, ThemeRole::Text),
        FleetState::UpToDate => (Glyph::Updated, ThemeRole::Ok),
    }
}

/// Whether the DaemonSet has failures that nobody accepted.
///
/// If a driver reports failing nodes, only its report counts. Otherwise, if the pulls are known: images cannot be pulled and no driver judges the
/// rollout (a driver's gates would halt it), or no Pod is available and none pulls or starts. If neither is known, `false`. The Pods of a
/// DaemonSet that is being deleted go with it.
fn fails(row: &FleetRow) -> bool {
    if row.state == FleetState::BeingDeleted {
        return false;
    }
    if let Some(failing) = &row.failing {
        return failing.unaccepted() > 0;
    }
    let Some(pulls) = row.pulls else { return false };
    let holder = row.prewarmed_by.as_ref().unwrap_or(&row.driven_by);
    let is_judged = matches!(holder, DrivenBy::You | DrivenBy::Other(_) | DrivenBy::Unconfirmed(_));
    let is_down = row.counters.desired > 0 && row.counters.available == 0;
    (pulls.failed > 0 && !is_judged) || (is_down && pulls.pulling == 0 && pulls.starting == 0)
}

/// Whether nodes fail and an operator accepted all of these failures by resuming.
fn has_accepted_failures(row: &FleetRow) -> bool {
    row.failing.as_ref().is_some_and(|failing| failing.nodes > 0)
}

/// The colour of the DaemonSet's state in words. Failing pulls need attention whatever state the rollout is in.
fn standing_role(row: &FleetRow) -> ThemeRole {
    let (_, role) = sign(row);
    let fails = row.pulls.is_some_and(|pulls| pulls.failed > 0);
    if role != ThemeRole::Bad && fails { ThemeRole::Warn } else { role }
}

/// The rank of a DaemonSet by its need for attention: failures rank with a halt, whatever state the rollout is in.
pub(crate) fn rank(row: &FleetRow) -> u8 {
    match fails(row) {
        true => row.state.rank().min(FleetState::StrategyDrifted.rank()),
        false if has_accepted_failures(row) || row.last_failing.is_some() => {
            row.state.rank().min(FleetState::Degraded(0).rank())
        }
        false => row.state.rank(),
    }
}

/// The DaemonSet's state in words. Misscheduled Pods are not among the desired ones: the text beside their number tells why.
pub(crate) fn standing(row: &FleetRow) -> String {
    match &row.state {
        FleetState::Misscheduled(pods) => {
            let whose = if *pods == 1 { "its node is" } else { "their nodes are" };
            let why = format!("{}: {whose} down, or should not run it", row.state);
            row.standing().replacen(&row.state.to_string(), &why, 1)
        }
        // The controller leaves misscheduled Pods out of its desired number: `7/14` on a fleet of 20 nodes.
        _ if row.counters.misscheduled > 0 => {
            format!("{}, {}", row.standing(), FleetState::Misscheduled(row.counters.misscheduled))
        }
        _ => row.standing(),
    }
}

/// `38/120`; `?/120` where it is not known.
pub(crate) fn progress_words(updated: Option<u32>, desired: u32) -> String {
    match updated {
        Some(updated) => format!("{updated}/{desired}"),
        None => format!("?/{desired}"),
    }
}

fn text(text: &str, role: ThemeRole) -> (FleetCell, ThemeRole) {
    (FleetCell::Text(text.to_owned()), role)
}

/// `14→15`; `14→15 +1` where pods of one more revision run; `15` while nothing changes; `?` for an unknown number. Numbers grow, so a falling number means a roll back to an
/// older revision.
fn revisions(row: &FleetRow) -> String {
    let number = |revision: &FleetRevision| revision.number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    match &row.from {
        Some(from) => {
            let older = row.to.number.zip(from.number).is_some_and(|(to, from)| to < from);
            let more = if row.more_revisions > 0 { format!(" +{}", row.more_revisions) } else { String::new() };
            format!("{}→{}{more}{}", number(from), number(&row.to), if older { " older" } else { "" })
        }
        None => number(&row.to),
    }
}

/// `v1.8.2 → v1.9.0`; `agent v1 → v2 +1` if two of several containers change; `v1.9.0` while nothing changes, and `v1.9.0
/// (same)` if the change does not concern images.
fn images(row: &FleetRow) -> String {
    let FleetRow { to, from, .. } = row;
    let named = |images: &[(Str, Str)]| match images {
        [] => "?".to_owned(),
        [(_, image)] => short(image),
        several => {
            several.iter().map(|(name, image)| format!("{name} {}", short(image))).collect::<Vec<_>>().join(", ")
        }
    };
    let Some(from) = from else { return named(&to.images) };
    if from.images.is_empty() || to.images.is_empty() {
        return format!("{} → {}", named(&from.images), named(&to.images));
    }
    let of = |images: &[(Str, Str)], name: &Str| {
        images.iter().find(|(known, _)| known == name).map(|(_, image)| image.clone())
    };
    let mut names: Vec<&Str> = to.images.iter().map(|(name, _)| name).collect();
    names.extend(from.images.iter().map(|(name, _)| name).filter(|name| of(&to.images, name).is_none()));
    let mut changed = names.iter().map(|name| (*name, of(&from.images, name), of(&to.images, name)));
    let mut changed = changed.by_ref().filter(|(_, before, after)| before != after);
    let Some((name, before, after)) = changed.next() else { return format!("{} (same)", named(&to.images)) };
    let more = changed.count();
    let words = match (&before, &after) {
        // The tags are equal: the registry or the repository differs.
        (Some(before), Some(after)) if short(before) == short(after) => {
            format!("{} → {}", without_user(before), without_user(after))
        }
        _ => {
            let side = |image: &Option<Str>| image.as_deref().map_or_else(|| "none".to_owned(), short);
            let both = before.as_deref().zip(after.as_deref());
            let repository = both.and_then(|(before, after)| repository_change(before, after));
            let repository = repository.map(|words| format!(", {words}")).unwrap_or_default();
            format!("{} → {}{repository}", side(&before), side(&after))
        }
    };
    let container = if names.len() > 1 { format!("{name} ") } else { String::new() };
    let more = if more > 0 { format!(" +{more}") } else { String::new() };
    format!("{container}{words}{more}")
}

/// The tag of an image, or the beginning of its digest.
fn short(image: &str) -> String {
    let version = version_of(image);
    match version.split_once(':') {
        Some((algorithm, sum)) => format!("{algorithm}:{}", sum.chars().take(DIGEST_DIGITS).collect::<String>()),
        None => version.to_owned(),
    }
}

fn unavailable(row: &FleetRow) -> u32 {
    row.counters.desired.saturating_sub(row.counters.available)
}

/// The updated part in millionths: DaemonSets with most left to do come first, those of which it is not known last.
fn done(row: &FleetRow) -> u64 {
    match (row.counters.desired, row.updated()) {
        (0, _) => 1_000_000,
        (_, None) => u64::MAX,
        (desired, Some((_, updated))) => u64::from(updated.min(desired)) * 1_000_000 / u64::from(desired),
    }
}

/// DaemonSets driven by this console come first, then those that others drive.
fn driver_rank(row: &FleetRow) -> (u8, String) {
    let rank = match &row.driven_by {
        DrivenBy::You => 0,
        DrivenBy::Other(_) | DrivenBy::Unconfirmed(_) => 1,
        DrivenBy::Unknown => 2,
        DrivenBy::Nobody => 3,
        DrivenBy::Controller => 4,
    };
    (rank, row.driven_by.to_string())
}

/// The most cells of namespaces and of names: a seventh and a quarter of the table. Both are parts of one share, so that one
/// more cell widens only one of them.
fn names(cells: usize) -> (usize, usize) {
    let both = cells.saturating_sub(MARGIN) * 11 / 28;
    let name = both * 7 / 11;
    (both - name, name)
}

fn longest(fleet: &Fleet, text: fn(&FleetRow) -> &str) -> usize {
    fleet.rows.iter().map(|row| width(text(row))).max().unwrap_or(0)
}

fn longest_of(fleet: &Fleet, cells: fn(&FleetRow) -> usize) -> usize {
    fleet.rows.iter().map(cells).max().unwrap_or(0)
}

fn progress_width(fleet: &Fleet) -> usize {
    longest_of(fleet, |row| progress_words(Some(row.counters.updated), row.counters.desired).len()).max("NEW".len())
}

/// The width of the largest count in cells.
fn digits(fleet: &Fleet, _: usize) -> usize {
    let counters = fleet.rows.iter().map(|row| &row.counters);
    let most = counters.map(|counters| counters.desired.max(counters.available)).max().unwrap_or(0);
    most.to_string().len().max(3)
}

#[cfg(test)]
mod tests;
