//! The JSON of kubelets' writes. Instants are translated to the real clock.

use serde_json::{Map, Value, json};

use rolldeck::engine::model::facts::{ConditionStatus, ContainerFact, ContainerState, PodPhase, Taint};
use rolldeck::engine::model::template::TaintEffect;
use rolldeck::engine::model::time::Timestamp;
use rolldeck::sim::world::kubelet::LEASE_SECS;
use rolldeck::sim::world::object::{
    Condition, ContainerStatus, EventBody, EventType, Node, NodeImage, Object, PodStatus,
};

use super::clock::FastClock;

/// A `metav1.Time`.
fn time(clock: FastClock, at: Timestamp) -> String {
    clock.written(at).to_rfc3339()
}

/// A node as its kubelet registers it.
pub(super) fn node(object: &Object, node: &Node, clock: FastClock) -> Value {
    let mut status = rest(&node.status_rest);
    status.insert("conditions".into(), conditions(&node.conditions, clock));
    status.insert("images".into(), images(&node.images));
    let mut spec = rest(&node.spec_rest);
    spec.insert("taints".into(), node.taints.iter().map(taint).collect());
    json!({"metadata": {"name": &*object.meta.name, "labels": labels(object)}, "spec": spec, "status": status})
}

/// The labels with which a kubelet that starts again updates its node: a strategic merge patch.
pub(super) fn node_again(object: &Object) -> Value {
    json!({"metadata": {"labels": labels(object)}})
}

fn labels(object: &Object) -> Map<String, Value> {
    object.meta.labels.iter().map(|(key, value)| (key.to_string(), Value::from(&**value))).collect()
}

/// A taint.
pub(super) fn taint(taint: &Taint) -> Value {
    let effect = match taint.effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    };
    json!({"key": &*taint.key, "value": &*taint.value, "effect": effect})
}

/// A strategic merge patch of a node's status: conditions of other types stay.
pub(super) fn node_status(all: &[Condition], reported: &[NodeImage], clock: FastClock) -> Value {
    json!({"status": {"conditions": conditions(all, clock), "images": images(reported)}})
}

fn images(images: &[NodeImage]) -> Value {
    images.iter().map(|image| json!({"names": image.names, "sizeBytes": image.bytes})).collect()
}

fn conditions(all: &[Condition], clock: FastClock) -> Value {
    let one = |condition: &Condition| {
        let status = match condition.status {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        };
        let mut one = json!({
            "type": condition.kind,
            "status": status,
            "lastTransitionTime": time(clock, condition.since),
            // A missing reason or message is written as null, so that an earlier one is removed.
            "reason": condition.reason.as_deref(),
            "message": condition.message.as_deref(),
        });
        if let Some(at) = condition.heartbeat_at {
            one["lastHeartbeatTime"] = time(clock, at).into();
        }
        one
    };
    all.iter().map(one).collect()
}

/// A Lease that the node holds and owns.
pub(super) fn lease(node: &str, uid: Option<&str>, at: Timestamp, clock: FastClock) -> Value {
    let owner = uid.map(|uid| json!({"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}));
    json!({
        "metadata": {"name": node, "ownerReferences": owner.into_iter().collect::<Vec<_>>()},
        "spec": {
            "holderIdentity": node,
            "leaseDurationSeconds": LEASE_SECS,
            "renewTime": clock.written(at).to_rfc3339_micros(),
        },
    })
}

/// A strategic merge patch of a pod's status, for the pod of this uid alone: conditions of other types stay.
pub(super) fn pod_status(uid: &str, status: &PodStatus, clock: FastClock) -> Value {
    let phase = match status.phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
        PodPhase::Unknown => "Unknown",
    };
    let of = |is_init: bool| -> Value {
        let containers =
            status.containers.iter().filter(|container| container.fact.role.is_init_container() == is_init);
        containers.map(|container| container_status(container, clock)).collect()
    };
    let mut all = rest(&status.rest);
    all.insert("phase".into(), phase.into());
    all.insert("conditions".into(), conditions(&status.conditions, clock));
    all.insert("reason".into(), json!(status.reason.as_deref()));
    all.insert("message".into(), json!(status.message.as_deref()));
    all.insert("initContainerStatuses".into(), of(true));
    all.insert("containerStatuses".into(), of(false));
    if let Some(at) = status.started_at {
        all.insert("startTime".into(), time(clock, at).into());
    }
    for (one, many, ip) in [("hostIP", "hostIPs", &status.host_ip), ("podIP", "podIPs", &status.pod_ip)] {
        if let Some(ip) = ip {
            all.insert(one.into(), json!(&**ip));
            all.insert(many.into(), json!([{"ip": &**ip}]));
        }
    }
    json!({"metadata": {"uid": uid}, "status": all})
}

fn container_status(container: &ContainerStatus, clock: FastClock) -> Value {
    // The pattern names all fields, so that a new field is not forgotten here.
    let ContainerStatus { fact, image, image_id, last_exit } = container;
    let ContainerFact {
        name,
        // The role decides which of both lists the status is in; of the first one the spec tells which are sidecars.
        role: _,
        // It only tells whether there is an `imageID`, which is written anyway.
        image_present: _,
        state,
        last_end,
        // It is the exit code of `last_exit` below.
        last_exit: _,
        // It is the time between both ends of `last_exit`.
        last_ran_secs: _,
        restarts,
        ready,
        started,
    } = fact;
    let state = match state {
        ContainerState::Waiting { reason, message } => {
            json!({"waiting": {"reason": &**reason, "message": message.as_deref()}})
        }
        ContainerState::Running { since } => json!({"running": {"startedAt": since.map(|at| time(clock, at))}}),
        ContainerState::Terminated { reason, exit_code, message } => {
            json!({"terminated": {"reason": &**reason, "exitCode": exit_code, "message": message.as_deref()}})
        }
    };
    let last = last_exit.map(|exit| {
        json!({"terminated": {
            "reason": last_end.as_deref(),
            "exitCode": exit.code,
            "startedAt": time(clock, exit.started_at),
            "finishedAt": time(clock, exit.finished_at),
        }})
    });
    json!({
        "name": &**name,
        "image": &**image,
        "imageID": image_id.as_deref().unwrap_or_default(),
        "state": state,
        "lastState": last.unwrap_or_else(|| json!({})),
        "ready": ready,
        "started": started,
        "restartCount": restarts,
    })
}

/// An event.
pub(super) fn event(name: &str, body: &EventBody, clock: FastClock) -> Value {
    let involved = &body.involved;
    let severity = match body.severity {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    };
    json!({
        "metadata": {"name": name},
        "involvedObject": {
            "apiVersion": &*involved.api_version,
            "kind": &*involved.kind,
            "namespace": &*involved.namespace,
            "name": &*involved.name,
            "uid": &*involved.uid,
            "fieldPath": involved.field_path.as_deref(),
        },
        "type": severity,
        "reason": &*body.reason,
        "message": &*body.message,
        "source": {"component": &*body.component, "host": body.host.as_deref()},
        "reportingComponent": &*body.component,
        "reportingInstance": body.host.as_deref().unwrap_or_default(),
        "firstTimestamp": time(clock, body.first_at),
        "lastTimestamp": time(clock, body.last_at),
        "count": body.count,
    })
}

/// A merge patch for an event that happened again.
pub(super) fn event_again(body: &EventBody, clock: FastClock) -> Value {
    json!({"lastTimestamp": time(clock, body.last_at), "count": body.count})
}

fn rest(rest: &Value) -> Map<String, Value> {
    rest.as_object().cloned().unwrap_or_default()
}
