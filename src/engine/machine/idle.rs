//! An idle controller: it is overdue to observe the DaemonSet's spec or to create a missing pod, and has not said why.
//!
//! The driver records since when the controller is idle, so that consoles without the lease, or just opened, know it too.

use super::Engine;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::time::Timestamp;
use crate::engine::view::IDLE_AFTER;

impl Engine {
    /// Since when, by our clock, the controller has had work and done nothing; `None` until that has lasted long enough to count as idle.
    pub(crate) fn idle_since(&self, now: Timestamp) -> Option<Timestamp> {
        let creation = self.view.creation();
        // An event on a watch that is not live may go unseen, so a controller counts as idle only while both watches are live.
        let visible =
            [Watched::DaemonSet, Watched::Pods].iter().all(|watched| self.health(*watched) == WatchHealth::Live);
        let deleting = self.view.daemonset().is_none_or(|daemonset| daemonset.deleting);
        if !visible || deleting || !creation.is_overdue() {
            return None;
        }
        let unobserved = creation.unobserved_since().filter(|since| now.since(*since) >= IDLE_AFTER);
        let idle = |row: &&crate::engine::assess::rows::Row| {
            row.in_fleet && row.cause.as_ref().is_some_and(|cause| cause.kind == CauseKind::ControllerIdle)
        };
        let missing =
            self.assessment.rows().filter(idle).filter_map(|row| self.view.nodes().get(row.node)?.missing_since);
        let missing = missing.map(|since| creation.waiting_since(since));
        let recorded = self.progress.idle_since.filter(|since| creation.waiting_since(*since) == *since);
        unobserved.into_iter().chain(missing).chain(recorded.filter(|_| !self.lock.holds())).min()
    }
}
