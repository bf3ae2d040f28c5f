//! What the rows of all nodes depend on, beside what was observed of each.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::model::Str;
use crate::engine::model::labels::Selector;
use crate::engine::model::record::{Direction, Intent, Progress};
use crate::engine::model::settings::Gates;
use crate::engine::model::time::Timestamp;

/// What an assessment of all nodes depends on, beside what was observed of each.
#[derive(Debug, PartialEq)]
pub(crate) struct Inputs {
    target: Option<Str>,
    direction: Direction,
    selector: Option<Selector>,
    gates: Gates,
    down_before: BTreeMap<Str, Timestamp>,
    left_out_since: Option<Timestamp>,
    acknowledged_failures: BTreeSet<Str>,
    halted_on: Vec<Str>,
    in_progress: BTreeSet<Str>,
    origin: Option<Str>,
    started_at: Option<Timestamp>,
}

impl Inputs {
    /// Whether this is what an assessment would depend on now.
    pub(crate) fn is_of(&self, target: Option<&Str>, intent: &Intent, progress: &Progress) -> bool {
        self.target.as_ref() == target
            && self.direction == intent.direction()
            && self.selector == intent.selector
            && self.gates == intent.gates
            && self.down_before == progress.down_before
            && self.left_out_since == progress.left_out_since
            && self.acknowledged_failures == progress.acknowledged_failures
            && self.halted_on == progress.halted_on()
            && self.in_progress == progress.in_progress
            && self.origin == progress.origin
            && self.started_at == progress.started_at
    }

    pub(crate) fn of(target: Option<&Str>, intent: &Intent, progress: &Progress) -> Self {
        Self {
            target: target.cloned(),
            direction: intent.direction(),
            selector: intent.selector.clone(),
            gates: intent.gates,
            down_before: progress.down_before.clone(),
            left_out_since: progress.left_out_since,
            acknowledged_failures: progress.acknowledged_failures.clone(),
            halted_on: progress.halted_on().to_vec(),
            in_progress: progress.in_progress.clone(),
            origin: progress.origin.clone(),
            started_at: progress.started_at,
        }
    }
}
