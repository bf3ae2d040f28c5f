//! Collects garbage: dependents of deleted owners, pods on deleted nodes, old events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::super::kind::Kind;
use super::super::object::Object;
use super::super::store::{ChangeKind, DeleteOptions, FOREGROUND, ORPHAN, Store, StoreChange};
use super::super::write::{WriteOptions, WrittenPart};
use super::Controller;

const BY: WriteOptions<'static> = WriteOptions::named("kube-controller-manager");
/// How often the collector looks for pods of deleted nodes.
const PERIOD: Duration = Duration::from_secs(20);
/// A node's pods are collected once the node has been gone for this long.
const QUARANTINE: Duration = Duration::from_secs(40);
/// The collector tries again to remove a refused finalizer after this time.
const REFUSED_AGAIN: Duration = Duration::from_secs(5);
/// How long events are kept.
const EVENT_LIFE: Duration = Duration::from_secs(3600);

/// The garbage collector, pod garbage collection, and the events' expiry.
#[derive(Debug)]
pub(in crate::sim::world) struct Collector {
    /// The uids of deleted objects.
    gone: BTreeSet<Str>,
    /// Objects that are held until their dependents are dealt with.
    held: BTreeSet<(Kind, Str, Str)>,
    due_at: Option<Timestamp>,
    /// The nodes that pods name and that do not exist, and since when.
    missing: BTreeMap<Str, Timestamp>,
    next_round_at: Timestamp,
    rounds: u32,
}

impl Collector {
    pub(in crate::sim::world) fn new(now: Timestamp) -> Self {
        Self {
            gone: BTreeSet::new(),
            held: BTreeSet::new(),
            due_at: None,
            missing: BTreeMap::new(),
            next_round_at: now + PERIOD,
            rounds: 0,
        }
    }

    fn dependents(store: &Store, owners: &BTreeSet<Str>) -> Vec<Arc<Object>> {
        let owned = |object: &&Arc<Object>| object.meta.owners.iter().any(|owner| owners.contains(&owner.uid));
        let kinds = Kind::ALL.into_iter().filter(|kind| !matches!(kind, Kind::Node | Kind::Namespace | Kind::Event));
        kinds.flat_map(|kind| store.list(kind).filter(owned).cloned().collect::<Vec<_>>()).collect()
    }

    /// Deletes objects all of whose owners are gone; objects with other owners lose only the reference.
    fn collect(&mut self, store: &mut Store, now: Timestamp) {
        let gone = std::mem::take(&mut self.gone);
        for dependent in Self::dependents(store, &gone) {
            let meta = &dependent.meta;
            let at = (dependent.kind(), &*meta.namespace, &*meta.name);
            if meta.owners.iter().all(|owner| gone.contains(&owner.uid)) {
                let options = DeleteOptions { uid: Some(meta.uid.clone()), ..DeleteOptions::default() };
                let _ = store.delete(at.0, at.1, at.2, &options, now, BY);
            } else {
                disown(store, at, &gone, now);
            }
        }
    }

    /// Deletes or orphans the dependents of objects that wait for that, and removes the objects' finalizers.
    fn release_held(&mut self, store: &mut Store, now: Timestamp) {
        for key in std::mem::take(&mut self.held) {
            let Some(object) = store.get(key.0, &key.1, &key.2).cloned() else { continue };
            let holds = |finalizer: &str| object.meta.finalizers.iter().any(|present| &**present == finalizer);
            let owner = BTreeSet::from([object.meta.uid.clone()]);
            let dependents = Self::dependents(store, &owner);
            let finalizer = if holds(FOREGROUND) { FOREGROUND } else { ORPHAN };
            for dependent in &dependents {
                let meta = &dependent.meta;
                let at = (dependent.kind(), &*meta.namespace, &*meta.name);
                if finalizer == ORPHAN {
                    disown(store, at, &owner, now);
                } else if !meta.is_deleting() {
                    let options = DeleteOptions { uid: Some(meta.uid.clone()), ..DeleteOptions::default() };
                    let _ = store.delete(at.0, at.1, at.2, &options, now, BY);
                }
            }
            let blocked = finalizer == FOREGROUND
                && Self::dependents(store, &owner).iter().any(|dependent| blocks(dependent, &object.meta.uid));
            if blocked {
                self.held.insert(key);
                continue;
            }
            let let_go = store.modify((key.0, &key.1, &key.2), WrittenPart::Main, now, BY, |object| {
                let kept = object.meta.finalizers.iter().filter(|present| &***present != finalizer);
                object.meta.finalizers = kept.cloned().collect();
            });
            // A policy refused the write: the object goes back into the queue (`attemptToOrphanWorker`, `AddRateLimited`).
            if let_go.is_err() {
                self.held.insert(key);
                self.due_at = Some(now + REFUSED_AGAIN);
            }
        }
    }

    /// Force-deletes pods whose node has been gone for long enough.
    fn collect_pods(&mut self, store: &mut Store, now: Timestamp) {
        let mut lost: Vec<Arc<Object>> = Vec::new();
        let mut missing = BTreeMap::new();
        for object in store.list(Kind::Pod) {
            let Some(node) = object.pod().and_then(|pod| pod.node.as_ref()) else { continue };
            if store.get(Kind::Node, "", node).is_none() {
                let since = self.missing.get(node).copied().unwrap_or(now);
                missing.insert(node.clone(), since);
                if now.since(since) >= QUARANTINE {
                    lost.push(Arc::clone(object));
                }
            }
        }
        self.missing = missing;
        for object in lost {
            let meta = &object.meta;
            let options =
                DeleteOptions { grace_secs: Some(0), uid: Some(meta.uid.clone()), ..DeleteOptions::default() };
            let _ = store.delete(Kind::Pod, &meta.namespace, &meta.name, &options, now, BY);
        }
    }

    fn expire_events(store: &mut Store, now: Timestamp) {
        let old = |object: &&Arc<Object>| object.event().is_some_and(|event| now.since(event.last_at) > EVENT_LIFE);
        let old: Vec<Arc<Object>> = store.list(Kind::Event).filter(old).cloned().collect();
        for event in old {
            let options = DeleteOptions::default();
            let _ = store.delete(Kind::Event, &event.meta.namespace, &event.meta.name, &options, now, BY);
        }
    }
}

fn blocks(dependent: &Object, uid: &Str) -> bool {
    dependent.meta.owners.iter().any(|owner| owner.uid == *uid && owner.block_owner_deletion)
}

fn disown(store: &mut Store, at: (Kind, &str, &str), owners: &BTreeSet<Str>, now: Timestamp) {
    let _ = store.modify(at, WrittenPart::Main, now, BY, |object| {
        object.meta.owners = object.meta.owners.iter().filter(|owner| !owners.contains(&owner.uid)).cloned().collect();
    });
}

impl Controller for Collector {
    fn observe(&mut self, change: &StoreChange, now: Timestamp) {
        let (kind, meta) = (change.object.kind(), &change.object.meta);
        if change.kind == ChangeKind::Deleted {
            // Events and Leases own nothing in this model.
            if !matches!(kind, Kind::Event | Kind::Lease) {
                self.gone.insert(meta.uid.clone());
            }
        } else if meta.is_deleting() && meta.finalizers.iter().any(|held| &**held == FOREGROUND || &**held == ORPHAN) {
            self.held.insert((kind, meta.namespace.clone(), meta.name.clone()));
        }
        let work = !self.gone.is_empty() || !self.held.is_empty();
        if work && self.due_at.is_none() && change.kind != ChangeKind::Added {
            self.due_at = Some(now + Duration::from_millis(50));
        }
    }

    fn next_at(&self) -> Option<Timestamp> {
        self.due_at.into_iter().chain([self.next_round_at]).min()
    }

    fn run(&mut self, store: &mut Store, now: Timestamp) {
        if self.due_at.is_some_and(|due| due <= now) {
            self.due_at = None;
            self.collect(store, now);
            self.release_held(store, now);
        }
        if now >= self.next_round_at {
            self.next_round_at = now + PERIOD;
            self.rounds += 1;
            self.collect_pods(store, now);
            if self.rounds.is_multiple_of(15) {
                Self::expire_events(store, now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
