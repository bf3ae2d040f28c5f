//! The values that are computed once for each snapshot.

use crate::engine::model::Str;
use crate::engine::model::node::NodeState;
use crate::engine::model::prewarm::PrewarmWait;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::engine::report::trouble::TroubleKind;
use crate::tui::columns::nodes::NodeTable;
use crate::tui::prewarm::prewarm_blocker;

/// The values of a snapshot that the lines above the list and the columns need.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct SnapshotSummary {
    /// Nodes with trouble, grouped by its kind, worst first.
    pub(crate) trouble: Vec<TroubleGroup>,
    /// Nodes that are down for their own reasons: the rollout is not charged for them.
    pub(crate) down: Option<DownNodes>,
    /// The values beside the nodes on which the columns of the table depend.
    pub(crate) table: NodeTable,
    /// The reason that stops pre-warming as a whole.
    pub(crate) prewarm_stands: Option<PrewarmWait>,
}

/// Nodes with the same kind of trouble.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TroubleGroup {
    pub(crate) kind: TroubleKind,
    /// An operator accepted these failures by resuming past a halt.
    pub(crate) accepted: bool,
    pub(crate) nodes: u32,
    /// The node that has had it the longest.
    pub(crate) example: Str,
    pub(crate) since: Option<Timestamp>,
    /// The one that fails next by its restarts, with how many it has.
    pub(crate) fails_next: Option<(Str, u32)>,
}

/// Nodes that are down.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct DownNodes {
    pub(crate) nodes: u32,
    /// The first of them to go down.
    pub(crate) example: Str,
    pub(crate) since: Option<Timestamp>,
}

impl DownNodes {
    fn of(snapshot: &Snapshot) -> Option<Self> {
        let by_itself =
            |node: &&NodeView| node.eligible && node.state == NodeState::NodeDown && TroubleKind::of(node).is_none();
        let down = || snapshot.nodes.iter().filter(by_itself);
        let first = down().min_by_key(|node| (node.since.is_none(), node.since))?;
        let nodes = u32::try_from(down().count()).unwrap_or(u32::MAX);
        Some(Self { nodes, example: first.name.clone(), since: first.since })
    }
}

impl SnapshotSummary {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut trouble: Vec<TroubleGroup> = Vec::new();
        for node in snapshot.nodes.iter() {
            let Some(kind) = TroubleKind::of(node) else { continue };
            let since = kind.since(node);
            let older = |known: Option<Timestamp>| match (since, known) {
                (Some(this), Some(other)) => this < other,
                (this, other) => this.is_some() && other.is_none(),
            };
            let fails = snapshot.restarts_to_fail(node).map(|_| (node.name.clone(), node.counted_restarts()));
            match trouble.iter_mut().find(|trouble| trouble.kind == kind && trouble.accepted == node.accepted) {
                Some(group) => {
                    group.nodes += 1;
                    let restarts = |of: &Option<(Str, u32)>| of.as_ref().map(|(_, restarts)| *restarts);
                    if restarts(&fails) > restarts(&group.fails_next) {
                        group.fails_next = fails;
                    }
                    if older(group.since) {
                        (group.since, group.example) = (since, node.name.clone());
                    }
                }
                None => {
                    let (accepted, example) = (node.accepted, node.name.clone());
                    trouble.push(TroubleGroup { kind, accepted, nodes: 1, example, since, fails_next: fails });
                }
            }
        }
        trouble.sort_by_key(|trouble| (trouble.accepted, trouble.kind.rank(), std::cmp::Reverse(trouble.nodes)));
        Self {
            trouble,
            down: DownNodes::of(snapshot),
            table: NodeTable::of(snapshot),
            prewarm_stands: prewarm_blocker(&snapshot.nodes).cloned(),
        }
    }
}
