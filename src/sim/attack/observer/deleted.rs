//! A DaemonSet that is deleted and made anew: the record of the old one says nothing about the new one.

use std::collections::BTreeSet;

use super::Observer;
use super::context::{Broken, DeletionContext};
use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::sim::world::object::Object;

impl Observer {
    /// Takes in that the DaemonSet is there, is being deleted, is gone, or was replaced by another one.
    pub(super) fn daemon_set_goes(&mut self, object: &Object, gone: bool, at: Timestamp) {
        let another = self.daemon_set.as_ref().is_some_and(|known| known.uid != object.meta.uid);
        if gone || another {
            // The Lease and its record are deleted with the DaemonSet; the pods are orphaned or deleted too.
            self.record_lost_at = Some(at);
            self.taken_down.clear();
            self.pulling.clear();
            self.replaced.clear();
        }
        if another {
            // The controller begins anew with the pods of the new DaemonSet, so the grace begins anew too.
            self.absent.template_changed(at);
            // All known pods count as gone. A pod that stayed is known again when the new DaemonSet takes it over.
            let uids: Vec<Str> = self.pods.keys().cloned().collect();
            uids.iter().for_each(|uid| self.pod_gone(uid, at));
        }
        let goes = gone || object.meta.is_deleting();
        self.daemon_set_goes_since = goes.then(|| self.daemon_set_goes_since.unwrap_or(at));
    }

    /// Whether a pod belongs to the DaemonSet: its labels match the selector, and the DaemonSet is its controller.
    pub(super) fn is_ours(&self, pod: &Object) -> bool {
        self.daemon_set.as_ref().is_none_or(|set| {
            set.selector.matches(&pod.meta.labels) && pod.meta.controller().is_some_and(|owner| *owner == set.uid)
        })
    }

    /// P7: rolldeck deletes no pod while the DaemonSet is being deleted or gone, nor by the record of another DaemonSet.
    pub(super) fn check_daemon_set(&self, context: &DeletionContext<'_>) -> Broken {
        let node = context.node;
        if self.daemon_set_goes_since.is_some_and(|since| since + self.slack < context.at) {
            return Some(("P7", format!("deleted a pod on {node}, and the DaemonSet that would replace it is going")));
        }
        let there = self.daemon_set.as_ref().map(|set| &set.uid);
        let named: BTreeSet<&Str> = context.records.iter().filter_map(|record| record.daemonset_uid.as_ref()).collect();
        // A request that was on its way when the new DaemonSet was made could not be called back.
        let just_now = self.record_lost_at.is_some_and(|lost_at| lost_at + self.slack >= context.at);
        let foreign = !just_now && !named.is_empty() && named.iter().all(|uid| Some(*uid) != there);
        foreign.then(|| ("P7", format!("deleted a pod on {node} by a record that is of another DaemonSet")))
    }

    /// Notes that a console may believe a watch that stands still until `until`.
    pub fn note_stale_watch(&mut self, console: &Str, until: Timestamp) {
        self.unaware.insert(console.clone(), until);
    }
}
