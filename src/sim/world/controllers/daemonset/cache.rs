//! The controller's cache of the cluster, and the syncs to which each change leads.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::PodPhase;
use crate::engine::model::time::Timestamp;

use super::super::super::kind::Kind;
use super::super::super::object::Object;
use super::super::super::scenario::ControllerVariant;
use super::super::super::store::{ChangeKind, StoreChange};
use super::super::eligibility::{Verdict, daemon_verdict};
use super::DaemonSets;

/// The controller's copies of objects.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// Nodes by name.
    pub(super) nodes: BTreeMap<Str, Arc<Object>>,
    /// DaemonSets by uid.
    pub(super) sets: BTreeMap<Str, Arc<Object>>,
    /// Pods by the uid of their controller, and by their own uid.
    pub(super) pods: BTreeMap<Str, BTreeMap<Str, Arc<Object>>>,
    /// Pods without a controller, by uid.
    pub(super) orphans: BTreeMap<Str, Arc<Object>>,
    /// Revisions by the uid of their controller, and by name.
    pub(super) revisions: BTreeMap<Str, BTreeMap<Str, Arc<Object>>>,
    /// Revisions without a controller, by uid.
    pub(super) orphan_revisions: BTreeMap<Str, Arc<Object>>,
}

impl Cache {
    pub(super) fn keeps(kind: Kind) -> bool {
        matches!(kind, Kind::Node | Kind::Pod | Kind::DaemonSet | Kind::ControllerRevision)
    }

    /// A DaemonSet's pods by the node they are for, oldest first.
    pub(super) fn pods_by_node(&self, uid: &Str, variant: ControllerVariant) -> BTreeMap<Str, Vec<Arc<Object>>> {
        let mut by_node: BTreeMap<Str, Vec<Arc<Object>>> = BTreeMap::new();
        for object in self.pods.get(uid).into_iter().flat_map(BTreeMap::values) {
            let Some(pod) = object.pod() else { continue };
            let ended = matches!(pod.status.phase, PodPhase::Failed | PodPhase::Succeeded);
            // The current controller does not wait for a pod that has ended and that a finalizer keeps.
            if variant == ControllerVariant::Current && ended && object.meta.is_deleting() {
                continue;
            }
            if let Some(node) = pod.target() {
                by_node.entry(node.clone()).or_default().push(Arc::clone(object));
            }
        }
        for pods in by_node.values_mut().filter(|pods| pods.len() > 1) {
            pods.sort_by_key(|pod| (Reverse(is_bound(pod)), pod.meta.created_at, pod.meta.name.clone()));
        }
        by_node
    }
}

fn is_bound(object: &Object) -> bool {
    object.pod().is_some_and(|pod| pod.node.is_some())
}

impl DaemonSets {
    pub(super) fn take_in(&mut self, change: &StoreChange, now: Timestamp) {
        match change.object.kind() {
            Kind::Node => self.node_changed(change, now),
            Kind::Pod => self.pod_changed(change, now),
            Kind::DaemonSet => self.set_changed(change, now),
            Kind::ControllerRevision => self.revision_changed(change, now),
            _ => {}
        }
    }

    /// Takes in a change of a node; it leads to a sync only of DaemonSets whose verdict on the node changes.
    fn node_changed(&mut self, change: &StoreChange, now: Timestamp) {
        let name = &change.object.meta.name;
        let before = match change.kind {
            ChangeKind::Deleted => self.cache.nodes.remove(name),
            _ => self.cache.nodes.insert(name.clone(), Arc::clone(&change.object)),
        };
        let after = self.cache.nodes.get(name);
        let same_terms = |one: &Arc<Object>, other: &Arc<Object>| {
            one.meta.labels == other.meta.labels
                && one.node().map(|node| &node.taints) == other.node().map(|node| &node.taints)
        };
        if let (Some(before), Some(after)) = (&before, after)
            && same_terms(before, after)
        {
            return;
        }
        let verdict = |node: Option<&Arc<Object>>, set: &Arc<Object>| -> Option<Verdict> {
            Some(daemon_verdict(node?, &set.daemon_set()?.spec.template))
        };
        let woken: Vec<Str> = self
            .cache
            .sets
            .iter()
            .filter(|(_, set)| verdict(before.as_ref(), set) != verdict(after, set))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in woken {
            self.enqueue(&uid, now);
        }
    }

    fn pod_changed(&mut self, change: &StoreChange, now: Timestamp) {
        let meta = &change.object.meta;
        let owner = meta.controller().cloned();
        self.forget_former_owner(change, now);
        let Some(owner) = owner else {
            if change.kind != ChangeKind::Deleted {
                self.cache.orphans.insert(meta.uid.clone(), Arc::clone(&change.object));
                self.orphan_changed(&change.object, now);
            }
            return;
        };
        let pods = self.cache.pods.entry(owner.clone()).or_default();
        match change.kind {
            ChangeKind::Deleted => drop(pods.remove(&meta.uid)),
            _ => drop(pods.insert(meta.uid.clone(), Arc::clone(&change.object))),
        }
        if let Some(expected) = self.expectations.get_mut(&owner) {
            if change.kind == ChangeKind::Added {
                expected.creations = expected.creations.saturating_sub(1);
            }
            // Kubernetes counts deletions, and takes every change of a terminating pod for an expected one (`updatePod` calls `deletePod`). So the
            // end of one pod can hide that the controller has not seen the delete of another yet, and the budget is exceeded: on a real control plane
            // 3 of 20 are down now and then with maxUnavailable 2.
            if change.kind == ChangeKind::Deleted || meta.is_deleting() {
                expected.deletions = expected.deletions.saturating_sub(1);
            }
        }
        let Some(set) = self.cache.sets.get(&owner) else { return };
        let min_ready = set.daemon_set().map_or(0, |set| set.spec.min_ready_secs);
        let is_ready = |object: &Arc<Object>| object.pod().is_some_and(|pod| pod.ready().is_some());
        // An adopted pod that is ready already did not become ready: a request for it would displace the later request for the pod that becomes ready
        // next, because the queue keeps the earlier of two requests.
        let was_unready = change.before.as_ref().is_some_and(|before| !is_ready(before));
        let turned_ready = was_unready && is_ready(&change.object);
        if turned_ready && min_ready > 0 {
            // One more second: Kubernetes compares whole seconds.
            self.enqueue_at(&owner, now + Duration::from_secs(u64::from(min_ready) + 1));
        }
        self.enqueue(&owner, now);
    }

    /// Removes an adopted or released pod from its former owner.
    fn forget_former_owner(&mut self, change: &StoreChange, now: Timestamp) {
        let meta = &change.object.meta;
        let Some(before) = &change.before else { return };
        match before.meta.controller() {
            None => drop(self.cache.orphans.remove(&meta.uid)),
            former if former == meta.controller() => {}
            Some(former) => {
                if let Some(pods) = self.cache.pods.get_mut(former) {
                    pods.remove(&meta.uid);
                }
                self.enqueue(&former.clone(), now);
            }
        }
    }

    fn set_changed(&mut self, change: &StoreChange, now: Timestamp) {
        let uid = &change.object.meta.uid;
        if change.kind == ChangeKind::Deleted {
            self.cache.sets.remove(uid);
            self.queue.remove(uid);
            self.later.remove(uid);
            self.expectations.remove(uid);
            self.failed_pods.retain(|(owner, _), _| owner != uid);
            return;
        }
        self.cache.sets.insert(uid.clone(), Arc::clone(&change.object));
        self.enqueue(uid, now);
    }

    fn revision_changed(&mut self, change: &StoreChange, now: Timestamp) {
        let meta = &change.object.meta;
        let former = change.before.as_ref().and_then(|before| before.meta.controller());
        if let Some(revisions) = former.and_then(|former| self.cache.revisions.get_mut(former)) {
            revisions.remove(&meta.name);
        }
        self.cache.orphan_revisions.remove(&meta.uid);
        let Some(owner) = meta.controller().cloned() else {
            if change.kind != ChangeKind::Deleted {
                self.cache.orphan_revisions.insert(meta.uid.clone(), Arc::clone(&change.object));
                self.orphan_changed(&change.object, now);
            }
            return;
        };
        let revisions = self.cache.revisions.entry(owner.clone()).or_default();
        match change.kind {
            ChangeKind::Deleted => revisions.remove(&meta.name),
            _ => revisions.insert(meta.name.clone(), Arc::clone(&change.object)),
        };
        if self.cache.sets.contains_key(&owner) {
            self.enqueue(&owner, now);
        }
    }
}
