//! Halts the rollout, or goes back, when too many nodes failed at the new revision.

use std::collections::BTreeMap;

use crate::engine::assess::rows::Row;
use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::quantity::{IntOrPercent, Rounding};
use crate::engine::model::record::size::clipped;
use crate::engine::model::record::{Direction, EXCEPTIONS_LIMIT, Halt, HaltingGate, Intent};
use crate::engine::model::rollout_event::{RolloutEventKind, Visibility};
use crate::engine::model::settings::Gates;
use crate::engine::model::time::Timestamp;

/// Why the rollout halts.
struct HaltReason {
    gate: HaltingGate,
    /// In words.
    why: String,
    /// Where, in the order of the nodes; empty where it is about the whole rollout.
    nodes: Vec<Str>,
    /// Whether another revision may help: it does not where containers fail that no template names.
    other_helps: bool,
}

impl Engine {
    /// Halts, or goes back, where a gate says so.
    pub(super) fn halt_on_failure(&mut self, intent: &Intent, now: Timestamp) {
        self.go_on_past_halt(intent, now);
        if intent.direction() == Direction::Back || intent.target.is_none() || intent.change.is_some() {
            return;
        }
        for reason in self.reasons_to_halt(intent).into_iter().flatten() {
            if !reason.gate.halts_what_is_complete() && self.is_complete(intent) {
                continue;
            }
            match self.halting_gate(intent) {
                Some(gate) if gate == reason.gate => self.halt_names(reason),
                Some(gate) if gate.is_grave() || !reason.gate.is_grave() => {}
                // It may go back by it, so no other gate is asked now.
                Some(_) | None => return self.halt(reason, intent, now),
            }
        }
    }

    /// The gate whose halt stands.
    fn halting_gate(&self, intent: &Intent) -> Option<HaltingGate> {
        self.progress.halt.as_ref().filter(|_| self.is_halted(intent)).map(|halt| halt.gate)
    }

    /// What each gate that halts has to say now. All gates are named: one that halts is a [`HaltingGate`] and is asked here, in its order.
    fn reasons_to_halt(&self, intent: &Intent) -> [Option<HaltReason>; HaltingGate::ALL.len()] {
        // Gates on single nodes are carried out in `assess/rows/failure.rs`, `assess/rows/absence.rs` and `rules/suspects.rs`.
        let Gates {
            failure_threshold,
            on_failure: _,
            progress_deadline_secs: _,
            max_restarts: _,
            soak_secs: _,
            suspect_grace_secs: _,
            require_image: _,
        } = intent.gates;
        HaltingGate::ALL.map(|gate| match gate {
            HaltingGate::FailureThreshold => self.too_many_failed(failure_threshold, intent),
        })
    }

    /// Nodes failed at the new revision, as many as the threshold says, leaving out those that an operator resumed past.
    fn too_many_failed(&self, threshold: IntOrPercent, intent: &Intent) -> Option<HaltReason> {
        let acknowledged_failures = &self.progress.acknowledged_failures;
        let failed: Vec<_> = self
            .assessment
            .rows()
            .filter(|row| self.has_failed(row) && !acknowledged_failures.contains(&self.name(row)))
            .collect();
        let threshold = threshold.of(self.assessment.desired, Rounding::Up).max(1);
        // As long as any node is failed, its own halt, if that stands, keeps naming the nodes that are failed now.
        let stands = match self.halting_gate(intent) {
            Some(HaltingGate::FailureThreshold) => !failed.is_empty(),
            None => false,
        };
        if u32::try_from(failed.len()).unwrap_or(u32::MAX) < threshold && !stands {
            return None;
        }
        let nodes = failed.iter().take(EXCEPTIONS_LIMIT).map(|row| self.name(row)).collect();
        let why = failure_words(&failed, |row| {
            self.suspect_words(row).or_else(|| Some(self.cause_in_words(row, row.cause.as_ref()?)))
        });
        let of_revision = failed.iter().filter(|row| !self.fails_of_injected(row)).count();
        let other_helps = u32::try_from(of_revision).unwrap_or(u32::MAX) >= threshold;
        Some(HaltReason { gate: HaltingGate::FailureThreshold, why, nodes, other_helps })
    }

    /// After an operator resumed past the halt: what halted it is accepted, or it would halt again at once. The record names the gate
    /// that halted last, and others may have halted before it; and this is called again and again. So each gate accepts what there is to
    /// accept, once.
    fn go_on_past_halt(&mut self, intent: &Intent, now: Timestamp) {
        if self.progress.halt.as_ref().is_none_or(|halt| halt.number > intent.acknowledged_halt) {
            return;
        }
        for gate in HaltingGate::ALL {
            match gate {
                HaltingGate::FailureThreshold => self.accept_failures(intent, now),
            }
        }
    }

    /// The nodes that had failed at the halt do not halt it again, and neither do those that the operator saw fail after it.
    fn accept_failures(&mut self, intent: &Intent, now: Timestamp) {
        let mut accepted = self.progress.halt.as_mut().map(Halt::take_failed).unwrap_or_default();
        if accepted.is_empty() {
            return;
        }
        accepted.extend(intent.accepted.iter().cloned());
        // Nodes that went down until now are accepted as well: they are not compared any more.
        self.progress.compared_since = Some(self.view.server_time(now));
        self.progress.suspects.retain(|name, _| !accepted.contains(name));
        self.progress.acknowledged_failures.extend(accepted);
    }

    /// The halt that stands names other nodes now.
    fn halt_names(&mut self, reason: HaltReason) {
        let why = clipped(&reason.why).to_string();
        if let Some(halt) = self.progress.halt.as_mut().filter(|halt| halt.named() != reason.nodes) {
            halt.why = why.into();
            halt.set_named(reason.nodes);
        }
    }

    /// Halts; goes back then where `on-failure` says so.
    fn halt(&mut self, reason: HaltReason, intent: &Intent, now: Timestamp) {
        // While it is paused nothing goes back by itself: that waits until an operator resumes.
        let goes_back = reason.gate.goes_back(&intent.gates) && intent.paused.is_none();
        let before = self.revision_before(intent).filter(|_| reason.other_helps);
        let why = clipped(&reason.why).to_string();
        let why = match before {
            None if goes_back && !reason.other_helps => {
                format!(
                    "{why}; pods of every revision get what is not in the template, so that a roll back does not help"
                )
            }
            None if goes_back => {
                format!("{why}; it leads to where it came from, so that there is nothing to roll back to")
            }
            _ => why,
        };
        let number = self.progress.halt.as_ref().map_or(0, |halt| halt.number).max(intent.acknowledged_halt) + 1;
        self.tell_halted(number, &why, &reason.nodes);
        self.progress.halt = Some(Halt::new(number, reason.gate, now, why.into()).on(reason.nodes));
        if let Some(from) = before.filter(|_| goes_back) {
            self.happened(RolloutEventKind::RollingBack { to: from.clone() }, Visibility::Cluster);
            let id = self.new_change_id(self.edits.next_serial(), now);
            self.edit(None, Edit::GoBack { to: from, failed: intent.target.clone(), id });
        }
    }

    /// The revision that the rollout came from, to which a roll back leads. `None` if the rollout itself leads to that
    /// revision: then it is the one that fails, and of no other revision is it known that it works.
    pub(crate) fn revision_before(&self, intent: &Intent) -> Option<Str> {
        match &self.progress.origin {
            Some(origin) => Some(origin.clone()).filter(|origin| Some(origin) != intent.target.as_ref()),
            None => self.majority_revision(intent.target.as_ref()),
        }
    }
}

/// What failed and where, most frequent cause first: `image not found on ipc-017, ipc-018 and 3 more`.
fn failure_words(failed: &[&Row], of: impl Fn(&Row) -> Option<String>) -> String {
    let mut causes: BTreeMap<String, u32> = BTreeMap::new();
    for row in failed {
        let words = of(row).unwrap_or_else(|| "failed".to_owned());
        *causes.entry(words).or_default() += 1;
    }
    let mut causes: Vec<(String, u32)> = causes.into_iter().collect();
    causes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let words: Vec<String> = causes
        .into_iter()
        .map(
            |(words, count)| {
                if count == 1 { format!("{words} on 1 node") } else { format!("{words} on {count} nodes") }
            },
        )
        .collect();
    words.join(", ")
}
