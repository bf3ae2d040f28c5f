//! Hands the DaemonSet back when every node is at the target.

use crate::engine::lease::edit::Edit;
use crate::engine::machine::Engine;
use crate::engine::model::record::{By, Intent, ORIGINAL_STRATEGY, OURSELVES};
use crate::engine::model::settings::Finish;
use crate::engine::model::time::Timestamp;

impl Engine {
    /// Hands the DaemonSet back when every node is at the target.
    pub(crate) fn finish(&mut self, intent: &Intent, now: Timestamp) {
        if !self.is_complete(intent) || !self.saved_progress_began() {
            return;
        }
        if intent.finish == Finish::Keep {
            // The next rollout starts from this revision.
            self.progress.origin.clone_from(&intent.target);
        } else {
            let by = By { by: OURSELVES.into(), at: now };
            if !self.release_must_wait(&by) {
                self.tell_complete();
                self.edit(None, Edit::Complete { target: intent.target.clone(), by });
            }
        }
    }

    pub(super) fn saved_progress_began(&self) -> bool {
        self.lock.record().is_some_and(|record| record.progress.started_at.is_some())
    }

    /// The release is recorded and done on the DaemonSet: the record may go.
    pub(super) fn release_is_done(&self) -> bool {
        let recorded = self.lock.record().is_some_and(|record| record.intent.releasing.is_some());
        let annotations = self.view.daemonset.as_ref().map(|daemonset| &daemonset.annotations);
        let annotated = annotations.is_some_and(|annotations| annotations.get(ORIGINAL_STRATEGY).is_some());
        recorded && !annotated && self.tidying().is_none() && !self.daemonset.is_patching()
    }
}
