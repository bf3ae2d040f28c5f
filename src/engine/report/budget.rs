//! The budget as it is shown: the counts of the plan, with the facts that its words need besides.

use super::snapshot::{NodeView, NodeViews};
use crate::engine::machine::Engine;
use crate::engine::model::budget::{BudgetView, Replacer};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::node::Blame;
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::Intent;
use crate::engine::rules::own_budget::own_max_unavailable;

impl Engine {
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
            !fell && node.committed && !self.progress.in_progress.contains(&node.name)
        };
        let only_rolldeck =
            budget.replaced_by == Replacer::Rolldeck && self.strategy() == StrategyKind::OnDelete && self.is_recorded();
        let since_unknown = |node: &NodeView| {
            matches!(node.pod_wait, Some(PodWait::SoakSeenByDriver { .. } | PodWait::Soak { since_known: false, .. }))
        };
        let own = self.view.daemonset.as_ref().and_then(|it| own_max_unavailable(it, self.assessment.desired));
        let own = own.map(|own| own.of(self.assessment.desired, Rounding::Up));
        let is_set = intent.budgets.max_unavailable.at().is_some();
        BudgetView {
            by_others: if only_rolldeck { count(&by_others) } else { 0 },
            ready_since_unknown: count(&since_unknown),
            own_max_unavailable: own.filter(|own| is_set && *own < budget.max_unavailable),
            ..budget
        }
    }
}
