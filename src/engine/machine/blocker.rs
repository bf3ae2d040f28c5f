//! The obstacle that a rollout waits for while it is prepared or released, and since when.

use super::Engine;
use crate::engine::model::pod_wait::Blocker;
use crate::engine::model::presence::Presence;
use crate::engine::model::record::{Intent, ORIGINAL_STRATEGY};
use crate::engine::model::time::Timestamp;

impl Engine {
    /// Notes since when the rollout has waited for the same obstacle.
    pub(crate) fn note_blocker(&mut self, intent: &Intent, now: Timestamp) {
        let by = self.blocker(intent, now);
        if self.blocked_since.as_ref().map(|(known, _)| known) != by.as_ref() {
            self.blocked_since = by.map(|by| (by, now));
        }
    }

    /// The obstacle that the rollout waits for now; `None` if it is neither prepared nor released.
    pub(crate) fn blocker(&self, intent: &Intent, now: Timestamp) -> Option<Blocker> {
        if !self.is_recorded() && self.lock.record().is_none() {
            return None;
        }
        let Some(daemonset) = self.view.daemonset() else {
            return (self.view.presence() == Presence::Absent).then_some(Blocker::DaemonSet);
        };
        let driven = self.lock.holds() || self.lock.living_other(now).is_some();
        let saved = daemonset.annotations.get(ORIGINAL_STRATEGY).is_some();
        if intent.releasing.is_some() {
            return Some(match saved {
                _ if !driven => Blocker::Driver,
                true => Blocker::Strategy,
                false => Blocker::RecordDropped,
            });
        }
        if self.is_ready_to_update(intent) {
            return (!self.view.current_is_certain()).then_some(Blocker::Revision);
        }
        Some(match () {
            () if !driven => Blocker::Driver,
            () if !self.is_adopted() => Blocker::Adoption,
            () if !self.is_observed() => {
                Blocker::Observed { generation: daemonset.generation, observed: daemonset.observed_generation }
            }
            () if intent.change.is_some() && !self.change_is_written(intent) => Blocker::Template,
            () if self.view.current().is_none() => Blocker::Revision,
            () => Blocker::Target,
        })
    }
}
