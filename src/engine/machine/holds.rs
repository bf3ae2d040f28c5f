//! The hold on the whole rollout, the plan that follows from it, and whether the rollout is complete.

use std::collections::BTreeMap;

use super::Engine;
use crate::engine::assess::plan::{Limits, NodeLookup, Obstacles, Plan, RolloutHold};
use crate::engine::assess::rows::{Assessment, Row};
use crate::engine::model::Str;
use crate::engine::model::budget::BudgetView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::{Direction, Intent};
use crate::engine::model::time::Timestamp;

impl Engine {
    pub(crate) fn rollout_hold(&self, intent: &Intent, now: Timestamp) -> RolloutHold {
        use crate::engine::model::hold::Hold;
        let recorded = self.assessed_intent().is_some();
        let held = match self.strategy() {
            _ if self.view.daemonset().is_none() => Some(Hold::Preparing),
            _ if self.is_being_deleted() => Some(Hold::BeingDeleted),
            StrategyKind::RollingUpdate if !recorded || self.progress.adopted => Some(Hold::Native),
            StrategyKind::OnDelete if !recorded && self.record_is_missing() => Some(Hold::NoRecord),
            // Its record is there, and its watch has not shown it yet.
            StrategyKind::OnDelete if !recorded && self.record_may_be_late() => Some(Hold::Preparing),
            StrategyKind::OnDelete if !recorded => Some(Hold::NoRollout),
            _ if self.is_halted(intent) => Some(Hold::Halted),
            _ if self.lock.holds() && self.is_late_with_edits(now) => Some(Hold::NotSent),
            _ if intent.paused.is_some() => Some(Hold::Paused),
            _ if self.blindness().is_some() => Some(Hold::ViewStale),
            _ if !self.is_ready_to_update(intent) => Some(Hold::Preparing),
            _ if !self.lock.holds() && self.lock.living_other(now).is_none() => Some(Hold::NobodyDrives),
            // Only who has watched for as long as a lease lasts knows that its holder is gone, and nothing is next by who looks once either.
            _ if self.lock.view(now).is_silent(self.view.server_time(now)) => Some(Hold::NobodySeenDriving),
            _ => self.too_far_to_drive(),
        };
        held.map_or(RolloutHold::None, RolloutHold::Held)
    }

    /// The plan for `assessment` by this intent, with its limits and where the budget stands then, while this holds the whole rollout.
    pub(crate) fn plan_of(
        &self,
        assessment: &Assessment,
        limits: &Limits,
        budget: &BudgetView,
        intent: &Intent,
        rollout_hold: &RolloutHold,
        now: Timestamp,
    ) -> Plan {
        let refused = |row: &Row| self.refused_deletion(row, now);
        let obstacles = Obstacles { rollout_hold, refused: &refused };
        let paced = |site: &Str, most: u32| self.paced_limit(site, most);
        let nodes = NodeLookup {
            name: &|row| self.name(row),
            outage: &|row| self.outage_of(row),
            site: &|row| self.site(row),
            pace: self.pacing.is_on().then_some(&paced),
            pending: &|row| self.suspects.judgement().pending.contains(&row.node),
            warm_pods_go: self.warm_pods_go(),
        };
        Plan::of(assessment, limits, budget, intent, &obstacles, self.natural_ranks(), &nodes)
    }

    /// Whether the rollout can update nodes: it is adopted, the template is the target's, and its revision is recorded.
    pub(crate) fn is_ready_to_update(&self, intent: &Intent) -> bool {
        self.is_adopted()
            && self.is_observed()
            && intent.change.is_none()
            && intent.releasing.is_none()
            && intent.target.is_some()
            && intent.target.as_ref() == self.view.current()
    }

    pub(crate) fn is_halted(&self, intent: &Intent) -> bool {
        self.progress.halt.as_ref().is_some_and(|halt| halt.number > intent.acknowledged_halt)
    }

    /// The revision of most nodes of the fleet, not counting the revision `but`.
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

    /// The revision that a recorded roll back gives up: the newest other one, because its template was the DaemonSet's until then. No pod may have it any
    /// more.
    pub(crate) fn given_up_by(&self, intent: &Intent) -> Option<Str> {
        if intent.direction() == Direction::Forward || self.is_over() || self.is_template_of_others(intent) {
            return None;
        }
        let others = self.view.own_revisions().filter(|revision| Some(&revision.hash) != intent.target.as_ref());
        others.max_by_key(|revision| revision.number).map(|revision| revision.hash.clone())
    }

    /// The number of nodes of the fleet whose pods are at this revision.
    pub(crate) fn at_revision(&self, hash: &Str) -> u32 {
        let pod_of = |row: &Row| row.pod.and_then(|pod| self.view.pod(pod));
        self.count_rows(|row| pod_of(row).is_some_and(|pod| pod.fact.revision.as_ref() == Some(hash)))
    }

    /// Whether a rollout that began has every node of the fleet at the target and available.
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
            && !self.keeps_more_than_there_are(intent)
    }

    /// Whether the partition keeps more nodes than the DaemonSet runs on: that those which are left are all updated is no step that anybody took.
    pub(crate) fn keeps_more_than_there_are(&self, intent: &Intent) -> bool {
        intent.keeps_more_than(self.assessment.fleet)
    }

    /// Whether a pod of another revision than the target remains of a node whose object is gone. If the kubelet registers its node again, its pods
    /// run on, and that node was never updated. If it does not, the cluster deletes the pod about a minute after the node.
    pub(crate) fn awaits_vanished_nodes(&self) -> bool {
        let stays = |row: &Row| {
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            pod.is_some_and(|pod| pod.fact.deletion_at.is_none())
        };
        let vanished = |row: &Row| !row.in_fleet && self.view.entry(row.node).fact.is_none();
        self.assessment.rows().any(|row| vanished(row) && row.old && stays(row))
    }

    /// Whether the DaemonSet is being deleted, so that its controller makes no more pods.
    pub(crate) fn is_being_deleted(&self) -> bool {
        self.view.daemonset().is_some_and(|daemonset| daemonset.deleting)
    }
}
