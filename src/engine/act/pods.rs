//! Replaces pods: starts the deletions that the plan puts next.

use super::begin::Leads;
use crate::engine::assess::plan::RolloutHold;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::config::Role;
use crate::engine::model::effect::{Effect, EffectId};
use crate::engine::model::node::NodeIx;
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;

impl Engine {
    /// Deletes the pods that the plan lets go next, if we may start anything at all. Also tells whether deletions are sent, or are as soon as the record names
    /// their nodes.
    pub(super) fn replace_pods(&mut self, now: Timestamp) -> (Vec<(EffectId, Effect)>, bool) {
        let intent = self.intent();
        if !self.may_start(&intent, now) || self.plan.next.is_empty() {
            return (Vec::new(), false);
        }
        if self.progress.started_at.is_none() {
            self.begin(Leads::Elsewhere, now);
            return (self.write_lease(now).into_iter().collect(), false);
        }
        if !self.saved_progress_began() {
            return (Vec::new(), false);
        }
        if let Some(trial) = self.try_a_pod(&intent) {
            return (trial, true);
        }
        let next: Vec<NodeIx> = self.plan.next.clone();
        // If deletions are refused for all pods, one deletion is tried to find out whether that is still so.
        let tried = if self.refusals.are_general() { 1 } else { usize::MAX };
        let next = next
            .into_iter()
            .take(tried)
            .filter(|node| self.deletions.node_held_until(*node).is_none_or(|at| at <= now));
        let next: Vec<(NodeIx, Str)> = next.map(|node| (node, self.view.entry(node).name.clone())).collect();
        let goes_on = !next.is_empty();
        (self.send_deletions(next, now), goes_on)
    }

    /// Whether a deletion may be started now: this process drives, the record holds all our edits, we see enough, and nothing holds the
    /// rollout.
    fn may_start(&self, intent: &Intent, now: Timestamp) -> bool {
        self.config().role == Role::Driver
            && self.lock.may_act(now)
            && self.lock.wants_to_drive()
            && self.edits.is_empty()
            && intent.handover.is_none()
            && now >= self.deletions.retry.at
            && !self.catches_up()
            && self.rollout_hold(intent, now) == RolloutHold::None
    }
}
