//! Deleting: preconditions, grace, finalizers, propagation.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::super::error::{ApiError, Reason};
use super::super::kind::Kind;
use super::super::object::{DeletionMark, Object};
use super::super::write::{Mode, WriteOptions};
use super::{ChangeKind, Store, ends_gracefully};

/// The finalizer of an object that is deleted after its dependents.
pub(in super::super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents stay.
pub(in super::super) const ORPHAN: &str = "orphan";

/// `DeleteOptions`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeleteOptions {
    /// `gracePeriodSeconds`; absent: the grace of the pod's spec.
    pub grace_secs: Option<u32>,
    /// `preconditions.uid`.
    pub uid: Option<Str>,
    /// `preconditions.resourceVersion`.
    pub resource_version: Option<u64>,
    /// `propagationPolicy`.
    pub propagation: Propagation,
}

/// How a deletion affects an object's dependents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Propagation {
    /// They are deleted after the object.
    #[default]
    Background,
    /// They are deleted before the object.
    Foreground,
    /// They stay.
    Orphan,
}

/// The result of a delete.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Arc<Object>),
    /// It is being deleted: its grace runs, or a finalizer holds it.
    Terminating(Arc<Object>),
}

impl Deleted {
    /// The object after the delete, or its last state.
    pub fn object(&self) -> &Arc<Object> {
        match self {
            Self::Gone(object) | Self::Terminating(object) => object,
        }
    }
}

impl Store {
    /// Deletes an object, or begins to.
    ///
    /// A bound pod that has not ended gets its grace: `deletionTimestamp` lies that far ahead, and its kubelet removes the pod with grace 0 in the
    /// end. A second delete can only shorten the grace. Finalizers keep an object that would otherwise be removed.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` when a precondition does not hold; `Invalid` when a policy refuses the deletion of a pod.
    pub fn delete(
        &mut self,
        kind: Kind,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
        now: Timestamp,
        by: WriteOptions<'_>,
    ) -> Result<Deleted, ApiError> {
        let before = Arc::clone(self.find(kind, namespace, name)?);
        check_preconditions(&before, options)?;
        self.check_deletable(&before, by)?;
        let mut object = Object::clone(&before);
        hold_for_dependents(&mut object, options.propagation);
        object.meta.deletion = Some(deletion(&before, options, now));
        let over = object.meta.deletion.is_some_and(|deletion| deletion.grace_secs == 0);
        if over && object.meta.finalizers.is_empty() {
            object.meta.resource_version = self.revision + 1;
            let object = Arc::new(object);
            if by.mode == Mode::Commit {
                self.commit(ChangeKind::Deleted, Arc::clone(&object), Some(before), now);
            }
            return Ok(Deleted::Gone(object));
        }
        if object == *before {
            return Ok(Deleted::Terminating(before));
        }
        if kind == Kind::DaemonSet && !before.meta.is_deleting() {
            object.meta.generation += 1;
        }
        object.meta.resource_version = self.revision + 1;
        let object = Arc::new(object);
        if by.mode == Mode::Commit {
            self.commit(ChangeKind::Modified, Arc::clone(&object), Some(before), now);
        }
        Ok(Deleted::Terminating(object))
    }
}

impl Store {
    /// Refuses the deletion with 422, as a `ValidatingAdmissionPolicy` does, except for the cluster's own components.
    fn check_deletable(&self, pod: &Object, by: WriteOptions<'_>) -> Result<(), ApiError> {
        let Some(node) = pod.pod().and_then(|pod| pod.node.clone()) else { return Ok(()) };
        let own = by.manager.starts_with("kube-") || by.manager == "kubelet";
        match self.undeletable.get(&(pod.meta.namespace.clone(), node)) {
            Some(why) if !own && !pod.meta.is_deleting() => {
                let message = format!("pods \"{}\" is forbidden: {why}", pod.meta.name);
                Err(ApiError {
                    about: Some((Kind::Pod, pod.meta.name.clone())),
                    ..ApiError::new(Reason::Invalid, message)
                })
            }
            _ => Ok(()),
        }
    }
}

fn check_preconditions(object: &Object, options: &DeleteOptions) -> Result<(), ApiError> {
    let (kind, meta) = (object.kind(), &object.meta);
    if let Some(uid) = options.uid.as_ref().filter(|uid| **uid != meta.uid) {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", meta.uid);
        return Err(ApiError::conflict(kind, &meta.name, &why));
    }
    if let Some(version) = options.resource_version.filter(|version| *version != meta.resource_version) {
        let why = format!(
            "Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: {}",
            meta.resource_version
        );
        return Err(ApiError::conflict(kind, &meta.name, &why));
    }
    Ok(())
}

/// Puts the finalizer of foreground or orphan deletion on an object; the garbage collector removes it when it is done.
fn hold_for_dependents(object: &mut Object, propagation: Propagation) {
    let finalizer = match propagation {
        Propagation::Background => return,
        Propagation::Foreground => FOREGROUND,
        Propagation::Orphan => ORPHAN,
    };
    if !object.meta.finalizers.iter().any(|present| &**present == finalizer) {
        object.meta.finalizers = object.meta.finalizers.iter().cloned().chain([Str::from(finalizer)]).collect();
    }
}

fn deletion(object: &Object, options: &DeleteOptions, now: Timestamp) -> DeletionMark {
    if !ends_gracefully(object) {
        return object.meta.deletion.map_or(DeletionMark { at: whole_secs(now), grace_secs: 0 }, |present| {
            DeletionMark { grace_secs: 0, ..present }
        });
    }
    match (object.meta.deletion, options.grace_secs) {
        (Some(present), Some(asked)) if asked < present.grace_secs => {
            let began = present.at - Duration::from_secs(present.grace_secs.into());
            DeletionMark { at: began + Duration::from_secs(asked.into()), grace_secs: asked }
        }
        (Some(present), _) => present,
        (None, asked) => {
            let default = object.pod().map_or(0, super::super::object::Pod::grace_secs);
            let grace_secs = asked.unwrap_or(default);
            DeletionMark { at: whole_secs(now) + Duration::from_secs(grace_secs.into()), grace_secs }
        }
    }
}

/// Cuts the fraction of a second, which `deletionTimestamp` does not have.
fn whole_secs(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.secs() * 1000)
}
