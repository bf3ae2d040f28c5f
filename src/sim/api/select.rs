//! Selects the objects of a list or watch by label and field selectors.

use std::borrow::Cow;

use crate::engine::model::labels::Selector;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Body, Object};

use super::codec;
use super::request::Query;
use super::status::{Answer, ApiRefusal};

/// The objects of its kind that a list or watch selects.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    /// Empty: all namespaces.
    namespace: String,
    labels: Selector,
    fields: Vec<FieldTerm>,
}

#[derive(Clone, Debug)]
struct FieldTerm {
    field: String,
    value: String,
    equal: bool,
}

impl Selection {
    /// Reads `labelSelector` and `fieldSelector`. A `name` from the path also selects by name.
    ///
    /// # Errors
    /// 400 for a selector that does not parse, and for a field that this kind cannot be selected by.
    pub(super) fn of(kind: Kind, namespace: &str, name: &str, query: &Query) -> Answer<Self> {
        let labels = match query.get("labelSelector") {
            None => Selector::default(),
            Some(text) => text
                .parse()
                .map_err(|error| ApiRefusal::bad_request(format!("unable to parse requirement: {error}")))?,
        };
        let mut fields = Vec::new();
        if !name.is_empty() {
            fields.push(FieldTerm { field: "metadata.name".into(), value: name.into(), equal: true });
        }
        for term in query.get("fieldSelector").unwrap_or_default().split(',').filter(|term| !term.is_empty()) {
            let (field, value, equal) = if let Some((field, value)) = term.split_once("!=") {
                (field, value, false)
            } else if let Some((field, value)) = term.split_once("==") {
                (field, value, true)
            } else if let Some((field, value)) = term.split_once('=') {
                (field, value, true)
            } else {
                let message = format!("invalid selector: '{term}'; can't understand '{term}'");
                return Err(ApiRefusal::bad_request(message));
            };
            if !is_selectable(kind, field) {
                return Err(ApiRefusal::bad_request(format!("field label not supported: {field}")));
            }
            fields.push(FieldTerm { field: field.into(), value: value.into(), equal });
        }
        Ok(Self { namespace: namespace.into(), labels, fields })
    }

    /// The one namespace that is selected; empty: all namespaces.
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Whether a label or field selector narrows the list. A page of such a list does not say how many objects remain.
    pub(super) fn is_narrowed(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }

    /// Whether `object` is selected.
    pub(super) fn matches(&self, object: &Object) -> bool {
        (self.namespace.is_empty() || *object.meta.namespace == *self.namespace)
            && self.fields.iter().all(|term| (field(object, &term.field) == term.value.as_str()) == term.equal)
            && (self.labels.is_empty() || self.labels.matches(&object.meta.labels))
    }
}

fn is_selectable(kind: Kind, field: &str) -> bool {
    let own: &[&str] = match kind {
        Kind::Pod => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        Kind::Node => &["spec.unschedulable"],
        Kind::Event => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        Kind::Secret => &["type"],
        Kind::Namespace => &["status.phase"],
        _ => &[],
    };
    matches!(field, "metadata.name" | "metadata.namespace") || own.contains(&field)
}

fn field<'o>(object: &'o Object, path: &str) -> Cow<'o, str> {
    match path {
        "metadata.name" => return Cow::Borrowed(&object.meta.name),
        "metadata.namespace" => return Cow::Borrowed(&object.meta.namespace),
        _ => {}
    }
    match (&object.body, path) {
        (Body::Pod(pod), "spec.nodeName") => Cow::Borrowed(pod.node.as_deref().unwrap_or_default()),
        (Body::Pod(pod), "status.phase") => Cow::Borrowed(codec::phase(pod.status.phase)),
        (Body::Pod(pod), "status.podIP" | "status.podIPs") => {
            Cow::Borrowed(pod.status.pod_ip.as_deref().unwrap_or_default())
        }
        (Body::Pod(pod), "spec.hostNetwork") => Cow::Owned(pod.template.host_network().to_string()),
        (Body::Pod(pod), path) => {
            let default: &'static str = match path {
                "spec.restartPolicy" => "Always",
                "spec.schedulerName" => "default-scheduler",
                "spec.serviceAccountName" => "default",
                _ => "",
            };
            let value = path.strip_prefix("spec.").and_then(|key| pod.template.json()["spec"][key].as_str());
            Cow::Borrowed(value.unwrap_or(default))
        }
        (Body::Node(node), "spec.unschedulable") => Cow::Owned(node.unschedulable.to_string()),
        (Body::Event(event), path) => Cow::Borrowed(match path {
            "involvedObject.kind" => &event.involved.kind,
            "involvedObject.namespace" => &event.involved.namespace,
            "involvedObject.name" => &event.involved.name,
            "involvedObject.uid" => &event.involved.uid,
            "involvedObject.apiVersion" => &event.involved.api_version,
            "involvedObject.fieldPath" => event.involved.field_path.as_deref().unwrap_or_default(),
            "reason" => &event.reason,
            "source" => &event.component,
            "reportingComponent" => event.reporter.as_ref().map_or(&event.component, |(reporter, _)| reporter),
            "type" => codec::severity(event.severity),
            _ => "",
        }),
        (Body::Other(_, rest), path) => {
            let value = rest.pointer(&format!("/{}", path.replace('.', "/"))).and_then(|value| value.as_str());
            let default = if path == "status.phase" { "Active" } else { "" };
            Cow::Borrowed(value.unwrap_or(default))
        }
        _ => Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::world::object::Pod;

    fn selection(kind: Kind, query: &str) -> Answer<Selection> {
        let uri = format!("/x?{query}").parse().unwrap();
        Selection::of(kind, "edge", "", &Query::of(&uri).unwrap())
    }

    fn pod() -> Object {
        let pod = Pod { node: Some("ipc-1".into()), ..Pod::default() };
        let mut object = Object::new("edge", "agent-x", Body::Pod(pod));
        object.meta.set_label("app", Some("agent"));
        object
    }

    #[test]
    fn selects_by_labels_and_fields() {
        for (query, wanted) in [
            ("", true),
            ("labelSelector=app%3Dagent", true),
            ("labelSelector=app%20notin%20(agent)", false),
            ("labelSelector=!tier,app", true),
            ("fieldSelector=spec.nodeName%3Dipc-1", true),
            ("fieldSelector=spec.nodeName%3D%3Dipc-1,status.phase!%3DFailed,status.phase!%3DSucceeded", true),
            ("fieldSelector=spec.nodeName%3D", false),
            ("fieldSelector=metadata.name%3Dother", false),
            ("fieldSelector=spec.restartPolicy%3DAlways,spec.hostNetwork%3Dfalse", true),
        ] {
            assert_eq!(selection(Kind::Pod, query).unwrap().matches(&pod()), wanted, "{query}");
        }
        let elsewhere = Selection { namespace: "other".into(), ..Selection::default() };
        assert!(!elsewhere.matches(&pod()));
    }

    #[test]
    fn refuses_what_kubernetes_refuses() {
        for (kind, query) in [
            (Kind::DaemonSet, "fieldSelector=spec.nodeName%3Dx"),
            (Kind::Pod, "fieldSelector=spec.containers%3Dx"),
            (Kind::Pod, "fieldSelector=spec.nodeName"),
            (Kind::Pod, "labelSelector=a%20in%20b"),
        ] {
            assert_eq!(selection(kind, query).unwrap_err().status()["code"], 400, "{query}");
        }
    }
}
