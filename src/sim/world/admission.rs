//! The API server's admission of a write before it is stored: defaults, validation, counting generations.
//!
//! The rules are those of `pkg/registry` and `pkg/apis` in Kubernetes, for the kinds whose spec a controller here reads.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::engine::model::Str;
use crate::engine::model::facts::{StrategyKind, UpdateStrategy};
use crate::engine::model::labels::Labels;
use crate::engine::model::quantity::IntOrPercent;

use super::error::{ApiError, FieldError};
use super::kind::Kind;
use super::object::{
    Body, DAEMONSET_TEMPLATE_GENERATION, DaemonSet, DaemonSetSpec, DaemonSetStatus, EventBody, Object, Pod, PodStatus,
};
use super::write::WrittenPart;

/// Completes and checks an object that is to be created.
pub(super) fn on_create(object: &mut Object, manager: &str) -> Result<(), ApiError> {
    let name = object.meta.name.clone();
    object.meta.generation = 0;
    match &mut object.body {
        Body::DaemonSet(daemon_set) => {
            default_strategy(daemon_set);
            refuse(Kind::DaemonSet, &name, daemon_set_causes(&daemon_set.spec))?;
            daemon_set.status = DaemonSetStatus::default();
            daemon_set.owners.template = Some(manager.into());
            daemon_set.owners.strategy = Some(manager.into());
            object.meta.generation = 1;
            let counted = template_generation(object).max(1);
            object.meta.set_annotation(DAEMONSET_TEMPLATE_GENERATION, Some(&counted.to_string()));
        }
        Body::Pod(pod) => {
            pod.status = PodStatus { rest: Arc::clone(&pod.status.rest), ..Default::default() };
        }
        Body::Event(event) => refuse(Kind::Event, &name, event_causes(&object.meta.namespace, event))?,
        _ => {}
    }
    Ok(())
}

/// Completes and checks an object that is to replace `before`; the part that is not written is restored.
pub(super) fn on_update(before: &Object, after: &mut Object, part: WrittenPart, manager: &str) -> Result<(), ApiError> {
    after.meta.generation = before.meta.generation;
    if part != WrittenPart::Main {
        // Status writes leave labels, annotations and the like alone, but for what the API server lets through.
        let version = after.meta.resource_version;
        after.meta.clone_from(&before.meta);
        after.meta.resource_version = version;
    }
    let name = &before.meta.name;
    match (&before.body, &mut after.body) {
        (Body::DaemonSet(old), Body::DaemonSet(new)) => {
            new.owners = old.owners.clone();
            match part {
                WrittenPart::Status | WrittenPart::Binding => new.spec = Arc::clone(&old.spec),
                WrittenPart::Main => {
                    new.status = old.status.clone();
                    default_strategy(new);
                    let causes = daemon_set_update_causes(&old.spec, &new.spec);
                    refuse(Kind::DaemonSet, name, causes)?;
                    note_owners(old, new, manager);
                    if old.spec != new.spec {
                        after.meta.generation += 1;
                    }
                    let retemplated = old.spec.template != new.spec.template;
                    count_template(before, after, retemplated);
                }
            }
        }
        (Body::Pod(old), Body::Pod(new)) => match part {
            WrittenPart::Status => {
                new.template = old.template.clone();
                new.pinned.clone_from(&old.pinned);
                new.node.clone_from(&old.node);
            }
            WrittenPart::Main => {
                new.status = old.status.clone();
                refuse(Kind::Pod, name, pod_update_causes(old, new))?;
            }
            WrittenPart::Binding => bind(name, old, new)?,
        },
        (Body::Node(old), Body::Node(new)) => match part {
            WrittenPart::Status | WrittenPart::Binding => {
                new.unschedulable = old.unschedulable;
                new.taints = Arc::clone(&old.taints);
                new.spec_rest = Arc::clone(&old.spec_rest);
            }
            WrittenPart::Main => {
                new.conditions = Arc::clone(&old.conditions);
                new.images = Arc::clone(&old.images);
                new.status_rest = Arc::clone(&old.status_rest);
            }
        },
        _ => {}
    }
    Ok(())
}

/// A pod may be bound only once.
fn bind(name: &str, old: &Pod, new: &mut Pod) -> Result<(), ApiError> {
    if let Some(node) = &old.node {
        let why = format!("pod {name} is already assigned to node \"{node}\"");
        return Err(ApiError::conflict(Kind::Pod, name, &why));
    }
    let node = new.node.take();
    let status = new.status.clone();
    new.clone_from(old);
    new.node = node;
    new.status = status;
    Ok(())
}

fn refuse(kind: Kind, name: &str, causes: Vec<FieldError>) -> Result<(), ApiError> {
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid(kind, name, causes)) }
}

/// A strategy without `maxUnavailable` gets 1.
fn default_strategy(daemon_set: &mut DaemonSet) {
    let strategy = &daemon_set.spec.strategy;
    if strategy.kind == StrategyKind::RollingUpdate && strategy.max_unavailable.is_none() {
        let strategy = &mut Arc::make_mut(&mut daemon_set.spec).strategy;
        strategy.max_unavailable = Some(IntOrPercent::Int(1));
        strategy.max_surge.get_or_insert(IntOrPercent::Int(0));
        strategy.raw = strategy_json(strategy);
    }
}

/// `spec.updateStrategy` as the API server would render it.
pub(super) fn strategy_json(strategy: &UpdateStrategy) -> Value {
    let kind = match strategy.kind {
        StrategyKind::RollingUpdate => "RollingUpdate",
        StrategyKind::OnDelete => "OnDelete",
    };
    let mut rolling = Map::new();
    for (key, limit) in [("maxUnavailable", strategy.max_unavailable), ("maxSurge", strategy.max_surge)] {
        if let Some(limit) = limit {
            let value = match limit {
                IntOrPercent::Int(count) => Value::from(count),
                IntOrPercent::Percent(_) => Value::from(limit.to_string()),
            };
            rolling.insert(key.to_owned(), value);
        }
    }
    if rolling.is_empty() { json!({"type": kind}) } else { json!({"type": kind, "rollingUpdate": rolling}) }
}

fn template_generation(object: &Object) -> i64 {
    object.meta.annotations.get(DAEMONSET_TEMPLATE_GENERATION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The server sets the count in the annotation: a client's value is overwritten.
fn count_template(before: &Object, after: &mut Object, retemplated: bool) {
    let counted = template_generation(before) + i64::from(retemplated);
    if template_generation(after) != counted {
        after.meta.set_annotation(DAEMONSET_TEMPLATE_GENERATION, Some(&counted.to_string()));
    }
}

fn note_owners(old: &DaemonSet, new: &mut DaemonSet, manager: &str) {
    if old.spec.template != new.spec.template {
        new.owners.template = Some(manager.into());
    }
    if old.spec.strategy != new.spec.strategy {
        new.owners.strategy = Some(manager.into());
    }
}

/// The rules of `legacyValidateEvent`: an event is in its object's namespace, and an event with `eventTime` names its reporter.
fn event_causes(namespace: &str, event: &EventBody) -> Vec<FieldError> {
    let mut causes = Vec::new();
    let dated = event.rest["eventTime"].is_string();
    let involved = &*event.involved.namespace;
    let fits = match (involved, dated) {
        ("", false) => namespace == "default",
        ("", true) => matches!(namespace, "default" | "kube-system"),
        (_, false) => involved == namespace,
        (_, true) => true,
    };
    if !fits {
        let message = format!("Invalid value: \"{involved}\": does not match event.namespace");
        causes.push(FieldError::invalid("involvedObject.namespace", message));
    }
    if dated {
        let (reporter, instance) = match &event.reporter {
            Some((reporter, instance)) => (&**reporter, &**instance),
            None => (&*event.component, event.host.as_deref().unwrap_or_default()),
        };
        let action = event.rest["action"].as_str().unwrap_or_default();
        let needed = [
            ("reportingComponent", reporter, usize::MAX),
            ("reportingInstance", instance, 128),
            ("action", action, 128),
            ("reason", &event.reason, 128),
        ];
        for (field, value, limit) in needed {
            if value.is_empty() {
                causes.push(FieldError::required(field, "Required value"));
            } else if value.len() > limit {
                causes.push(FieldError::invalid(
                    field,
                    format!("Invalid value: \"\": can have at most {limit} characters"),
                ));
            }
        }
        if event.message.len() > 1_024 {
            causes.push(FieldError::invalid(
                "message",
                "Invalid value: \"\": can have at most 1024 characters".to_owned(),
            ));
        }
    }
    causes
}

fn daemon_set_causes(spec: &DaemonSetSpec) -> Vec<FieldError> {
    let mut causes = Vec::new();
    let template = spec.template.json();
    if spec.selector.is_empty() {
        causes.push(FieldError::invalid("spec.selector", "Invalid value: {}: empty selector is invalid for daemonset"));
    } else if !spec.selector.matches(&Labels::from_json(&template["metadata"]["labels"])) {
        causes.push(FieldError::invalid(
            "spec.template.metadata.labels",
            "Invalid value: `selector` does not match template `labels`",
        ));
    }
    if spec.template.containers().is_empty() {
        causes.push(FieldError::required("spec.template.spec.containers", "Required value"));
    }
    for (nth, container) in spec.template.containers().iter().enumerate() {
        if container.image.is_empty() {
            causes.push(FieldError::required(&format!("spec.template.spec.containers[{nth}].image"), "Required value"));
        }
        if container.name.is_empty() {
            causes.push(FieldError::required(&format!("spec.template.spec.containers[{nth}].name"), "Required value"));
        }
    }
    if let Some(policy) = template["spec"]["restartPolicy"].as_str().filter(|policy| *policy != "Always") {
        let message = format!("Unsupported value: \"{policy}\": supported values: \"Always\"");
        causes.push(FieldError {
            reason: "FieldValueNotSupported",
            ..FieldError::invalid("spec.template.spec.restartPolicy", message)
        });
    }
    if !template["spec"]["activeDeadlineSeconds"].is_null() {
        let field = "spec.template.spec.activeDeadlineSeconds";
        causes.push(FieldError::forbidden(field, "Forbidden: activeDeadlineSeconds in DaemonSet is not Supported"));
    }
    strategy_causes(spec, &mut causes);
    causes
}

/// Exactly one of `maxUnavailable` and `maxSurge` must be non-zero.
fn strategy_causes(spec: &DaemonSetSpec, causes: &mut Vec<FieldError>) {
    if spec.strategy.kind == StrategyKind::OnDelete {
        return;
    }
    let none = |limit: Option<IntOrPercent>| matches!(limit, Some(IntOrPercent::Int(0) | IntOrPercent::Percent(0)));
    let surges = spec.strategy.max_surge.is_some_and(|surge| !none(Some(surge)));
    if surges && !none(spec.strategy.max_unavailable) {
        let message = "Invalid value: may not be set when maxUnavailable is non-zero";
        causes.push(FieldError::invalid("spec.updateStrategy.rollingUpdate.maxSurge", message));
    } else if !surges && none(spec.strategy.max_unavailable) {
        let field = "spec.updateStrategy.rollingUpdate.maxUnavailable";
        causes.push(FieldError::required(field, "Required value: cannot be 0 when maxSurge is 0"));
    }
}

fn daemon_set_update_causes(old: &DaemonSetSpec, new: &DaemonSetSpec) -> Vec<FieldError> {
    let mut causes = if old == new { Vec::new() } else { daemon_set_causes(new) };
    if old.selector_json != new.selector_json {
        let message = format!("Invalid value: {}: field is immutable", new.selector_json);
        causes.push(FieldError::invalid("spec.selector", message));
    }
    causes
}

/// A pod's spec is fixed, except its images, its deadline and a few fields that this model does not read.
fn pod_update_causes(old: &Pod, new: &Pod) -> Vec<FieldError> {
    const WORDS: &str = "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
        `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
        tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    if old.template == new.template && old.node == new.node && old.pinned == new.pinned {
        return Vec::new();
    }
    let images: Vec<(Str, Str)> =
        new.template.containers().iter().map(|container| (container.name.clone(), container.image.clone())).collect();
    let re_imaged = old.template.with_images(images.iter().map(|(name, image)| (&**name, &**image)));
    let only_images = re_imaged.is_ok_and(|template| same_but_open_fields(template.json(), new.template.json()));
    if only_images && old.node == new.node && old.pinned == new.pinned {
        Vec::new()
    } else {
        vec![FieldError::forbidden("spec", WORDS)]
    }
}

fn same_but_open_fields(one: &Value, other: &Value) -> bool {
    let closed = |template: &Value| {
        let mut spec = template["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("activeDeadlineSeconds");
            spec.remove("tolerations");
        }
        spec
    };
    closed(one) == closed(other)
}
