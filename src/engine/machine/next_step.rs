//! The nodes that the next step of the plan would free, or why there is no next step.

use super::Engine;
use crate::engine::assess::hold_of_node;
use crate::engine::assess::plan::Limits;
use crate::engine::assess::rows::Row;
use crate::engine::model::labels::Selector;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::{Direction, Intent};
use crate::engine::model::step_ahead::{NoStep, SelectionDone, StepAhead};

impl Engine {
    /// The next step of the plan, or why there is none.
    pub(crate) fn next_step(&self, intent: &Intent) -> Result<StepAhead, NoStep> {
        if intent.direction() == Direction::Back && !self.is_over() {
            return Err(NoStep::GoingBack);
        }
        if let Some(why) = self.halted_by(intent) {
            return Err(NoStep::Halted { why });
        }
        if self.is_template_of_others(intent) {
            return Err(NoStep::TemplateChanged { how: self.template_of_others_in_words(intent).into() });
        }
        if !self.has_rollout(intent) {
            return Err(NoStep::NoRollout(self.nothing_recorded()));
        }
        if self.has_nothing_to_roll(intent) {
            return Err(NoStep::AllUpdated);
        }
        if let Some(ahead) = self.step_that_frees(intent) {
            return Ok(ahead);
        }
        let fleet = self.assessment.fleet;
        let allowed = Limits::of(&self.view, intent, &self.assessment).allowed;
        let settled = self.is_ready_to_update(intent);
        let left = self.count_rows(|row| !row.committed);
        let unselected = self.count_rows(|row| !row.committed && !self.selects(intent, row));
        let (candidates, free) = self.candidates(intent);
        Err(match &intent.selector {
            _ if settled && left == 0 => NoStep::AllUpdated,
            Some(selector) if unselected > 0 && candidates <= free => {
                NoStep::SelectionDone(self.selection_done(selector, intent))
            }
            _ if intent.steps.totals(fleet).all(|total| total <= allowed) => NoStep::Last,
            _ => NoStep::NoneReady { left },
        })
    }

    /// The first step of the plan that lets further nodes go, whatever holds the rollout meanwhile. Until the new revision is recorded nobody knows which
    /// nodes are at it: then it is the first step that allows more nodes than may be updated now, and `frees` is not known.
    pub(crate) fn step_that_frees(&self, intent: &Intent) -> Option<StepAhead> {
        let fleet = self.assessment.fleet;
        let allowed = Limits::of(&self.view, intent, &self.assessment).allowed;
        let settled = self.is_ready_to_update(intent);
        let committed = self.committed(intent);
        let selected = self.count_rows(|row| self.selects(intent, row) && !(settled && row.committed));
        let selectable = committed + selected;
        let (candidates, free) = self.candidates(intent);
        // Under somebody else's `OnDelete` nothing is recorded, and pods may have been replaced by hand.
        let by_hand = self.view.current_is_certain() && intent.target.is_none() && intent.change.is_none();
        let updated = if by_hand { self.count_rows(|row| row.at_target) } else { 0 };
        let totals = intent.steps.iter().copied().zip(intent.steps.totals(fleet));
        let mut ahead = totals.filter(|(_, total)| *total > allowed.max(updated));
        ahead.find_map(|(step, total)| {
            let cut_by_selector = intent.selector.is_some() && selectable < total;
            let to = if intent.selector.is_some() { total.min(selectable) } else { total };
            let frees = candidates.min(to.saturating_sub(committed)).saturating_sub(free);
            let lets_go = if settled { frees > 0 } else { to > allowed };
            lets_go.then(|| StepAhead { step, allowed: to, frees: settled.then_some(frees), cut_by_selector })
        })
    }

    /// How many nodes are updated, or being updated; 0 until the new revision is recorded.
    fn committed(&self, intent: &Intent) -> u32 {
        if self.is_ready_to_update(intent) { self.count_rows(|row| row.committed) } else { 0 }
    }

    /// How many nodes could be updated, judged by the node itself and the selector only, and how many of them the partition lets go already.
    fn candidates(&self, intent: &Intent) -> (u32, u32) {
        let allowed = Limits::of(&self.view, intent, &self.assessment).allowed;
        let candidates = self.count_rows(|row| self.may_go(intent, row));
        (candidates, candidates.min(allowed.saturating_sub(self.committed(intent))))
    }

    /// Whether every node has the present template and nothing else is to be done: the DaemonSet is adopted, no rollout began, and no change is asked
    /// for. A driver need not have recorded the present template as the target.
    pub(crate) fn has_nothing_to_roll(&self, intent: &Intent) -> bool {
        let current = self.view.current();
        self.is_adopted()
            && self.is_observed()
            && self.view.current_is_certain()
            && intent.change.is_none()
            && intent.releasing.is_none()
            && current.is_some()
            && intent.target.as_ref().is_none_or(|target| Some(target) == current)
            && !self.is_under_way()
    }

    /// Whether there is anything to step through: a rollout that is recorded, or one that is under way without a record.
    pub(crate) fn has_rollout(&self, intent: &Intent) -> bool {
        self.is_adopted() || intent.target.is_some() || intent.change.is_some() || self.is_under_way()
    }

    pub(crate) fn selection_done(&self, selector: &Selector, intent: &Intent) -> SelectionDone {
        let lifted = Intent { selector: None, ..intent.clone() };
        let free = self.would_be_free(&lifted).saturating_sub(self.would_be_free(intent));
        SelectionDone {
            selector: selector.clone(),
            selected: self.count_rows(|row| self.selects(intent, row)),
            updated: self.count_rows(|row| self.selects(intent, row) && row.at_target && row.available),
            moving: self.count_rows(|row| self.selects(intent, row) && row.committed && !row.available && !row.failure),
            in_line: self.would_be_free(intent),
            lifting_frees: free,
        }
    }

    /// The reason of a halt that still stands, unless another template was asked for since.
    pub(crate) fn halted_by(&self, intent: &Intent) -> Option<crate::engine::model::Str> {
        Some(self.halt_as_it_stands(intent).filter(|_| intent.change.is_none())?.why)
    }

    /// How many nodes the partition would free at once under `intent`, regardless of budgets.
    pub(crate) fn would_be_free(&self, intent: &Intent) -> u32 {
        let allowed = Limits::of(&self.view, intent, &self.assessment).allowed;
        let committed = self.count_rows(|row| row.committed);
        self.count_rows(|row| self.may_go(intent, row)).min(allowed.saturating_sub(committed))
    }

    /// Whether the selector of `intent` lets this node be updated.
    fn selects(&self, intent: &Intent, row: &Row) -> bool {
        let labels = self.view.nodes().get(row.node).and_then(|node| node.fact.as_ref()).map(|fact| &fact.labels);
        intent.selector.as_ref().is_none_or(|selector| labels.is_some_and(|labels| selector.matches(labels)))
    }

    /// Whether this node could be updated now, judged by the node itself and the selector only.
    fn may_go(&self, intent: &Intent, row: &Row) -> bool {
        hold_of_node::may_go(row, intent.direction(), self.selects(intent, row))
    }

    pub(crate) fn count_rows(&self, test: impl Fn(&Row) -> bool) -> u32 {
        let rows = self.assessment.rows().filter(|row| row.in_fleet && test(row));
        u32::try_from(rows.count()).unwrap_or(u32::MAX)
    }

    /// How many nodes failed at the target and are down. Those past which an operator resumed count as well: they are still down.
    pub(crate) fn failed_and_down(&self) -> u32 {
        let failed = |row: &Row| row.state == NodeState::Failed || self.suspects.judgement().has_failed(row.node);
        self.count_rows(|row| row.blame.is_some() && failed(row))
    }
}
