//! Whether the API server is near enough to drive, and when a write of the Lease has taken long.

use super::Engine;
use crate::engine::model::hold::Hold;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::distance::rounded;
use crate::engine::writes::sending::WORTH_A_WORD;

impl Engine {
    /// The hold of a driver whose API server is too far away to drive safely, or does not answer. `None` while we do not drive.
    pub(crate) fn too_far_to_drive(&self) -> Option<Hold> {
        let distance = &self.sending.distance;
        let too_far = || distance.too_far().map(|too_far| Hold::ApiLatencyTooHigh { round_trip: rounded(too_far) });
        let silent = || distance.is_silent().then_some(Hold::NoAnswer);
        too_far().or_else(silent).filter(|_| self.lock.holds())
    }

    /// When the Lease write in flight, for which edits wait, has taken so long that it is shown.
    pub(crate) fn lease_write_is_shown_at(&self) -> Option<Timestamp> {
        let write = self.lock.in_flight().filter(|_| !self.edits.is_empty())?;
        Some(write.sent_at + WORTH_A_WORD)
    }
}
