//! Deletions that are out, and whether the API server is near enough to drive.

use std::time::Duration;

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::hold::Hold;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::distance::{SENDING, rounded};
use crate::engine::writes::sending::WORTH_A_WORD;

impl Engine {
    pub(crate) fn is_unanswered(&self, uid: &Str) -> bool {
        self.deletions.is_unanswered(uid)
    }

    /// The hold of a driver whose API server is too far away to drive safely, or does not answer. `None` while we do not drive.
    pub(crate) fn too_far_to_drive(&self) -> Option<Hold> {
        let distance = &self.sending.distance;
        let too_far = || distance.too_far().map(|too_far| Hold::ApiLatencyTooHigh { round_trip: rounded(too_far) });
        let silent = || distance.is_silent().then_some(Hold::NoAnswer);
        too_far().or_else(silent).filter(|_| self.lock.holds())
    }

    /// For how long this process may still send a deletion after another one has written a pause. The time that the deletion travels to the server is
    /// not included.
    pub fn sends_after_a_pause(&self, now: Timestamp) -> Duration {
        self.sending.distance.proof_age().max(self.lock.longest_proof(now)) + SENDING
    }

    /// When the Lease write in flight, for which edits wait, has taken so long that it is shown.
    pub(crate) fn lease_write_is_shown_at(&self) -> Option<Timestamp> {
        let write = self.lock.in_flight.as_ref().filter(|_| !self.edits.is_empty())?;
        Some(write.sent_at + WORTH_A_WORD)
    }
}
