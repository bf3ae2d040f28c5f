//! The sentences that the parts of a snapshot make: who drives, what it does now, the budget, the plan, the change.
//!
//! Console, command line and JSON show these same words. They are `Display`, so nothing is allocated unless it is drawn.
//!
//! ```text
//! running · you drive                                     Doing · Driving
//! v1.8.2 → v1.9.0   rev 14 → 15                           Change · Numbers
//! down 2 of 2: 1 ours, 1 suspect + 3 by themselves             BudgetView
//! step 2 of 4: 12 of 120 may be updated, partition 108    PlanView
//! ```

mod change;
mod doing;
mod freshness;
mod gating;
mod limits;

pub use self::change::{ChangeWords, Numbers, VersionWords};
pub use self::doing::{Doing, DrivingWords, WaitingWords};
pub use self::freshness::FreshnessWords;
pub use self::gating::{Gating, HaltsWhen};
use super::snapshot::{Alarm, NodeView, Phase, Snapshot};
use crate::engine::model::node::NodeState;
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::PrewarmMethod;
use crate::engine::model::record::{Direction, Paused};
use crate::engine::model::time::{ShortDuration, Timestamp};
use crate::engine::model::wait::Wait;

/// The reason of a pause, to be put behind who paused. An operator's reason is quoted, so that it can be told from rolldeck's own words, and from why
/// rolldeck itself had paused before. Empty where no reason was given.
pub fn reason_of_pause(paused: &Paused) -> String {
    if let (true, Some(why)) = (paused.is_by_rolldeck(), &paused.why) {
        return format!(": {why}");
    }
    let (own, before) = paused.own_reason();
    let own = own.map(|own| format!(": \"{own}\""));
    own.into_iter().chain(before.map(|before| format!("; {before}"))).collect()
}

impl Snapshot {
    /// What the rollout does now, with who and why: `paused by ops 2h ago: link down`.
    pub fn doing(&self) -> Doing<'_> {
        Doing(self)
    }

    /// Who replaces pods: `you drive`, `its controller drives`, …
    pub fn driving(&self) -> DrivingWords<'_> {
        DrivingWords(self)
    }

    /// The change, as briefly as it is unambiguous: `v1.8.2 → v1.9.0`.
    pub fn change(&self) -> ChangeWords<'_> {
        ChangeWords(self)
    }

    /// The numbers of the two revisions: `rev 14 → 15`.
    pub fn numbers(&self) -> Numbers<'_> {
        Numbers(self)
    }

    /// When a node counts as failed, and the consequence: `halts once 1 node has failed (pod not available in 10m, …)`.
    pub fn gating(&self) -> Gating<'_> {
        Gating(self)
    }

    /// What halts the rollout, to be put behind its name: `halts once 1 node has failed (pod not available in 10m, more than 2 restarts, or node down for 5m)`.
    pub fn halts_when(&self) -> HaltsWhen<'_> {
        HaltsWhen(self)
    }

    /// How fresh the view is, worst watch first: `live`, `pods not seen for 12s: …`.
    pub fn freshness(&self) -> FreshnessWords<'_> {
        FreshnessWords(self)
    }

    /// The progress: `31 of 120 updated`; without a rollout `117 of 120 available`; while loading `967 nodes so far`.
    pub fn progress(&self) -> String {
        let Snapshot { counts, .. } = self;
        match self.phase {
            Phase::Loading if counts.nodes == 1 => "1 node so far".to_owned(),
            Phase::Loading => format!("{} nodes so far", counts.nodes),
            Phase::Idle => format!("{} of {} available", counts.available, counts.nodes),
            _ => format!("{} of {} updated", counts.updated, counts.nodes),
        }
    }

    /// The phase in one or two words. They tell the direction: `running`, and on the way back `rolling back`.
    pub fn phase_word(&self) -> String {
        match (&self.phase, self.direction) {
            (Phase::Running, Direction::Back) => "rolling back".to_owned(),
            (phase, _) => phase.to_string(),
        }
    }

    /// Whether a roll back is recorded that is not over.
    pub fn goes_back(&self) -> bool {
        self.direction == Direction::Back && self.phase != Phase::Complete
    }

    /// `roll back `, to be put before the word for a rollout that stands still; empty where that leads forward, and where the word itself tells the direction.
    pub fn way(&self) -> &'static str {
        let stands = matches!(self.phase, Phase::Paused(_) | Phase::Held);
        if stands && self.direction == Direction::Back { "roll back " } else { "" }
    }

    /// Whether partition, selector and gates are in force: a rollout is recorded, even if it has not begun, and is not being handed back.
    pub fn has_plan(&self) -> bool {
        match self.phase {
            Phase::Releasing(_) => false,
            Phase::Loading | Phase::Unknown | Phase::Idle | Phase::Native => self.started_at.is_some(),
            Phase::Preparing | Phase::Held | Phase::Running | Phase::Paused(_) | Phase::Halted | Phase::Complete => {
                true
            }
        }
    }

    /// The plan in one line. It has no effect on the way back.
    pub fn plan_in_words(&self) -> String {
        match self.direction {
            Direction::Forward => match self.leaked_in_words() {
                None => self.plan.to_string(),
                Some(leaked) => format!("{}; {leaked}", self.plan),
            },
            Direction::Back => "a roll back goes to every node: partition, steps and selector do not count".to_owned(),
        }
    }

    /// How many nodes outside of the selector have the new revision: `3 of those updated are not selected`. Of those that are on their way to it, the first
    /// is named. The numbers add up with those of [`Self::progress`], where a node with an unavailable pod is not updated. `None` where there are none.
    pub fn leaked_in_words(&self) -> Option<String> {
        let (leaked, updated) = (self.counts.leaked, self.counts.leaked_updated);
        let which = self.leaking_in_words(leaked.saturating_sub(updated));
        match (leaked, updated) {
            (0, _) => None,
            (1, 1) => Some("1 of those updated is not selected".to_owned()),
            (leaked, updated) if leaked == updated => Some(format!("{leaked} of those updated are not selected")),
            (1, _) => Some(format!("1 not selected is on its way to it{which}")),
            (leaked, 0) => Some(format!("{leaked} not selected are on their way to it{which}")),
            (leaked, 1) => Some(format!("1 of those updated is not selected, {} more on the way{which}", leaked - 1)),
            (leaked, updated) => Some(format!(
                "{updated} of those updated are not selected, {} more on the way{which}",
                leaked - updated
            )),
        }
    }

    /// ` (n4 and 1 more)`: which of `nodes` outside of the selector are on their way to the new revision; empty where they are not seen.
    fn leaking_in_words(&self, nodes: u32) -> String {
        let is_updated = |node: &NodeView| node.state == NodeState::Updated && node.restarted.is_none();
        let on_its_way = |node: &&NodeView| node.eligible && node.at_target && !node.selected && !is_updated(node);
        let first = || self.nodes.iter().find(on_its_way).map(|node| &node.name);
        match (nodes, if nodes > 0 { first() } else { None }) {
            (_, None) => String::new(),
            (0 | 1, Some(name)) => format!(" ({name})"),
            (nodes, Some(name)) => format!(" ({name} and {} more)", nodes - 1),
        }
    }

    /// The budget, and once a rollout is recorded the pull slots with their users: `down 2 of 2: 2 ours, pull slots 1 of 2`.
    pub fn budget_and_slots(&self) -> String {
        if let Some(why) = self.budget_unknown_because() {
            return format!("not known: {why}");
        }
        let budget = &self.budget;
        let above = budget.limit_above_own().map(|above| format!("; {above}")).unwrap_or_default();
        let said = match self.started_at {
            Some(_) => format!("{budget}, {}", self.pull_slots_with_holders()),
            // A rollout is recorded and has not begun.
            None if self.has_plan() && !self.lacks_its_record() => {
                format!("{budget}, pull slots {}", budget.slots_in_words())
            }
            // Without a recorded rollout, the slots are those that one begins with.
            None if budget.max_pulling > 0 && self.daemonset == Presence::Present => {
                let by = if self.settings.budgets.max_pulling.is_default() { " by default" } else { "" };
                format!("{budget}, pull slots {}{by} once a rollout begins", budget.max_pulling)
            }
            None => budget.to_string(),
        };
        let paced = if self.settings.budgets.pace.is_fixed() { "" } else { ", pace auto" };
        said + paced + &above
    }

    /// `pull slots 2 of 2`; where pre-warming has another limit than the rollout, both: `pull slots 4 in use: updates up to 2, pre-warm up to 8`.
    pub fn pull_slots(&self) -> String {
        let (pulling, most) = (self.budget.pulling, self.budget.max_pulling);
        match self.prewarm_limit() {
            Some(limit) => format!("pull slots {pulling} in use: updates up to {most}, pre-warm up to {limit}"),
            None => format!("pull slots {pulling} of {most}"),
        }
    }

    /// The same with what holds them, as far as it is not an update that pulls: `pull slots 1 of 2 (1 fails)`.
    pub fn pull_slots_with_holders(&self) -> String {
        let budget = &self.budget;
        match self.prewarm_limit() {
            Some(limit) => {
                let (most, by) = (budget.max_pulling, budget.holders_of_slots());
                format!("pull slots {} in use{by}: updates up to {most}, pre-warm up to {limit}", budget.pulling)
            }
            None => format!("pull slots {}", budget.slots_in_words()),
        }
    }

    /// How many nodes may pull for pre-warming by pods, if that goes on and its limit differs from the rollout's.
    pub fn prewarm_limit(&self) -> Option<u32> {
        let view = self.prewarm.as_ref()?;
        let by_pods = view.request.method == PrewarmMethod::Pods && view.request.cancelled.is_none();
        let goes_on = by_pods && view.error.is_none() && view.counts.present < view.counts.nodes;
        (goes_on && view.limit != self.budget.max_pulling).then_some(view.limit)
    }

    /// Who paused the rollout, how long ago and why, even where it has halted as well: `paused by ops@bastion 3m ago: "the link is down"`.
    pub fn pause_in_words(&self) -> Option<String> {
        let words = |paused: &Paused| {
            let ago = ShortDuration(self.at.since(paused.at));
            format!("paused by {} {ago} ago{}", paused.by, reason_of_pause(paused))
        };
        match &self.phase {
            Phase::Paused(paused) => Some(words(paused)),
            _ => self.paused.as_ref().map(words),
        }
    }

    /// Whether somebody changed the update strategy back under the rollout.
    pub fn is_set_back(&self) -> bool {
        self.alarms.iter().any(|alarm| matches!(alarm, Alarm::StrategyDrifted { .. }))
    }

    /// Whether the DaemonSet's own controller goes on replacing pods although the rollout is paused or has halted: somebody changed the update strategy
    /// back, and not every pod is at the target, or the template is another one by now.
    pub fn goes_on_by_its_controller(&self) -> bool {
        let is_left = self.counts.committed < self.counts.nodes || self.template_of_others().is_some();
        matches!(self.phase, Phase::Paused(_) | Phase::Halted) && is_left && self.is_set_back()
    }

    /// What goes on beside a pause or a halt, to be put behind its words; empty where nothing does.
    pub fn beside_its_stop(&self) -> &'static str {
        if self.goes_on_by_its_controller() { "; its controller goes on replacing pods" } else { "" }
    }

    /// A wait in words, with its age or the time left: `rate: 20 deletions/s, 110 wait, 6s left`.
    pub fn waiting<'a>(&'a self, wait: &'a Wait) -> WaitingWords<'a> {
        WaitingWords(self.at, wait)
    }

    /// When the rollout to the present target began: with the record, or later under the same record, where an operator set another image or
    /// rolled back. A rollout forward did not begin before the target's revision was made, which counts where the record gives no later time.
    /// `None` if no rollout is recorded.
    pub fn target_began(&self) -> Option<Timestamp> {
        let made = self.to.as_ref().filter(|_| self.direction == Direction::Forward).and_then(|to| to.created_at);
        Some(self.started_at?.max(made.unwrap_or_default()).max(self.retargeted_at.unwrap_or_default()))
    }

    /// Whether a change is being rolled out: the target differs from the revision of some nodes.
    pub fn has_change(&self) -> bool {
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => from.hash != to.hash,
            _ => false,
        }
    }
}
