//! That nobody drives a rollout which only a driver moves, in the words that console, command line and the list of DaemonSets share.
//!
//! Who has watched the Lease for as long as it lasts knows that its holder is gone. Who looks once, as `status` does, sees only that the holder
//! should have renewed it by the holder's own clock: that clock may be behind, so no more is said than that nobody is seen.

pub use super::snapshot::words::{NOBODY_DRIVES, NOBODY_SEEN_DRIVING};
use super::snapshot::{NodeView, Snapshot};
use crate::engine::model::driver::DriverView;
use crate::engine::rules::holds::HoldEndedBy;

impl Snapshot {
    /// That nobody drives, or that nobody is seen driving; `None` where somebody does or is about to, and where that is not known.
    pub fn undriven_in_words(&self) -> Option<&'static str> {
        match &self.driver {
            _ if self.has_silent_driver() => Some(NOBODY_SEEN_DRIVING),
            DriverView::Lost { .. } if self.misses_leases() => None,
            driver => driver.is_nobody().then_some(NOBODY_DRIVES),
        }
    }
}

impl NodeView {
    /// Whether only a driver is missing for the node to be updated at its turn.
    pub fn waits_for_driver(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.ended_by() == HoldEndedBy::Driver)
    }
}
