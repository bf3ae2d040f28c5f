//! What gates note of a rollout in its progress: since when one counts, what it was resumed past.

use serde::{Deserialize, Serialize};

use crate::engine::model::settings::Gates;
use crate::engine::model::time::Timestamp;

/// Clocks and marks of gates. All that is asked of one is answered here, so that a gate with a clock of its own touches no other file of
/// the record's.
///
/// Instants are by the API server's clock: the next driver has another one. A mark is an instant or a number (`Copy`), so that the
/// record does not grow with the fleet. What names nodes, or is read by rows, is a field of `Progress` instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GateMarks {
    /// Nodes that went down before that instant are not compared: they were accepted by an operator, or belong to an earlier rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_since: Option<Timestamp>,
    /// When the rollout to the present target began: the record may be of several rollouts, and the target's revision may be an old one.
    #[serde(skip_serializing_if = "Option::is_none")]
    began: Option<Timestamp>,
}

impl GateMarks {
    /// Whether none is set.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A new rollout begins, at `at` by the API server's clock: a change of the template is made, or the first deletion under a record
    /// is next. A resume that accepts somebody else's template begins none.
    pub(crate) fn begin(&mut self, at: Timestamp) {
        let Self { compared_since, began } = self;
        (*compared_since, *began) = (Some(at), Some(at));
    }

    /// Every node is updated, and the record stays: a clock that runs while the rollout does stops here.
    pub(crate) fn complete(&mut self) {
        // Nodes also go down after the last update.
        let Self { compared_since: _, began: _ } = self;
    }

    /// When time alone makes a gate strike, by the API server's clock; `None`: no mark of these is a clock that runs out.
    pub(crate) fn strikes_at(&self, _limits: &Gates) -> Option<Timestamp> {
        // Begins something, and ends nothing.
        let Self { compared_since: _, began: _ } = self;
        None
    }

    /// When the rollout to the present target began; `None` in records of an older rolldeck, and before the first deletion.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        self.began
    }

    /// Nodes that went down before that instant are not compared.
    pub(crate) fn compared_since(&self) -> Option<Timestamp> {
        self.compared_since
    }

    /// Nodes that went down before `at` are accepted.
    pub(crate) fn compare_since(&mut self, at: Timestamp) {
        self.compared_since = Some(at);
    }
}

#[cfg(test)]
impl GateMarks {
    /// All set, as long as they may be in the record.
    pub(crate) fn longest(at: Timestamp) -> Self {
        Self { compared_since: Some(at), began: Some(at) }
    }
}
