//! The budget as it is shown: the counts of the plan, with the facts that its words need besides.

use std::time::Duration;

use super::snapshot::{NodeView, NodeViews};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::budget::{BudgetView, Replacer};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::node::{Blame, DownBy, NodeState};
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::Intent;
use crate::engine::model::rollout_event::{RolloutEvent, is_after_update};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::saved_strategy::own_max_unavailable;
use crate::engine::view::restarts::has_ended;

impl Engine {
    /// What the last event since the rollout began says of the pod that this node had before and that somebody else took away, if one does.
    fn taken_away(&self, node: &Str) -> Option<String> {
        let began = self.progress.started_at.map_or(Timestamp::default(), |began| self.view.our_time(began));
        let told = self.event_log.kept().filter(|event| event.at >= began);
        told.filter_map(RolloutEvent::taken_away).filter(|(name, _)| *name == **node).last().map(|(_, rest)| rest)
    }

    /// Who took a node down that is charged to the recorded rollout, where its driver is not known to have done it.
    pub(super) fn down_by(&self, node: &NodeView) -> Option<DownBy> {
        if node.blame != Some(Blame::Rollout) || self.budget.replaced_by != Replacer::Rolldeck {
            return None;
        }
        let is_named = || self.progress.in_progress.contains(&node.name);
        // A pod from before the beginning was put there by whoever was at work before the record. The cluster tells whole seconds. The record names the
        // nodes that an earlier rollout took down as it names those that this one takes.
        let began = self.progress.started_at;
        let made = node.pod_created_at.map(|made| made + Duration::from_secs(1));
        let is_from_before = began.zip(made).is_some_and(|(began, made)| made <= began);
        // On a node that went down meanwhile, nobody ends the pod that is being replaced.
        let is_going = node.state == NodeState::Terminating || node.pod_wait.as_deref() == Some(&PodWait::NodeBack);
        if is_from_before && !is_going && !(is_named() && node.at_target) {
            return Some(DownBy::Unrecorded);
        }
        // The driver names a node in the record before it deletes the node's pod, until the node is available again. A pod that fell by itself after
        // that has been ready before. Where the controller replaces pods as well, nobody can tell who took a pod down.
        let only_rolldeck = self.strategy() == StrategyKind::OnDelete && self.is_recorded();
        let row = self.view.node(&node.name).and_then(|ix| self.assessment.row(ix));
        let pod = row.and_then(|row| row.pod).and_then(|pod| self.view.pod(pod));
        // A container that has just crashed counts as restarted only once it is started again.
        let ended = pod.is_some_and(|pod| has_ended(&pod.fact));
        let fell = node.lost_readiness || node.restarted.is_some() || ended;
        // Where the rollout had updated the node before, the next pod may have served for long by now.
        let was_taken_away = || self.taken_away(&node.name).is_some_and(|said| !fell || !is_after_update(&said));
        if !only_rolldeck || !node.committed || is_named() {
            return None;
        }
        // Nobody has seen who took the predecessor of such a pod away.
        if !fell && self.taken_away(&node.name).is_none() && self.may_be_by_its_controller(node) {
            return Some(DownBy::ControllerOrOthers);
        }
        (!fell && !node.serves || was_taken_away()).then_some(DownBy::Others)
    }

    /// Whether the controller may have replaced the pod of `node`, or may be replacing it, since somebody set the update strategy back.
    fn may_be_by_its_controller(&self, node: &NodeView) -> bool {
        if self.progress.drifts.since.is_none() {
            return false;
        }
        let intent = self.intent();
        let stopped = intent.paused.as_ref().filter(|paused| paused.brakes);
        let stopped = stopped.map(|paused| self.view.server_time(paused.at));
        let present = node.pod_created_at.filter(|_| node.state != NodeState::Terminating);
        // The next one is made now, or later.
        let made = present.unwrap_or_else(|| self.view.server_time(self.now));
        self.progress.drifts.may_have_replaced(made, stopped)
    }

    pub(super) fn budget_view(&self, intent: &Intent, nodes: &NodeViews) -> BudgetView {
        let count = |test: &dyn Fn(&NodeView) -> bool| {
            let ours = nodes.iter().filter(|node| node.blame == Some(Blame::Rollout));
            u32::try_from(ours.filter(|node| test(node)).count()).unwrap_or(u32::MAX)
        };
        let budget = self.budget;
        let since_unknown = |node: &NodeView| {
            node.down_by.is_none()
                && matches!(
                    node.pod_wait.as_deref(),
                    Some(PodWait::SoakSeenByDriver { .. } | PodWait::Soak { since_known: false, .. })
                )
        };
        let (original, desired) = (self.view.original_strategy(), self.assessment.desired);
        let own = self.view.daemonset().and_then(|it| own_max_unavailable(it, original, desired));
        let own = own.map(|own| own.of(self.assessment.desired, Rounding::Up));
        let is_set = intent.budgets.max_unavailable.at().is_some();
        BudgetView {
            by_others: count(&|node| node.down_by == Some(DownBy::Others)),
            by_controller_or_others: count(&|node| node.down_by == Some(DownBy::ControllerOrOthers)),
            unrecorded: count(&|node| node.down_by == Some(DownBy::Unrecorded)),
            lost_readiness: count(&|node| node.down_by.is_none() && node.lost_readiness && node.restarted.is_none()),
            ready_since_unknown: count(&since_unknown),
            own_max_unavailable: own.filter(|own| is_set && *own < budget.max_unavailable),
            ..budget
        }
    }
}
