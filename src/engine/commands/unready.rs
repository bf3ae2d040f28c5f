//! The lines of a preview about nodes that are down already: their names, and when those whose turn it is are updated.

use super::allowance::counted_are;
use crate::engine::assess::plan::{Limits, budget, costs_nothing, is_charged};
use crate::engine::assess::rows::{Assessment, Row, lost_readiness};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::budget::{FAILS_ON_MORE, well_again};
use crate::engine::model::first_names::first_names;
use crate::engine::model::node::{Blame, NodeState, RestartsView};
use crate::engine::model::record::Direction;
use crate::engine::model::time::ShortDuration;

impl Engine {
    /// `at most 2 down at a time`. If as many nodes are down already, the text names those of `nodes` that are down themselves and go
    /// at once, and says what the others wait for.
    pub(super) fn pace_in_words(&self, limits: &Limits, nodes: &[Str]) -> String {
        self.pace_as_assessed(&self.assessment, limits, nodes, None)
    }

    /// [`Self::pace_in_words`] of nodes that a command lets go. While the rollout is paused they wait for a resume, and it is not known which nodes are down
    /// by then.
    pub(super) fn pace_once_let_go(&self, limits: &Limits, nodes: &[Str]) -> String {
        match self.intent().paused {
            Some(_) => self.pace_of_updates(limits),
            None => self.pace_in_words(limits, nodes),
        }
    }

    /// [`Self::pace_in_words`] with the nodes as `assessment` has them, as they will be once the command is given. `proven_after`: for how long one of those
    /// that are down has to stay up then, because no node shows yet that the revision works.
    pub(super) fn pace_as_assessed(
        &self,
        assessment: &Assessment,
        limits: &Limits,
        nodes: &[Str],
        proven_after: Option<ShortDuration>,
    ) -> String {
        let strict = self.intent().budgets.strict;
        let most = limits.max_unavailable;
        let budget = budget(assessment, limits, strict);
        let charged = budget.charged;
        if charged < most || limits.lacks_budget {
            return self.pace_of_updates(limits);
        }
        let at_once = self.down_already(assessment, nodes, strict);
        let named = first_names(at_once.iter().map(|name| &***name));
        let (it_is, it_waits) = if at_once.len() == 1 { ("it is", "it waits") } else { ("they are", "they wait") };
        if !at_once.is_empty() && at_once.len() == nodes.len() {
            return format!("and {it_is} down already ({named}), so that {it_waits} for no other node");
        }
        let (wait, others) = match at_once.len() {
            0 if nodes.len() == 1 => ("and waits".to_owned(), "It moves"),
            0 => ("and wait".to_owned(), "They move"),
            1 => (format!("and {named} goes at once, the others wait"), "These move"),
            2..4 => (format!("and {named} go at once, the others wait"), "These move"),
            all => (format!("and {all} ({named}) go at once, the others wait"), "These move"),
        };
        let soaking = budget.soaking_in_words();
        let which: Vec<String> = self.down_in_words(assessment, strict).into_iter().chain(soaking).collect();
        let which = if which.is_empty() { String::new() } else { format!(" ({})", which.join("; ")) };
        let forward = limits.direction == Direction::Forward;
        // The same hint as that of the alarm for a budget that is used up. On the way back a larger budget helps: what failed is not what comes next.
        let or = match self.failed_and_down() {
            failed if failed > 0 && forward => format!(". {FAILS_ON_MORE}"),
            // Whatever the budget, nothing that serves goes before that pod has stayed up.
            _ if forward && self.restarts_speak(assessment) => String::new(),
            _ => ", or with a larger budget".to_owned(),
        };
        let more = (charged + 1).saturating_sub(most);
        if forward && at_once.is_empty() && self.all_are_being_updated(assessment, strict) {
            let are = counted_are(charged as usize);
            let once = if more > 1 { format!("{more} of those are updated") } else { "one of those is updated".into() };
            return format!(
                "{wait}: {are} being updated{which}, and {most} may be down at once. {others} once {once}{or}"
            );
        }
        let are_down = match (budget.soaking, charged) {
            (0, _) => format!("{} down", counted_are(charged as usize)),
            // They serve: nobody is to take them for an outage.
            (_, 1) => "1 node counts as down".to_owned(),
            _ => format!("{charged} nodes count as down"),
        };
        let proof = proven_after.filter(|_| self.waits_for_the_budget(assessment, limits, nodes)).map(|stays_up| {
            let one = if more > 1 { ", and one of them" } else { " and" };
            format!("{one} has stayed up for {stays_up} (no node shows now that this revision works)")
        });
        let once = well_again(more) + &proof.unwrap_or_default();
        format!("{wait}: {are_down} already{which}, and {most} may be. {others} once {once}{or}")
    }

    /// Whether the budget is used up, and all of `nodes` that wait for it are pods that serve.
    pub(super) fn waits_for_the_budget(&self, assessment: &Assessment, limits: &Limits, nodes: &[Str]) -> bool {
        let strict = self.intent().budgets.strict;
        if limits.lacks_budget || budget(assessment, limits, strict).charged < limits.max_unavailable {
            return false;
        }
        let row = |name: &Str| self.view.node(name).and_then(|node| assessment.row(node));
        let at_once = self.down_already(assessment, nodes, strict);
        let mut wait = nodes.iter().filter(|name| !at_once.contains(name)).peekable();
        wait.peek().is_some() && wait.all(|name| row(name).is_some_and(|row| row.ready))
    }

    /// Whether a pod at the target restarted, or its pods were evicted, so often that no serving pod is replaced.
    fn restarts_speak(&self, assessment: &Assessment) -> bool {
        let speaks = |row: &Row| row.restarted.as_deref().copied().is_some_and(RestartsView::speaks_against_revision);
        assessment.rows().any(|row| row.in_fleet && row.state != NodeState::Failed && speaks(row))
    }

    /// Whether what uses the budget are updates in their ordinary course: no pod failed, restarts, is in trouble or lost its readiness.
    fn all_are_being_updated(&self, assessment: &Assessment, strict: bool) -> bool {
        let in_trouble = |row: &Row| {
            let cause = row.cause.as_ref().is_some_and(|cause| !cause.kind.is_ordinary_at_start());
            cause || row.restarted.is_some() || row.crash_loop.is_some() || row.state == NodeState::PullFailed
        };
        let is_updated = |row: &Row| {
            let pod = row.pod.and_then(|pod| self.view.pod(pod));
            row.state.is_moving() && !lost_readiness(row.state, pod) && !in_trouble(row)
        };
        let mut charged = assessment.rows().filter(|row| row.in_fleet && is_charged(row, strict));
        charged.all(|row| row.blame == Some(Blame::Rollout) && is_updated(row))
    }

    /// Those of `nodes` that go although the budget is used up, because they are down and count against it already.
    fn down_already<'a>(&self, assessment: &Assessment, nodes: &'a [Str], strict: bool) -> Vec<&'a Str> {
        let row = |name: &&Str| self.view.node(name).and_then(|node| assessment.row(node));
        nodes.iter().filter(|name| row(name).is_some_and(|row| costs_nothing(row, strict))).collect()
    }

    /// `ipc-3 is not available by itself: it goes before the others.`, for those of `nodes` that are about to
    /// go. The order is that of `assess/plan.rs`.
    pub(super) fn unready_in_words(&self, nodes: &[Str]) -> Option<String> {
        let by_itself = |row: &Row| !row.available && row.blame.is_some_and(|blame| blame != Blame::Rollout);
        let row = |name: &&Str| self.view.node(name).and_then(|node| self.assessment.row(node));
        let unready: Vec<&Str> = nodes.iter().filter(|name| row(name).is_some_and(by_itself)).collect();
        if unready.is_empty() || unready.len() == nodes.len() {
            return None;
        }
        let named = first_names(unready.iter().map(|name| &***name));
        let (are, they) = if unready.len() == 1 { ("is", "it goes") } else { ("are", "they go") };
        let proven = self.assessment.rows().any(Row::is_settled) || self.intent().direction() == Direction::Back;
        let when = match proven {
            true => "before the others",
            false => "once a node that serves is updated and well, and then before the others",
        };
        Some(format!("{named} {are} not available as it is: {they} {when}."))
    }

    /// `ipc-1, ipc-2, …`: nodes of the fleet that count against the budget; `None` if there are none.
    fn down_in_words(&self, assessment: &Assessment, strict: bool) -> Option<String> {
        let charged = |row: &&Row| row.in_fleet && is_charged(row, strict);
        let mut down: Vec<&Row> = assessment.rows().filter(charged).collect();
        down.sort_by_key(|row| self.natural_ranks().get(row.node));
        (!down.is_empty()).then(|| first_names(down.iter().map(|row| &*self.view.entry(row.node).name)))
    }
}
