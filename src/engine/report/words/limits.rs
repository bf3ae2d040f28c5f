//! The budget and the plan, in a line each.

use std::fmt;

use crate::engine::model::budget::{BudgetView, Replacer};
use crate::engine::model::node::{Blame, DownBy};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::report::snapshot::{NodeView, PlanView};

/// Said of nodes that are down for a rollout of which nothing says who carried it out.
const NOT_RECORDED: &str = "not recorded by whom";

/// Said of nodes that are down because somebody else took their pods away.
const BY_OTHERS: &str = "by others";

/// Said of nodes that are down because their DaemonSet's controller replaced their pods, or somebody else took them away, while the strategy was set back.
const BY_CONTROLLER_OR_OTHERS: &str = "by its controller or others";

impl BudgetView {
    /// The word for a blame, the same in the budget line and in each row.
    fn called(&self, blame: Blame) -> &'static str {
        match (blame, self.replaced_by) {
            (Blame::Rollout, Replacer::Rolldeck) => "ours",
            (Blame::Rollout, Replacer::Controller) => "by its controller",
            (Blame::Rollout, Replacer::Unrecorded) => NOT_RECORDED,
            (Blame::Rollout, Replacer::Both) => "ours or its controller's",
            (Blame::Suspect, _) => "suspect",
            (Blame::Node, _) => "not by the rollout",
            (Blame::PreExisting, _) => "pre-existing",
        }
    }

    /// The word for the blame of a node; `None` where it is not down.
    pub fn called_of(&self, node: &NodeView) -> Option<&'static str> {
        let blame = node.blame?;
        Some(match node.down_by {
            Some(DownBy::Others) => BY_OTHERS,
            Some(DownBy::ControllerOrOthers) => BY_CONTROLLER_OR_OTHERS,
            Some(DownBy::Unrecorded) => NOT_RECORDED,
            None => self.called(blame),
        })
    }

    /// ` (1 restarted once ready, 2 ready since an unknown time)`: of the nodes that rolldeck took down, which are not down because of the last
    /// ones.
    fn ours_beyond(&self) -> String {
        let why = [
            (self.restarted, "restarted once ready"),
            (self.lost_readiness, "ready before, and not now"),
            (self.ready_since_unknown, "ready since an unknown time"),
        ];
        let why: Vec<String> =
            why.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
        if why.is_empty() { String::new() } else { format!(" ({})", why.join(", ")) }
    }

    /// `4 may be down as set for the rollout, 1 by the DaemonSet itself`: the operator's limit is above that of the DaemonSet's owner, who may have
    /// lowered it since. `None` where it is not.
    pub fn limit_above_own(&self) -> Option<String> {
        let own = self.own_max_unavailable?;
        Some(format!("{} may be down as set for the rollout, {own} by the DaemonSet itself", self.max_unavailable))
    }

    /// `4 up, soaking`: how many of the charged nodes serve, which the number of those that are down does not tell. `None` where none does.
    pub(crate) fn soaking_in_words(&self) -> Option<String> {
        (self.soaking > 0).then(|| format!("{} up, soaking", self.soaking))
    }

    /// Nodes that are down and not charged to the rollout.
    pub fn not_ours(&self) -> u32 {
        self.node + self.pre_existing
    }
}

/// The budget, term by term: `down 2 of 2: 1 ours, 1 suspect + 3 by themselves`, `down 6 of 2 (4 up, soaking): 6 by its controller`.
impl fmt::Display for BudgetView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "down {} of {}", self.charged, self.max_unavailable)?;
        if let Some(soaking) = self.soaking_in_words() {
            write!(f, " ({soaking})")?;
        }
        let ours = [(self.rollout, Blame::Rollout), (self.suspect, Blame::Suspect)];
        let others = [(self.node, Blame::Node), (self.pre_existing, Blame::PreExisting)];
        let mut lead = ": ";
        let charged = ours.iter().chain(others.iter().filter(|_| self.strict));
        for (count, blame) in charged.filter(|(count, _)| *count > 0) {
            let not_ours = [
                (self.by_controller_or_others, BY_CONTROLLER_OR_OTHERS),
                (self.by_others, BY_OTHERS),
                (self.unrecorded, NOT_RECORDED),
            ];
            let not_ours = if *blame == Blame::Rollout { &not_ours[..] } else { &[] };
            let known = count.saturating_sub(not_ours.iter().map(|(count, _)| count).sum());
            if known > 0 {
                write!(f, "{lead}{known} {}", self.called(*blame))?;
                lead = ", ";
            }
            // The reason why more nodes are down than may be.
            if self.charged > self.max_unavailable {
                match (blame, self.replaced_by) {
                    (Blame::Rollout, Replacer::Rolldeck) if known > 0 => f.write_str(&self.ours_beyond())?,
                    (Blame::Suspect, _) => f.write_str(" (fell later)")?,
                    (Blame::Rollout | Blame::Node | Blame::PreExisting, _) => {}
                }
            }
            for (count, by) in not_ours.iter().filter(|(count, _)| *count > 0) {
                write!(f, "{lead}{count} {by}")?;
                lead = ", ";
            }
        }
        if !self.strict && self.not_ours() > 0 {
            let alone = if self.not_ours() == 1 { "by itself" } else { "by themselves" };
            write!(f, " + {} {alone}", self.not_ours())?;
        }
        Ok(())
    }
}

impl PlanView {
    /// How many of `nodes` nodes an operator lets go, if that is no step of the plan: `60%`. A step that a selector cuts short is a step: it lets go as many
    /// as there are.
    pub fn by_hand(&self, nodes: u32) -> Option<String> {
        let is_step = |step: &IntOrPercent| step.nodes_of(nodes) == self.allowed;
        let is_number = !matches!(self.partition, Some(IntOrPercent::Percent(_)));
        let is_cut = self.selector.is_some() && is_number && self.allowed == self.selectable;
        if self.allowed == 0 || self.steps.is_empty() || is_cut || self.steps.iter().any(is_step) {
            return None;
        }
        Some(match self.partition {
            Some(IntOrPercent::Percent(kept)) => format!("{}%", 100_u8.saturating_sub(kept)),
            Some(IntOrPercent::Int(_)) | None => self.allowed.to_string(),
        })
    }
}

/// The plan in one line: `step 2 of 4: 12 may be updated, partition 108, only canary=true (3 nodes)`.
impl fmt::Display for PlanView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.by_hand(self.allowed + self.keep), self.step) {
            (Some(by_hand), _) => write!(f, "{by_hand} by hand, no step of the plan: ")?,
            (None, Some(step)) => write!(f, "step {} of {}: ", step + 1, self.steps.len())?,
            (None, None) => {}
        }
        write!(f, "{} may be updated, partition {}", self.allowed, self.keep)?;
        if let Some(selector) = &self.selector {
            let nodes = if self.selected == 1 { "node" } else { "nodes" };
            write!(f, ", only {selector} ({} {nodes})", self.selected)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_said_term_by_term() {
        let budget =
            BudgetView { max_unavailable: 2, rollout: 1, suspect: 1, node: 3, charged: 2, ..Default::default() };
        assert_eq!(budget.to_string(), "down 2 of 2: 1 ours, 1 suspect + 3 by themselves");
        let strict = BudgetView { strict: true, charged: 5, ..budget };
        assert_eq!(strict.to_string(), "down 5 of 2: 1 ours, 1 suspect (fell later), 3 not by the rollout");
        let soaks = BudgetView { soaking: 1, ..budget };
        assert_eq!(soaks.to_string(), "down 2 of 2 (1 up, soaking): 1 ours, 1 suspect + 3 by themselves");
        assert_eq!(BudgetView { max_unavailable: 2, ..Default::default() }.to_string(), "down 0 of 2");
        let beyond = BudgetView {
            max_unavailable: 2,
            rollout: 4,
            charged: 4,
            restarted: 1,
            lost_readiness: 1,
            ..Default::default()
        };
        assert_eq!(beyond.to_string(), "down 4 of 2: 4 ours (1 restarted once ready, 1 ready before, and not now)");
        let native = BudgetView { replaced_by: Replacer::Controller, ..budget };
        assert_eq!(native.to_string(), "down 2 of 2: 1 by its controller, 1 suspect + 3 by themselves");
    }

    /// 60% of 120 nodes is more than the third step and less than the last one.
    #[test]
    fn what_an_operator_lets_go_by_hand_is_not_said_to_be_a_step() {
        let steps = vec![IntOrPercent::Int(1), IntOrPercent::Percent(50), IntOrPercent::Percent(100)];
        let plan = |partition, allowed| PlanView {
            steps: steps.clone(),
            step: Some(2),
            partition: Some(partition),
            keep: 120 - allowed,
            allowed,
            ..PlanView::default()
        };
        let by_hand = plan(IntOrPercent::Percent(40), 72);
        assert_eq!(by_hand.to_string(), "60% by hand, no step of the plan: 72 may be updated, partition 48");
        assert_eq!(plan(IntOrPercent::Int(50), 70).by_hand(120).as_deref(), Some("70"));
        for step in
            [plan(IntOrPercent::Percent(50), 60), plan(IntOrPercent::Int(0), 120), plan(IntOrPercent::Int(119), 1)]
        {
            assert_eq!(step.by_hand(120), None, "{step}");
        }
        let selector = Some("canary=true".parse().unwrap());
        assert_eq!(
            PlanView { selector, selectable: 3, ..plan(IntOrPercent::Int(117), 3) }.by_hand(120),
            None,
            "a step that is cut short"
        );
    }

    #[test]
    fn the_plan_is_said_with_its_selector() {
        let plan = PlanView {
            steps: vec![IntOrPercent::Int(1), IntOrPercent::Percent(100)],
            step: Some(0),
            keep: 19,
            allowed: 1,
            selector: Some("canary=true".parse().unwrap()),
            selected: 3,
            ..PlanView::default()
        };
        assert_eq!(plan.to_string(), "step 1 of 2: 1 may be updated, partition 19, only canary=true (3 nodes)");
    }
}
