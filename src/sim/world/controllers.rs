//! The controllers of the simulated cluster. Each observes changes, acts through the store, and tells when it acts next.
//!
//! ```text
//!   store ──changes──→ observe ─┐
//!                               ├─ daemonset   pods per node, rolling updates, revisions, status
//!                     next_at ──┤  scheduler   binds pods
//!                               │  statefulset pods one after the other
//!                       run   ──┤  lifecycle   silent nodes: Unknown, taints, pods not ready
//!                               │  eviction    pods that do not tolerate a NoExecute taint
//!   store ←──writes────────────┘  collector   dependents of what is gone, pods of nodes that are gone
//! ```

pub(super) mod collector;
pub(super) mod daemonset;
pub mod eligibility;
pub(super) mod eviction;
pub(super) mod lifecycle;
pub(super) mod scheduler;
pub(super) mod statefulset;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::object::{Body, EventBody, EventType, Object, ObjectRef};
use super::store::{Store, StoreChange};
use super::write::WriteOptions;

/// A controller, as the world drives it.
pub(super) trait Controller {
    /// Takes in a change.
    fn observe(&mut self, change: &StoreChange, now: Timestamp);
    /// The instant at which the controller acts next.
    fn next_at(&self) -> Option<Timestamp>;
    /// Does everything that is due.
    fn run(&mut self, store: &mut Store, now: Timestamp);
}

/// Records an event about an object, as a controller does.
pub(super) fn record(
    store: &mut Store,
    component: &str,
    about: &Object,
    (severity, reason, message): (EventType, &str, String),
    now: Timestamp,
) {
    let meta = &about.meta;
    let kind = about.kind();
    let namespace: Str = if meta.namespace.is_empty() { "default".into() } else { meta.namespace.clone() };
    let body = EventBody {
        involved: ObjectRef {
            api_version: kind.api_version().into(),
            kind: kind.words().kind.into(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            field_path: None,
        },
        severity,
        reason: reason.into(),
        message: message.into(),
        component: component.into(),
        first_at: now,
        last_at: now,
        count: 1,
        ..EventBody::default()
    };
    // The store's revision makes the name unique; Kubernetes takes nanoseconds for that.
    let name = format!("{}.{:x}", meta.name, store.revision());
    let event = Object::new(&namespace, &name, Body::Event(body));
    // An event that cannot be recorded is lost, as everywhere in Kubernetes.
    let _ = store.create(event, now, WriteOptions::named(component));
}
