//! Pre-warming of a rollout, shown in place of the nodes: those that do not have the images yet, what needs attention first.

use std::sync::Arc;

use super::list::{List, Move};
use crate::engine::model::Str;
use crate::engine::model::prewarm::{PrewarmState, PrewarmWait};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Snapshot};

/// The nodes without the images, while the pre-warm screen is open.
#[derive(Debug)]
pub(crate) struct PrewarmList {
    pub(crate) list: List<Str>,
    nodes: Arc<[NodeView]>,
    /// Those that are not present: failed, pulling, queued, waiting; as indices.
    rows: Vec<usize>,
}

impl PrewarmList {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let mut screen = Self { list: List::default(), nodes: Arc::new([]), rows: Vec::new() };
        screen.see(snapshot);
        screen
    }

    /// Takes in what a new snapshot tells.
    pub(crate) fn see(&mut self, snapshot: &Snapshot) {
        self.nodes = snapshot.nodes.clone();
        let nodes = &self.nodes;
        let mut rows: Vec<(SortKey, usize)> =
            nodes.iter().enumerate().filter_map(|(index, node)| Some((place(node)?, index))).collect();
        rows.sort_by_key(|(place, _)| *place);
        self.rows = rows.into_iter().map(|(_, index)| index).collect();
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The node in this row.
    pub(crate) fn node(&self, row: usize) -> Option<&NodeView> {
        self.nodes.get(*self.rows.get(row)?)
    }

    /// The node that is selected.
    pub(crate) fn selected(&self) -> Option<&NodeView> {
        self.node(self.list.cursor()?)
    }

    /// The node of the current row: the selected one, or else the first.
    pub(crate) fn current(&self) -> Option<&NodeView> {
        self.node(self.list.current(self.len())?)
    }

    /// Selects by movement, where `height` rows are seen.
    pub(crate) fn go(&mut self, movement: Move, height: usize) {
        let mut list = std::mem::take(&mut self.list);
        list.go(movement, self.len(), height, |row| self.name(row));
        self.list = list;
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

/// What a row is sorted by: how far its node is, since when it pulls, its place in the line.
type SortKey = (u8, Timestamp, u32);

/// Where a node is listed; not at all when it has the images, or when it is not about that node.
fn place(node: &NodeView) -> Option<SortKey> {
    let (group, since) = match node.prewarm.as_ref()? {
        PrewarmState::Present => return None,
        PrewarmState::Failed { .. } => (0, Timestamp::default()),
        PrewarmState::Pulling { since } => (1, *since),
        PrewarmState::Queued => (2, Timestamp::default()),
        PrewarmState::Waiting(_) => (3, Timestamp::default()),
    };
    Some((group, since, node.rank.unwrap_or(u32::MAX)))
}

/// What stops pre-warming as a whole, as its nodes say.
pub(crate) fn standstill(nodes: &[NodeView]) -> Option<&PrewarmWait> {
    nodes.iter().find_map(|node| match &node.prewarm {
        Some(PrewarmState::Waiting(wait)) => match wait {
            PrewarmWait::Unobtainable(_)
            | PrewarmWait::RateLimited(_)
            | PrewarmWait::Paused
            | PrewarmWait::Cancelled
            | PrewarmWait::Refused(_)
            | PrewarmWait::NobodyDrives
            | PrewarmWait::ViewStale(_) => Some(wait),
            PrewarmWait::Next
            | PrewarmWait::InLine
            | PrewarmWait::Limit { .. }
            | PrewarmWait::SiteLimit { .. }
            | PrewarmWait::NodeDown
            | PrewarmWait::Pressure(_)
            | PrewarmWait::Updating => None,
        },
        _ => None,
    })
}
