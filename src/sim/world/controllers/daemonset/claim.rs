//! Which pods are a DaemonSet's: those it controls. Matching orphans are adopted; what stops matching is let go.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::Str;
use crate::engine::time::Timestamp;

use super::super::super::kind::Kind;
use super::super::super::object::{DaemonSet, Object, Owner};
use super::super::super::store::{Part, Store};
use super::{BY, DaemonSets};

impl DaemonSets {
    /// Adopts and releases pods. What it writes reaches the cache later, and wakes another sync.
    pub(super) fn claim(&mut self, object: &Arc<Object>, set: &DaemonSet, store: &mut Store, now: Timestamp) {
        let (uid, selector) = (&object.meta.uid, &set.spec.selector);
        let in_reach = |pod: &&Arc<Object>| pod.meta.namespace == object.meta.namespace && !pod.meta.is_deleting();
        let orphans = self.cache.orphans.values().filter(in_reach).filter(|pod| selector.matches(&pod.meta.labels));
        let adopted: Vec<Arc<Object>> = orphans.cloned().collect();
        let owned = self.cache.pods.get(uid).into_iter().flat_map(BTreeMap::values).filter(in_reach);
        let strays: Vec<Arc<Object>> = owned.filter(|pod| !selector.matches(&pod.meta.labels)).cloned().collect();
        // Like Kubernetes, make sure by a live read that it is still there before anything is adopted.
        let alive = || {
            let live = store.get(Kind::DaemonSet, &object.meta.namespace, &object.meta.name);
            live.is_some_and(|live| live.meta.uid == *uid && !live.meta.is_deleting())
        };
        if !adopted.is_empty() && alive() {
            for pod in &adopted {
                set_owners(pod, pod.meta.owners.iter().cloned().chain([object.as_controller()]).collect(), store, now);
            }
        }
        for pod in &strays {
            let others = pod.meta.owners.iter().filter(|owner| owner.uid != *uid).cloned();
            set_owners(pod, others.collect(), store, now);
        }
    }

    /// Wakes the DaemonSets that would adopt this pod.
    pub(super) fn orphan_changed(&mut self, pod: &Arc<Object>, now: Timestamp) {
        let wants = |set: &Arc<Object>| {
            set.meta.namespace == pod.meta.namespace
                && set.daemon_set().is_some_and(|set| set.spec.selector.matches(&pod.meta.labels))
        };
        let woken: Vec<Str> =
            self.cache.sets.iter().filter(|(_, set)| wants(set)).map(|(uid, _)| uid.clone()).collect();
        for uid in woken {
            self.enqueue(&uid, now);
        }
    }
}

/// A pod that changed meanwhile is left alone; its change wakes another sync.
fn set_owners(pod: &Object, owners: Arc<[Owner]>, store: &mut Store, now: Timestamp) {
    let mut object = pod.clone();
    object.meta.owners = owners;
    let _ = store.update(object, Part::Main, now, BY);
}
