//! Where a step back leads, as a dialog tells it before it is taken.

use super::snapshot::Snapshot;
use crate::engine::model::quantity::IntOrPercent;

/// A step back to the step of the plan before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepBack {
    /// The step to which it leads; `None`: there is none before, so that no node may be updated any more.
    pub to: Option<IntOrPercent>,
    /// How many nodes may still go after it. No node that was updated goes back.
    pub more: u32,
}

impl Snapshot {
    /// Where a step back leads now.
    pub fn step_back(&self) -> StepBack {
        let (plan, counts) = (&self.plan, &self.counts);
        let total = |step: &IntOrPercent| step.nodes_of(counts.nodes);
        let to = plan.steps.iter().rev().find(|step| total(step) < plan.allowed).copied();
        // A selector lets no other nodes go, whatever the step allows.
        let matching = plan.selected.saturating_sub(counts.committed.saturating_sub(counts.leaked));
        let most = if plan.selector.is_some() { matching } else { u32::MAX };
        let allowed = to.as_ref().map_or(0, total);
        StepBack { to, more: allowed.saturating_sub(counts.committed).min(most) }
    }
}
