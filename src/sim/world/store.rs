//! The store: all objects, one counter of versions, and logs of changes, with an API server's semantics.
//!
//! ```text
//!   create / update / delete ── admission (defaults, validation, generation) ── tables ── log of changes per kind
//!                                                                                          └─ changes_since(rv) → watches
//! ```
//!
//! - One global counter gives every change its `resourceVersion`; a write that changes nothing gets none and is not logged.
//! - A DELETED change carries the last state with a *new* version.
//! - The log of each kind is bounded. A client that asks for older changes gets "Expired", and must list again.
//! - Optimistic locking, preconditions, graceful deletion, finalizers and generated names are those of kube-apiserver.

mod delete;
mod log;
mod names;

pub use delete::{DeleteOptions, Deleted, Propagation};
pub(super) use delete::{FOREGROUND, ORPHAN};
pub use log::{ChangeKind, Changes, StoreChange};
pub(super) use names::SAFE;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::admission;
use super::error::{ApiError, FieldError};
use super::kind::{Kind, ResourceScope};
use super::object::{Body, Object};
use super::policy::AdmissionPolicies;
use super::write::{Mode, WriteOptions, WrittenPart};

use log::ChangeLog;

/// The default number of changes that each kind's log keeps; see [`Store::keep`].
pub const DEFAULT_LOG: usize = 4096;

type StoreTable = BTreeMap<Str, BTreeMap<Str, Arc<Object>>>;

/// All objects of a world.
#[derive(Debug)]
pub struct Store {
    revision: u64,
    tables: [StoreTable; Kind::ALL.len()],
    logs: [ChangeLog; Kind::ALL.len()],
    rng: fastrand::Rng,
    /// The namespaces in which no pod is admitted, with the message of the refusal.
    refused: BTreeMap<Str, Str>,
    /// The admission policies on DaemonSets and pods.
    pub(super) policies: AdmissionPolicies,
    /// The pods that may not be deleted, by namespace and node, with the message of the refusal.
    undeletable: BTreeMap<(Str, Str), Str>,
    /// Changes that the world has still to pass on to its controllers; `None` for a store on its own.
    fresh: Option<Vec<StoreChange>>,
    /// What makes the uids differ from those of another store with the same seed.
    uid_mark: u128,
}

impl Store {
    /// An empty store; `seed` determines uids and generated names.
    pub fn new(seed: u64) -> Self {
        Self::with_uids_of_its_own(seed, 0)
    }

    /// An empty store with the generated names of `seed` and, for each `uid_mark`, other uids.
    pub fn with_uids_of_its_own(seed: u64, uid_mark: u128) -> Self {
        Self {
            uid_mark,
            revision: 0,
            tables: std::array::from_fn(|_| StoreTable::new()),
            logs: std::array::from_fn(|_| ChangeLog::new(DEFAULT_LOG)),
            rng: fastrand::Rng::with_seed(seed),
            refused: BTreeMap::new(),
            policies: AdmissionPolicies::default(),
            undeletable: BTreeMap::new(),
            fresh: None,
        }
    }

    /// Remembers every change from now on until [`Store::take_fresh`] takes it.
    pub(super) fn remember_fresh(&mut self) {
        self.fresh = Some(Vec::new());
    }

    /// Takes the changes since the last call; later changes go into `spare`.
    pub(super) fn take_fresh(&mut self, spare: Vec<StoreChange>) -> Vec<StoreChange> {
        self.fresh.as_mut().map(|fresh| std::mem::replace(fresh, spare)).unwrap_or_default()
    }

    /// The version of the newest change, which a list carries.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The object of that name.
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.tables[kind.index()].get(namespace)?.get(name)
    }

    /// The object of that name.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn find(&self, kind: Kind, namespace: &str, name: &str) -> Result<&Arc<Object>, ApiError> {
        self.get(kind, namespace, name).ok_or_else(|| ApiError::not_found(kind, name))
    }

    /// All objects of a kind, by namespace and name.
    pub fn list(&self, kind: Kind) -> impl Iterator<Item = &Arc<Object>> {
        self.tables[kind.index()].values().flat_map(BTreeMap::values)
    }

    /// All objects of a kind in a namespace, by name.
    pub fn list_in(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &Arc<Object>> {
        self.tables[kind.index()].get(namespace).into_iter().flat_map(BTreeMap::values)
    }

    /// The number of objects of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.tables[kind.index()].values().map(BTreeMap::len).sum()
    }

    /// The changes of a kind after version `since`, oldest first.
    ///
    /// # Errors
    /// `Expired` when the log does not reach back that far any more.
    pub fn changes_since(&self, kind: Kind, since: u64) -> Result<Changes<'_>, ApiError> {
        self.logs[kind.index()].since(since)
    }

    /// Keeps at most this many changes of each kind from now on; 0 forgets all present changes, so that watches expire.
    pub fn keep(&mut self, changes: usize) {
        for log in &mut self.logs {
            log.keep(changes);
        }
    }

    /// A digest of every change so far (kind, name, version, time): two runs with one seed have the same.
    pub fn digest(&self) -> u64 {
        self.logs.iter().fold(0, |digest, log| digest.rotate_left(7) ^ log.digest())
    }

    /// Refuses the pods of a namespace from now on, or admits them again.
    pub(super) fn refuse_pods(&mut self, namespace: &Str, why: Option<Str>) {
        match why {
            Some(why) => drop(self.refused.insert(namespace.clone(), why)),
            None => drop(self.refused.remove(namespace)),
        }
    }

    /// Refuses to delete the pods on a node from now on, or admits it again.
    pub(super) fn refuse_deletion(&mut self, namespace: &Str, node: &Str, why: Option<Str>) {
        let key = (namespace.clone(), node.clone());
        match why {
            Some(why) => drop(self.undeletable.insert(key, why)),
            None => drop(self.undeletable.remove(&key)),
        }
    }

    /// The number of nodes whose pods may not be deleted.
    pub fn undeletable(&self) -> usize {
        self.undeletable.len()
    }

    /// Creates an object.
    ///
    /// # Errors
    /// `AlreadyExists`, `Invalid`, `Forbidden` for a pod that is not admitted, or `NotFound` for its namespace.
    pub fn create(
        &mut self,
        mut object: Object,
        now: Timestamp,
        by: WriteOptions<'_>,
    ) -> Result<Arc<Object>, ApiError> {
        let kind = object.kind();
        self.check_namespace(&object)?;
        if object.meta.resource_version != 0 {
            return Err(ApiError::new(
                super::error::Reason::BadRequest,
                "resourceVersion should not be set on objects to be created",
            ));
        }
        if object.meta.name.is_empty() {
            self.generate_name(&mut object)?;
        }
        self.policies.mutate_new(&mut object);
        admission::on_create(&mut object, by.manager)?;
        if kind == Kind::Pod
            && let Some(why) = self.refused.get(&object.meta.namespace)
        {
            return Err(ApiError::forbidden(kind, &object.meta.name, why));
        }
        if self.get(kind, &object.meta.namespace, &object.meta.name).is_some() {
            return Err(ApiError::already_exists(kind, &object.meta.name));
        }
        object.meta.uid = names::uid(&mut self.rng, self.uid_mark);
        // Kubernetes keeps whole seconds; milliseconds would break ties that a real cluster does not break.
        object.meta.created_at = Timestamp::from_millis(now.secs() * 1000);
        object.meta.deletion = None;
        object.meta.resource_version = self.revision + 1;
        let object = Arc::new(object);
        if by.mode == Mode::Commit {
            self.commit(ChangeKind::Added, Arc::clone(&object), None, now);
        }
        Ok(object)
    }

    /// Replaces one part of an object; the other part stays.
    ///
    /// `meta.resource_version` 0 and an empty `meta.uid` are no preconditions. A write that changes nothing returns the object as it is. Removing the
    /// last finalizer of an object whose grace is over removes the object.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`, `Invalid`.
    pub fn update(
        &mut self,
        mut object: Object,
        part: WrittenPart,
        now: Timestamp,
        by: WriteOptions<'_>,
    ) -> Result<Arc<Object>, ApiError> {
        let kind = object.kind();
        let before = Arc::clone(self.find(kind, &object.meta.namespace, &object.meta.name)?);
        if !object.meta.uid.is_empty() && object.meta.uid != before.meta.uid {
            let why = format!(
                "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                object.meta.uid, before.meta.uid
            );
            return Err(ApiError::conflict(kind, &before.meta.name, &why));
        }
        if object.meta.resource_version != 0 && object.meta.resource_version != before.meta.resource_version {
            return Err(ApiError::modified(kind, &before.meta.name));
        }
        object.meta.uid = before.meta.uid.clone();
        object.meta.created_at = before.meta.created_at;
        object.meta.deletion = before.meta.deletion;
        object.meta.generate_name.clone_from(&before.meta.generate_name);
        object.meta.resource_version = before.meta.resource_version;
        if part == WrittenPart::Main {
            self.policies.mutate(&mut object);
        }
        admission::on_update(&before, &mut object, part, by.manager)?;
        self.policies.validate(&before, &object)?;
        if *before == object {
            return Ok(before);
        }
        object.meta.resource_version = self.revision + 1;
        let gone = object.meta.deletion.is_some_and(|deletion| deletion.grace_secs == 0)
            && object.meta.finalizers.is_empty()
            && !before.meta.finalizers.is_empty();
        let object = Arc::new(object);
        if by.mode == Mode::Commit {
            let change = if gone { ChangeKind::Deleted } else { ChangeKind::Modified };
            self.commit(change, Arc::clone(&object), Some(before), now);
        }
        Ok(object)
    }

    /// Reads an object, lets `edit` change it, and writes one part of it back.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`.
    pub fn modify(
        &mut self,
        (kind, namespace, name): (Kind, &str, &str),
        part: WrittenPart,
        now: Timestamp,
        by: WriteOptions<'_>,
        edit: impl FnOnce(&mut Object),
    ) -> Result<Arc<Object>, ApiError> {
        let mut object = Object::clone(self.find(kind, namespace, name)?);
        edit(&mut object);
        self.update(object, part, now, by)
    }

    fn check_namespace(&self, object: &Object) -> Result<(), ApiError> {
        let kind = object.kind();
        let namespace = &object.meta.namespace;
        match kind.words().scope {
            ResourceScope::Cluster if namespace.is_empty() => Ok(()),
            ResourceScope::Cluster => Err(ApiError::new(
                super::error::Reason::BadRequest,
                "namespace may not be set on an object of a cluster-scoped kind",
            )),
            ResourceScope::Namespaced if namespace.is_empty() => {
                let cause = FieldError::required("metadata.namespace", "Required value");
                Err(ApiError::invalid(kind, &object.meta.name, vec![cause]))
            }
            ResourceScope::Namespaced if self.get(Kind::Namespace, "", namespace).is_none() => {
                Err(ApiError::not_found(Kind::Namespace, namespace))
            }
            ResourceScope::Namespaced => Ok(()),
        }
    }

    fn generate_name(&mut self, object: &mut Object) -> Result<(), ApiError> {
        let kind = object.kind();
        let Some(base) = object.meta.generate_name.clone().filter(|base| !base.is_empty()) else {
            let cause = FieldError::required("metadata.name", "Required value: name or generateName is required");
            return Err(ApiError::invalid(kind, "", vec![cause]));
        };
        // Like the API server, the store tries a few names before it gives up: one in 14 million clashes.
        for _ in 0..8 {
            object.meta.name = names::generated(&base, &mut self.rng);
            if self.get(kind, &object.meta.namespace, &object.meta.name).is_none() {
                return Ok(());
            }
        }
        Err(ApiError::already_exists(kind, &object.meta.name))
    }

    fn commit(&mut self, change: ChangeKind, object: Arc<Object>, before: Option<Arc<Object>>, now: Timestamp) {
        self.revision = object.meta.resource_version;
        let kind = object.kind();
        let table = &mut self.tables[kind.index()];
        match change {
            ChangeKind::Added | ChangeKind::Modified => {
                if let Some(namespace) = table.get_mut(&object.meta.namespace) {
                    namespace.insert(object.meta.name.clone(), Arc::clone(&object));
                } else {
                    let first = BTreeMap::from([(object.meta.name.clone(), Arc::clone(&object))]);
                    table.insert(object.meta.namespace.clone(), first);
                }
            }
            ChangeKind::Deleted => {
                if let Some(namespace) = table.get_mut(&object.meta.namespace) {
                    namespace.remove(&object.meta.name);
                }
            }
        }
        let change = StoreChange { kind: change, object, before, at: now };
        if let Some(fresh) = &mut self.fresh {
            fresh.push(change.clone());
        }
        self.logs[kind.index()].push(change);
    }
}

/// Whether an object is a bound pod that has not ended: only such a pod gets a grace period.
fn ends_gracefully(object: &Object) -> bool {
    use crate::engine::model::facts::PodPhase::{Failed, Succeeded};
    match &object.body {
        Body::Pod(pod) => pod.node.is_some() && !matches!(pod.status.phase, Failed | Succeeded),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
