//! Marks of gates in the progress of a rollout: since when a gate counts, and what an operator resumed past.

use serde::{Deserialize, Serialize};

use crate::engine::model::settings::Gates;
use crate::engine::model::time::Timestamp;

/// Clocks and marks of gates. This type answers every question about them, so that a new gate with its own clock changes no other
/// file of the record.
///
/// Instants are by the API server's clock, because the next driver has another local clock. A mark is an instant or a number
/// (`Copy`), so that the record does not grow with the fleet. Data that names nodes, or that rows read, is a field of `Progress`
/// instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GateMarks {
    /// Nodes that went down before this instant are not compared: an operator accepted them, or they belong to an earlier rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_since: Option<Timestamp>,
    /// When the rollout to the present target began. The record's age does not tell this, as it may cover several rollouts, nor does
    /// the revision's, as it may be an old one.
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<Timestamp>,
}

impl GateMarks {
    /// Whether no mark is set.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Begins a new rollout at `at`, by the API server's clock: a change of the template is made, or the first deletion under a record
    /// is next, or a resume accepts somebody else's template after that. Where a rollout leads to the target that it had before, it is not called, and
    /// the marks stay.
    pub(crate) fn begin(&mut self, at: Timestamp) {
        let Self { compared_since, began } = self;
        (*compared_since, *began) = (Some(at), Some(at));
    }

    /// The rollout is complete, and its record is kept (`finish=keep`): clocks that run only during the rollout stop here. It is not called while a release
    /// has to wait, though every node is updated then, too.
    pub(crate) fn complete(&mut self) {
        // Both marks stay, because nodes also go down after the last update.
        let Self { compared_since: _, began: _ } = self;
    }

    /// When a gate strikes merely because time has passed, by the API server's clock; `None`: none of these marks is a clock that runs
    /// out, or its gate is off. An instant in the past does no harm: `wake_at` drops it. It is asked from the marks alone, so a mark is the real
    /// beginning, and not one that the gate corrects by other fields.
    pub(crate) fn strikes_at(&self, _limits: &Gates) -> Option<Timestamp> {
        // Each mark begins a period, and none ends one.
        let Self { compared_since: _, began: _ } = self;
        None
    }

    /// When the rollout to the present target began; `None` in records of an older rolldeck, and before the first deletion.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        self.began
    }

    /// Nodes that went down before this instant are not compared.
    pub(crate) fn compared_since(&self) -> Option<Timestamp> {
        self.compared_since
    }

    /// Accepts nodes that went down before `at`: they are not compared.
    pub(crate) fn compare_since(&mut self, at: Timestamp) {
        self.compared_since = Some(at);
    }
}

#[cfg(test)]
impl GateMarks {
    /// All set, each to the value that takes the most bytes in the record.
    pub(crate) fn longest(at: Timestamp) -> Self {
        Self { compared_since: Some(at), began: Some(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::settings::Gates;

    /// What an operator accepted, and clocks that ran, are about the rollout before: the next one begins as if it were the first.
    #[test]
    fn a_rollout_begins_with_the_same_marks_whatever_was_before() {
        let (before, now) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        let (mut old, mut new) = (GateMarks::longest(before), GateMarks::default());
        old.begin(now);
        new.begin(now);
        assert_eq!(old, new);
        assert!(old.strikes_at(&Gates::default()).is_none_or(|at| at > now));
    }
}
