//! The budget as it is shown: the counts of the plan, with the facts that its words need besides.

use std::time::Duration;

use super::snapshot::{NodeView, NodeViews};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::budget::{BudgetView, Replacer};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::node::{Blame, NodeState};
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::Intent;
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::rules::own_budget::own_max_unavailable;

impl Engine {
    /// Whether an event since the rollout began says that somebody else took away the pod that this node had before.
    fn was_taken_away(&self, node: &Str) -> bool {
        let began = self.progress.started_at.unwrap_or_default();
        let told = self.event_log.kept().filter(|event| event.at >= began);
        told.filter_map(RolloutEvent::taken_away).any(|(name, _)| *name == **node)
    }

    pub(super) fn budget_view(&self, intent: &Intent, nodes: &NodeViews) -> BudgetView {
        let count = |test: &dyn Fn(&NodeView) -> bool| {
            let ours = nodes.iter().filter(|node| node.blame == Some(Blame::Rollout));
            u32::try_from(ours.filter(|node| test(node)).count()).unwrap_or(u32::MAX)
        };
        let budget = self.budget;
        // The driver names a node in the record before it deletes the node's pod, until the node is available again. A pod that fell by itself after
        // that has been ready before. Where the controller replaces pods as well, nobody can tell who took a pod down.
        let by_others = |node: &NodeView| {
            let fell = node.lost_readiness || node.restarted.is_some() || node.serves;
            let fell = fell && !self.was_taken_away(&node.name);
            !fell && node.committed && !self.progress.in_progress.contains(&node.name)
        };
        // A pod from before the beginning was put there by whoever was at work before the record. The cluster tells whole seconds.
        let began = self.progress.started_at.map(|began| self.view.server_time(began));
        let from_before = |node: &NodeView| {
            let made = node.pod_created_at.map(|made| made + Duration::from_secs(1));
            let is_there = node.state != NodeState::Terminating && !self.progress.in_progress.contains(&node.name);
            is_there && began.zip(made).is_some_and(|(began, made)| made <= began)
        };
        let only_rolldeck =
            budget.replaced_by == Replacer::Rolldeck && self.strategy() == StrategyKind::OnDelete && self.is_recorded();
        let since_unknown = |node: &NodeView| {
            matches!(
                node.pod_wait.as_deref(),
                Some(PodWait::SoakSeenByDriver { .. } | PodWait::Soak { since_known: false, .. })
            )
        };
        let own = self.view.daemonset.as_ref().and_then(|it| own_max_unavailable(it, self.assessment.desired));
        let own = own.map(|own| own.of(self.assessment.desired, Rounding::Up));
        let is_set = intent.budgets.max_unavailable.at().is_some();
        BudgetView {
            by_others: if only_rolldeck { count(&|node| by_others(node) && !from_before(node)) } else { 0 },
            unrecorded: if budget.replaced_by == Replacer::Rolldeck { count(&from_before) } else { 0 },
            ready_since_unknown: count(&since_unknown),
            own_max_unavailable: own.filter(|own| is_set && *own < budget.max_unavailable),
            ..budget
        }
    }
}
