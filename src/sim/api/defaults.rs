//! The defaults that the API server fills in for fields that a client left out.
//!
//! An update that does not change a DaemonSet's template gets no defaults, even if the world once made that template without them:
//! the defaults would change the template and so make a new revision (kubernetes#78633).

use serde_json::{Map, Value, json};

use crate::sim::world::kind::Kind;

/// Fills in the defaults of a new object.
pub(super) fn on_create(kind: Kind, object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    match kind {
        Kind::DaemonSet => {
            fill(spec, "revisionHistoryLimit", json!(10));
            strategy(spec);
            if let Some(pod) = spec.get_mut("template").and_then(|template| template.get_mut("spec")) {
                pod_spec(pod);
                if let Some(pod) = pod.as_object_mut() {
                    fill(pod, "restartPolicy", json!("Always"));
                }
            }
        }
        Kind::Pod => {
            let mut pod = Value::Object(std::mem::take(spec));
            pod_spec(&mut pod);
            if let Value::Object(mut filled) = pod {
                fill(&mut filled, "restartPolicy", json!("Always"));
                fill(&mut filled, "serviceAccountName", json!("default"));
                fill(&mut filled, "enableServiceLinks", json!(true));
                *spec = filled;
            }
        }
        _ => {}
    }
}

/// Fills in the defaults of a changed object, if it is a DaemonSet with a changed template.
pub(super) fn on_update(kind: Kind, before: &Value, object: &mut Value) {
    let same_template = before["spec"]["template"] == object["spec"]["template"];
    if kind == Kind::DaemonSet && !same_template {
        on_create(kind, object);
    }
}

fn strategy(spec: &mut Map<String, Value>) {
    let strategy = spec.entry("updateStrategy").or_insert_with(|| json!({}));
    if strategy.is_null() {
        *strategy = json!({});
    }
    let Some(strategy) = strategy.as_object_mut() else { return };
    fill(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
        fill(strategy, "rollingUpdate", json!({}));
        if let Some(rolling) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut) {
            let surges = rolling.get("maxSurge").is_some_and(|surge| *surge != json!(0) && *surge != json!("0%"));
            fill(rolling, "maxUnavailable", if surges { json!(0) } else { json!(1) });
            fill(rolling, "maxSurge", json!(0));
        }
    }
}

fn pod_spec(pod: &mut Value) {
    let Some(pod) = pod.as_object_mut() else { return };
    fill(pod, "dnsPolicy", json!("ClusterFirst"));
    fill(pod, "schedulerName", json!("default-scheduler"));
    fill(pod, "securityContext", json!({}));
    fill(pod, "terminationGracePeriodSeconds", json!(30));
    for key in ["initContainers", "containers"] {
        let containers = pod.get_mut(key).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            let latest = container
                .get("image")
                .and_then(Value::as_str)
                .is_some_and(|image| crate::engine::model::image::version_of(image) == "latest");
            fill(container, "imagePullPolicy", json!(if latest { "Always" } else { "IfNotPresent" }));
            fill(container, "resources", json!({}));
            fill(container, "terminationMessagePath", json!("/dev/termination-log"));
            fill(container, "terminationMessagePolicy", json!("File"));
            for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(port) = port.as_object_mut() {
                    fill(port, "protocol", json!("TCP"));
                }
            }
        }
    }
}

fn fill(object: &mut Map<String, Value>, key: &str, default: Value) {
    let field = object.entry(key).or_insert(Value::Null);
    if field.is_null() || field.as_str() == Some("") {
        *field = default;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_daemon_set_gets_what_kubernetes_would_give_it() {
        let mut object = json!({"spec": {
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": "10%"}},
            "template": {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x:1", "imagePullPolicy": "Never"}]}},
        }});
        on_create(Kind::DaemonSet, &mut object);
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0}});
        assert_eq!(object["spec"]["updateStrategy"], strategy);
        let containers = &object["spec"]["template"]["spec"]["containers"];
        assert_eq!(containers[0]["imagePullPolicy"], "Always");
        assert_eq!(containers[1]["imagePullPolicy"], "Never");
        assert_eq!(object["spec"]["template"]["spec"]["restartPolicy"], "Always");
    }

    #[test]
    fn an_update_fills_a_template_in_only_when_it_changes_it() {
        let bare =
            |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": image}]}}}});
        let (before, mut same, mut other) = (bare("x:1"), bare("x:1"), bare("x:2"));
        on_update(Kind::DaemonSet, &before, &mut same);
        assert_eq!(same, before);
        on_update(Kind::DaemonSet, &before, &mut other);
        assert_eq!(other["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"], "IfNotPresent");
    }
}
