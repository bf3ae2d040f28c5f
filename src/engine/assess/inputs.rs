//! The inputs on which the rows of all nodes depend, beside what was observed of each node.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::model::Str;
use crate::engine::model::labels::Selector;
use crate::engine::model::record::{Direction, Intent, Progress};
use crate::engine::model::settings::Gates;
use crate::engine::model::time::Timestamp;

/// The standing of nodes before a rollout has begun, as it will be once the rollout begins: a preview promises what a driver then does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BeforeBegin {
    /// The revision from which a rollout would come if it began now; `None` if a rollout has begun.
    pub(crate) origin: Option<Str>,
    /// Whether more pods of that revision have never served than its rollout was to take down at a time: the DaemonSet's own controller rolled it out,
    /// replaced every old pod, and is not done.
    pub(crate) is_unfinished: bool,
    /// Whether pods at the target soak already: rolldeck replaces pods, whatever the record says of that, and some of them are to be replaced.
    pub(crate) soaks: bool,
}

/// The inputs of an assessment of all nodes, beside what was observed of each node.
#[derive(Debug, PartialEq)]
pub(crate) struct Inputs {
    pub(crate) target: Option<Str>,
    pub(crate) direction: Direction,
    pub(crate) selector: Option<Selector>,
    pub(crate) gates: Gates,
    /// The soak time in this direction, in seconds.
    pub(crate) soak_secs: u32,
    pub(crate) down_before: BTreeMap<Str, Timestamp>,
    pub(crate) left_out_since: Option<Timestamp>,
    pub(crate) acknowledged_failures: BTreeSet<Str>,
    pub(crate) failed_at_halt: Vec<Str>,
    pub(crate) in_progress: BTreeSet<Str>,
    /// The nodes that are recorded as down since their update.
    pub(crate) suspects: BTreeSet<Str>,
    pub(crate) origin: Option<Str>,
    pub(crate) before_begin: BeforeBegin,
    pub(crate) started_at: Option<Timestamp>,
    /// When the rollout to the present target began (`GateMarks::began`).
    pub(crate) began: Option<Timestamp>,
}

impl Inputs {
    /// Whether an assessment that is made now would depend on the same inputs.
    pub(crate) fn is_of(
        &self,
        target: Option<&Str>,
        intent: &Intent,
        progress: &Progress,
        before_begin: &BeforeBegin,
    ) -> bool {
        let Self {
            target: target_then,
            direction,
            selector,
            gates,
            soak_secs,
            down_before,
            left_out_since,
            acknowledged_failures,
            failed_at_halt,
            in_progress,
            suspects,
            origin,
            before_begin: before_begin_then,
            started_at,
            began,
        } = self;
        target_then.as_ref() == target
            && *direction == intent.direction()
            && *selector == intent.selector
            && *gates == intent.gates
            && *soak_secs == intent.soak_secs()
            && *down_before == progress.down_before
            && *left_out_since == progress.left_out_since
            && *acknowledged_failures == progress.acknowledged_failures
            && *failed_at_halt == progress.failed_at_halt()
            && *in_progress == progress.in_progress
            && suspects.iter().eq(progress.suspects.keys())
            && *origin == progress.origin
            && before_begin_then == before_begin
            && *started_at == progress.started_at
            && *began == progress.marks.began()
    }

    /// All fields of the record are named. A row cannot read a field that is not taken in here.
    pub(crate) fn of(target: Option<&Str>, intent: &Intent, progress: &Progress, before_begin: &BeforeBegin) -> Self {
        let Intent {
            selector,
            gates,
            // The direction is judged by these fields; the target that counts is the parameter `target`.
            target: _,
            back_to: _,
            // Used by the plan, which is made anew with every assessment, or by writes.
            change: _,
            requested_change: _,
            outcome: _,
            steps: _,
            partition: _,
            updated_in_total: _,
            paused: _,
            budgets: _,
            finish: _,
            releasing: _,
            release_of: _,
            handover: _,
            acknowledged_halt: _,
            accepted: _,
            on_drift: _,
            order: _,
            prewarm: _,
            begun_anew: _,
        } = intent;
        let Progress {
            started_at,
            origin,
            down_before,
            left_out_since,
            in_progress,
            acknowledged_failures,
            // Of the halt, only the nodes that had failed are taken in.
            halt: _,
            suspects,
            // Judged once all rows are assessed.
            others_down: _,
            // The view is told of it, and the rows read the view.
            evicted: _,
            marks,
            // The rollout's target is the parameter.
            target: _,
            // About the DaemonSet, its controller and the driver, or about deletions.
            adopted: _,
            drifted: _,
            drifts: _,
            refused: _,
            refused_write: _,
            tried: _,
            idle_since: _,
            driver: _,
            driver_stopped: _,
            completed: _,
            original_strategy: _,
        } = progress;
        Self {
            target: target.cloned(),
            direction: intent.direction(),
            selector: selector.clone(),
            gates: *gates,
            soak_secs: intent.soak_secs(),
            down_before: down_before.clone(),
            left_out_since: *left_out_since,
            acknowledged_failures: acknowledged_failures.clone(),
            failed_at_halt: progress.failed_at_halt().to_vec(),
            in_progress: in_progress.clone(),
            suspects: suspects.keys().cloned().collect(),
            origin: origin.clone(),
            before_begin: before_begin.clone(),
            started_at: *started_at,
            began: marks.began(),
        }
    }

    /// Whether the driver that halted saw this node fail, as [`Progress::has_failed`].
    pub(crate) fn has_failed(&self, node: &Str) -> bool {
        self.failed_at_halt.contains(node) || self.acknowledged_failures.contains(node)
    }
}
