//! The world's objects: typed where the world's controllers read them, verbatim where only a client does.
//!
//! ```text
//!   Object ── meta: Meta                     name, uid, resourceVersion, labels, owners, deletion …
//!          └─ body: Body ── Node(Node)       each typed body keeps what it does not read in a `rest`,
//!                           Pod(Pod)         so that nothing a client wrote is lost
//!                           DaemonSet(…) ControllerRevision(…) Lease(…) Event(…)
//!                           Other(Kind, JSON)
//! ```
//!
//! Objects are shared as `Arc<Object>` and never change in place; a write makes another one. Everything in them is
//! cheap to clone.

mod body;
mod facts;

pub use body::{
    Condition, ContainerStatus, ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetStatus, EventBody, EventType,
    LastExit, Lease, Node, NodeImage, ObjectRef, Pod, PodStatus, conditions,
};

use std::sync::Arc;

use serde_json::Value;

use crate::engine::model::Str;
use crate::engine::model::labels::Labels;
use crate::engine::model::time::Timestamp;

use super::kind::Kind;

/// Label of pods and ControllerRevisions: the hash of the revision they belong to.
pub const REVISION_HASH: &str = "controller-revision-hash";
/// Label of pods: the DaemonSet's template generation when they were made.
pub const TEMPLATE_GENERATION: &str = "pod-template-generation";
/// Annotation of DaemonSets: counts changes of the template.
pub const DAEMONSET_TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
/// Annotation that `kubectl apply` keeps; the engine is not told of it.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Any object.
#[derive(Clone, PartialEq, Debug)]
pub struct Object {
    /// The metadata that all objects have.
    pub meta: Meta,
    /// The content that depends on the kind.
    pub body: Body,
}

/// `metadata`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Meta {
    /// Its namespace; empty for kinds that have none.
    pub namespace: Str,
    /// Its name; empty before the server has made one from `generate_name`.
    pub name: Str,
    /// `generateName`.
    pub generate_name: Option<Str>,
    /// Set by the server. In an update: empty, or a precondition.
    pub uid: Str,
    /// Set by the server. In an update: 0, or a precondition.
    pub resource_version: u64,
    /// Counts changes of the spec, for kinds that count them; else 0.
    pub generation: i64,
    /// `creationTimestamp`.
    pub created_at: Timestamp,
    /// The deletion's time and grace, once the object is being deleted.
    pub deletion: Option<DeletionMark>,
    /// Its labels.
    pub labels: Labels,
    /// Its annotations.
    pub annotations: Labels,
    /// `ownerReferences`.
    pub owners: Arc<[Owner]>,
    /// Its finalizers.
    pub finalizers: Arc<[Str]>,
}

/// An object that is being deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeletionMark {
    /// `deletionTimestamp`: when its grace ends.
    pub at: Timestamp,
    /// `deletionGracePeriodSeconds`.
    pub grace_secs: u32,
}

/// One of `ownerReferences`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Its `apiVersion`.
    pub api_version: Str,
    /// Its kind.
    pub kind: Str,
    /// Its name.
    pub name: Str,
    /// Its uid, which alone identifies it.
    pub uid: Str,
    /// Whether the owner controls the object.
    pub controller: bool,
    /// `blockOwnerDeletion`.
    pub block_owner_deletion: bool,
}

/// What an object holds besides its metadata.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// A node.
    Node(Node),
    /// A pod.
    Pod(Pod),
    /// A DaemonSet.
    DaemonSet(DaemonSet),
    /// A ControllerRevision.
    ControllerRevision(ControllerRevision),
    /// A Lease.
    Lease(Lease),
    /// An event.
    Event(EventBody),
    /// A kind that no controller here reads: the object without `apiVersion`, `kind` and `metadata`.
    Other(Kind, Arc<Value>),
}

impl Object {
    /// A new object, before a server has seen it.
    pub fn new(namespace: &str, name: &str, body: Body) -> Self {
        Self { meta: Meta { namespace: namespace.into(), name: name.into(), ..Meta::default() }, body }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match &self.body {
            Body::Node(_) => Kind::Node,
            Body::Pod(_) => Kind::Pod,
            Body::DaemonSet(_) => Kind::DaemonSet,
            Body::ControllerRevision(_) => Kind::ControllerRevision,
            Body::Lease(_) => Kind::Lease,
            Body::Event(_) => Kind::Event,
            Body::Other(kind, _) => *kind,
        }
    }

    /// The node, if the object is one.
    pub fn node(&self) -> Option<&Node> {
        if let Body::Node(node) = &self.body { Some(node) } else { None }
    }

    /// The pod, if the object is one.
    pub fn pod(&self) -> Option<&Pod> {
        if let Body::Pod(pod) = &self.body { Some(pod) } else { None }
    }

    /// The DaemonSet, if the object is one.
    pub fn daemon_set(&self) -> Option<&DaemonSet> {
        if let Body::DaemonSet(daemon_set) = &self.body { Some(daemon_set) } else { None }
    }

    /// The ControllerRevision, if the object is one.
    pub fn revision(&self) -> Option<&ControllerRevision> {
        if let Body::ControllerRevision(revision) = &self.body { Some(revision) } else { None }
    }

    /// The Lease, if the object is one.
    pub fn lease(&self) -> Option<&Lease> {
        if let Body::Lease(lease) = &self.body { Some(lease) } else { None }
    }

    /// The event, if the object is one.
    pub fn event(&self) -> Option<&EventBody> {
        if let Body::Event(event) = &self.body { Some(event) } else { None }
    }

    /// An owner reference to this object that marks it as the controller.
    pub fn as_controller(&self) -> Owner {
        Owner {
            api_version: self.kind().api_version().into(),
            kind: self.kind().words().kind.into(),
            name: self.meta.name.clone(),
            uid: self.meta.uid.clone(),
            controller: true,
            block_owner_deletion: true,
        }
    }
}

impl Meta {
    /// The uid of the owner that controls the object.
    pub fn controller(&self) -> Option<&Str> {
        self.owners.iter().find(|owner| owner.controller).map(|owner| &owner.uid)
    }

    /// Whether it is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.deletion.is_some()
    }

    /// The hash of the revision that the object belongs to.
    pub fn revision_hash(&self) -> Option<&Str> {
        self.labels.get(REVISION_HASH)
    }

    /// Sets one annotation, or removes it.
    pub fn set_annotation(&mut self, key: &str, value: Option<&str>) {
        self.annotations = with_pair(&self.annotations, key, value);
    }

    /// Sets one label, or removes it.
    pub fn set_label(&mut self, key: &str, value: Option<&str>) {
        self.labels = with_pair(&self.labels, key, value);
    }
}

fn with_pair(pairs: &Labels, key: &str, value: Option<&str>) -> Labels {
    let kept = pairs.iter().filter(|(candidate, _)| &***candidate != key);
    let added = value.map(|value| (Str::from(key), Str::from(value)));
    kept.map(|(key, value)| (key.clone(), value.clone())).chain(added).collect()
}
