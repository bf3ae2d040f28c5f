//! Whose fields are whose, for all objects that were written through the API.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::engine::model::Str;
use crate::engine::model::facts::FieldOwners;
use crate::engine::model::time::Timestamp;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;
use crate::sim::world::store::Store;

use super::codec::to_value;
use super::managed::Managed;

/// Below this many entries those of objects that are gone are kept.
const FEW: usize = 1024;

/// `managedFields` of objects, beside the store.
#[derive(Debug, Default)]
pub(super) struct ManagedFieldsStore {
    entries: HashMap<(Kind, Str, Str), FieldsEntry>,
    /// At how many entries those of objects that are gone are dropped.
    limit: usize,
}

#[derive(Debug)]
struct FieldsEntry {
    uid: Str,
    /// What the world itself said then of who wrote the template and the strategy.
    owners: Option<FieldOwners>,
    managed: Managed,
    json: Arc<[u8]>,
}

/// The field that matters of what a kubelet owns, as `FieldsV1`.
const KUBELETS_FIELDS: &str = r#"{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{"f:lastHeartbeatTime":{},"f:status":{}}},"f:images":{}}}"#;
const TEMPLATE: &[&str] = &["f:spec", "f:template"];
const STRATEGY: &[&str] = &["f:spec", "f:updateStrategy"];

impl ManagedFieldsStore {
    /// Who owns what of an object.
    pub(super) fn managed(&self, object: &Object) -> Managed {
        match self.known(object) {
            Some(entry) => entry.managed.clone(),
            None => from_owners(object).unwrap_or_default(),
        }
    }

    /// `metadata.managedFields` of an object, as JSON text; `served`: the object as it is served.
    pub(super) fn json_of(&self, object: &Object, served: &Object) -> Option<Arc<[u8]>> {
        let known = match self.known(object) {
            Some(entry) => Some(Arc::clone(&entry.json)),
            None => from_owners(served).map(|managed| text(&managed)),
        };
        match served.node().and_then(|node| node.reported_at) {
            Some(at) => Some(with_kubelet(known.as_deref(), at)),
            None => known,
        }
    }

    /// What was noted of this very object, unless the world wrote to it since by itself.
    fn known(&self, object: &Object) -> Option<&FieldsEntry> {
        if self.entries.is_empty() {
            return None;
        }
        let key = (object.kind(), object.meta.namespace.clone(), object.meta.name.clone());
        let entry = self.entries.get(&key).filter(|entry| entry.uid == object.meta.uid)?;
        let fresh = entry.owners.as_ref() == owners(object);
        fresh.then_some(entry)
    }

    /// Takes note of who owns what of an object from now on.
    pub(super) fn note(&mut self, store: &Store, object: &Object, managed: Managed) {
        if self.entries.len() >= self.limit.max(FEW) {
            self.entries.retain(|(kind, namespace, name), entry| {
                store.get(*kind, namespace, name).is_some_and(|object| object.meta.uid == entry.uid)
            });
            self.limit = self.entries.len() * 2;
        }
        let key = (object.kind(), object.meta.namespace.clone(), object.meta.name.clone());
        let (uid, owners, json) = (object.meta.uid.clone(), owners(object).cloned(), text(&managed));
        self.entries.insert(key, FieldsEntry { uid, owners, managed, json });
    }
}

/// What a client writes as `metadata.managedFields` of `object`, without what is added for the world's own kubelet where it is served:
/// that is no rewriting of them.
pub(super) fn without_kubelet(mut asked: Value, object: &Object) -> Value {
    let reports = object.node().is_some_and(|node| node.reported_at.is_some());
    if let Some(entries) = asked.as_array_mut().filter(|_| reports) {
        let fields: Value = serde_json::from_str(KUBELETS_FIELDS).unwrap_or_default();
        entries.retain(|entry| entry["manager"] != "kubelet" || entry["fieldsV1"] != fields);
    }
    asked
}

fn owners(object: &Object) -> Option<&FieldOwners> {
    object.daemon_set().map(|daemon_set| &daemon_set.owners)
}

fn text(managed: &Managed) -> Arc<[u8]> {
    managed.to_json().to_string().into_bytes().into()
}

/// `managed` and what the world's own kubelet wrote of its node, `at` then: its conditions, heartbeats above all.
fn with_kubelet(managed: Option<&[u8]>, at: Timestamp) -> Arc<[u8]> {
    let others = managed.and_then(|text| text.strip_prefix(b"[")).filter(|others| *others != b"]");
    let entry = format!(
        r#"[{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"{}","fieldsType":"FieldsV1","fieldsV1":{KUBELETS_FIELDS},"subresource":"status"}}"#,
        at.to_rfc3339(),
    );
    let mut text = entry.into_bytes();
    match others {
        Some(others) => {
            text.push(b',');
            text.extend_from_slice(others);
        }
        None => text.push(b']'),
    }
    text.into()
}

/// What the world itself knows: who last wrote a DaemonSet's template and strategy.
fn from_owners(object: &Object) -> Option<Managed> {
    let owners = owners(object)?;
    if owners.template.is_none() && owners.strategy.is_none() {
        return None;
    }
    let value: Value = to_value(object, None);
    let roots = [(owners.template.as_ref(), TEMPLATE), (owners.strategy.as_ref(), STRATEGY)];
    Some(Managed::from_owners(&value, &roots, object.kind().api_version(), object.meta.created_at))
}
