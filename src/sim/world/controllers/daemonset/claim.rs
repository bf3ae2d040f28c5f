//! A DaemonSet's pods are those it controls. It adopts matching orphans, and releases pods that no longer match. It adopts revisions without a
//! controller in the same way (`ClaimControllerRevisions`), so that a DaemonSet that is created anew goes on counting where the one before it
//! stopped.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::super::super::kind::Kind;
use super::super::super::object::{DaemonSet, Object, Owner};
use super::super::super::store::Store;
use super::super::super::write::WrittenPart;
use super::{BY, DaemonSets};

impl DaemonSets {
    /// Adopts and releases pods. The same sync goes on with the claimed pods (`ClaimPods`): it creates no pod beside one that it has just adopted,
    /// and does not delete one that it has just released. The claim's writes lead to another sync later.
    pub(super) fn claim(&mut self, object: &Arc<Object>, set: &DaemonSet, store: &mut Store, now: Timestamp) {
        let (uid, selector) = (&object.meta.uid, &set.spec.selector);
        let in_reach = |pod: &&Arc<Object>| pod.meta.namespace == object.meta.namespace && !pod.meta.is_deleting();
        let orphans = self.cache.orphans.values().filter(in_reach).filter(|pod| selector.matches(&pod.meta.labels));
        let adopted: Vec<Arc<Object>> = orphans.cloned().collect();
        let owned = self.cache.pods.get(uid).into_iter().flat_map(BTreeMap::values).filter(in_reach);
        let strays: Vec<Arc<Object>> = owned.filter(|pod| !selector.matches(&pod.meta.labels)).cloned().collect();
        if !adopted.is_empty() && is_alive(object, store) {
            for pod in &adopted {
                let owners = pod.meta.owners.iter().cloned().chain([object.as_controller()]).collect();
                if let Some(ours) = set_owners(pod, owners, store, now) {
                    self.cache.orphans.remove(&ours.meta.uid);
                    self.cache.pods.entry(uid.clone()).or_default().insert(ours.meta.uid.clone(), ours);
                }
            }
        }
        for pod in &strays {
            let others = pod.meta.owners.iter().filter(|owner| owner.uid != *uid).cloned();
            set_owners(pod, others.collect(), store, now);
            if let Some(pods) = self.cache.pods.get_mut(uid) {
                pods.remove(&pod.meta.uid);
            }
        }
    }

    /// The DaemonSet's revisions, including those that it adopts now.
    pub(super) fn claim_revisions(
        &self,
        object: &Arc<Object>,
        set: &DaemonSet,
        store: &mut Store,
        now: Timestamp,
    ) -> Vec<Arc<Object>> {
        let known = self.cache.revisions.get(&object.meta.uid);
        let mut all: Vec<Arc<Object>> = known.into_iter().flat_map(|known| known.values().cloned()).collect();
        let matches = |revision: &&Arc<Object>| {
            revision.meta.namespace == object.meta.namespace
                && !revision.meta.is_deleting()
                && set.spec.selector.matches(&revision.meta.labels)
        };
        let orphans: Vec<&Arc<Object>> = self.cache.orphan_revisions.values().filter(matches).collect();
        if !orphans.is_empty() && is_alive(object, store) {
            for orphan in orphans {
                let mut adopted = Object::clone(orphan);
                adopted.meta.owners = orphan.meta.owners.iter().cloned().chain([object.as_controller()]).collect();
                all.extend(store.update(adopted, WrittenPart::Main, now, BY));
            }
        }
        all
    }

    /// Requests a sync of the DaemonSets that would adopt this pod or revision.
    pub(super) fn orphan_changed(&mut self, orphan: &Arc<Object>, now: Timestamp) {
        let wants = |set: &Arc<Object>| {
            set.meta.namespace == orphan.meta.namespace
                && set.daemon_set().is_some_and(|set| set.spec.selector.matches(&orphan.meta.labels))
        };
        let woken: Vec<Str> =
            self.cache.sets.iter().filter(|(_, set)| wants(set)).map(|(uid, _)| uid.clone()).collect();
        for uid in woken {
            self.enqueue(&uid, now);
        }
    }
}

/// Like Kubernetes, reads the live object, so that a DaemonSet that is deleted or being deleted adopts nothing.
fn is_alive(set: &Object, store: &Store) -> bool {
    let live = store.get(Kind::DaemonSet, &set.meta.namespace, &set.meta.name);
    live.is_some_and(|live| live.meta.uid == set.meta.uid && !live.meta.is_deleting())
}

/// Writes a pod's owners. A pod that changed meanwhile is left alone; that change leads to another sync.
fn set_owners(pod: &Object, owners: Arc<[Owner]>, store: &mut Store, now: Timestamp) -> Option<Arc<Object>> {
    let mut object = pod.clone();
    object.meta.owners = owners;
    store.update(object, WrittenPart::Main, now, BY).ok()
}
