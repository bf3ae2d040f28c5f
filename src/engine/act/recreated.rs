//! A DaemonSet that is being deleted, or was deleted and made anew under the same name.
//!
//! The controller does nothing for a DaemonSet that is being deleted (docs/kubernetes.md, *Creating and deleting pods*): a
//! pod that is deleted then does not come back.
//!
//! A record is about the DaemonSet whose uid it names. With `--cascade=orphan` the Lease and the pods outlive that
//! DaemonSet, and a new one of the same name finds a record whose target, partition and pause were meant for the old one.
//! No process drives by such a record. None deletes it by itself either, because it may simply not have seen the new
//! DaemonSet yet. A new rollout replaces the record, and a release drops it.

use crate::engine::lease::lock::LeaseContents;
use crate::engine::machine::Engine;
use crate::engine::writes::pending::Needs;

impl Engine {
    /// Takes in which DaemonSet is there. If it is another one than before, everything that was learnt of the old one or asked for it is
    /// dropped. Deletions that are on their way stay: the new DaemonSet may have taken over their pods.
    pub(crate) fn follow_daemonset(&mut self) {
        let Some(uid) = self.view.daemonset().map(|daemonset| daemonset.uid.clone()) else { return };
        if !self.lock.see_daemonset(&uid) {
            return;
        }
        self.progress = self.lock.record().map(|record| record.progress.clone()).unwrap_or_default();
        self.lock.want_no_more();
        self.fail_pending(
            |pending| !pending.command.outlives_daemonset(),
            "the DaemonSet was deleted and made anew meanwhile: nothing was asked of this one",
        );
        self.edits.drop_our_own();
        self.daemonset.begin_anew(self.pending.iter().any(|pending| pending.needs == Needs::Braked));
    }

    /// The contents that the Lease keeps when it is given back. A record of another DaemonSet stays as it is if nothing is recorded for
    /// this one.
    pub(super) fn kept_with_foreign(&self) -> LeaseContents {
        let kept = self.kept();
        LeaseContents { record: kept.record.or_else(|| self.lock.foreign_record().cloned()), ..kept }
    }
}
