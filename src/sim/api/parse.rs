//! What clients send as the world's typed objects.
//!
//! What the types do not hold is kept verbatim in each body's `rest`, so that nothing a client wrote is lost. What has
//! the wrong shape is refused, naming the field, as the API server's decoder does.
//!
//! Not derived with serde: the world stores most fields otherwise than they are written, so wire types would be a third
//! description of every object beside the same two conversions. That this file and [`super::render`] are each other's
//! inverse is tested below, on examples and on all that a world serves in which much fails.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::engine::model::Str;
use crate::engine::model::facts::{
    ConditionStatus, ContainerFact, ContainerState, DaemonSetCounters, PodPhase, StrategyKind, Taint, UpdateStrategy,
};
use crate::engine::model::labels::{Labels, Selector};
use crate::engine::model::template::ContainerRole;
use crate::engine::model::template::TaintEffect;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;
use crate::sim::world::error::{ApiError, FieldError};
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{
    Body, Condition, ContainerStatus, ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetStatus, DeletionMark,
    EventBody, EventType, LastExit, Lease, Meta, Node, NodeImage, Object, ObjectRef, Owner, Pod, PodStatus, conditions,
};

use super::render::{pinned_affinity, pinned_tolerations};
use super::status::{Answer, ApiRefusal};

/// Reads an object of `kind` that is to replace `before`.
///
/// # Errors
/// 400 when it is none, or a field has the wrong shape.
pub(super) fn parse(kind: Kind, value: Value, before: Option<&Object>) -> Answer<Object> {
    let mut fields = Fields::new(value, kind, String::new())?;
    let (api_version, named) = (fields.text("apiVersion")?, fields.text("kind")?);
    let given = |text: &Option<Str>, want: &str| text.as_deref().is_none_or(|text| text.is_empty() || text == want);
    if !given(&api_version, kind.api_version()) || !given(&named, kind.words().kind) {
        return Err(ApiRefusal::bad_request(format!(
            "the API version and kind in the data ({}, {}) do not match the expected ones ({}, {})",
            api_version.unwrap_or_default(),
            named.unwrap_or_default(),
            kind.api_version(),
            kind.words().kind,
        )));
    }
    let meta = read_meta(fields.object("metadata")?)?;
    let body = match kind {
        Kind::Node => Body::Node(read_node(&mut fields, before.and_then(Object::node))?),
        Kind::Pod => Body::Pod(read_pod(&mut fields, before.and_then(Object::pod))?),
        Kind::DaemonSet => Body::DaemonSet(read_daemon_set(&mut fields, &meta.name)?),
        Kind::ControllerRevision => Body::ControllerRevision(read_revision(&mut fields)?),
        Kind::Lease => Body::Lease(read_lease(fields.object("spec")?)?),
        Kind::Event => Body::Event(read_event(fields)?),
        other => Body::Other(other, Arc::new(fields.rest())),
    };
    Ok(Object { meta, body })
}

/// The fields of one JSON object, taken out one by one; nulls count as absent, what is left is the rest.
struct Fields {
    map: Map<String, Value>,
    kind: Kind,
    path: String,
}

impl Fields {
    fn new(value: Value, kind: Kind, path: String) -> Answer<Self> {
        match value {
            Value::Object(map) => Ok(Self { map, kind, path }),
            Value::Null => Ok(Self { map: Map::new(), kind, path }),
            other => Err(mismatch(kind, &path, &other, "an object")),
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key).filter(|value| !value.is_null())
    }

    fn with<T>(&mut self, key: &str, what: &str, read: impl FnOnce(&Value) -> Option<T>) -> Answer<Option<T>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(mismatch(self.kind, &self.path_of(key), &value, what)),
        }
    }

    fn text(&mut self, key: &str) -> Answer<Option<Str>> {
        self.with(key, "a string", |value| value.as_str().map(Str::from))
    }

    fn flag(&mut self, key: &str) -> Answer<bool> {
        Ok(self.with(key, "true or false", Value::as_bool)?.unwrap_or_default())
    }

    fn integer(&mut self, key: &str) -> Answer<Option<i64>> {
        self.with(key, "an integer", Value::as_i64)
    }

    fn count(&mut self, key: &str) -> Answer<Option<u32>> {
        self.with(key, "an integer of at least 0", |value| u32::try_from(value.as_u64()?).ok())
    }

    fn time(&mut self, key: &str) -> Answer<Option<Timestamp>> {
        self.with(key, "an RFC 3339 time", |value| Timestamp::parse(value.as_str()?).ok())
    }

    fn object(&mut self, key: &str) -> Answer<Self> {
        let value = self.take(key).unwrap_or_default();
        Self::new(value, self.kind, self.path_of(key))
    }

    fn list(&mut self, key: &str) -> Answer<Vec<Self>> {
        let path = self.path_of(key);
        let items = match self.take(key) {
            None => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(mismatch(self.kind, &path, &other, "a list")),
        };
        items.into_iter().enumerate().map(|(at, item)| Self::new(item, self.kind, format!("{path}[{at}]"))).collect()
    }

    fn texts(&mut self, key: &str) -> Answer<Vec<Str>> {
        let texts = self.with(key, "a list of strings", |value| {
            value.as_array()?.iter().map(|item| item.as_str().map(Str::from)).collect()
        })?;
        Ok(texts.unwrap_or_default())
    }

    fn pairs(&mut self, key: &str) -> Answer<Labels> {
        let pairs = self.with(key, "an object of strings", |value| {
            let pairs = value.as_object()?.iter();
            pairs.map(|(key, value)| Some((Str::from(key.as_str()), Str::from(value.as_str()?)))).collect()
        })?;
        Ok(pairs.unwrap_or_default())
    }

    /// The fields that were not taken, without nulls.
    fn rest(self) -> Value {
        let left: Map<_, _> = self.map.into_iter().filter(|(_, value)| !value.is_null()).collect();
        if left.is_empty() { Value::Null } else { Value::Object(left) }
    }
}

fn mismatch(kind: Kind, path: &str, value: &Value, want: &str) -> ApiRefusal {
    let words = kind.words();
    let place = if path.is_empty() { "the body" } else { path };
    let shown: String = value.to_string().chars().take(80).collect();
    ApiRefusal::bad_request(format!(
        "{} in version \"{}\" cannot be handled as a {}: json: cannot unmarshal {shown} at {place}, which is {want}",
        words.kind, words.version, words.kind
    ))
}

fn read_meta(mut fields: Fields) -> Answer<Meta> {
    let version = fields.text("resourceVersion")?.unwrap_or_default();
    let resource_version = match &*version {
        "" | "0" => 0,
        text => text.parse().map_err(|error| ApiRefusal::bad_request(format!("resourceVersion `{text}`: {error}")))?,
    };
    let grace = fields.count("deletionGracePeriodSeconds")?;
    let deletion =
        fields.time("deletionTimestamp")?.map(|at| DeletionMark { at, grace_secs: grace.unwrap_or_default() });
    let owners = fields.list("ownerReferences")?.into_iter().map(|mut owner| {
        Ok(Owner {
            api_version: owner.text("apiVersion")?.unwrap_or_default(),
            kind: owner.text("kind")?.unwrap_or_default(),
            name: owner.text("name")?.unwrap_or_default(),
            uid: owner.text("uid")?.unwrap_or_default(),
            controller: owner.flag("controller")?,
            block_owner_deletion: owner.flag("blockOwnerDeletion")?,
        })
    });
    Ok(Meta {
        owners: owners.collect::<Answer<Vec<_>>>()?.into(),
        namespace: fields.text("namespace")?.unwrap_or_default(),
        name: fields.text("name")?.unwrap_or_default(),
        generate_name: fields.text("generateName")?.filter(|name| !name.is_empty()),
        uid: fields.text("uid")?.unwrap_or_default(),
        resource_version,
        generation: fields.integer("generation")?.unwrap_or_default(),
        created_at: fields.time("creationTimestamp")?.unwrap_or_default(),
        deletion,
        labels: fields.pairs("labels")?,
        annotations: fields.pairs("annotations")?,
        finalizers: fields.texts("finalizers")?.into(),
    })
}

fn read_node(fields: &mut Fields, before: Option<&Node>) -> Answer<Node> {
    let mut spec = fields.object("spec")?;
    let taints = spec.list("taints")?.into_iter().map(|mut taint| {
        Ok(Taint {
            key: taint.text("key")?.unwrap_or_default(),
            value: taint.text("value")?.unwrap_or_default(),
            effect: taint
                .with("effect", "NoSchedule, PreferNoSchedule or NoExecute", |effect| match effect.as_str()? {
                    "NoSchedule" => Some(TaintEffect::NoSchedule),
                    "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
                    "NoExecute" => Some(TaintEffect::NoExecute),
                    _ => None,
                })?
                .ok_or_else(|| ApiRefusal::bad_request("a taint needs an effect"))?,
        })
    });
    let taints = taints.collect::<Answer<Vec<_>>>()?.into();
    let unschedulable = spec.flag("unschedulable")?;
    let mut status = fields.object("status")?;
    let images = status.list("images")?.into_iter().map(|mut image| {
        let bytes = image.integer("sizeBytes")?.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
        Ok(NodeImage { names: image.texts("names")?, bytes })
    });
    let conditions = read_conditions(&mut status)?;
    let beat = |all: &[Condition]| Condition::find(all, conditions::READY)?.heartbeat_at;
    // A heartbeat that a client writes is not of the world's own kubelet: `managedFields` says who wrote it.
    let same = before.filter(|before| beat(&before.conditions) == beat(&conditions));
    Ok(Node {
        images: images.collect::<Answer<Vec<_>>>()?.into(),
        reported_at: same.and_then(|before| before.reported_at),
        conditions,
        unschedulable,
        taints,
        spec_rest: Arc::new(spec.rest()),
        status_rest: Arc::new(status.rest()),
    })
}

fn read_conditions(status: &mut Fields) -> Answer<Arc<[Condition]>> {
    let conditions = status.list("conditions")?.into_iter().map(|mut condition| {
        let kind = condition.text("type")?.unwrap_or_default();
        let status = match condition.text("status")?.as_deref() {
            Some("True") => ConditionStatus::True,
            Some("False") => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        };
        Ok(Condition {
            kind: Cow::Owned(kind.to_string()),
            status,
            since: condition.time("lastTransitionTime")?.unwrap_or_default(),
            heartbeat_at: condition.time("lastHeartbeatTime")?,
            reason: condition.text("reason")?,
            message: condition.text("message")?,
        })
    });
    Ok(conditions.collect::<Answer<Vec<_>>>()?.into())
}

fn read_pod(fields: &mut Fields, before: Option<&Pod>) -> Answer<Pod> {
    let mut spec = fields.object("spec")?;
    let node = spec.text("nodeName")?;
    let pinned = pinned_to(spec.map.get("affinity"));
    let mut template = serde_json::json!({});
    if let Some(before) = before {
        unpin(&mut spec.map, before);
        if let Some(metadata) = before.template.json().get("metadata") {
            template["metadata"] = metadata.clone();
        }
    }
    template["spec"] = Value::Object(spec.map);
    let template = Template::from_json(template);
    // The same template stays shared with the DaemonSet's other pods.
    let template = before.map(|before| &before.template).filter(|old| **old == template).cloned().unwrap_or(template);
    Ok(Pod { template, pinned, node, status: read_pod_status(fields.object("status")?)? })
}

/// Takes back what rendering a pinned pod added to its template, as far as the client left it alone.
fn unpin(spec: &mut Map<String, Value>, before: &Pod) {
    let Some(node) = &before.pinned else { return };
    let original = |key: &str| before.template.json()["spec"].get(key).cloned();
    let rendered = [
        ("affinity", pinned_affinity(&before.template, node)),
        ("tolerations", Value::Array(pinned_tolerations(&before.template))),
    ];
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

/// The node that a DaemonSet controller pinned a pod to.
fn pinned_to(affinity: Option<&Value>) -> Option<Str> {
    let required = affinity?.get("nodeAffinity")?.get("requiredDuringSchedulingIgnoredDuringExecution")?;
    let [term] = required.get("nodeSelectorTerms")?.as_array()?.as_slice() else { return None };
    let [field] = term.get("matchFields")?.as_array()?.as_slice() else { return None };
    let [name] = field.get("values")?.as_array()?.as_slice() else { return None };
    let named = field.get("key")?.as_str() == Some("metadata.name") && field.get("operator")?.as_str() == Some("In");
    name.as_str().filter(|_| named).map(Str::from)
}

fn read_pod_status(mut status: Fields) -> Answer<PodStatus> {
    let phase = match status.text("phase")?.as_deref() {
        None | Some("" | "Pending") => PodPhase::Pending,
        Some("Running") => PodPhase::Running,
        Some("Succeeded") => PodPhase::Succeeded,
        Some("Failed") => PodPhase::Failed,
        Some(_) => PodPhase::Unknown,
    };
    let mut containers = Vec::new();
    for (key, role) in [("initContainerStatuses", ContainerRole::Init), ("containerStatuses", ContainerRole::Main)] {
        for container in status.list(key)? {
            containers.push(read_container(container, role)?);
        }
    }
    // Always the same as the singular fields.
    status.take("hostIPs");
    status.take("podIPs");
    Ok(PodStatus {
        phase,
        conditions: read_conditions(&mut status)?,
        containers: containers.into(),
        reason: status.text("reason")?,
        message: status.text("message")?,
        started_at: status.time("startTime")?,
        host_ip: status.text("hostIP")?,
        pod_ip: status.text("podIP")?,
        rest: Arc::new(status.rest()),
    })
}

fn read_container(mut container: Fields, role: ContainerRole) -> Answer<ContainerStatus> {
    let mut state = container.object("state")?;
    let state = if state.map.contains_key("running") {
        ContainerState::Running { since: state.object("running")?.time("startedAt")? }
    } else if state.map.contains_key("terminated") {
        let mut ended = state.object("terminated")?;
        ContainerState::Terminated {
            reason: ended.text("reason")?.unwrap_or_default(),
            exit_code: ended.integer("exitCode")?.and_then(|code| i32::try_from(code).ok()).unwrap_or_default(),
            message: ended.text("message")?,
        }
    } else {
        let mut waiting = state.object("waiting")?;
        ContainerState::Waiting {
            reason: waiting.text("reason")?.unwrap_or_else(|| "ContainerCreating".into()),
            message: waiting.text("message")?,
        }
    };
    let mut last = container.object("lastState")?;
    let (mut last_end, mut last_exit) = (None, None);
    if last.map.contains_key("terminated") {
        let mut ended = last.object("terminated")?;
        last_end = ended.text("reason")?;
        last_exit = Some(LastExit {
            code: ended.integer("exitCode")?.and_then(|code| i32::try_from(code).ok()).unwrap_or_default(),
            started_at: ended.time("startedAt")?.unwrap_or_default(),
            finished_at: ended.time("finishedAt")?.unwrap_or_default(),
        });
    }
    let image_id = container.text("imageID")?.filter(|id| !id.is_empty());
    Ok(ContainerStatus {
        fact: ContainerFact {
            name: container.text("name")?.unwrap_or_default(),
            role,
            image_present: image_id.is_some(),
            state,
            last_end,
            last_exit: last_exit.map(|exit: LastExit| exit.code),
            restarts: container.count("restartCount")?.unwrap_or_default(),
            ready: container.flag("ready")?,
        },
        image: container.text("image")?.unwrap_or_default(),
        image_id,
        started: container.flag("started")?,
        last_exit,
    })
}

fn read_daemon_set(fields: &mut Fields, name: &str) -> Answer<DaemonSet> {
    let mut spec = fields.object("spec")?;
    let selector_json = spec.take("selector").unwrap_or_default();
    let selector = Selector::from_label_selector(&selector_json)
        .map_err(|error| ApiRefusal::bad_request(format!("spec.selector: {error}")))?;
    let strategy = spec.take("updateStrategy").unwrap_or_default();
    let read = DaemonSetSpec {
        selector,
        selector_json,
        template: Template::from_json(spec.take("template").unwrap_or_default()),
        strategy: read_strategy(name, strategy)?,
        min_ready_secs: spec.count("minReadySeconds")?.unwrap_or_default(),
        history_limit: spec.count("revisionHistoryLimit")?.unwrap_or(10),
        rest: spec.rest(),
    };
    let mut status = fields.object("status")?;
    let mut count = |key| Ok::<_, ApiRefusal>(status.count(key)?.unwrap_or_default());
    let counters = DaemonSetCounters {
        desired: count("desiredNumberScheduled")?,
        current: count("currentNumberScheduled")?,
        ready: count("numberReady")?,
        updated: count("updatedNumberScheduled")?,
        available: count("numberAvailable")?,
        misscheduled: count("numberMisscheduled")?,
    };
    let status = DaemonSetStatus {
        observed_generation: status.integer("observedGeneration")?.unwrap_or_default(),
        counters,
        unavailable: status.count("numberUnavailable")?.unwrap_or_default(),
        collision_count: status.count("collisionCount")?,
    };
    Ok(DaemonSet { spec: Arc::new(read), status, ..DaemonSet::default() })
}

fn read_strategy(name: &str, raw: Value) -> Answer<UpdateStrategy> {
    let kind = match raw.get("type").and_then(Value::as_str) {
        None | Some("" | "RollingUpdate") => StrategyKind::RollingUpdate,
        Some("OnDelete") => StrategyKind::OnDelete,
        Some(other) => {
            let message = format!("Unsupported value: \"{other}\": supported values: \"RollingUpdate\", \"OnDelete\"");
            let reason = "FieldValueNotSupported";
            return Err(invalid(name, FieldError { reason, ..FieldError::invalid("spec.updateStrategy", message) }));
        }
    };
    let amount = |key: &str| match raw.get("rollingUpdate").and_then(|rolling| rolling.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(amount) => serde_json::from_value(amount.clone()).map(Some).map_err(|error| {
            let field = format!("spec.updateStrategy.rollingUpdate.{key}");
            invalid(name, FieldError::invalid(&field, format!("Invalid value: {amount}: {error}")))
        }),
    };
    Ok(UpdateStrategy { kind, max_unavailable: amount("maxUnavailable")?, max_surge: amount("maxSurge")?, raw })
}

fn invalid(name: &str, cause: FieldError) -> ApiRefusal {
    ApiError::invalid(Kind::DaemonSet, name, vec![cause]).into()
}

fn read_revision(fields: &mut Fields) -> Answer<ControllerRevision> {
    let mut data = fields.take("data").unwrap_or_default();
    let template = data.pointer_mut("/spec/template").map(Value::take).unwrap_or_default();
    Ok(ControllerRevision {
        number: fields.integer("revision")?.unwrap_or_default(),
        template: Template::from_json(template),
    })
}

fn read_lease(mut spec: Fields) -> Answer<Lease> {
    Ok(Lease {
        holder: spec.text("holderIdentity")?,
        duration_secs: spec.count("leaseDurationSeconds")?,
        acquired_at: spec.time("acquireTime")?,
        renewed_at: spec.time("renewTime")?,
        transitions: spec.count("leaseTransitions")?,
        rest: Arc::new(spec.rest()),
    })
}

fn read_event(mut fields: Fields) -> Answer<EventBody> {
    let mut involved = fields.object("involvedObject")?;
    let involved = ObjectRef {
        api_version: involved.text("apiVersion")?.unwrap_or_default(),
        kind: involved.text("kind")?.unwrap_or_default(),
        namespace: involved.text("namespace")?.unwrap_or_default(),
        name: involved.text("name")?.unwrap_or_default(),
        uid: involved.text("uid")?.unwrap_or_default(),
        field_path: involved.text("fieldPath")?,
    };
    let severity = match fields.text("type")?.as_deref() {
        Some("Warning") => EventType::Warning,
        _ => EventType::Normal,
    };
    let mut source = fields.object("source")?;
    let reporter = fields.text("reportingComponent")?.filter(|name| !name.is_empty());
    let instance = fields.text("reportingInstance")?.filter(|name| !name.is_empty());
    // Writers of events.k8s.io/v1 leave both timestamps empty and set `eventTime` alone; it stays in the rest too.
    let event_time = fields.map.get("eventTime").and_then(Value::as_str).and_then(|at| Timestamp::parse(at).ok());
    let first_at = fields.time("firstTimestamp")?.or(event_time).unwrap_or_default();
    let (component, host) = (source.text("component")?, source.text("host")?);
    // Who names a source names the reporter apart from it, or none; kubelets say the same twice.
    let same = (component.clone().unwrap_or_default(), host.clone().unwrap_or_default());
    let apart = (reporter.clone().unwrap_or_default(), instance.clone().unwrap_or_default());
    let apart = (component.is_some() && apart != same).then_some(apart);
    let host = host.or(instance.filter(|_| apart.is_none()));
    Ok(EventBody {
        involved,
        severity,
        reason: fields.text("reason")?.unwrap_or_default(),
        message: fields.text("message")?.unwrap_or_default(),
        component: component.or(reporter).unwrap_or_default(),
        host,
        reporter: apart,
        first_at,
        last_at: fields.time("lastTimestamp")?.unwrap_or(first_at),
        count: fields.count("count")?.unwrap_or(1),
        rest: Arc::new(fields.rest()),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::super::render::to_value;
    use super::*;
    use crate::sim::world::World;
    use crate::sim::world::scenario::{ClusterFault, built_in};

    fn daemon_set() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {
                "name": "agent", "namespace": "edge", "uid": "u1", "resourceVersion": "77", "generation": 3,
                "creationTimestamp": "2026-11-21T12:00:00Z", "labels": {"a": "b"}, "annotations": {"c": "d"},
                "finalizers": ["example.com/hold"],
            },
            "spec": {
                "selector": {"matchLabels": {"app": "agent"}}, "minReadySeconds": 5, "revisionHistoryLimit": 3,
                "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "a", "image": "x:1"}]}},
                "updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": "10%"}},
                "later": [1, 2],
            },
            "status": {
                "currentNumberScheduled": 1, "numberMisscheduled": 2, "desiredNumberScheduled": 3, "numberReady": 4,
                "observedGeneration": 3, "updatedNumberScheduled": 5, "numberAvailable": 6, "numberUnavailable": 7,
                "collisionCount": 1,
            },
        })
    }

    fn pod() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "agent-x", "generateName": "agent-", "namespace": "edge", "uid": "u2", "resourceVersion": "78",
                "creationTimestamp": "2026-11-21T12:00:00Z", "deletionTimestamp": "2026-11-21T12:01:00Z",
                "deletionGracePeriodSeconds": 30,
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u1", "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "spec": {"nodeName": "n1", "containers": [{"name": "a", "image": "x:1"}], "tolerations": [{"operator": "Exists"}]},
            "status": {
                "phase": "Running", "reason": "Odd", "message": "words", "startTime": "2026-11-21T12:00:01Z",
                "hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}], "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}],
                "conditions": [{
                    "type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T12:00:02Z",
                    "reason": "ContainersNotReady", "message": "containers with unready status: [a]",
                }],
                "initContainerStatuses": [{
                    "name": "i", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}, "lastState": {},
                    "ready": true, "restartCount": 0, "image": "i:1", "imageID": "sha256:1", "started": false,
                }],
                "containerStatuses": [{
                    "name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
                    "lastState": {"terminated": {
                        "exitCode": 137, "reason": "OOMKilled", "startedAt": "2026-11-21T12:00:02Z",
                        "finishedAt": "2026-11-21T12:00:03Z",
                    }},
                    "ready": false, "restartCount": 2, "image": "x:1", "imageID": "", "started": false,
                }],
                "qosClass": "BestEffort",
            },
        })
    }

    #[test]
    fn what_is_read_is_written_again_as_it_was() {
        let meta =
            |name: &str| json!({"name": name, "resourceVersion": "9", "creationTimestamp": "2026-11-21T12:00:00Z"});
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": meta("n1"),
            "spec": {"unschedulable": true, "podCIDR": "10.0.0.0/24", "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
            "status": {
                "conditions": [{
                    "type": "Ready", "status": "Unknown", "lastHeartbeatTime": "2026-11-21T12:00:01Z",
                    "lastTransitionTime": "2026-11-21T12:00:00Z", "reason": "NodeStatusUnknown",
                }],
                "images": [{"names": ["x@sha256:1", "x:1"], "sizeBytes": 123}],
                "nodeInfo": {"kubeletVersion": "v1.36.0"},
            },
        });
        let revision = json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta("agent-1"), "revision": 4,
            "data": {"spec": {"template": {"$patch": "replace", "spec": {"containers": []}}}},
        });
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta("l"),
            "spec": {
                "holderIdentity": "", "leaseDurationSeconds": 15, "acquireTime": "2026-11-21T12:00:00.123000Z",
                "renewTime": "2026-11-21T12:00:00.456000Z", "leaseTransitions": 2, "strategy": "OldestEmulationVersion",
            },
        });
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": meta("e"), "reason": "Pulling", "message": "Pulling image",
            "involvedObject": {
                "kind": "Pod", "namespace": "edge", "name": "agent-x", "uid": "u2", "apiVersion": "v1",
                "fieldPath": "spec.containers{a}",
            },
            "source": {"component": "kubelet", "host": "n1"}, "firstTimestamp": "2026-11-21T12:00:00Z",
            "lastTimestamp": "2026-11-21T12:00:09Z", "count": 3, "type": "Warning", "reportingComponent": "kubelet",
            "reportingInstance": "n1", "action": "kept",
        });
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("m"), "data": {"k": "v"}});
        for (kind, object) in [
            (Kind::DaemonSet, daemon_set()),
            (Kind::Pod, pod()),
            (Kind::Node, node),
            (Kind::ControllerRevision, revision),
            (Kind::Lease, lease),
            (Kind::Event, event),
            (Kind::ConfigMap, map),
        ] {
            let read = parse(kind, object.clone(), None).unwrap();
            assert_eq!(to_value(&read, None), object, "{kind}");
        }
    }

    #[test]
    fn what_a_world_serves_is_read_and_written_again_as_it_was() {
        let mut world = World::new(&built_in("cascade").unwrap(), 5);
        let images = [("agent".to_owned(), "registry.example/agent:v2".to_owned())].into();
        world.inject(&ClusterFault::SetImages { daemon_set: "edge/agent".into(), images }.into());
        world.advance_by(Duration::from_secs(14 * 60));
        for kind in [Kind::DaemonSet, Kind::Pod, Kind::Node, Kind::ControllerRevision, Kind::Lease, Kind::Event] {
            assert!(world.store().count(kind) > 0, "{kind}");
        }
        for object in Kind::ALL.into_iter().flat_map(|kind| world.store().list(kind)) {
            let shown = to_value(object, None);
            let read = parse(object.kind(), shown.clone(), Some(object)).unwrap();
            assert_eq!(to_value(&read, None), shown);
        }
    }

    /// A pod as the DaemonSet controller makes it: pinned, its template shared.
    fn pinned() -> Object {
        let template = json!({"metadata": {"labels": {"app": "agent"}}, "spec": {
            "containers": [{"name": "a", "image": "x:1"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "Exists"}]},
            ]}}},
        }});
        let pod = Pod { template: Template::from_json(template), pinned: Some("n1".into()), ..Pod::default() };
        Object::new("edge", "agent-x", Body::Pod(pod))
    }

    #[test]
    fn a_pinned_pod_looks_as_the_controller_makes_it_and_keeps_its_template() {
        let before = pinned();
        let shown = to_value(&before, None);
        assert_eq!(pinned_to(shown.pointer("/spec/affinity")).as_deref(), Some("n1"));
        assert_eq!(shown["spec"]["tolerations"].as_array().unwrap().len(), 6);
        let mut labelled = shown.clone();
        labelled["metadata"]["labels"] = json!({"tier": "edge"});
        let after = parse(Kind::Pod, labelled, Some(&before)).unwrap();
        assert_eq!(after.body, before.body);
        let mut imaged = shown;
        imaged["spec"]["containers"][0]["image"] = "x:2".into();
        let after = parse(Kind::Pod, imaged, Some(&before)).unwrap();
        let expected = before.pod().unwrap().template.with_images([("a", "x:2")]).unwrap();
        assert_eq!(after.pod().unwrap().template, expected, "only the image is another one");
    }

    #[test]
    fn what_has_the_wrong_shape_is_refused_by_name() {
        for (kind, object, words) in [
            (Kind::Pod, json!({"kind": "Node"}), "do not match the expected ones (v1, Pod)"),
            (Kind::Pod, json!({"metadata": {"labels": {"a": 1}}}), "metadata.labels"),
            (Kind::Pod, json!({"metadata": []}), "metadata"),
            (Kind::Pod, json!({"metadata": {"resourceVersion": "x"}}), "resourceVersion"),
            (Kind::Node, json!({"spec": {"taints": [{"key": "a", "effect": "Maybe"}]}}), "spec.taints[0].effect"),
            (Kind::Lease, json!({"spec": {"renewTime": "soon"}}), "spec.renewTime"),
            (
                Kind::DaemonSet,
                json!({"spec": {"updateStrategy": {"type": "Never"}}}),
                "spec.updateStrategy: Unsupported value",
            ),
        ] {
            let status = parse(kind, object, None).unwrap_err().status();
            assert!(status["message"].as_str().unwrap().contains(words), "{status}");
        }
    }
}
