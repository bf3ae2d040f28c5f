//! Records since when the controller does nothing, so that consoles that only look on know it, too.

use crate::engine::machine::Engine;
use crate::engine::model::time::Timestamp;

impl Engine {
    /// Writes down since when the controller is idle.
    pub(super) fn note_idle(&mut self, now: Timestamp) {
        self.progress.idle_since = self.idle_since(now);
    }
}
