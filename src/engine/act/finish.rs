//! Hands the DaemonSet back when every node is at the target.

use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::record::{By, Intent, ORIGINAL_STRATEGY, OURSELVES, Progress};
use crate::engine::model::settings::Finish;
use crate::engine::model::time::Timestamp;

impl Engine {
    /// Hands the DaemonSet back when every node is at the target.
    pub(crate) fn finish(&mut self, intent: &Intent, now: Timestamp) {
        if !self.is_complete(intent) || !self.saved_progress_began() {
            return;
        }
        if intent.finish == Finish::Keep {
            self.keep(intent);
        } else {
            let by = By { by: OURSELVES.into(), at: now };
            if !self.release_must_wait(&by) {
                self.tell_complete();
                self.edit(None, Edit::Complete { target: intent.target.clone(), by });
            }
        }
    }

    /// The rollout is over, and its record stays. All fields of the progress are named, so that no field is forgotten.
    fn keep(&mut self, intent: &Intent) {
        let Progress {
            // The next rollout starts from this revision.
            origin,
            // A clock that runs during a rollout stops here.
            marks,
            // The end is reported once for a target, because nodes may come and go afterwards.
            completed,
            // Reset when the next rollout begins (`act/begin.rs`), or used also for nodes that fail or go down after this rollout.
            acknowledged_failures: _,
            halt: _,
            suspects: _,
            others_down: _,
            evicted: _,
            // Set by the first rollout under this record.
            started_at: _,
            target: _,
            left_out_since: _,
            down_before: _,
            // About the DaemonSet, its controller and the driver, or empty once every node is updated.
            adopted: _,
            drifted: _,
            drifts: _,
            in_progress: _,
            refused: _,
            refused_write: _,
            tried: _,
            idle_since: _,
            driver: _,
            driver_stopped: _,
            original_strategy: _,
        } = &mut self.progress;
        origin.clone_from(&intent.target);
        marks.complete();
        if *completed != intent.target {
            completed.clone_from(&intent.target);
            self.tell_complete();
        }
    }

    pub(super) fn saved_progress_began(&self) -> bool {
        self.lock.record().is_some_and(|record| record.progress.started_at.is_some())
    }

    /// Whether the release is recorded and done on the DaemonSet, so that the record may go.
    pub(super) fn release_is_done(&self) -> bool {
        let recorded = self.lock.record().is_some_and(|record| record.intent.releasing.is_some());
        let annotations = self.view.daemonset().map(|daemonset| &daemonset.annotations);
        let annotated = annotations.is_some_and(|annotations| annotations.get(ORIGINAL_STRATEGY).is_some());
        recorded
            && !annotated
            && self.original_to_restore().is_none()
            && self.tidying().is_none()
            && !self.daemonset.is_patching()
    }
}
