//! What cannot be said of a rollout because this process may not read something: an intention or a number that nobody has seen is not shown as one.

use super::snapshot::{Phase, Snapshot};
use crate::engine::model::event::Watched;

impl Snapshot {
    /// Why it is not known whether a rollout is recorded, or what it does: `Leases may not be read`. `None` where it is known.
    pub fn unknown_because(&self) -> Option<&'static str> {
        match self.phase {
            Phase::Unknown if self.is_forbidden(Watched::Lease) => Some("Leases may not be read"),
            Phase::Unknown => Some("ControllerRevisions may not be read"),
            _ => None,
        }
    }

    /// Whether the record may not be read, so that its plan, limits and gates are not known.
    pub(crate) fn has_unknown_settings(&self) -> bool {
        self.phase == Phase::Unknown && self.is_forbidden(Watched::Lease)
    }

    /// Why it is not known how much of the budget and of the pull slots is used, or how large they are. `None` where it is known.
    pub fn budget_unknown_because(&self) -> Option<&'static str> {
        match () {
            () if self.has_unknown_settings() => self.unknown_because(),
            () if self.is_forbidden(Watched::Pods) => Some("pods may not be read"),
            () => None,
        }
    }

    /// Whether the images of two revisions cannot be compared, as revisions may not be read.
    pub(super) fn has_unknown_change(&self) -> bool {
        self.image_changes.is_empty() && self.is_forbidden(Watched::Revisions)
    }
}
