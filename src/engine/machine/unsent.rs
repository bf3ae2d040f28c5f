//! Edits of the record that are not saved for long. `report/unsent.rs` shows them.

use super::Engine;
use crate::engine::model::time::Timestamp;
use crate::engine::model::unsent::LATE;

impl Engine {
    /// Whether an edit has waited so long to be saved that nothing is started until it is.
    pub(crate) fn is_late_with_edits(&self, now: Timestamp) -> bool {
        self.edits.iter().any(|unsaved| now.since(unsaved.made_at) >= LATE)
    }
}
