//! Why a rollout has to halt, as its gates judge what is seen. `act/halt.rs` carries the halt out; `report` shows the reason where no driver is there
//! to halt.

use std::collections::BTreeMap;

use super::Engine;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::model::config::Timing;
use crate::engine::model::driver::DriverView;
use crate::engine::model::quantity::{IntOrPercent, Rounding};
use crate::engine::model::record::size::clipped;
use crate::engine::model::record::{Direction, EXCEPTIONS_LIMIT, Halt, HaltingGate, Intent};
use crate::engine::model::time::Timestamp;

/// Why the rollout halts.
pub(crate) struct HaltReason {
    pub(crate) gate: HaltingGate,
    /// In words.
    pub(crate) why: String,
    /// The nodes concerned, in the order of the nodes; empty where the reason concerns the whole rollout.
    pub(crate) nodes: Vec<Str>,
    /// Whether another revision may help. It does not help where containers fail that no template names.
    pub(crate) other_helps: bool,
}

impl Engine {
    /// The gate whose halt stands.
    pub(crate) fn halting_gate(&self, intent: &Intent) -> Option<HaltingGate> {
        self.progress.halt.as_ref().filter(|_| self.is_halted(intent)).map(|halt| halt.gate)
    }

    /// Whether gates are asked: a rollout that goes back does not halt, nor does one that has no target yet or whose change is still to be made.
    pub(crate) fn may_halt(intent: &Intent) -> bool {
        intent.direction() == Direction::Forward && intent.target.is_some() && intent.change.is_none()
    }

    /// The halt that a driver would carry out at once, where no living driver is seen. Of several, the first in the order of the gates.
    pub(crate) fn halt_without_driver(&self, intent: &Intent, now: Timestamp) -> Option<HaltReason> {
        let driver = self.lock.view(now);
        let undriven = match driver {
            DriverView::Nobody | DriverView::Lost { .. } => true,
            DriverView::Unconfirmed { .. } => driver.is_silent(self.view.server_time(now), Timing::default().lease),
            // Where it is our turn to take the lease, we halt as soon as we have it.
            DriverView::Waiting { ref holder } => holder.is_none(),
            DriverView::Unknown | DriverView::You { .. } | DriverView::Other { .. } => false,
        };
        if !undriven || !Self::may_halt(intent) || self.is_halted(intent) {
            return None;
        }
        let stands = |reason: &HaltReason| reason.gate.halts_what_is_complete() || !self.is_complete(intent);
        self.reasons_to_halt(intent).into_iter().flatten().find(stands)
    }

    /// The halt that stands, with the nodes that fail now. Its driver writes the same into the record; where nobody drives, every process that sees
    /// the cluster tells what a driver would write, so that all of them count alike. While not all is seen: as it is recorded.
    pub(crate) fn halt_as_it_stands(&self, intent: &Intent) -> Option<Halt> {
        let halt = self.progress.halt.as_ref().filter(|_| self.is_halted(intent))?;
        let is_seen = self.blindness().is_none() && !self.catches_up();
        let asked =
            is_seen && Self::may_halt(intent) && (halt.gate.halts_what_is_complete() || !self.is_complete(intent));
        let reasons = asked.then(|| self.reasons_to_halt(intent)).into_iter().flatten().flatten();
        let now = reasons.into_iter().find(|reason| reason.gate == halt.gate && reason.nodes != halt.named());
        Some(match now {
            Some(reason) => Halt::new(halt.number, halt.gate, halt.at, clipped(&reason.why)).on(reason.nodes),
            None => halt.clone(),
        })
    }

    /// The verdict of each halting gate now, in the order of the gates. Gates on single nodes are carried out in `assess/rows/failure.rs`,
    /// `assess/rows/absence.rs` and `rules/suspects.rs`. `engine/tests/gates.rs` tests that each gate that halts is a [`HaltingGate`].
    pub(crate) fn reasons_to_halt(&self, intent: &Intent) -> [Option<HaltReason>; HaltingGate::ALL.len()] {
        HaltingGate::ALL.map(|gate| match gate {
            HaltingGate::FailureThreshold => self.too_many_failed(intent.gates.failure_threshold, intent),
        })
    }

    /// Whether an operator has accepted that this node failed. The record names the accepted nodes by the halt and by the operator's intent until a
    /// driver has taken them in.
    pub(crate) fn is_accepted(&self, node: &Str, intent: &Intent) -> bool {
        let at_halt = self.progress.failed_at_halt();
        let not_taken_in = !at_halt.is_empty() && !self.is_halted(intent);
        self.progress.acknowledged_failures.contains(node)
            || not_taken_in && (at_halt.contains(node) || intent.accepted.contains(node))
    }

    /// Halts once as many nodes as the threshold have failed at the new revision. Nodes past which an operator resumed are not counted.
    fn too_many_failed(&self, threshold: IntOrPercent, intent: &Intent) -> Option<HaltReason> {
        let mut failed: Vec<_> = self
            .assessment
            .rows()
            .filter(|row| self.has_failed(row) && !self.is_accepted(&self.name(row), intent))
            .collect();
        failed.sort_by_key(|row| self.natural_ranks().get(row.node));
        let threshold = threshold.of(self.assessment.desired, Rounding::Up).max(1);
        // A halt of this gate that stands keeps naming the nodes that are failed now, until none is.
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
}

/// The failures by cause, most frequent first: `image not found on 2 nodes, failed on 1 node`.
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
