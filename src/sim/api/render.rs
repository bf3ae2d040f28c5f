//! The world's typed objects as Kubernetes writes them, straight into bytes.
//!
//! Field by field the inverse of [`super::parse`]: what is typed is written from the type, what is not comes from the
//! `rest` that the object kept verbatim. Why it is not derived with serde is said there.

use serde_json::{Value, json};

use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, ContainerState, PodPhase, StrategyKind};
use crate::engine::model::template::ContainerRole;
use crate::engine::model::template::TaintEffect;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::sim::world::object::{
    Body, Condition, ContainerStatus, DaemonSet, EventBody, EventType, Lease, Meta, Node, Object, Pod, PodStatus,
};

use super::json::{ObjectWriter, object};

/// Whether `apiVersion` and `kind` are written; in lists they are not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeMetaFields {
    Written,
    LeftOut,
}

/// What of an object is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Full,
    /// `metadata` alone, as a `PartialObjectMetadata`.
    Metadata,
}

/// Writes `it`, with `managed` (JSON text of a list) as its `managedFields`.
pub(super) fn render(out: &mut Vec<u8>, it: &Object, managed: Option<&[u8]>, types: TypeMetaFields, extent: Extent) {
    object(out, |o| {
        match (types, extent) {
            (TypeMetaFields::LeftOut, _) => {}
            (TypeMetaFields::Written, Extent::Full) => {
                o.put("apiVersion", it.kind().api_version());
                o.put("kind", it.kind().words().kind);
            }
            (TypeMetaFields::Written, Extent::Metadata) => {
                o.put("apiVersion", "meta.k8s.io/v1");
                o.put("kind", "PartialObjectMetadata");
            }
        }
        o.object("metadata", |o| meta(o, &it.meta, managed));
        if extent == Extent::Full {
            body(o, it);
        }
    });
}

/// The full object as a JSON tree, for patches.
pub(super) fn to_value(it: &Object, managed: Option<&[u8]>) -> Value {
    let mut bytes = Vec::with_capacity(4096);
    render(&mut bytes, it, managed, TypeMetaFields::Written, Extent::Full);
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn meta(o: &mut ObjectWriter<'_>, meta: &Meta, managed: Option<&[u8]>) {
    o.put_text("name", &meta.name);
    o.put_some("generateName", meta.generate_name.as_deref());
    o.put_text("namespace", &meta.namespace);
    o.put_text("uid", &meta.uid);
    if meta.resource_version != 0 {
        o.put("resourceVersion", &meta.resource_version.to_string());
    }
    if meta.generation != 0 {
        o.put("generation", &meta.generation);
    }
    o.put("creationTimestamp", &meta.created_at.to_rfc3339());
    if let Some(deletion) = meta.deletion {
        o.put("deletionTimestamp", &deletion.at.to_rfc3339());
        o.put("deletionGracePeriodSeconds", &deletion.grace_secs);
    }
    o.pairs("labels", meta.labels.iter().map(|(key, value)| (&**key, &**value)));
    o.pairs("annotations", meta.annotations.iter().map(|(key, value)| (&**key, &**value)));
    o.objects("ownerReferences", meta.owners.iter(), |owner, o| {
        o.put("apiVersion", &*owner.api_version);
        o.put("kind", &*owner.kind);
        o.put("name", &*owner.name);
        o.put("uid", &*owner.uid);
        if owner.controller {
            o.put("controller", &true);
        }
        if owner.block_owner_deletion {
            o.put("blockOwnerDeletion", &true);
        }
    });
    if !meta.finalizers.is_empty() {
        o.put("finalizers", &meta.finalizers);
    }
    if let Some(managed) = managed {
        o.put_raw("managedFields", managed);
    }
}

fn body(o: &mut ObjectWriter<'_>, it: &Object) {
    match &it.body {
        Body::Node(node) => render_node(o, node),
        Body::Pod(pod) => render_pod(o, pod),
        Body::DaemonSet(daemon_set) => render_daemon_set(o, daemon_set),
        Body::ControllerRevision(revision) => {
            let mut template = revision.template.json().clone();
            if let Some(template) = template.as_object_mut() {
                template.insert("$patch".into(), "replace".into());
            }
            o.put("data", &json!({"spec": {"template": template}}));
            o.put("revision", &revision.number);
        }
        Body::Lease(lease) => o.object("spec", |o| render_lease(o, lease)),
        Body::Event(event) => render_event(o, event),
        Body::Other(_, rest) => o.spread(rest),
    }
}

fn render_node(o: &mut ObjectWriter<'_>, node: &Node) {
    o.object("spec", |o| {
        if node.unschedulable {
            o.put("unschedulable", &true);
        }
        o.objects("taints", node.taints.iter(), |taint, o| {
            o.put("key", &*taint.key);
            o.put_text("value", &taint.value);
            o.put("effect", effect(taint.effect));
        });
        o.spread(&node.spec_rest);
    });
    o.object("status", |o| {
        conditions(o, &node.conditions);
        o.objects("images", node.images.iter(), |image, o| {
            o.put("names", &image.names);
            o.put("sizeBytes", &image.bytes);
        });
        o.spread(&node.status_rest);
    });
}

/// A taint effect's name.
pub(super) fn effect(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}

/// A condition status' name.
pub(super) fn status_name(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}

fn conditions(o: &mut ObjectWriter<'_>, conditions: &[Condition]) {
    o.objects("conditions", conditions, |condition, o| {
        o.put("type", &*condition.kind);
        o.put("status", status_name(condition.status));
        o.put_some("lastHeartbeatTime", condition.heartbeat_at.map(Timestamp::to_rfc3339));
        o.put("lastTransitionTime", &condition.since.to_rfc3339());
        o.put_some("reason", condition.reason.as_deref());
        o.put_some("message", condition.message.as_deref());
    });
}

fn render_pod(o: &mut ObjectWriter<'_>, pod: &Pod) {
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
            o.put("affinity", &pinned_affinity(&pod.template, node));
            o.put("tolerations", &pinned_tolerations(&pod.template));
        }
    });
    o.object("status", |o| render_pod_status(o, &pod.status));
}

/// The template's affinity with *all* required node terms replaced by the one that names the node, as the DaemonSet
/// controller does it.
pub(super) fn pinned_affinity(template: &Template, node: &Str) -> Value {
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

/// The template's tolerations and the automatic ones that are not among them.
pub(super) fn pinned_tolerations(template: &Template) -> Vec<Value> {
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

/// A pod phase's name.
pub(super) fn phase(phase: PodPhase) -> &'static str {
    match phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
        PodPhase::Unknown => "Unknown",
    }
}

fn render_pod_status(o: &mut ObjectWriter<'_>, status: &PodStatus) {
    o.put("phase", phase(status.phase));
    conditions(o, &status.conditions);
    o.put_some("reason", status.reason.as_deref());
    o.put_some("message", status.message.as_deref());
    o.put_some("startTime", status.started_at.map(Timestamp::to_rfc3339));
    if let Some(ip) = &status.host_ip {
        o.put("hostIP", &**ip);
        o.objects("hostIPs", [ip], |ip, o| o.put("ip", &**ip));
    }
    if let Some(ip) = &status.pod_ip {
        o.put("podIP", &**ip);
        o.objects("podIPs", [ip], |ip, o| o.put("ip", &**ip));
    }
    let of_role = |role| status.containers.iter().filter(move |container| container.fact.role == role);
    o.objects("initContainerStatuses", of_role(ContainerRole::Init), container_status);
    o.objects("containerStatuses", of_role(ContainerRole::Main), container_status);
    o.spread(&status.rest);
}

fn container_status(container: &ContainerStatus, o: &mut ObjectWriter<'_>) {
    let fact = &container.fact;
    o.put("name", &*fact.name);
    o.object("state", |o| match &fact.state {
        ContainerState::Waiting { reason, message } => o.object("waiting", |o| {
            o.put("reason", &**reason);
            o.put_some("message", message.as_deref());
        }),
        ContainerState::Running { since } => {
            o.object("running", |o| o.put_some("startedAt", since.map(Timestamp::to_rfc3339)));
        }
        ContainerState::Terminated { reason, exit_code, message } => o.object("terminated", |o| {
            o.put("exitCode", exit_code);
            o.put("reason", &**reason);
            o.put_some("message", message.as_deref());
        }),
    });
    o.object("lastState", |o| {
        if fact.last_end.is_some() || container.last_exit.is_some() {
            o.object("terminated", |o| {
                o.put("exitCode", &container.last_exit.map_or(0, |exit| exit.code));
                o.put_some("reason", fact.last_end.as_deref());
                o.put_some("startedAt", container.last_exit.map(|exit| exit.started_at.to_rfc3339()));
                o.put_some("finishedAt", container.last_exit.map(|exit| exit.finished_at.to_rfc3339()));
            });
        }
    });
    o.put("ready", &fact.ready);
    o.put("restartCount", &fact.restarts);
    o.put("image", &*container.image);
    o.put("imageID", container.image_id.as_deref().unwrap_or_default());
    o.put("started", &container.started);
}

fn render_daemon_set(o: &mut ObjectWriter<'_>, daemon_set: &DaemonSet) {
    let spec = &daemon_set.spec;
    o.object("spec", |o| {
        o.put("selector", &spec.selector_json);
        o.put("template", spec.template.json());
        if spec.strategy.raw.is_null() {
            let kind = match spec.strategy.kind {
                StrategyKind::RollingUpdate => "RollingUpdate",
                StrategyKind::OnDelete => "OnDelete",
            };
            o.put("updateStrategy", &json!({"type": kind}));
        } else {
            o.put("updateStrategy", &spec.strategy.raw);
        }
        if spec.min_ready_secs != 0 {
            o.put("minReadySeconds", &spec.min_ready_secs);
        }
        o.put("revisionHistoryLimit", &spec.history_limit);
        o.spread(&spec.rest);
    });
    let status = &daemon_set.status;
    o.object("status", |o| {
        o.put("currentNumberScheduled", &status.counters.current);
        o.put("numberMisscheduled", &status.counters.misscheduled);
        o.put("desiredNumberScheduled", &status.counters.desired);
        o.put("numberReady", &status.counters.ready);
        if status.observed_generation != 0 {
            o.put("observedGeneration", &status.observed_generation);
        }
        // These three are `omitempty` in Kubernetes' types.
        let counts = [
            ("updatedNumberScheduled", status.counters.updated),
            ("numberAvailable", status.counters.available),
            ("numberUnavailable", status.unavailable),
        ];
        for (key, count) in counts.into_iter().filter(|(_, count)| *count != 0) {
            o.put(key, &count);
        }
        o.put_some("collisionCount", status.collision_count);
    });
}

fn render_lease(o: &mut ObjectWriter<'_>, lease: &Lease) {
    o.put_some("holderIdentity", lease.holder.as_deref());
    o.put_some("leaseDurationSeconds", lease.duration_secs);
    o.put_some("acquireTime", lease.acquired_at.map(Timestamp::to_rfc3339_micros));
    o.put_some("renewTime", lease.renewed_at.map(Timestamp::to_rfc3339_micros));
    o.put_some("leaseTransitions", lease.transitions);
    o.spread(&lease.rest);
}

/// An event type's name.
pub(super) fn severity(severity: EventType) -> &'static str {
    match severity {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    }
}

fn render_event(o: &mut ObjectWriter<'_>, event: &EventBody) {
    o.object("involvedObject", |o| {
        o.put_text("kind", &event.involved.kind);
        o.put_text("namespace", &event.involved.namespace);
        o.put_text("name", &event.involved.name);
        o.put_text("uid", &event.involved.uid);
        o.put_text("apiVersion", &event.involved.api_version);
        o.put_some("fieldPath", event.involved.field_path.as_deref());
    });
    o.put("reason", &*event.reason);
    o.put("message", &*event.message);
    o.object("source", |o| {
        o.put_text("component", &event.component);
        o.put_some("host", event.host.as_deref());
    });
    o.put("firstTimestamp", &event.first_at.to_rfc3339());
    o.put("lastTimestamp", &event.last_at.to_rfc3339());
    o.put("count", &event.count);
    o.put("type", severity(event.severity));
    let (reporter, instance) = match &event.reporter {
        Some((reporter, instance)) => (&**reporter, &**instance),
        None => (&*event.component, event.host.as_deref().unwrap_or_default()),
    };
    o.put("reportingComponent", reporter);
    o.put("reportingInstance", instance);
    o.spread(&event.rest);
}
