//! Pods at an earlier revision that somebody else takes away in the middle of a rollout: a colleague, an autoscaler, a descheduler; or their
//! kubelet, which fails them because its node lacks something or is shut down, so that their controller replaces them. Under `OnDelete` the
//! controller makes the next pod from the template as it is now, so that such a node gets the new revision whatever partition, selector, pause
//! or halt keep. Nobody can prevent that; whoever drives tells it.

use std::time::Duration;

use super::Engine;
use crate::engine::model::event::Event;
use crate::engine::model::facts::{PodPhase, StrategyKind};
use crate::engine::model::node::NodeIx;
use crate::engine::model::presence::Presence;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind, TOLD_TO_ALL, Visibility};

/// Within this time, [`TOLD_TO_ALL`] such events are told to everybody. Further ones go to the timeline and the log only, as an autoscaler takes many
/// pods.
const QUIET: Duration = Duration::from_secs(60);

impl Engine {
    /// Reports a pod that `event` shows to be going or gone and that no rolldeck deleted. Must be called before the view takes in the event.
    pub(crate) fn note_taken_away(&mut self, event: &Event) {
        let uid = match event {
            Event::Pod(fact) if fact.deletion_at.is_some() => &fact.uid,
            Event::PodGone(uid, _) => uid,
            _ => return,
        };
        // While its lease had run out another process may have driven: then it is not known who deleted the pod.
        if self.deletions.contains(uid) || !self.lock.may_act(self.now) || self.strategy() != StrategyKind::OnDelete {
            return;
        }
        // The record was lost with its Lease: whoever drove by that one may have sent the deletion before they knew.
        let begun_anew = self.recorded_intent().is_some_and(|intent| intent.begun_anew.is_some());
        if begun_anew && self.lock.may_follow_others(self.now) {
            return;
        }
        // A pod whose DaemonSet is deleted goes for good.
        let is_going = self.view.presence != Presence::Present || self.is_being_deleted();
        if is_going || !self.is_recorded() || !self.is_adopted() || self.intent().releasing.is_some() {
            return;
        }
        let Some((node, pod)) = self.view.own_pod(uid) else { return };
        let fact = match event {
            Event::Pod(fact) => fact,
            _ => &pod.fact,
        };
        let failed =
            (fact.phase == PodPhase::Failed).then(|| fact.reason.clone().unwrap_or_else(|| "no reason".into()));
        // A pod that was being deleted already has been reported.
        if pod.fact.deletion_at.is_some() || !self.was_to_stay(node, failed.is_some()) {
            return;
        }
        let (node, pod) = (self.view.nodes[node].name.clone(), fact.name.clone());
        let kind = RolloutEventKind::PodTakenAway { node, pod, uid: uid.clone(), failed };
        let told = |event: &RolloutEvent| {
            matches!(event.kind, RolloutEventKind::PodTakenAway { .. })
                && event.visibility == Visibility::Cluster
                && self.now.since(event.at) < QUIET
        };
        let is_flood = self.event_log.kept().filter(|event| told(event)).count() >= TOLD_TO_ALL;
        let visibility = if is_flood { Visibility::Timeline } else { Visibility::Cluster };
        self.happened(kind, visibility);
    }

    /// Whether the old pod of this node is where it should be and is not being replaced. On a node that is down, only a pod that failed counts.
    fn was_to_stay(&self, node: NodeIx, failed: bool) -> bool {
        let Some(row) = self.assessment.row(node) else { return false };
        let name = &self.view.nodes[node].name;
        row.in_fleet
            && row.should_run
            && row.old
            && !row.at_target
            && (!row.is_down || failed)
            && !row.crowded
            && !row.other_goes
            && !self.progress.in_progress.contains(name)
    }
}
