//! Pre-warming of a rollout, shown in place of the nodes: the nodes that lack the images, most urgent first.

use std::borrow::Cow;
use std::sync::Arc;

use super::filter::{FieldKind, Filter, FilterField, FilterRow};
use super::list::{List, Move};
use crate::engine::model::Str;
use crate::engine::model::labels::Labels;
use crate::engine::model::prewarm::{PrewarmState, PrewarmWait};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, NodeViews, Snapshot};

/// The nodes without the images, while the pre-warm screen is open.
#[derive(Debug)]
pub(crate) struct PrewarmList {
    pub(crate) list: List<Str>,
    pub(crate) filter: Filter,
    nodes: NodeViews,
    /// The nodes that pass the filter and lack the images: failed, pulling, queued, waiting; as indices.
    rows: Vec<usize>,
}

impl PrewarmList {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let mut screen =
            Self { list: List::default(), filter: Filter::default(), nodes: NodeViews::default(), rows: Vec::new() };
        screen.see(snapshot);
        screen
    }

    /// Takes in what a new snapshot tells.
    pub(crate) fn see(&mut self, snapshot: &Snapshot) {
        // What is cancelled goes on nowhere: its pods are deleted, and nobody counts images for it.
        let goes_on = snapshot.prewarm.as_ref().is_some_and(|view| view.request.cancelled.is_none());
        self.nodes = if goes_on { snapshot.nodes.clone() } else { NodeViews::default() };
        self.arrange();
    }

    /// Recomputes the nodes that are shown, and their order.
    pub(crate) fn arrange(&mut self) {
        let nodes = &self.nodes;
        let mut rows: Vec<(SortKey, usize)> =
            nodes.iter().enumerate().filter_map(|(index, node)| Some((place(node)?, index))).collect();
        rows.retain(|(_, index)| self.filter.is_all() || self.filter.passes(&PrewarmRow(&nodes[*index])));
        rows.sort_by_key(|(place, _)| *place);
        self.rows = rows.into_iter().map(|(_, index)| index).collect();
    }

    /// The fields that a filter can name, beside the nodes' labels.
    pub(crate) fn fields() -> Vec<FilterField> {
        let text = |name: &str, alias: &str| FilterField {
            name: name.to_owned(),
            aliases: vec![alias.to_owned()],
            kind: FieldKind::Text,
        };
        vec![text("name", "node"), text("site", "at"), text("state", "pre-warm")]
    }

    /// All nodes that lack the images, whether they pass the filter or not.
    pub(crate) fn all_rows(&self) -> impl Iterator<Item = PrewarmRow<'_>> {
        self.nodes.iter().filter(|node| place(node).is_some()).map(PrewarmRow)
    }

    /// The nodes of the snapshot, for their labels.
    pub(crate) fn nodes(&self) -> &[Arc<NodeView>] {
        &self.nodes
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The node in this row.
    pub(crate) fn node(&self, row: usize) -> Option<&NodeView> {
        self.nodes.get(*self.rows.get(row)?).map(|node| &**node)
    }

    /// The node that is selected.
    pub(crate) fn selected(&self) -> Option<&NodeView> {
        self.node(self.list.cursor()?)
    }

    /// The node of the current row: the selected one, or else the first.
    pub(crate) fn current(&self) -> Option<&NodeView> {
        self.node(self.list.current(self.len())?)
    }

    /// Moves the selection, with `height` visible rows.
    pub(crate) fn go(&mut self, movement: Move, height: usize) {
        let mut list = std::mem::take(&mut self.list);
        list.go(movement, self.len(), height, |row| self.name(row));
        self.list = list;
    }

    /// Selects the current row, so that it stays current when rows are reordered, if every row is visible wherever it moves.
    /// In a longer list the top stays visible until a row is selected.
    pub(crate) fn hold_current(&mut self, height: usize) {
        let is_free = self.list.selected().is_none() && !self.list.misses_one();
        if let Some(first) = self.current().map(|node| node.name.clone()).filter(|_| is_free && self.len() <= height) {
            self.list.select(0, first);
        }
    }

    /// Finds the selected node again after rows changed.
    pub(crate) fn follow(&mut self, height: usize) {
        let mut list = std::mem::take(&mut self.list);
        let position = |name: &Str| (0..self.len()).find(|row| self.name(*row) == *name);
        list.follow(self.len(), height, position, |row| self.name(row));
        self.list = list;
    }

    fn name(&self, row: usize) -> Str {
        self.node(row).map(|node| node.name.clone()).unwrap_or_default()
    }
}

/// A node as the filter sees it, with the fields of [`PrewarmList::fields`].
pub(crate) struct PrewarmRow<'a>(pub(crate) &'a NodeView);

impl FilterRow for PrewarmRow<'_> {
    fn searched(&self) -> Cow<'_, str> {
        Cow::Owned(format!("{}\n{}\n{}", self.words(0), self.words(1), self.words(2)))
    }

    fn words(&self, field: usize) -> String {
        match (field, self.0.prewarm.as_deref()) {
            (0, _) => self.0.name.to_string(),
            (1, _) => self.0.site.to_string(),
            (_, Some(state @ PrewarmState::Failed { cause, .. })) => {
                format!("{} {} {}", state.word(), cause.kind, cause.message.as_deref().unwrap_or_default())
            }
            (_, state) => state.as_ref().map(|state| state.word().to_owned()).unwrap_or_default(),
        }
    }

    fn shown(&self, field: usize) -> Option<String> {
        let state = self.0.prewarm.as_ref().filter(|_| field == 2);
        state.map(|state| state.word().to_owned())
    }

    fn number(&self, _: usize) -> Option<f64> {
        None
    }

    fn labels(&self) -> Option<&Labels> {
        Some(&self.0.labels)
    }
}

/// The sort key of a row: the node's progress, the beginning of its pull, its place in the line.
type SortKey = (u8, Timestamp, u32);

/// The sort key of a node; `None` if it has the images, or if the pre-warming leaves it out.
fn place(node: &NodeView) -> Option<SortKey> {
    let (group, since) = match node.prewarm.as_deref()? {
        PrewarmState::Present => return None,
        PrewarmState::Failed { .. } => (0, Timestamp::default()),
        PrewarmState::Pulling { since } => (1, *since),
        PrewarmState::Queued | PrewarmState::Silent { .. } => (2, Timestamp::default()),
        PrewarmState::Waiting(_) => (3, Timestamp::default()),
    };
    Some((group, since, node.rank.unwrap_or(u32::MAX)))
}

/// The reason that stops pre-warming as a whole, as its nodes report it.
pub(crate) fn prewarm_blocker(nodes: &[Arc<NodeView>]) -> Option<&PrewarmWait> {
    nodes.iter().find_map(|node| match node.prewarm.as_deref() {
        Some(PrewarmState::Waiting(wait)) => match wait {
            PrewarmWait::Unobtainable(_)
            | PrewarmWait::RateLimited { .. }
            | PrewarmWait::Paused
            | PrewarmWait::Cancelled
            | PrewarmWait::Complete
            | PrewarmWait::Refused(_)
            | PrewarmWait::NobodyDrives
            | PrewarmWait::ViewStale(_) => Some(wait),
            PrewarmWait::Next
            | PrewarmWait::InLine
            | PrewarmWait::Limit { .. }
            | PrewarmWait::SiteLimit { .. }
            | PrewarmWait::NodeDown
            | PrewarmWait::Pressure(_)
            | PrewarmWait::Updating
            | PrewarmWait::TriedAgain
            | PrewarmWait::Ending(_) => None,
        },
        _ => None,
    })
}
