//! The columns of the table of nodes.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use super::sorting::{TableColumn, TableSort};
use super::{Column, ColumnKind, FilterableCell, Share, Width};
use crate::config::NodeColumnName;
use crate::engine::model::node::{Blame, ImageState, NodeState};
use crate::engine::model::prewarm::{PrewarmState, PrewarmWait};
use crate::engine::model::pull::UsualPull;
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, PodRevision, Snapshot};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{common_domain, width};

/// The most cells for the reasons why nodes are in their state. A width that followed the texts would move all columns beside it, and the map,
/// whenever a node says something longer; the end of a longer text is cut off, and the pane of the node has all of it.
const WHY: usize = 48;

pub(crate) type NodeColumn = Column<NodeView, NodeTable, NodeCell>;

/// The content of a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NodeCell {
    Text(String),
    /// A sign, and words beside it.
    Sign(Glyph, String),
    /// A sign, and beside it the estimated progress of a pull that runs since this instant.
    Estimate(Glyph, Timestamp, UsualPull),
    /// The time since this instant.
    Age(Timestamp),
    /// The reason why the node is in its state; its text contains ages too.
    Why,
}

/// The values beside the row on which the columns depend.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NodeTable {
    /// The domain in which all names end; the table leaves it out.
    domain: String,
    /// The longest name without the domain, in cells.
    name_width: usize,
    /// The longest name of a pod, in cells.
    pod_width: usize,
    /// The longest state beyond [`STATE`] cells, and the longest age beyond [`AGE`]: few nodes have one.
    state_width: usize,
    age_width: usize,
    /// Images other than the target's are being pre-warmed: the column of images then shows those.
    warms_others: bool,
    /// The label chosen with `:site`, whose values tell sites apart here; `None`: the rollout's own label.
    site_label: Option<String>,
    /// The instant of the snapshot.
    at: Timestamp,
}

/// The heading of the column of images while it shows images other than the target's.
const WARM: &str = "WARM";
/// The heading of the column of images with words in its cells. `absent` beside the revision of a healthy pod would read as if the image that it
/// runs were missing.
const TARGET: &str = "TARGET IMG";
/// The width of that column with words: a sign, a gap, and the longest value (`est. 66%`). `tui/tests/cell_widths.rs` goes through all of them.
const IMAGE_WORDS: usize = TARGET.len();
/// The widths of the columns of states and of ages, which hold all but `not eligible`, and all ages of less than 1,000 days.
const STATE: usize = 11;
const AGE: usize = 4;
const LONG_AGE: Duration = Duration::from_secs(999 * 86_400);
/// The width of the column without words, of which the sign needs one.
const IMAGE_SIGN: usize = 3;

impl FilterableCell for NodeCell {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Sign(_, text) => Some(text),
            Self::Estimate(..) | Self::Age(_) | Self::Why => None,
        }
    }

    fn since(&self) -> Option<Timestamp> {
        match self {
            Self::Age(since) => Some(*since),
            Self::Text(_) | Self::Sign(..) | Self::Estimate(..) | Self::Why => None,
        }
    }
}

/// The longest name of a Pod: the API server cuts a longer DaemonSet name before it appends the suffix.
const LONGEST_POD: usize = 63;

impl NodeTable {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let nodes = &snapshot.nodes;
        let domain = common_domain(nodes.iter().map(|node| &*node.name));
        let mut table = Self {
            domain,
            name_width: 0,
            pod_width: 0,
            state_width: state_width(nodes),
            age_width: nodes.iter().filter_map(|node| age_width(node, snapshot.at)).max().unwrap_or(0),
            warms_others: warms_others(snapshot),
            site_label: None,
            at: snapshot.at,
        };
        table.name_width = nodes.iter().map(|node| width(table.short(&node.name))).max().unwrap_or(0);
        // Nodes are known before their Pods. A Pod is named like the DaemonSet, followed by a dash and five characters.
        let expected = (width(&snapshot.name) + 6).min(LONGEST_POD);
        let pods = nodes.iter().filter_map(|node| node.pod.as_ref());
        table.pod_width = pods.map(|pod| pod.len()).max().unwrap_or(expected);
        table
    }

    /// Widens the columns to their earlier widths: columns that move with every snapshot are unreadable, and redraw a whole
    /// screen each time.
    pub(crate) fn no_narrower_than(self, before: &Self) -> Self {
        // All fields are named, so that each new field needs a decision whether its earlier value counts.
        let Self { domain, name_width, pod_width, state_width, age_width, warms_others, site_label: _, at } = self;
        let pod_width = pod_width.max(before.pod_width);
        let (state_width, age_width) = (state_width.max(before.state_width), age_width.max(before.age_width));
        let site_label = before.site_label.clone();
        Self { domain, name_width, pod_width, state_width, age_width, warms_others, site_label, at }
    }

    /// Tells sites apart by this label; `None`: by the rollout's own label.
    pub(crate) fn tell_sites_apart_by(&mut self, label: Option<String>) {
        self.site_label = label;
    }

    fn site<'a>(&self, node: &'a NodeView) -> &'a str {
        match &self.site_label {
            Some(label) => node.labels.get(label).map_or("", |value| value),
            None => &node.site,
        }
    }

    /// The heading of a column at the given width in cells.
    pub(crate) fn heading(&self, column: &NodeColumn, cells: usize) -> &'static str {
        match column.name == NodeColumnName::Image.name() {
            true if self.warms_others => WARM,
            true if cells >= TARGET.len() => TARGET,
            _ => column.header(cells),
        }
    }

    /// The same table at another instant, for a list that is frozen.
    pub(crate) fn as_of(&self, at: Timestamp) -> Self {
        Self { at, ..self.clone() }
    }

    /// A name without the domain that all names share.
    pub(crate) fn short<'a>(&self, name: &'a str) -> &'a str {
        name.strip_suffix(self.domain.as_str()).unwrap_or(name)
    }
}

/// The width of the column of images where it has no words: its heading fits.
fn image_sign_width(table: &NodeTable) -> usize {
    if table.warms_others { WARM.len() } else { IMAGE_SIGN }
}

/// The width of the longest state that one of the nodes is in.
fn state_width(nodes: &[Arc<NodeView>]) -> usize {
    let mut is_met = [false; NodeState::ALL.len()];
    nodes.iter().for_each(|node| is_met[node.state as usize] = true);
    let met = NodeState::ALL.iter().zip(is_met).filter(|(_, is_met)| *is_met);
    met.map(|(state, _)| width(&state.to_string())).max().unwrap_or(0)
}

/// The instant from which the age of a row is counted.
fn aged_from(node: &NodeView) -> Option<Timestamp> {
    node.shown_since().or(node.pod_created_at)
}

/// The width of an age of more than [`AGE`] cells: `1000d`.
fn age_width(node: &NodeView, at: Timestamp) -> Option<usize> {
    let age = at.since(aged_from(node)?);
    (age >= LONG_AGE).then(|| width(&ShortDuration(age).to_string()))
}

/// Whether images that the target does not need are being pre-warmed.
fn warms_others(snapshot: &Snapshot) -> bool {
    let view = snapshot.prewarm.as_ref().filter(|view| view.request.cancelled.is_none());
    view.is_some_and(|view| !view.pulls.images.is_empty())
}

/// The columns, from left to right.
pub(crate) static NODE_COLUMNS: &[NodeColumn] = &all();

const fn all() -> [NodeColumn; NodeColumnName::ALL.len()] {
    let mut all = [column(NodeColumnName::Name); NodeColumnName::ALL.len()];
    let mut nth = 0;
    while nth < all.len() {
        all[nth] = column(NodeColumnName::ALL[nth]);
        nth += 1;
    }
    all
}

/// The declaration of each column.
const fn column(name: NodeColumnName) -> NodeColumn {
    match name {
        NodeColumnName::Name => NodeColumn {
            name: name.name(),
            headers: &["NODE"],
            help: "the node, without the domain that all nodes share",
            kind: ColumnKind::Name,
            width: Width::Always(|table, cells| {
                let most = if cells < 80 { cells.saturating_sub(3 + 12 + 1) } else { cells * 3 / 10 };
                table.name_width.clamp(4, most.max(4))
            }),
            order: Some(|a, b| natord::compare(&a.name, &b.name)),
            words: Some(|node, _| node.name.to_string()),
            searched: true,
            cell: |node, table, _| (NodeCell::Text(table.short(&node.name).to_owned()), sign(node).1),
        },
        NodeColumnName::State => NodeColumn {
            name: name.name(),
            headers: &["STATE"],
            help: "how far its update is",
            kind: ColumnKind::Text,
            width: Width::Always(|table, _| table.state_width.max(STATE)),
            order: Some(|a, b| (!a.counts_as_failed(), a.state).cmp(&(!b.counts_as_failed(), b.state))),
            words: Some(|node, _| {
                let blame = node.blame.map(|blame| blame.to_string()).unwrap_or_default();
                // The words `node down` find every node that is down, whatever its state is called.
                let down = if node.state == NodeState::NodeDown { "node down" } else { "" };
                format!("{} {down} {blame}", node.state_words())
            }),
            searched: true,
            cell: |node, _, _| (NodeCell::Text(node.state_words()), sign(node).1),
        },
        NodeColumnName::Why => NodeColumn {
            name: name.name(),
            headers: &["WHY"],
            help: "what is wrong with its pod, and the cluster's message as far as it fits; or what its update waits for",
            kind: ColumnKind::Text,
            width: Width::Leftover { least: 6, kept: 36, most: WHY },
            order: None,
            words: Some(|node, table| Why { node, at: table.at }.to_string()),
            searched: true,
            cell: |node, _, _| (NodeCell::Why, sign(node).1),
        },
        NodeColumnName::Site => NodeColumn {
            name: name.name(),
            headers: &["SITE"],
            help: "its site: its label that is set as site label, or that :site has chosen",
            kind: ColumnKind::Text,
            width: Width::Optional(&[Share { priority: 6, cells: |_, _| 14, keep: 44 }]),
            order: None,
            words: None,
            searched: true,
            cell: |node, table, _| (NodeCell::Text(table.site(node).to_owned()), ThemeRole::Text),
        },
        NodeColumnName::Revision => NodeColumn {
            name: name.name(),
            headers: &["REV"],
            help: "the revision that its pod runs",
            kind: ColumnKind::Revision,
            width: Width::Optional(&[Share { priority: 1, cells: |_, _| 3, keep: 16 }]),
            order: Some(|a, b| {
                let number = |node: &NodeView| (node.revision_number().is_none(), node.revision_number());
                number(a).cmp(&number(b))
            }),
            words: Some(|node, _| revision(node)),
            searched: true,
            cell: |node, _, _| {
                (NodeCell::Text(revision(node)), if node.at_target { ThemeRole::NewRev } else { ThemeRole::OldRev })
            },
        },
        NodeColumnName::Image => NodeColumn {
            name: name.name(),
            headers: &["IMAGE", "IMG", WARM, TARGET],
            help: "whether the target's image is on the node, or on its way: absent says that its update pulls it, whatever its pod runs; WARM: \
                   that which is pre-warmed, while it is another one",
            kind: ColumnKind::Text,
            width: Width::Optional(&[
                Share { priority: 2, cells: |table, _| image_sign_width(table), keep: 20 },
                Share { priority: 5, cells: |table, _| IMAGE_WORDS - image_sign_width(table), keep: 34 },
            ]),
            order: None,
            words: Some(|node, table| image(node, table).2),
            searched: true,
            cell: |node, table, cells| {
                let (glyph, role, words) = image(node, table);
                let cell = match (node.image, node.usual_pull.as_deref().copied()) {
                    _ if table.warms_others && node.prewarm.is_none() => NodeCell::Text(String::new()),
                    (ImageState::Pulling { since }, Some(usual)) if cells >= IMAGE_WORDS && !table.warms_others => {
                        NodeCell::Estimate(glyph, since, usual)
                    }
                    _ if cells >= IMAGE_WORDS => NodeCell::Sign(glyph, words),
                    _ => NodeCell::Sign(glyph, String::new()),
                };
                (cell, role)
            },
        },
        NodeColumnName::Pod => NodeColumn {
            name: name.name(),
            headers: &["POD"],
            help: "its pod: the end of the name, or all of it where there is room",
            kind: ColumnKind::Text,
            width: Width::Growing(&[Share { priority: 3, cells: |_, _| 5, keep: 22 }], |table| table.pod_width),
            order: None,
            words: Some(|node, _| node.pod.as_deref().unwrap_or_default().to_owned()),
            searched: true,
            cell: |node, table, cells| {
                let pod = node.pod.as_deref().unwrap_or_default();
                // The last part of the name tells a DaemonSet's Pods apart.
                let all = cells >= table.pod_width;
                let shown = if all { pod } else { pod.rsplit('-').next().unwrap_or_default() };
                (NodeCell::Text(shown.to_owned()), ThemeRole::Text)
            },
        },
        NodeColumnName::Restarts => NodeColumn {
            name: name.name(),
            headers: &["RST"],
            help: "how often its pod's containers were restarted",
            kind: ColumnKind::Number,
            width: Width::Optional(&[Share { priority: 4, cells: |_, _| 3, keep: 22 }]),
            order: Some(|a, b| Reverse(a.restarts).cmp(&Reverse(b.restarts))),
            words: None,
            searched: false,
            cell: |node, _, _| match node.pod {
                Some(_) => {
                    let role = if node.restarts > 0 { ThemeRole::Warn } else { ThemeRole::Muted };
                    (NodeCell::Text(node.restarts.to_string()), role)
                }
                None => (NodeCell::Text(String::new()), ThemeRole::Muted),
            },
        },
        NodeColumnName::Since => NodeColumn {
            name: name.name(),
            headers: &["FOR"],
            help: "for how long the node has been in its state, or in its trouble; of an updated one: since its pod is ready; how old its pod is, is on its page",
            kind: ColumnKind::Age,
            width: Width::Optional(&[Share { priority: 0, cells: |table, _| table.age_width.max(AGE), keep: 0 }]),
            order: Some(|a, b| Reverse(a.shown_since()).cmp(&Reverse(b.shown_since()))),
            words: None,
            searched: false,
            cell: |node, _, _| {
                (aged_from(node).map_or_else(|| NodeCell::Text(String::new()), NodeCell::Age), ThemeRole::Text)
            },
        },
    }
}

/// The columns of these names, in this order.
pub(crate) fn node_columns(names: &[NodeColumnName]) -> Vec<NodeColumn> {
    names.iter().copied().map(column).collect()
}

/// The order of the list of nodes; the default is the engine's: trouble, then moving, then next in line.
pub(crate) type Sort = TableSort<NodeView, NodeTable, NodeCell>;

impl TableColumn for NodeColumn {
    fn all() -> &'static [Self] {
        NODE_COLUMNS
    }
}

/// Brings the rows, indices of `nodes`, into this order. Equal rows stay in the engine's order.
pub(crate) fn sort_rows(sort: Sort, rows: &mut [u32], nodes: &[Arc<NodeView>]) {
    if let Some(order) = sort.order() {
        rows.sort_by(|a, b| order(&nodes[*a as usize], &nodes[*b as usize]));
    }
}

/// The sign and the colour of a node.
pub(crate) fn sign(node: &NodeView) -> (Glyph, ThemeRole) {
    match (node.state, node.blame) {
        (NodeState::Failed, _) => (Glyph::Failed, ThemeRole::Bad),
        // The node may be back, but its failure still counts.
        _ if node.counts_as_failed() => (Glyph::Suspect, ThemeRole::Bad),
        (_, Some(Blame::Suspect)) | (NodeState::NodeDown, Some(Blame::Rollout)) => (Glyph::Suspect, ThemeRole::Bad),
        (NodeState::NodeDown, _) => (Glyph::Down, ThemeRole::Warn),
        // It waits for an image that cannot be pulled, or for somebody who uncordons it: that is no place in the line of the others.
        (NodeState::Outdated, _) if let Some(missing) = missing_image(node) => missing,
        (NodeState::Outdated, _) if node.waits_for_an_operator_at_it() => (Glyph::Paused, ThemeRole::Warn),
        (NodeState::Outdated, _) if node.is_next() => (Glyph::Outdated, ThemeRole::Text),
        (NodeState::Outdated, _) if node.cause.is_some() => (Glyph::Outdated, ThemeRole::Warn),
        (NodeState::Outdated, _) => (Glyph::Outdated, ThemeRole::Held),
        (NodeState::Updated, _) => (Glyph::Updated, ThemeRole::Ok),
        (NodeState::Unknown, _) => (Glyph::ImageUnknown, ThemeRole::Muted),
        (NodeState::Ineligible, _) => (Glyph::Ineligible, ThemeRole::Muted),
        _ if node.restarted.is_some() => (Glyph::Struggling, ThemeRole::Warn),
        _ if node.lost_readiness => (Glyph::Struggling, ThemeRole::Warn),
        _ if node.cause.as_ref().is_some_and(|cause| !cause.kind.is_ordinary_at_start()) => {
            (Glyph::Struggling, ThemeRole::Warn)
        }
        _ => (Glyph::Moving, ThemeRole::Busy),
    }
}

/// The sign of a node whose update needs an image that cannot be pulled: trouble that is tried again, or that is final.
fn missing_image(node: &NodeView) -> Option<(Glyph, ThemeRole)> {
    Some(match node.failed_image_is_retried()? {
        true => (Glyph::Struggling, ThemeRole::Warn),
        false => (Glyph::ImageFailed, ThemeRole::Bad),
    })
}

pub(crate) fn image_sign(image: ImageState) -> (Glyph, ThemeRole) {
    match image {
        ImageState::Unknown => (Glyph::ImageUnknown, ThemeRole::Muted),
        ImageState::Present => (Glyph::ImagePresent, ThemeRole::Text),
        ImageState::Pulling { .. } => (Glyph::ImagePulling, ThemeRole::Busy),
        ImageState::Failed => (Glyph::ImageFailed, ThemeRole::Bad),
        ImageState::Absent => (Glyph::ImageAbsent, ThemeRole::Muted),
    }
}

pub(crate) fn prewarm_sign(state: &PrewarmState) -> (Glyph, ThemeRole) {
    match state {
        PrewarmState::Waiting(PrewarmWait::NodeDown) => (Glyph::Down, ThemeRole::Warn),
        PrewarmState::Waiting(_) => (Glyph::Outdated, ThemeRole::Held),
        PrewarmState::Queued => (Glyph::ImageQueued, ThemeRole::Busy),
        PrewarmState::Silent { .. } => (Glyph::ImageQueued, ThemeRole::Warn),
        PrewarmState::Pulling { .. } => (Glyph::ImagePulling, ThemeRole::Busy),
        PrewarmState::Present => (Glyph::ImagePresent, ThemeRole::Text),
        PrewarmState::Failed { .. } => (Glyph::ImageFailed, ThemeRole::Bad),
    }
}

/// The target's image on a node: what the node's own Pod does about it, or else what pre-warming does. While other images
/// are pre-warmed, the cell shows only their pre-warming, and is empty for a node that the pre-warming leaves out.
fn image(node: &NodeView, table: &NodeTable) -> (Glyph, ThemeRole, String) {
    match (node.image, node.prewarm.as_deref()) {
        (_, Some(state)) if table.warms_others => {
            let (glyph, role) = prewarm_sign(state);
            (glyph, role, state.word().to_owned())
        }
        (_, None) if table.warms_others => (Glyph::ImageUnknown, ThemeRole::Muted, String::new()),
        (
            ImageState::Unknown | ImageState::Absent | ImageState::Present,
            Some(
                state @ (PrewarmState::Queued
                | PrewarmState::Silent { .. }
                | PrewarmState::Pulling { .. }
                | PrewarmState::Failed { .. }),
            ),
        ) => {
            let (glyph, role) = prewarm_sign(state);
            (glyph, role, state.word().to_owned())
        }
        (image, _) => {
            let (glyph, role) = image_sign(image);
            (glyph, role, image.to_string())
        }
    }
}

/// The revision's number, else the beginning of its hash.
fn revision(node: &NodeView) -> String {
    match &node.revision {
        Some(PodRevision { number: Some(number), .. }) => number.to_string(),
        Some(PodRevision { number: None, hash }) => hash.chars().take(3).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::filtering::by_heading;
    use super::super::fleet::FLEET_COLUMNS;
    use super::super::tests::hidden_by_room;
    use super::super::widths;
    use super::*;

    #[test]
    fn more_room_never_hides_a_column() {
        for name_width in [1, 8, 12, 24, 40, 63, 120, 253] {
            let table = NodeTable { name_width, ..NodeTable::default() };
            assert_eq!(hidden_by_room(NODE_COLUMNS, &table), [""; 0], "names of {name_width} cells");
        }
    }

    /// Every choice of columns.
    fn choices() -> impl Iterator<Item = Vec<NodeColumnName>> {
        let all = NodeColumnName::ALL;
        let chosen = move |bits: &u32| all.into_iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).collect();
        (1..1u32 << all.len()).map(move |bits| {
            let chosen: Vec<(usize, NodeColumnName)> = chosen(&bits);
            chosen.into_iter().map(|(_, name)| name).collect()
        })
    }

    #[test]
    fn more_room_never_hides_a_column_that_was_chosen() {
        let table = NodeTable { name_width: 12, pod_width: 20, ..NodeTable::default() };
        for chosen in choices() {
            assert_eq!(hidden_by_room(&node_columns(&chosen), &table), [""; 0], "{chosen:?}");
        }
    }

    /// Cells are kept free only for columns that exist: a table of few columns hides none while there is room for it.
    #[test]
    fn columns_that_were_chosen_are_shown_where_there_is_room() {
        use NodeColumnName::{Name, Since, Site, State, Why};

        let table = NodeTable { name_width: 8, ..NodeTable::default() };
        let shown = |names: &[NodeColumnName]| widths(&node_columns(names), &table, 80);
        assert_eq!(shown(&[Name, State, Site]), [8, 11, 14]);
        assert_eq!(shown(&[Since, Name]), [4, 8]);
        assert_eq!(shown(&[Name, State, Why, Site]), [8, 11, 40, 14]);
    }

    /// The README draws the table as a terminal of 80 columns shows it, and `docs/console.md` lists the filter's names for the columns of both tables.
    #[test]
    fn the_documents_show_the_columns() {
        let table = NodeTable { name_width: 8, ..NodeTable::default() };
        let widths = widths(NODE_COLUMNS, &table, 80);
        let shown = NODE_COLUMNS.iter().zip(widths).filter(|(_, cells)| *cells > 0);
        let headers: Vec<&str> = shown.map(|(column, cells)| column.header(cells)).collect();
        let readme = include_str!("../../../README.md");
        let line = readme.lines().find(|line| line.trim_start().starts_with("NODE "));
        assert_eq!(line.unwrap_or_default().split_whitespace().collect::<Vec<_>>(), headers);
        // Each column by its longest heading.
        let nodes = NODE_COLUMNS.iter().map(|column| column.headers[0]).collect::<Vec<_>>();
        let fleet = FLEET_COLUMNS.iter().map(|column| column.headers[0]).collect::<Vec<_>>();
        for headings in [nodes, fleet] {
            let names: Vec<String> = headings.into_iter().map(by_heading).collect();
            let list = format!("`{}`", names.join(" "));
            assert!(include_str!("../../../docs/console.md").contains(&list), "docs/console.md lists no {list}");
        }
    }
}
