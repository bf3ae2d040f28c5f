//! What holds the whole rollout, and whether it is complete.

use std::collections::BTreeMap;

use super::Engine;
use crate::engine::assess::plan::RolloutHold;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;

impl Engine {
    pub(crate) fn rollout_hold(&self, intent: &Intent, now: Timestamp) -> RolloutHold {
        use crate::engine::model::hold::Hold;
        let recorded = self.assessed_intent().is_some();
        let held = match self.strategy() {
            _ if self.view.daemonset.is_none() => Some(Hold::Preparing),
            _ if self.is_being_deleted() => Some(Hold::BeingDeleted),
            StrategyKind::RollingUpdate if !recorded || self.progress.adopted => Some(Hold::Native),
            StrategyKind::OnDelete if !recorded && self.record_is_missing() => Some(Hold::NoRecord),
            StrategyKind::OnDelete if !recorded => Some(Hold::NoRollout),
            _ if self.is_halted(intent) => Some(Hold::Halted),
            _ if self.lock.holds() && self.is_late_with_edits(now) => Some(Hold::NotSent),
            _ if intent.paused.is_some() => Some(Hold::Paused),
            _ if self.blindness().is_some() => Some(Hold::ViewStale),
            _ if !self.is_ready_to_update(intent) => Some(Hold::Preparing),
            _ if !self.lock.holds() && self.lock.living_other(now).is_none() => Some(Hold::NobodyDrives),
            _ => self.too_far_to_drive(),
        };
        held.map_or(RolloutHold::None, RolloutHold::Held)
    }

    /// Adopted, template as it is to be, and its revision recorded.
    pub(crate) fn is_ready_to_update(&self, intent: &Intent) -> bool {
        self.is_adopted()
            && self.is_observed()
            && intent.change.is_none()
            && intent.releasing.is_none()
            && intent.target.is_some()
            && intent.target == self.view.current
    }

    pub(crate) fn is_halted(&self, intent: &Intent) -> bool {
        self.progress.halt.as_ref().is_some_and(|halt| halt.number > intent.acknowledged_halt)
    }

    /// The revision that most nodes have, `but` one left aside.
    pub(crate) fn majority_revision(&self, but: Option<&Str>) -> Option<Str> {
        let mut counts: BTreeMap<&Str, u32> = BTreeMap::new();
        for row in self.assessment.rows().filter(|row| row.in_fleet) {
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            if let Some(revision) =
                pod.and_then(|pod| pod.fact.revision.as_ref()).filter(|revision| Some(*revision) != but)
            {
                *counts.entry(revision).or_default() += 1;
            }
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(revision, _)| revision.clone())
    }

    /// Whether every node of the fleet is at the target and available, after a rollout that began.
    pub(crate) fn is_complete(&self, intent: &Intent) -> bool {
        self.progress.started_at.is_some()
            && intent.paused.is_none()
            && !self.is_halted(intent)
            && self.is_ready_to_update(intent)
            && self.view.current_is_certain()
            && self.blindness().is_none()
            && !self.catches_up()
            && self.deletions.is_empty()
            && self.assessment.rows().filter(|row| row.in_fleet).all(Row::is_settled)
            && !self.is_crowded()
            && !self.awaits_vanished_nodes()
    }

    /// Whether a pod of another revision than the target is left of a node whose object is gone. A kubelet that registers its node again
    /// goes on with its pods: then that node was never updated. If it does not, the cluster deletes the pod about a minute after
    /// the node.
    pub(crate) fn awaits_vanished_nodes(&self) -> bool {
        let stays = |row: &Row| {
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            pod.is_some_and(|pod| pod.fact.deletion_at.is_none())
        };
        let vanished = |row: &Row| !row.in_fleet && self.view.nodes[row.node].fact.is_none();
        self.assessment.rows().any(|row| vanished(row) && row.old && stays(row))
    }

    /// Whether the DaemonSet is being deleted: then no pod of it is made any more.
    pub(crate) fn is_being_deleted(&self) -> bool {
        self.view.daemonset.as_ref().is_some_and(|daemonset| daemonset.deleting)
    }
}
