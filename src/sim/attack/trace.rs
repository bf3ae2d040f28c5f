//! Changes of the simulated cluster as lines of text.

use serde_json::Value;

use crate::engine::model::facts::{ContainerState, DaemonSetFact, LeaseFact, PodFact};
use crate::sim::world::store::{ChangeKind, StoreChange};

/// A change as a line; `None` if it changes nothing that the line would show.
pub(super) fn trace_of(change: &StoreChange) -> Option<String> {
    let (object, before) = (&change.object, change.before.as_deref());
    let name = &object.meta.name;
    if let Some(pod) = object.pod_fact() {
        let was = before.and_then(|before| before.pod_fact());
        let seen = |pod: &PodFact| (pod.ready, pod.deletion_at, pod.containers.iter().map(state).collect::<Vec<_>>());
        let changed = change.kind != ChangeKind::Modified || was.as_ref().map(seen) != Some(seen(&pod));
        let node = pod.node.as_deref().unwrap_or("?");
        let revision = pod.revision.as_deref().unwrap_or("?");
        return changed.then(|| {
            let (ready, deletion, states) = seen(&pod);
            let going = if deletion.is_some() { " going" } else { "" };
            let ready = if ready { " ready" } else { "" };
            format!("pod {name} on {node} at {revision}: {:?}{ready}{going} {}", change.kind, states.join(", "))
        });
    }
    if let Some(node) = object.node_fact() {
        let was = before.and_then(|before| before.node_fact()).map(|node| (node.ready, node.taints));
        let is = (node.ready, node.taints);
        let taints: Vec<&str> = is.1.iter().map(|taint| &*taint.key).collect();
        return (was.as_ref() != Some(&is)).then(|| format!("node {name}: Ready {:?} {}", is.0, taints.join(", ")));
    }
    if let Some(fact) = object.daemon_set_fact() {
        let was = before.and_then(|before| before.daemon_set_fact());
        let spec = |fact: &DaemonSetFact| (fact.strategy.kind, fact.strategy.max_unavailable, fact.template.images());
        let (strategy, budget, images) = spec(&fact);
        return (was.as_ref().map(spec) != Some(spec(&fact)))
            .then(|| format!("daemonset: {strategy:?} maxUnavailable {budget:?} {images:?}"));
    }
    let lease = object.lease_fact().filter(|_| name.starts_with("rolldeck-"))?;
    let was = before.and_then(|before| before.lease_fact());
    if change.kind == ChangeKind::Deleted {
        return Some("lease: deleted".to_owned());
    }
    let (record, known) = (record(&lease), was.as_ref().map(record).unwrap_or_default());
    let holder = (was.as_ref().is_none_or(|was| was.holder != lease.holder))
        .then(|| format!("held by {}", lease.holder.as_deref().unwrap_or("nobody")));
    let (prewarm, known_prewarm) = (prewarm(&lease), was.as_ref().map(prewarm).unwrap_or_default());
    let prewarm = (prewarm != known_prewarm).then(|| format!("prewarm {prewarm}"));
    let said: Vec<String> = holder.into_iter().chain(differences(&known, &record)).chain(prewarm).collect();
    (!said.is_empty()).then(|| format!("lease: {}", said.join(", ")))
}

fn state(container: &crate::engine::model::facts::ContainerFact) -> String {
    match &container.state {
        ContainerState::Waiting { reason, .. } | ContainerState::Terminated { reason, .. } => reason.to_string(),
        ContainerState::Running { .. } => "Running".to_owned(),
    }
}

fn prewarm(lease: &LeaseFact) -> Value {
    let mut prewarm = lease
        .prewarm
        .as_ref()
        .map_or_else(|why| Value::from(&**why), |it| serde_json::to_value(it).unwrap_or_default());
    if let Some(fields) = prewarm.as_object_mut() {
        fields.remove("writeIds");
    }
    prewarm
}

fn record(lease: &LeaseFact) -> Value {
    match &lease.record {
        Ok(record) => serde_json::to_value(record).unwrap_or_default(),
        Err(why) => Value::from(&**why),
    }
}

/// The differences between two records that matter to readers.
fn differences(was: &Value, is: &Value) -> Vec<String> {
    if !is.is_object() {
        return if was == is { Vec::new() } else { vec![format!("record {is}")] };
    }
    let mut said = Vec::new();
    for part in ["intent", "progress"] {
        let empty = serde_json::Map::new();
        let (old, new) = (was[part].as_object().unwrap_or(&empty), is[part].as_object().unwrap_or(&empty));
        let keys = new.keys().chain(old.keys().filter(|key| !new.contains_key(*key)));
        let changed = keys.filter(|key| old.get(*key) != new.get(*key));
        said.extend(changed.map(|key| format!("{key} {}", new.get(key).unwrap_or(&Value::Null))));
    }
    said
}
