//! The fields that the DaemonSet controller adds to a pod's template to pin the pod to a node.

use serde_json::{Map, Value, json};

use crate::engine::model::Str;
use crate::engine::model::template::Template;
use crate::sim::world::object::Pod;

/// The template's affinity with all required node terms replaced by one that names the node. The DaemonSet controller does the same.
pub(super) fn affinity(template: &Template, node: &Str) -> Value {
    let mut affinity = template.json()["spec"]["affinity"].clone();
    if !affinity.is_object() {
        affinity = json!({});
    }
    if !affinity["nodeAffinity"].is_object() {
        affinity["nodeAffinity"] = json!({});
    }
    affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = json!({
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [&**node]}]}
        ]
    });
    affinity
}

/// The template's tolerations, and those automatic ones that the template lacks.
pub(super) fn tolerations(template: &Template) -> Vec<Value> {
    let mut tolerations = template.json()["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    let automatic = [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ];
    let network = template.host_network().then_some(("network-unavailable", "NoSchedule"));
    for (key, effect) in automatic.into_iter().chain(network) {
        let toleration = json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": effect});
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
    tolerations
}

/// The node that a DaemonSet controller pinned a pod to.
pub(super) fn node_of(affinity: Option<&Value>) -> Option<Str> {
    let required = affinity?.get("nodeAffinity")?.get("requiredDuringSchedulingIgnoredDuringExecution")?;
    let [term] = required.get("nodeSelectorTerms")?.as_array()?.as_slice() else { return None };
    let [field] = term.get("matchFields")?.as_array()?.as_slice() else { return None };
    let [name] = field.get("values")?.as_array()?.as_slice() else { return None };
    let named = field.get("key")?.as_str() == Some("metadata.name") && field.get("operator")?.as_str() == Some("In");
    name.as_str().filter(|_| named).map(Str::from)
}

/// Removes from `spec` the fields that rendering added for a pinned pod, unless the client changed them.
pub(super) fn remove(spec: &mut Map<String, Value>, before: &Pod) {
    let Some(node) = &before.pinned else { return };
    let original = |key: &str| before.template.json()["spec"].get(key).cloned();
    let rendered =
        [("affinity", affinity(&before.template, node)), ("tolerations", Value::Array(tolerations(&before.template)))];
    for (key, rendered) in rendered {
        if spec.get(key) == Some(&rendered) {
            match original(key) {
                Some(original) => spec.insert(key.to_owned(), original),
                None => spec.remove(key),
            };
        }
    }
    if let Some(original) = original("nodeName") {
        spec.insert("nodeName".to_owned(), original);
    }
}
