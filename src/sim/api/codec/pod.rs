//! Pods.

use serde_json::Value;

use crate::engine::model::template::Template;
use crate::sim::world::object::Pod;

use super::super::json::ObjectWriter;
use super::super::status::Answer;
use super::fields::FieldReader;
use super::{pin, pod_status};

/// Reads a pod that is to replace `before`.
pub(super) fn parse(fields: &mut FieldReader, before: Option<&Pod>) -> Answer<Pod> {
    let mut spec = fields.object("spec")?;
    let node = spec.text("nodeName")?;
    let pinned = pin::node_of(spec.map.get("affinity"));
    let mut template = serde_json::json!({});
    if let Some(before) = before {
        pin::remove(&mut spec.map, before);
        if let Some(metadata) = before.template.json().get("metadata") {
            template["metadata"] = metadata.clone();
        }
    }
    template["spec"] = Value::Object(spec.map);
    let template = Template::from_json(template);
    // An unchanged template stays shared with the DaemonSet's other pods.
    let template = before.map(|before| &before.template).filter(|old| **old == template).cloned().unwrap_or(template);
    let status = pod_status::parse(fields.object("status")?, &template)?;
    Ok(Pod { template, pinned, node, status })
}

/// Writes `spec` and `status` of a pod.
pub(super) fn render(o: &mut ObjectWriter<'_>, pod: &Pod) {
    o.object("spec", |o| {
        let spec = pod.template.json().get("spec").and_then(Value::as_object);
        for (key, field) in spec.into_iter().flatten() {
            let ours = match key.as_str() {
                "nodeName" => true,
                "affinity" | "tolerations" => pod.pinned.is_some(),
                _ => false,
            };
            if !ours {
                o.put(key, field);
            }
        }
        o.put_some("nodeName", pod.node.as_deref());
        if let Some(node) = &pod.pinned {
            o.put("affinity", &pin::affinity(&pod.template, node));
            o.put("tolerations", &pin::tolerations(&pod.template));
        }
    });
    o.object("status", |o| pod_status::render(o, &pod.status));
}
