//! Pods that somebody else takes away in the middle of a rollout: a colleague, an autoscaler, a descheduler; or their
//! kubelet, which fails them because its node lacks something or is shut down, so that their controller replaces them. Under `OnDelete` the
//! controller makes the next pod from the template as it is now, so that such a node gets the new revision whatever partition, selector, pause
//! or halt keep. Nobody can prevent that; whoever drives tells it. A pod that is at the target already uses the budget until its next one serves: that is told
//! as well, unless its kubelet failed it, which its row shows.
//!
//! The watch of pods may be ahead of the others: a pod may be seen to go before what explains it, such as another node selector or the deletion of the
//! DaemonSet. What is told is that the next pod is at the target, so it is told once that pod is seen, and not at all where none is to come:
//!
//! ```text
//! pod goes ─▶ kept ─┬─ next pod seen                                                      ─▶ told
//!                   └─ node no longer meant, DaemonSet gone or handed back, pod back again ─▶ dropped
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::disruption::PodDisruption;
use crate::engine::model::event::Event;
use crate::engine::model::facts::{PodPhase, StrategyKind};
use crate::engine::model::node::NodeIx;
use crate::engine::model::presence::Presence;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind, TOLD_TO_ALL, Visibility};

/// Within this time, [`TOLD_TO_ALL`] such events are told to everybody. Further ones go to the timeline and the log only, as an autoscaler takes many
/// pods.
const QUIET: Duration = Duration::from_secs(60);

/// The pods that somebody else took away and whose nodes have no next pod yet, by node.
#[derive(Debug, Default)]
pub(crate) struct TakenAway(BTreeMap<Str, Gone>);

/// A pod that somebody else took away.
#[derive(Debug)]
struct Gone {
    pod: Str,
    uid: Str,
    /// Why it had failed, if it had.
    failed: Option<Str>,
    /// It was at the target already.
    updated: bool,
    /// Who announced it, if somebody did.
    disruption: Option<PodDisruption>,
}

impl Engine {
    /// Keeps a pod that `event` shows to be going or gone and that no rolldeck deleted, until [`Self::tell_taken_away`] tells of it. Must be called
    /// before the view takes in the event.
    pub(crate) fn note_taken_away(&mut self, event: &Event) {
        let uid = match event {
            Event::Pod(fact) if fact.deletion_at.is_some() => &fact.uid,
            Event::PodGone(uid, _) => uid,
            _ => return,
        };
        if self.deletions.contains(uid) || !self.tells_of_others() {
            return;
        }
        let Some((node, pod)) = self.view.own_pod(uid) else { return };
        let fact = match event {
            Event::Pod(fact) => fact,
            _ => &pod.fact,
        };
        let failed =
            (fact.phase == PodPhase::Failed).then(|| fact.reason.clone().unwrap_or_else(|| "no reason".into()));
        let disruption = fact.disruption;
        // A pod that was being deleted already has been reported.
        if pod.fact.deletion_at.is_some() || !self.was_to_stay(node, failed.is_some()) {
            return;
        }
        let updated = self.assessment.row(node).is_some_and(|row| row.at_target);
        let (node, pod) = (self.view.entry(node).name.clone(), fact.name.clone());
        self.taken_away.0.insert(node, Gone { pod, uid: uid.clone(), failed, updated, disruption });
    }

    /// Tells of the pods that somebody else took away and whose nodes have their next pods. Forgets those of nodes that get none.
    pub(crate) fn tell_taken_away(&mut self) {
        if self.taken_away.0.is_empty() {
            return;
        }
        let mut kept = std::mem::take(&mut self.taken_away.0);
        if !self.tells_of_others() {
            return;
        }
        kept.retain(|node, gone| self.gets_a_pod(node) && !self.is_back(&gone.uid));
        let (told, kept) = kept.into_iter().partition(|(node, gone)| self.has_another_pod(node, &gone.uid));
        self.taken_away.0 = kept;
        for (node, Gone { pod, uid, failed, updated, disruption }) in told {
            let kind = RolloutEventKind::PodTakenAway { node, updated, pod, uid, failed, disruption };
            self.tell_of_taken_away(kind);
        }
    }

    /// Tells it to everybody, or in a flood of them to the timeline and the log only.
    fn tell_of_taken_away(&mut self, kind: RolloutEventKind) {
        let told = |event: &RolloutEvent| {
            matches!(event.kind, RolloutEventKind::PodTakenAway { .. })
                && event.visibility == Visibility::Cluster
                && self.now.since(event.at) < QUIET
        };
        let is_flood = self.event_log.kept().filter(|event| told(event)).count() >= TOLD_TO_ALL;
        let visibility = if is_flood { Visibility::Timeline } else { Visibility::Cluster };
        self.happened(kind, visibility);
    }

    /// Whether this process knows who deletes pods, and a pod that somebody else takes away gets another one under this rollout.
    fn tells_of_others(&self) -> bool {
        // While its lease had run out another process may have driven: then it is not known who deleted the pod.
        if !self.lock.may_act(self.now) || self.strategy() != StrategyKind::OnDelete {
            return false;
        }
        // The record was lost with its Lease: whoever drove by that one may have sent the deletion before they knew.
        let begun_anew = self.recorded_intent().is_some_and(|intent| intent.begun_anew.is_some());
        if begun_anew && self.lock.may_follow_others(self.now) {
            return false;
        }
        // A pod whose DaemonSet is deleted goes for good.
        let is_going = self.view.presence() != Presence::Present || self.is_being_deleted();
        !is_going && self.is_recorded() && self.is_adopted() && self.intent().releasing.is_none()
    }

    /// Whether the controller makes a pod on this node.
    fn gets_a_pod(&self, node: &str) -> bool {
        let row = self.view.node(node).and_then(|node| self.assessment.row(node));
        row.is_some_and(|row| row.in_fleet && row.should_run)
    }

    /// Whether the pod with this uid is there and not going: it had only lost its label.
    fn is_back(&self, uid: &str) -> bool {
        self.view.own_pod(uid).is_some_and(|(_, pod)| pod.fact.deletion_at.is_none())
    }

    /// Whether the node has a pod other than the one with this uid.
    fn has_another_pod(&self, node: &str, uid: &str) -> bool {
        let node = self.view.node(node);
        node.is_some_and(|node| self.view.pods_on(node).any(|(_, pod)| *pod.fact.uid != *uid))
    }

    /// Whether the pod of this node is where it should be and is not being replaced. On a node that is down, only a pod that failed counts; of pods that the rollout
    /// updated, only one that did not, until the rollout is over. Shortly after this process took the Lease over, the one before it may have deleted such a pod.
    fn was_to_stay(&self, node: NodeIx, failed: bool) -> bool {
        let Some(row) = self.assessment.row(node) else { return false };
        let name = &self.view.entry(node).name;
        row.in_fleet
            && row.should_run
            && match row.at_target {
                true => !failed && row.updated && !self.is_over() && !self.lock.may_follow_others(self.now),
                false => row.old,
            }
            && (!row.is_down || failed)
            && !row.crowded
            && !row.other_goes
            && !self.progress.in_progress.contains(name)
    }
}
