//! StatefulSets, as far as pre-warming needs them: `OrderedReady` creation, without updates, scaling and volume claims.
//!
//! ```text
//!   for each ordinal: absent ──▶ create, and stop     failed or ended ──▶ delete, and stop
//!                     terminating, not running, not ready ──▶ stop
//! ```
//!
//! As in Kubernetes' `defaultStatefulSetControl`, each sync does one thing, and the resulting change leads to the next sync.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::model::Str;
use crate::engine::model::facts::PodPhase;
use crate::engine::model::labels::Labels;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;

use super::super::kind::Kind;
use super::super::object::{Body, EventType, Meta, Object, Pod, REVISION_HASH};
use super::super::store::{DeleteOptions, Store, StoreChange};
use super::super::write::{WriteOptions, WrittenPart};
use super::{Controller, record};

const COMPONENT: &str = "statefulset-controller";
const BY: WriteOptions<'static> = WriteOptions::named("kube-controller-manager");
/// The time from a change to the sync that it leads to.
const REACTION: Duration = Duration::from_millis(20);
/// The first wait after a sync that failed, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1000));

/// Namespace and name.
type SetKey = (Str, Str);

/// The StatefulSet controller.
#[derive(Debug, Default)]
pub(in crate::sim::world) struct StatefulSets {
    queue: BTreeMap<SetKey, Timestamp>,
    /// How many syncs failed in a row.
    failures: BTreeMap<SetKey, u32>,
}

impl StatefulSets {
    fn sync(&mut self, key: &SetKey, store: &mut Store, now: Timestamp) {
        let Some(set) = store.get(Kind::StatefulSet, &key.0, &key.1).cloned() else {
            self.failures.remove(key);
            return;
        };
        let Body::Other(_, body) = &set.body else { return };
        if set.meta.is_deleting() {
            return;
        }
        let replicas = body["spec"]["replicas"].as_u64().unwrap_or(1);
        match sync_once(&set, body, replicas, store, now) {
            Ok(()) => drop(self.failures.remove(key)),
            Err(()) => {
                let failures = self.failures.entry(key.clone()).or_default();
                let wait = RETRY.0.saturating_mul(1 << (*failures).min(20)).min(RETRY.1);
                *failures += 1;
                self.queue.insert(key.clone(), now + wait);
            }
        }
        write_status(&set, replicas, store, now);
    }
}

/// Makes the one change of a sync.
fn sync_once(set: &Object, body: &Value, replicas: u64, store: &mut Store, now: Timestamp) -> Result<(), ()> {
    let namespace = &set.meta.namespace;
    for ordinal in 0..replicas {
        let name = pod_name(set, ordinal);
        let Some(object) = store.get(Kind::Pod, namespace, &name).cloned() else {
            return create(set, body, ordinal, store, now);
        };
        if object.meta.controller() != Some(&set.meta.uid) {
            // Another owner's pod has the name; it has to be deleted first.
            return Err(());
        }
        let Some(pod) = object.pod().filter(|_| !object.meta.is_deleting()) else { return Ok(()) };
        if matches!(pod.status.phase, PodPhase::Failed | PodPhase::Succeeded) {
            let options = DeleteOptions { uid: Some(object.meta.uid.clone()), ..DeleteOptions::default() };
            return store.delete(Kind::Pod, namespace, &name, &options, now, BY).map(drop).map_err(drop);
        }
        if pod.status.phase != PodPhase::Running || pod.ready().is_none() {
            return Ok(());
        }
    }
    Ok(())
}

fn create(set: &Object, body: &Value, ordinal: u64, store: &mut Store, now: Timestamp) -> Result<(), ()> {
    let name = pod_name(set, ordinal);
    let template = &body["spec"]["template"];
    let labels = Labels::from_json(&template["metadata"]["labels"]);
    let own = [
        (Str::from("statefulset.kubernetes.io/pod-name"), Str::from(name.as_str())),
        (Str::from("apps.kubernetes.io/pod-index"), ordinal.to_string().into()),
        (Str::from(REVISION_HASH), format!("{}-0", set.meta.name).into()),
    ];
    let meta = Meta {
        namespace: set.meta.namespace.clone(),
        name: name.as_str().into(),
        labels: labels.iter().map(|(key, value)| (key.clone(), value.clone())).chain(own).collect(),
        owners: [set.as_controller()].into(),
        ..Meta::default()
    };
    let pod = Pod { template: Template::from_json(template.clone()), ..Pod::default() };
    let made = store.create(Object { meta, body: Body::Pod(pod) }, now, BY);
    let (event, result) = match made {
        Ok(_) => {
            let message = format!("Create Pod {name} in StatefulSet {} successful", set.meta.name);
            ((EventType::Normal, "SuccessfulCreate", message), Ok(()))
        }
        Err(refused) => {
            let message = format!("Create Pod {name} in StatefulSet {} failed error: {refused}", set.meta.name);
            ((EventType::Warning, "FailedCreate", message), Err(()))
        }
    };
    record(store, COMPONENT, set, event, now);
    result
}

fn write_status(set: &Object, replicas: u64, store: &mut Store, now: Timestamp) {
    let at = (Kind::StatefulSet, &*set.meta.namespace, &*set.meta.name);
    let pods = (0..replicas).filter_map(|ordinal| store.get(Kind::Pod, at.1, &pod_name(set, ordinal)));
    let ready: Vec<bool> = pods.map(|object| object.pod().is_some_and(|pod| pod.ready().is_some())).collect();
    let status = json!({"replicas": ready.len(), "readyReplicas": ready.iter().filter(|ready| **ready).count()});
    let _ = store.modify(at, WrittenPart::Status, now, BY, |object| {
        if let Body::Other(_, body) = &mut object.body {
            Arc::make_mut(body)["status"] = status;
        }
    });
}

fn pod_name(set: &Object, ordinal: u64) -> String {
    format!("{}-{ordinal}", set.meta.name)
}

impl Controller for StatefulSets {
    fn observe(&mut self, change: &StoreChange, now: Timestamp) {
        let meta = &change.object.meta;
        let name = match change.object.kind() {
            Kind::StatefulSet => &meta.name,
            Kind::Pod => match meta.owners.iter().find(|owner| owner.controller && &*owner.kind == "StatefulSet") {
                Some(owner) => &owner.name,
                None => return,
            },
            _ => return,
        };
        let key = (meta.namespace.clone(), name.clone());
        // A failed sync waits for its back-off.
        if !self.failures.contains_key(&key) {
            self.queue.entry(key).or_insert(now + REACTION);
        }
    }

    fn next_at(&self) -> Option<Timestamp> {
        self.queue.values().min().copied()
    }

    fn run(&mut self, store: &mut Store, now: Timestamp) {
        let due: Vec<SetKey> = self.queue.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.queue.remove(&key);
            self.sync(&key, store, now);
        }
    }
}

#[cfg(test)]
mod tests;
