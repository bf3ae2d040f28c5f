//! What is computed once for each snapshot.

use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::prewarm::PrewarmWait;
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::columns::nodes::NodeTable;
use crate::tui::prewarm::standstill;

/// What the lines above the list and the columns need of a snapshot.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct SnapshotSummary {
    /// Nodes with trouble, grouped by its kind, worst first.
    pub(crate) trouble: Vec<TroubleGroup>,
    /// What the columns of the table depend on beside the nodes.
    pub(crate) table: NodeTable,
    /// What stops pre-warming as a whole.
    pub(crate) prewarm_stands: Option<PrewarmWait>,
}

/// Nodes with the same kind of trouble.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TroubleGroup {
    pub(crate) kind: TroubleKind,
    pub(crate) nodes: u32,
    /// The node that has had it the longest.
    pub(crate) example: Str,
    pub(crate) since: Option<Timestamp>,
}

/// The kinds of trouble that nodes are grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum TroubleKind {
    /// Failed at the target revision.
    Failed(Option<CauseKind>),
    /// Went down after the update.
    Suspect,
    /// Its containers restarted after it had been ready; it is soaking because of that.
    Restarted,
    /// Not failed yet, but its pod has a cause for not being available.
    Struggling(CauseKind),
}

impl SnapshotSummary {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut trouble: Vec<TroubleGroup> = Vec::new();
        for node in snapshot.nodes.iter() {
            let Some(kind) = TroubleKind::of(node) else { continue };
            let older = |since: Option<Timestamp>| match (node.since, since) {
                (Some(this), Some(other)) => this < other,
                (this, other) => this.is_some() && other.is_none(),
            };
            match trouble.iter_mut().find(|trouble| trouble.kind == kind) {
                Some(group) => {
                    group.nodes += 1;
                    if older(group.since) {
                        (group.since, group.example) = (node.since, node.name.clone());
                    }
                }
                None => trouble.push(TroubleGroup { kind, nodes: 1, example: node.name.clone(), since: node.since }),
            }
        }
        trouble.sort_by_key(|trouble| (trouble.kind.rank(), std::cmp::Reverse(trouble.nodes)));
        Self { trouble, table: NodeTable::of(snapshot), prewarm_stands: standstill(&snapshot.nodes).cloned() }
    }
}

impl TroubleKind {
    pub(crate) fn of(node: &NodeView) -> Option<Self> {
        let cause = node.cause.as_ref().map(|cause| cause.kind);
        match (node.state, node.blame, cause) {
            (NodeState::Failed, _, cause) => Some(Self::Failed(cause)),
            (_, Some(Blame::Suspect), _) => Some(Self::Suspect),
            _ if node.suspect.is_some_and(SuspectView::has_failed) => Some(Self::Suspect),
            (NodeState::Soaking, _, None) if node.restarted.is_some() => Some(Self::Restarted),
            (NodeState::NodeDown | NodeState::Outdated | NodeState::Ineligible, _, _) => None,
            // A pod that has just started is not ready for a while in the ordinary course.
            (NodeState::Starting | NodeState::Soaking, _, Some(cause)) if cause.is_ordinary_at_start() => None,
            (_, Some(Blame::Rollout), Some(cause)) => Some(Self::Struggling(cause)),
            _ => None,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Failed(_) => 0,
            Self::Suspect => 1,
            Self::Restarted => 2,
            Self::Struggling(_) => 3,
        }
    }
}
