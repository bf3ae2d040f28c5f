//! A DaemonSet that is deleted, and made anew: what was recorded of the one says nothing about the other.

use std::collections::BTreeSet;

use super::Observer;
use super::context::{Broken, DeletionContext};
use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::sim::world::object::Object;

impl Observer {
    /// Takes in whether the DaemonSet is being deleted, or is gone, or another one is there.
    pub(super) fn daemon_set_goes(&mut self, object: &Object, gone: bool, at: Timestamp) {
        let another = self.daemon_set.as_ref().is_some_and(|known| known.uid != object.meta.uid);
        if gone || another {
            // Its Lease goes with it, and with that the record; its pods are orphaned, or go too.
            self.record_lost_at = Some(at);
            self.taken_down.clear();
            self.pulling.clear();
            self.replaced.clear();
        }
        if another {
            // Its pods are refused or made by a controller that begins with them anew: so does the grace.
            self.absent.template_changed(at);
            // Those that still go are the old one's; those that stayed are told of again when the new one takes them over.
            let uids: Vec<Str> = self.pods.keys().cloned().collect();
            uids.iter().for_each(|uid| self.pod_gone(uid, at));
        }
        let goes = gone || object.meta.is_deleting();
        self.daemon_set_goes_since = goes.then(|| self.daemon_set_goes_since.unwrap_or(at));
    }

    /// Whether a pod is one of the DaemonSet's: it has its labels, and belongs to it.
    pub(super) fn is_ours(&self, pod: &Object) -> bool {
        self.daemon_set.as_ref().is_none_or(|set| {
            set.selector.matches(&pod.meta.labels) && pod.meta.controller().is_some_and(|owner| *owner == set.uid)
        })
    }

    /// P7: no pod is deleted of a DaemonSet that is being deleted or gone, nor by a record that is of another one.
    pub(super) fn check_daemon_set(&self, context: &DeletionContext<'_>) -> Broken {
        let node = context.node;
        if self.daemon_set_goes_since.is_some_and(|since| since + self.slack < context.at) {
            return Some(("P7", format!("deleted a pod on {node}, and the DaemonSet that would replace it is going")));
        }
        let there = self.daemon_set.as_ref().map(|set| &set.uid);
        let named: BTreeSet<&Str> = context.records.iter().filter_map(|record| record.daemonset_uid.as_ref()).collect();
        // A request that was on its way when the other one came could not be called back.
        let just_now = self.record_lost_at.is_some_and(|lost_at| lost_at + self.slack >= context.at);
        let foreign = !just_now && !named.is_empty() && named.iter().all(|uid| Some(*uid) != there);
        foreign.then(|| ("P7", format!("deleted a pod on {node} by a record that is of another DaemonSet")))
    }

    /// Notes that until then a console may believe a watch that stands still.
    pub fn unaware(&mut self, console: &Str, until: Timestamp) {
        self.unaware.insert(console.clone(), until);
    }
}
