//! Keeps `managedFields` of all objects that were written through the API.

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

/// While there are fewer entries than this, the entries of deleted objects are not removed.
const FEW: usize = 1024;

/// The `managedFields` of objects, kept beside the world's store.
#[derive(Debug, Default)]
pub(super) struct ManagedFieldsStore {
    entries: HashMap<(Kind, Str, Str), FieldsEntry>,
    /// The number of entries at which the entries of deleted objects are removed.
    limit: usize,
}

#[derive(Debug)]
struct FieldsEntry {
    uid: Str,
    /// The owners of template and strategy that the world's object had when this entry was noted.
    owners: Option<FieldOwners>,
    managed: Managed,
    json: Arc<[u8]>,
}

/// The fields that the world's kubelets own in a node, as `FieldsV1`; only those that matter to readers.
const KUBELETS_FIELDS: &str = r#"{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{"f:lastHeartbeatTime":{},"f:status":{}}},"f:images":{}}}"#;
const TEMPLATE: &[&str] = &["f:spec", "f:template"];
const STRATEGY: &[&str] = &["f:spec", "f:updateStrategy"];

impl ManagedFieldsStore {
    /// The managers of an object and their fields.
    pub(super) fn managed(&self, object: &Object) -> Managed {
        match self.known(object) {
            Some(entry) => entry.managed.clone(),
            None => from_owners(object).unwrap_or_default(),
        }
    }

    /// `metadata.managedFields` of an object, as JSON text. `served` is the same object as clients see it.
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

    /// The entry noted for this object; `None` if it is another object of the same name, or the world itself has since changed its owners.
    fn known(&self, object: &Object) -> Option<&FieldsEntry> {
        if self.entries.is_empty() {
            return None;
        }
        let key = (object.kind(), object.meta.namespace.clone(), object.meta.name.clone());
        let entry = self.entries.get(&key).filter(|entry| entry.uid == object.meta.uid)?;
        let fresh = entry.owners.as_ref() == owners(object);
        fresh.then_some(entry)
    }

    /// Notes the managers that an object has from now on.
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

/// Removes from the `metadata.managedFields` that a client sends for `object` the entry that serving adds for the world's own kubelet.
/// A client that only sends this entry back does not rewrite the list.
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

/// Adds to `managed` the entry of the world's own kubelet, which wrote its node's conditions and images at `at`.
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

/// The managers that the world itself knows: the last writers of a DaemonSet's template and strategy.
fn from_owners(object: &Object) -> Option<Managed> {
    let owners = owners(object)?;
    if owners.template.is_none() && owners.strategy.is_none() {
        return None;
    }
    let value: Value = to_value(object, None);
    let roots = [(owners.template.as_ref(), TEMPLATE), (owners.strategy.as_ref(), STRATEGY)];
    Some(Managed::from_owners(&value, &roots, object.kind().api_version(), object.meta.created_at))
}
