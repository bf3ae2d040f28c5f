//! Halts the rollout, or goes back, when a gate has a reason to (`machine/halting.rs`).

use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::machine::halting::HaltReason;
use crate::engine::machine::placement::Placement;
use crate::engine::model::Str;
use crate::engine::model::quantity::counted;
use crate::engine::model::record::size::clipped;
use crate::engine::model::record::{Halt, HaltingGate, Intent};
use crate::engine::model::rollout_event::{RolloutEventKind, Visibility};
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;

impl Engine {
    /// Halts the rollout, or goes back, if a gate has a reason to.
    pub(super) fn halt_at_a_gate(&mut self, intent: &Intent, now: Timestamp) {
        self.go_on_past_halt(intent, now);
        self.keep_time_of_gates(intent, now);
        // What was seen last may be over: a pod became ready, a node came back. While not all is seen nothing is started either.
        if !Self::may_halt(intent) || self.blindness().is_some() || self.catches_up() {
            return;
        }
        for reason in self.reasons_to_halt(intent).into_iter().flatten() {
            if !reason.gate.halts_what_is_complete() && self.is_complete(intent) {
                continue;
            }
            match self.halting_gate(intent) {
                Some(gate) if gate == reason.gate => self.halt_names(reason),
                Some(gate) if gate.is_grave() || !reason.gate.is_grave() => {}
                // This halt may lead to a roll back, so that no further gate is asked now.
                Some(_) | None => return self.halt(reason, intent, now),
            }
        }
    }

    /// Accepts what is behind a halt after an operator has resumed past it; otherwise the same would halt the rollout again at once. The record
    /// names only the gate that halted last, and other gates may have halted before it, so that every gate accepts what there is to accept.
    fn go_on_past_halt(&mut self, intent: &Intent, now: Timestamp) {
        if self.progress.halt.as_ref().is_none_or(|halt| halt.number > intent.acknowledged_halt) {
            return;
        }
        for gate in HaltingGate::ALL {
            self.accept_halt_of(gate, intent, now);
        }
    }

    /// Replaces the nodes that the present halt names, if other nodes fail now.
    fn halt_names(&mut self, reason: HaltReason) {
        let Some(halt) = self.progress.halt.as_mut() else { return };
        let reason = reason.after(halt);
        if halt.named() != reason.nodes {
            halt.why = clipped(&reason.why);
            halt.set_named(reason.nodes);
        }
    }

    /// Halts the rollout, and then goes back if `on-failure` says so.
    fn halt(&mut self, reason: HaltReason, intent: &Intent, now: Timestamp) {
        // A paused rollout does not go back by itself: that waits until an operator resumes. What was just seen may have paused it.
        let is_paused = intent.paused.is_some() || self.intent().paused.is_some();
        let goes_back = reason.gate.goes_back(&intent.gates) && !is_paused;
        let before = self.revision_before(intent).filter(|_| reason.nothing_else_helps.is_none());
        let why = clipped(&reason.why).to_string();
        let stays = match (&before, reason.nothing_else_helps) {
            (None, Some(nothing)) => Some(nothing.in_words().to_owned()),
            (None, None) => Some("it leads to where it came from, so that there is nothing to roll back to".to_owned()),
            (Some(before), _) => self
                .most_run_another(before, intent)
                .or_else(|| self.view.revision(before).and_then(|before| self.moves_pods_at_once(&before.template))),
        };
        let before = before.filter(|_| stays.is_none());
        let why = stays.filter(|_| goes_back).map_or(why.clone(), |stays| format!("{why}; {stays}"));
        let number = self.progress.halt.as_ref().map_or(0, |halt| halt.number).max(intent.acknowledged_halt) + 1;
        self.tell_halted(number, &why, &reason.nodes);
        self.progress.halt = Some(Halt::new(number, reason.gate, now, why.into()).on(reason.nodes));
        if let Some(from) = before.filter(|_| goes_back) {
            let to = self.view.number_of(&from);
            self.happened(RolloutEventKind::RollingBack { to }, Visibility::Cluster);
            let id = self.new_change_id(self.edits.next_serial(), now);
            self.edit(None, Edit::GoBack { to: from, failed: intent.target.clone(), id });
        }
    }

    /// Why the rollout does not go back to the revision that it came from by itself: more nodes run another one, to which it had led before its target was
    /// changed. Going back would take from them what works. An operator who asks for it says where to.
    fn most_run_another(&self, before: &Str, intent: &Intent) -> Option<String> {
        let most = self.majority_revision(intent.target.as_ref()).filter(|most| most != before)?;
        let (run, left) = (self.at_revision(&most), self.at_revision(before));
        (run > left).then(|| {
            format!(
                "it does not go back by itself to revision {}, where it came from: revision {} is on {}, and that one on {left}",
                self.view.number_of(before),
                self.view.number_of(&most),
                counted(run as usize, "node")
            )
        })
    }

    /// Why the rollout does not go back to this template by itself: its placement is another one, which the controller applies to all nodes at once, without
    /// a budget. An operator who asks for it is told on which nodes.
    fn moves_pods_at_once(&self, template: &Template) -> Option<String> {
        let Placement { gains, loses, keeps: _ } = self.placement_put_back(template);
        let deletes = (!loses.is_empty()).then(|| format!("delete the pods of {}", counted(loses.len(), "node")));
        let makes = (!gains.is_empty()).then(|| format!("make pods on {}", counted(gains.len(), "node")));
        let both: Vec<String> = deletes.into_iter().chain(makes).collect();
        (!both.is_empty()).then(|| {
            format!("it does not go back by itself, as that would {} at once, without a budget: see the preview of a roll back", both.join(" and "))
        })
    }

    /// The revision to which the rollout leads. If a change is asked for and the DaemonSet already has the wanted template, this is the
    /// revision of that template, even before it is noted as the target. If a change is asked for and not made yet, this is the target.
    /// Without a change it is the target, or the revision of the template if there is no target yet.
    fn revision_led_to<'a>(&'a self, intent: &'a Intent) -> Option<&'a Str> {
        let has = |wanted: &Template| self.view.daemonset().is_some_and(|daemonset| daemonset.template == *wanted);
        let current = self.view.current();
        match &intent.change {
            Some(change) if self.view.template_with(change).is_ok_and(|wanted| has(&wanted)) => current,
            Some(_) => intent.target.as_ref(),
            None => intent.target.as_ref().or(current),
        }
    }

    /// The revision that the rollout came from, to which a roll back leads. `None` if the rollout itself leads to that revision: then that
    /// revision is the one that fails, and no other revision is known to work.
    pub(crate) fn revision_before(&self, intent: &Intent) -> Option<Str> {
        match &self.progress.origin {
            Some(origin) => Some(origin.clone()).filter(|origin| Some(origin) != intent.target.as_ref()),
            None => self.majority_revision(self.revision_led_to(intent)),
        }
    }
}
