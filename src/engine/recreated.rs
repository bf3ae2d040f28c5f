//! A DaemonSet that is being deleted, or was deleted and made anew under the same name.
//!
//! Its controller does nothing for one that is being deleted (kubernetes-facts §1.4): a pod that is deleted then does not
//! come back. And a record says nothing about another object than the one whose uid it names: its target, its partition
//! and its pause were asked for another DaemonSet, although Lease and pods may have outlived that one (`--cascade=orphan`).
//! Nothing is driven by such a record, and nobody drops it by himself: the one who reads it may be the one who has not
//! seen yet which DaemonSet is there. A new rollout replaces it, and so does a release, which drops it.

use super::lock::Want;
use super::machine::{Engine, Needs};
use super::model::command::Command;
use super::model::record::Record;

impl Engine {
    /// Whether the DaemonSet is being deleted: then no pod of it is made any more.
    pub(crate) fn is_being_deleted(&self) -> bool {
        self.view.daemonset.as_ref().is_some_and(|daemonset| daemonset.deleting)
    }

    /// Takes in which DaemonSet it is that is there. Where it is another one than before, what was learnt and asked for so
    /// far was about that one. Deletions that are on their way stay: pods may have been taken over by the new one.
    pub(crate) fn follow_daemonset(&mut self) {
        let Some(uid) = self.view.daemonset.as_ref().map(|daemonset| daemonset.uid.clone()) else { return };
        let before = self.lock.daemonset.replace(uid.clone());
        if before.is_none_or(|before| before == uid) {
            return;
        }
        self.progress = self.lock.record().map(|record| record.progress.clone()).unwrap_or_default();
        self.written = None;
        self.conflicted = None;
        self.lock.want = Want::No;
        let outlives = |command: &Command| matches!(command.inner(), Command::Pause { .. } | Command::StopDriving);
        self.fail_pending(
            |pending| !outlives(&pending.command),
            "the DaemonSet was deleted and made anew meanwhile: nothing was asked of this one",
        );
        self.edits.retain(|unsaved| unsaved.command.is_some());
        self.brake = self.pending.iter().any(|pending| pending.needs == Needs::Adopted);
        self.brake_unseen &= self.brake;
    }

    /// The record as it is to be written: where it is of another DaemonSet and nothing is asked for, it stays as it is.
    pub(crate) fn record_to_write(&self) -> Option<Record> {
        self.record().or_else(|| self.lock.foreign_record().cloned())
    }
}
