//! `failure-threshold`: too many nodes failed.

use std::collections::BTreeMap;

use super::{HaltReason, HaltingRule};
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::halting_gate::NothingElseHelps;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::record::{EXCEPTIONS_LIMIT, Halt, HaltingGate, Intent};
use crate::engine::model::settings::Tuning;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::injected::cause_in_words;

pub(super) struct FailureThreshold;

impl HaltingRule for FailureThreshold {
    /// As many nodes as the threshold have failed at the new revision. Nodes past which an operator resumed are not counted.
    fn reason(&self, engine: &Engine, intent: &Intent) -> Option<HaltReason> {
        let mut failed: Vec<_> = engine
            .assessment
            .rows()
            .filter(|row| engine.has_failed(row) && !engine.is_accepted(&engine.name(row), intent))
            .collect();
        failed.sort_by_key(|row| engine.natural_ranks().get(row.node));
        let threshold = engine.failures_to_halt(intent);
        // A halt of this gate that stands keeps naming the nodes that are failed now, until none is.
        let stands = engine.halting_gate(intent) == Some(HaltingGate::FailureThreshold) && !failed.is_empty();
        if u32::try_from(failed.len()).unwrap_or(u32::MAX) < threshold && !stands {
            return None;
        }
        let nodes = failed.iter().take(EXCEPTIONS_LIMIT).map(|row| engine.name(row)).collect();
        let why = failure_words(&failed, |row| {
            engine.suspect_words(row).or_else(|| Some(cause_in_words(row.cause.as_ref()?, engine.injected(row))))
        });
        let of_revision = failed.iter().filter(|row| !engine.fails_only_by_injected_containers(row)).count();
        let too_few = u32::try_from(of_revision).unwrap_or(u32::MAX) < threshold;
        let nothing_else_helps = too_few.then_some(NothingElseHelps::NotInTheTemplate);
        Some(HaltReason { gate: HaltingGate::FailureThreshold, why, nodes, nothing_else_helps })
    }

    /// Accepts the nodes that had failed at the halt and the nodes that the operator saw fail after it: none of them halts the rollout
    /// again.
    fn accept(&self, engine: &mut Engine, intent: &Intent, now: Timestamp) {
        let mut accepted = engine.progress.halt.as_mut().map(Halt::take_failed).unwrap_or_default();
        if accepted.is_empty() {
            return;
        }
        accepted.extend(intent.accepted.iter().cloned());
        // Nodes that went down until now are accepted as well: they are not compared any more.
        engine.progress.marks.compare_since(engine.view.server_time(now));
        engine.progress.suspects.retain(|name, _| !accepted.contains(name));
        engine.progress.acknowledged_failures.extend(accepted);
    }

    // It has no clock: nodes that have failed count whenever that was and whoever drove, so that these two have nothing to keep.
    fn keep_time(&self, _: &mut Engine, _: &Intent, _: Timestamp) {}

    fn driver_changes(&self, _: &mut Engine, _: Timestamp) {}

    fn halts_when(&self, engine: &Engine, after: &Intent, at_once: &str) -> String {
        let threshold = engine.failures_to_halt(after);
        let failed = engine.assessment.rows().filter(|row| engine.has_failed(row)).map(|row| engine.name(row));
        let (accepted, counted): (Vec<_>, Vec<_>) = failed.partition(|node| engine.is_accepted(node, after));
        let have = match counted.len() {
            0 => "No node has".to_owned(),
            1 => "1 node has".to_owned(),
            counted => format!("{counted} nodes have"),
        };
        let besides = match accepted.len() {
            0 => String::new(),
            accepted => format!(", besides {accepted} that somebody accepted"),
        };
        match counted.len() as u64 >= u64::from(threshold) {
            true => format!("{have} failed by now{besides}: {at_once}."),
            false => format!("{have} failed by now{besides}; it halts at {threshold}."),
        }
    }

    /// So many nodes cannot fail.
    fn never_halts(&self, engine: &Engine, tuning: &Tuning) -> Option<String> {
        let threshold = tuning.failure_threshold?;
        let (desired, at) = (engine.assessment.desired, threshold.of(engine.assessment.desired, Rounding::Up));
        (at > desired && desired > 0).then(|| {
            format!("The failure threshold {threshold} is more than the {desired} nodes that there are: it never halts the rollout.")
        })
    }
}

impl Engine {
    /// How many failed nodes halt the rollout.
    fn failures_to_halt(&self, intent: &Intent) -> u32 {
        intent.gates.failure_threshold.of(self.assessment.desired, Rounding::Up).max(1)
    }

    /// Whether an operator has accepted that this node failed. The record names the accepted nodes by the halt and by the operator's intent until a
    /// driver has taken them in.
    pub(crate) fn is_accepted(&self, node: &Str, intent: &Intent) -> bool {
        let at_halt = self.progress.failed_at_halt();
        let not_taken_in = !at_halt.is_empty() && !self.is_halted(intent);
        self.progress.acknowledged_failures.contains(node)
            || not_taken_in && (at_halt.contains(node) || intent.accepted.contains(node))
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
