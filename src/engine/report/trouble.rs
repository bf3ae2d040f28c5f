//! The nodes that need a look. The console groups, pins and marks them, and `status --nodes` prints them first.

use std::fmt;
use std::time::Duration;

use super::snapshot::{NodeView, Phase, Snapshot};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::node::{Blame, NodeState, RestartKind, RestartsView, RunEnd};
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::Direction;
use crate::engine::model::settings::OnFailure;
use crate::engine::model::suspect::SuspectView;
use crate::engine::model::time::Timestamp;
use crate::engine::view::restarts::watched_for;

impl Snapshot {
    /// Whether an `undo` that names no revision leads anywhere.
    pub fn undo_is_free(&self) -> bool {
        self.direction == Direction::Forward && self.roll_back.is_ok()
    }

    /// Whether nodes fail or wait for their pods, and each of them because the namespace's quota has no room for its pod. No revision helps then, since
    /// the pods of each count.
    pub fn fails_by_quota(&self) -> bool {
        let quota = |node: &NodeView| node.cause.as_ref().is_some_and(|cause| cause.kind == CauseKind::QuotaExceeded);
        let speaks = |node: &NodeView| node.cause.as_ref().is_some_and(|cause| cause.kind.speaks_against_revision());
        let mut concerned =
            self.nodes.iter().filter(|node| node.counts_as_failed() || quota(node) || (node.at_target && speaks(node)));
        concerned.clone().any(quota) && concerned.all(quota)
    }

    /// After how many restarts, evictions included, the pod of `node` counts as failed: of one at the target that has restarted, and not so often yet. A new pod whose
    /// container crashes again and again moves nothing until then, so that whoever looks wants to know when it does.
    pub fn restarts_to_fail(&self, node: &NodeView) -> Option<u32> {
        let most = self.settings.gates.max_restarts;
        // One restart of a node says nothing, and may be followed by another for years.
        let came_with_its_node = node.counted_restarts() == 1
            && node.restarted.as_ref().is_some_and(|restarted| restarted.end == Some(RunEnd::WithItsNode));
        let may_fail = node.at_target && self.has_plan() && !node.counts_as_failed() && !came_with_its_node;
        (may_fail && (1..=most).contains(&node.counted_restarts())).then(|| most + 1)
    }

    /// What [`Self::restarts_to_fail`] does to the rollout, in few words: `halts at 3 restarts (2 now)`; `fails at 3 restarts (2 now)` where the failure
    /// of one more node does not halt it, or nobody is there to halt it.
    pub fn at_restarts_in_words(&self, node: &NodeView) -> Option<String> {
        let at = self.restarts_to_fail(node)?;
        let gates = &self.settings.gates;
        let failed = self.nodes.iter().filter(|node| node.counts_as_failed() && !node.accepted).count() as u64;
        let reached = failed + 1 >= u64::from(gates.failure_threshold.of(self.counts.nodes, Rounding::Up).max(1));
        let judges = matches!(self.phase, Phase::Running | Phase::Held) && self.direction == Direction::Forward;
        let is_driven = self.driver.is_driven() && !self.has_silent_driver();
        let then = match gates.on_failure {
            _ if !(reached && judges && is_driven) || node.accepted => "fails",
            OnFailure::Halt => "halts",
            OnFailure::RollBack => "rolls back",
        };
        Some(format!("{then} at {} ({} now)", node.restart_kind().counted(at), node.counted_restarts()))
    }

    /// For how long a pod at the target has to stay up after a restart or an eviction until it is watched no more.
    pub fn restarts_watched_for(&self) -> Duration {
        watched_for(self.settings.gates.soak_secs.0)
    }

    /// Whether the new revision fails somewhere: a node counts as failed, or its new pod has a cause that speaks against the revision.
    pub(super) fn revision_fails(&self) -> bool {
        let fails = |node: &NodeView| {
            let speaks = node.cause.as_ref().is_some_and(|cause| cause.kind.speaks_against_revision());
            let crashes = node.crash_loop.is_some_and(|crash_loop| crash_loop.cause.speaks_against_revision());
            node.counts_as_failed() || crashes || (node.at_target && speaks && !starts_in_time(node))
        };
        self.counts.failed > 0 || self.nodes.iter().any(fails)
    }
}

/// The kinds of trouble that nodes are grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum TroubleKind {
    /// Failed at the target revision.
    Failed(Option<CauseKind>),
    /// Went down after the update.
    Suspect,
    /// Its kubelet says that it is not Ready in the course of its update.
    InUpdate,
    /// Its node is down, and its pod was deleted: by its controller outside of every budget, or by the update that was under way.
    DownReplaced,
    /// Its node went down when it was about to be updated: it is charged to the budget, and its old pod is untouched.
    DownNext,
    /// Its containers restarted after it had been ready; it is soaking because of that.
    Restarted,
    /// Not failed yet, but its pod has a cause for not being available.
    Struggling(CauseKind),
}

/// The facts by which the trouble of a node is judged. They are taken from a row of the assessment, or from a [`NodeView`].
pub(super) struct Symptoms {
    pub(super) state: NodeState,
    pub(super) blame: Option<Blame>,
    pub(super) cause: Option<CauseKind>,
    /// Its pod failed, or the node did not come back after its update.
    pub(super) counts_as_failed: bool,
    /// What its pod at the target is watched for: restarts of its containers, or evictions of the pods before it.
    pub(super) restarted: Option<RestartKind>,
    /// Its new pod has never been ready, and its containers restart.
    pub(super) keeps_restarting: bool,
    /// Why its pod at the target crashes again and again.
    pub(super) crash_loop: Option<CauseKind>,
    /// Its pod at the target was ready, and is not any more.
    pub(super) lost_readiness: bool,
    /// Its update has begun.
    pub(super) committed: bool,
    /// It is not Ready in the course of its update, and its kubelet says so itself.
    pub(super) in_update: bool,
}

impl Symptoms {
    fn of(node: &NodeView) -> Self {
        Self {
            state: node.state,
            blame: node.blame,
            cause: node.cause.as_ref().map(|cause| cause.kind),
            counts_as_failed: node.counts_as_failed(),
            restarted: node.restarted.as_deref().copied().map(RestartsView::kind),
            keeps_restarting: node.keeps_restarting(),
            crash_loop: node.crash_loop.map(|crash_loop| crash_loop.cause),
            lost_readiness: node.lost_readiness,
            committed: node.committed,
            in_update: node.suspect.is_some_and(SuspectView::is_in_update),
        }
    }

    fn starts_in_time(&self) -> bool {
        matches!(self.state, NodeState::Starting | NodeState::Soaking)
            && self.cause.is_some_and(CauseKind::is_ordinary_at_start)
            && !self.lost_readiness
            && !self.keeps_restarting
    }
}

impl fmt::Display for TroubleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(Some(cause)) | Self::Struggling(cause) => cause.fmt(f),
            Self::Failed(None) => f.write_str("failed"),
            Self::Suspect => f.write_str("went down since update"),
            Self::InUpdate => f.write_str("not Ready in its update"),
            Self::DownReplaced => f.write_str("down, pod deleted"),
            Self::DownNext => f.write_str("down before its update"),
            Self::Restarted => f.write_str("restarted since update"),
        }
    }
}

impl TroubleKind {
    /// The trouble of this node; `None` if it has none.
    pub fn of(node: &NodeView) -> Option<Self> {
        Self::with(&Symptoms::of(node))
    }

    /// The trouble of a node with these symptoms; `None` if it has none.
    pub(super) fn with(symptoms: &Symptoms) -> Option<Self> {
        match (symptoms.state, symptoms.blame, symptoms.cause) {
            (NodeState::Failed, _, cause) => Some(Self::Failed(cause)),
            (_, Some(Blame::Suspect), _) if symptoms.in_update => Some(Self::InUpdate),
            (_, Some(Blame::Suspect), _) => Some(Self::Suspect),
            _ if symptoms.counts_as_failed => Some(Self::Suspect),
            // Between two crashes its container runs: the kind of its trouble stays what it is in back-off.
            (NodeState::Soaking | NodeState::Starting, None | Some(Blame::Rollout), cause)
                if symptoms.crash_loop.is_some() && cause.is_none_or(CauseKind::is_ordinary_at_start) =>
            {
                symptoms.crash_loop.map(Self::Struggling)
            }
            (NodeState::Soaking, _, None) => symptoms.restarted.map(|kind| match kind {
                RestartKind::Evictions => Self::Struggling(CauseKind::Evicted),
                RestartKind::Restarts | RestartKind::Both => Self::Restarted,
            }),
            (NodeState::Starting, Some(Blame::Rollout), cause)
                if symptoms.keeps_restarting && cause.is_none_or(CauseKind::is_ordinary_at_start) =>
            {
                Some(Self::Restarted)
            }
            (NodeState::NodeDown, Some(Blame::Rollout), _) if symptoms.committed => Some(Self::DownReplaced),
            (NodeState::NodeDown, Some(Blame::Rollout), _) => Some(Self::DownNext),
            // Another image was given after a failing one: a pod that the rollout took down stays in sight until it serves again.
            (NodeState::Outdated, Some(Blame::Rollout), Some(cause)) => Some(Self::Struggling(cause)),
            (NodeState::NodeDown | NodeState::Outdated | NodeState::Unknown | NodeState::Ineligible, _, _) => None,
            _ if symptoms.starts_in_time() => None,
            (_, Some(Blame::Rollout), Some(cause)) => Some(Self::Struggling(cause)),
            _ => None,
        }
    }

    /// Whether a node in this trouble is one that fails at what is rolled out. A suspect is one only once it `counts_as_failed`.
    pub fn is_failure(self, counts_as_failed: bool) -> bool {
        match self {
            Self::Failed(_) | Self::Struggling(_) | Self::Restarted => true,
            Self::Suspect => counts_as_failed,
            Self::InUpdate | Self::DownReplaced | Self::DownNext => false,
        }
    }

    /// Since when `node` is in this trouble: of a failed one since it has failed, as its row says. If the pod of another was in trouble for another
    /// cause before: since the present cause was seen.
    pub fn since(self, node: &NodeView) -> Option<Timestamp> {
        match (self, node.crash_loop) {
            // Each crash begins a new trouble of the pod, and not of the node.
            (Self::Struggling(cause), Some(crash_loop)) if cause == crash_loop.cause => Some(crash_loop.since),
            (Self::Struggling(_), _) => node.cause_since.or(node.since),
            (Self::Failed(_) | Self::Suspect | Self::InUpdate, _) => node.since,
            (Self::DownReplaced | Self::DownNext | Self::Restarted, _) => node.since,
        }
    }

    /// The rank of this trouble; the worst comes first.
    pub fn rank(self) -> u8 {
        match self {
            Self::Failed(_) => 0,
            Self::Suspect => 1,
            Self::InUpdate | Self::DownReplaced | Self::DownNext => 2,
            Self::Restarted => 3,
            Self::Struggling(_) => 4,
        }
    }
}

/// Whether its pod has just started and is not ready for an ordinary reason, which is no trouble. A pod that was ready already, or that keeps
/// restarting, does not start in time.
pub fn starts_in_time(node: &NodeView) -> bool {
    Symptoms::of(node).starts_in_time()
}

/// Whether a node is in trouble, or its containers restarted after it had been ready.
pub fn is_in_trouble(node: &NodeView) -> bool {
    TroubleKind::of(node).is_some() || node.restarted.is_some()
}
impl NodeView {
    /// Since when the node is as it is shown: the one age beside its state, wherever that is. Of a node in trouble it is that of the trouble: its
    /// state changes with each restart and each attempt to pull.
    pub fn shown_since(&self) -> Option<Timestamp> {
        TroubleKind::of(self).map_or(self.since, |kind| kind.since(self))
    }
}
