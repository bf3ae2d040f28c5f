//! The tables that `kubectl get` asks for: the server chooses the columns and writes the cells.
//!
//! The columns are those of `pkg/printers/internalversion` in Kubernetes. `-o wide` also shows columns of priority 1.

use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::model::facts::{ConditionStatus, ContainerFact, ContainerState, PodPhase};
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Body, Condition, DaemonSet, EventBody, Node, Object, Pod, conditions};

use super::codec;
use super::json::ObjectWriter;

/// `(name, type, priority)`
type TableColumn = (&'static str, &'static str, u8);

fn columns(kind: Kind) -> &'static [TableColumn] {
    match kind {
        Kind::Pod => &[
            ("Name", "string", 0),
            ("Ready", "string", 0),
            ("Status", "string", 0),
            ("Restarts", "string", 0),
            ("Age", "string", 0),
            ("IP", "string", 1),
            ("Node", "string", 1),
            ("Nominated Node", "string", 1),
            ("Readiness Gates", "string", 1),
        ],
        Kind::DaemonSet => &[
            ("Name", "string", 0),
            ("Desired", "integer", 0),
            ("Current", "integer", 0),
            ("Ready", "integer", 0),
            ("Up-to-date", "integer", 0),
            ("Available", "integer", 0),
            ("Node Selector", "string", 0),
            ("Age", "string", 0),
            ("Containers", "string", 1),
            ("Images", "string", 1),
            ("Selector", "string", 1),
        ],
        Kind::Node => &[
            ("Name", "string", 0),
            ("Status", "string", 0),
            ("Roles", "string", 0),
            ("Age", "string", 0),
            ("Version", "string", 0),
            ("Internal-IP", "string", 1),
            ("External-IP", "string", 1),
            ("OS-Image", "string", 1),
            ("Kernel-Version", "string", 1),
            ("Container-Runtime", "string", 1),
        ],
        Kind::Event => &[
            ("Last Seen", "string", 0),
            ("Type", "string", 0),
            ("Reason", "string", 0),
            ("Object", "string", 0),
            ("Subobject", "string", 1),
            ("Source", "string", 1),
            ("Message", "string", 0),
            ("First Seen", "string", 1),
            ("Count", "string", 1),
            ("Name", "string", 1),
        ],
        Kind::ControllerRevision => {
            &[("Name", "string", 0), ("Controller", "string", 0), ("Revision", "string", 0), ("Age", "string", 0)]
        }
        Kind::StatefulSet => &[("Name", "string", 0), ("Ready", "string", 0), ("Age", "string", 0)],
        Kind::Lease => &[("Name", "string", 0), ("Holder", "string", 0), ("Age", "string", 0)],
        Kind::Namespace => &[("Name", "string", 0), ("Status", "string", 0), ("Age", "string", 0)],
        Kind::ConfigMap => &[("Name", "string", 0), ("Data", "string", 0), ("Age", "string", 0)],
        Kind::Secret => &[("Name", "string", 0), ("Type", "string", 0), ("Data", "string", 0), ("Age", "string", 0)],
        Kind::ServiceAccount => &[("Name", "string", 0), ("Secrets", "string", 0), ("Age", "string", 0)],
    }
}

/// Writes `columnDefinitions`.
pub(super) fn write_columns(o: &mut ObjectWriter<'_>, kind: Kind) {
    o.objects("columnDefinitions", columns(kind), |(name, kind, priority), o| {
        o.put("name", name);
        o.put("type", kind);
        o.put("format", if *name == "Name" { "name" } else { "" });
        o.put("description", "");
        o.put("priority", priority);
    });
}

/// The cells of an object's row.
pub(super) fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let name = json!(&*object.meta.name);
    let age = json!(age(Some(object.meta.created_at), now));
    match &object.body {
        Body::Pod(pod) => pod_cells(object, pod, now),
        Body::DaemonSet(daemon_set) => daemon_set_cells(name, age, daemon_set),
        Body::Node(node) => node_cells(object, node, age),
        Body::Event(event) => event_cells(name, event, now),
        Body::ControllerRevision(revision) => {
            let controller = object.meta.owners.iter().find(|owner| owner.controller).map_or_else(
                || "<none>".to_owned(),
                |owner| {
                    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
                    let dot = if group.is_empty() { "" } else { "." };
                    format!("{}{dot}{group}/{}", owner.kind.to_lowercase(), owner.name)
                },
            );
            vec![name, controller.into(), revision.number.into(), age]
        }
        Body::Lease(lease) => vec![name, json!(lease.holder.as_deref().unwrap_or_default()), age],
        Body::Other(kind, rest) => {
            let size = |key: &str| rest[key].as_object().map_or(0, |data| data.len());
            match kind {
                Kind::Namespace => vec![name, rest["status"]["phase"].as_str().unwrap_or("Active").into(), age],
                Kind::ConfigMap => vec![name, (size("data") + size("binaryData")).into(), age],
                Kind::Secret => vec![name, rest["type"].as_str().unwrap_or("Opaque").into(), size("data").into(), age],
                Kind::ServiceAccount => vec![name, rest["secrets"].as_array().map_or(0, Vec::len).into(), age],
                Kind::StatefulSet => {
                    let number = |part: &str, field: &str| rest[part][field].as_u64().unwrap_or(0);
                    let ready = format!("{}/{}", number("status", "readyReplicas"), number("spec", "replicas"));
                    vec![name, ready.into(), age]
                }
                _ => vec![name, age],
            }
        }
    }
}

fn pod_cells(object: &Object, pod: &Pod, now: Timestamp) -> Vec<Value> {
    let all = || pod.status.containers.iter();
    let initialising = init_status(pod);
    let initialised = Condition::status(&pod.status.conditions, conditions::INITIALIZED) == ConditionStatus::True;
    let is_up = initialising.is_none() || initialised;
    let counts = |role: ContainerRole| if is_up { role.keeps_running() } else { role.is_init_container() };
    let shown = || all().filter(|container| counts(container.fact.role));
    let restarts: u32 = shown().map(|container| container.fact.restarts).sum();
    let last_restart = shown().filter_map(|container| container.last_exit).map(|exit| exit.finished_at).max();
    let restarts = match last_restart {
        Some(at) if restarts > 0 => format!("{restarts} ({} ago)", age(Some(at), now)),
        _ => restarts.to_string(),
    };
    let ready = all()
        .filter(|container| container.fact.role.keeps_running())
        .filter(|container| container.fact.ready && matches!(container.fact.state, ContainerState::Running { .. }))
        .count();
    let total = pod.template.containers().iter().filter(|container| container.role.keeps_running()).count();
    let none = || json!("<none>");
    vec![
        json!(&*object.meta.name),
        format!("{ready}/{total}").into(),
        pod_status(object, pod).into(),
        restarts.into(),
        age(Some(object.meta.created_at), now).into(),
        pod.status.pod_ip.as_deref().map_or_else(none, Value::from),
        pod.node.as_deref().map_or_else(none, Value::from),
        none(),
        none(),
    ]
}

/// The state of the first init container that has not ended with exit code 0, and of the first sidecar that has not started; `None` if there is none.
fn init_status(pod: &Pod) -> Option<String> {
    let facts = pod.status.containers.iter().map(|container| &container.fact);
    let init: Vec<&ContainerFact> = facts.filter(|fact| fact.role.is_init_container()).collect();
    let (nth, fact) = init
        .iter()
        .enumerate()
        .filter(|(_, fact)| fact.role != ContainerRole::Sidecar || !fact.started)
        .find(|(_, fact)| !matches!(fact.state, ContainerState::Terminated { exit_code: 0, .. }))?;
    Some(match &fact.state {
        ContainerState::Terminated { reason, exit_code, .. } if reason.is_empty() => {
            format!("Init:ExitCode:{exit_code}")
        }
        ContainerState::Terminated { reason, .. } => format!("Init:{reason}"),
        ContainerState::Waiting { reason, .. } if !reason.is_empty() && &**reason != "PodInitializing" => {
            format!("Init:{reason}")
        }
        _ => format!("Init:{nth}/{}", init.len()),
    })
}

/// The STATUS column of a pod.
pub(super) fn pod_status(object: &Object, pod: &Pod) -> String {
    let status = &pod.status;
    let lost = status.reason.as_deref() == Some("NodeLost");
    let ended = matches!(status.phase, PodPhase::Failed | PodPhase::Succeeded);
    if object.meta.is_deleting() && (lost || !ended) {
        return if lost { "Unknown" } else { "Terminating" }.to_owned();
    }
    let initialised = Condition::status(&status.conditions, conditions::INITIALIZED) == ConditionStatus::True;
    if let Some(initialising) = init_status(pod).filter(|_| !initialised) {
        return initialising;
    }
    let mut shown = status.reason.as_deref().unwrap_or(codec::phase(status.phase)).to_owned();
    let mut running = false;
    for container in status.containers.iter().rev().filter(|container| container.fact.role == ContainerRole::Main) {
        match &container.fact.state {
            ContainerState::Waiting { reason, .. } if !reason.is_empty() => shown = reason.to_string(),
            ContainerState::Terminated { reason, exit_code, .. } if reason.is_empty() => {
                shown = format!("ExitCode:{exit_code}");
            }
            ContainerState::Terminated { reason, .. } => shown = reason.to_string(),
            ContainerState::Running { .. } if container.fact.ready => running = true,
            _ => {}
        }
    }
    if shown == "Completed" && running {
        shown = if pod.ready().is_some() { "Running" } else { "NotReady" }.to_owned();
    }
    shown
}

fn daemon_set_cells(name: Value, age: Value, daemon_set: &DaemonSet) -> Vec<Value> {
    let (spec, counters) = (&daemon_set.spec, daemon_set.status.counters);
    let node_selector: Vec<String> =
        spec.template.node_selector().iter().map(|(key, value)| format!("{key}={value}")).collect();
    let node_selector = if node_selector.is_empty() { "<none>".to_owned() } else { node_selector.join(",") };
    let containers = spec.template.containers().iter().filter(|container| container.role == ContainerRole::Main);
    let (names, images): (Vec<&str>, Vec<&str>) =
        containers.map(|container| (&*container.name, &*container.image)).unzip();
    vec![
        name,
        counters.desired.into(),
        counters.current.into(),
        counters.ready.into(),
        counters.updated.into(),
        counters.available.into(),
        node_selector.into(),
        age,
        names.join(",").into(),
        images.join(",").into(),
        spec.selector.to_string().into(),
    ]
}

fn node_cells(object: &Object, node: &Node, age: Value) -> Vec<Value> {
    let mut status = match Condition::find(&node.conditions, conditions::READY) {
        Some(ready) if ready.status == ConditionStatus::True => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if node.unschedulable {
        status.push_str(",SchedulingDisabled");
    }
    let roles: Vec<&str> = object
        .meta
        .labels
        .iter()
        .filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/"))
        .filter(|role| !role.is_empty())
        .collect();
    let roles = if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") };
    let info = |key: &str| {
        let text = node.status_rest["nodeInfo"][key].as_str().filter(|text| !text.is_empty());
        json!(text.unwrap_or("<unknown>"))
    };
    let address = |kind: &str| {
        let addresses = node.status_rest["addresses"].as_array();
        let found = addresses.into_iter().flatten().find(|address| address["type"] == kind);
        found.and_then(|address| address["address"].as_str()).map_or(json!("<none>"), Value::from)
    };
    vec![
        json!(&*object.meta.name),
        status.into(),
        roles.into(),
        age,
        node.status_rest["nodeInfo"]["kubeletVersion"].as_str().unwrap_or_default().into(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ]
}

fn event_cells(name: Value, event: &EventBody, now: Timestamp) -> Vec<Value> {
    let host = event.host.as_deref().unwrap_or_default();
    let source = if host.is_empty() { event.component.to_string() } else { format!("{}, {host}", event.component) };
    vec![
        age(Some(event.last_at), now).into(),
        codec::severity(event.severity).into(),
        json!(&*event.reason),
        format!("{}/{}", event.involved.kind.to_lowercase(), event.involved.name).into(),
        json!(event.involved.field_path.as_deref().unwrap_or_default()),
        source.into(),
        event.message.trim().into(),
        age(Some(event.first_at), now).into(),
        event.count.into(),
        name,
    ]
}

fn age(at: Option<Timestamp>, now: Timestamp) -> String {
    match at {
        None => "<unknown>".to_owned(),
        Some(at) if at == Timestamp::default() => "<unknown>".to_owned(),
        Some(at) => human_duration(now.since(at)),
    }
}

/// Writes a duration as `k8s.io/apimachinery/pkg/util/duration.HumanDuration` does.
fn human_duration(span: Duration) -> String {
    let secs = span.as_secs();
    let (minutes, hours, days) = (secs / 60, secs / 3_600, secs / 86_400);
    let two = |big: u64, unit: char, small: u64, small_unit: char| match small {
        0 => format!("{big}{unit}"),
        small => format!("{big}{unit}{small}{small_unit}"),
    };
    match secs {
        0..120 => format!("{secs}s"),
        120..600 => two(minutes, 'm', secs % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::Str;
    use crate::engine::model::template::Template;
    use crate::sim::world::object::{ContainerStatus, DeletionMark, LastExit, PodStatus};

    #[test]
    fn ages_are_printed_as_kubectl_prints_them() {
        for (secs, want) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (601, "10m"),
            (10_799, "179m"),
            (11_160, "3h6m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (700_000, "8d"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human_duration(Duration::from_secs(secs)), want);
        }
    }

    fn container(name: &str, role: ContainerRole, state: ContainerState, ready: bool) -> ContainerStatus {
        ContainerStatus {
            fact: ContainerFact {
                name: name.into(),
                role,
                image_present: true,
                ready,
                started: matches!(state, ContainerState::Running { .. }),
                ..ContainerFact::in_state(state)
            },
            image: "x".into(),
            image_id: None,
            last_exit: None,
        }
    }

    fn waiting(reason: &str) -> ContainerState {
        ContainerState::Waiting { reason: reason.into(), message: None }
    }

    fn ended(reason: &str, exit_code: i32) -> ContainerState {
        ContainerState::Terminated { reason: reason.into(), exit_code, message: None }
    }

    const RUNNING: ContainerState = ContainerState::Running { since: None };

    fn pod(phase: PodPhase, reason: Option<&str>, containers: Vec<ContainerStatus>) -> Object {
        let template = json!({"spec": {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]}});
        let status =
            PodStatus { phase, reason: reason.map(Str::from), containers: containers.into(), ..PodStatus::default() };
        let pod = Pod { template: Template::from_json(template), status, ..Pod::default() };
        Object::new("edge", "agent-x", Body::Pod(pod))
    }

    #[test]
    fn a_pods_status_is_what_kubectl_would_say() {
        use ContainerRole::{Init, Main, Sidecar};
        let of = |phase, reason, containers| {
            let object = pod(phase, reason, containers);
            pod_status(&object, object.pod().unwrap())
        };
        let a = |state, ready| container("a", Main, state, ready);
        let b = |state, ready| container("b", Main, state, ready);
        for (want, got) in [
            ("Pending", of(PodPhase::Pending, None, vec![])),
            ("Evicted", of(PodPhase::Failed, Some("Evicted"), vec![])),
            (
                "ImagePullBackOff",
                of(PodPhase::Pending, None, vec![a(waiting("ImagePullBackOff"), false), b(RUNNING, true)]),
            ),
            (
                "CrashLoopBackOff",
                of(PodPhase::Running, None, vec![a(RUNNING, true), b(waiting("CrashLoopBackOff"), false)]),
            ),
            ("Running", of(PodPhase::Running, None, vec![a(RUNNING, true), b(RUNNING, false)])),
            ("NotReady", of(PodPhase::Running, None, vec![a(ended("Completed", 0), false), b(RUNNING, true)])),
            ("ExitCode:3", of(PodPhase::Failed, None, vec![a(ended("", 3), false)])),
            ("Init:0/1", of(PodPhase::Pending, None, vec![container("i", Init, waiting("PodInitializing"), false)])),
            (
                "Init:ErrImagePull",
                of(PodPhase::Pending, None, vec![container("i", Init, waiting("ErrImagePull"), false)]),
            ),
            ("Init:ExitCode:2", of(PodPhase::Pending, None, vec![container("i", Init, ended("", 2), false)])),
            ("Init:0/1", of(PodPhase::Pending, None, vec![container("s", Sidecar, waiting("PodInitializing"), false)])),
            (
                "Init:1/2",
                of(
                    PodPhase::Pending,
                    None,
                    vec![container("s", Sidecar, RUNNING, false), container("i", Init, RUNNING, false)],
                ),
            ),
            ("Running", of(PodPhase::Running, None, vec![container("s", Sidecar, RUNNING, true), a(RUNNING, true)])),
            (
                "Running",
                of(PodPhase::Running, None, vec![container("i", Init, ended("Completed", 0), true), a(RUNNING, true)]),
            ),
        ] {
            assert_eq!(got, want);
        }
        let mut leaving = pod(PodPhase::Running, None, vec![a(RUNNING, true)]);
        leaving.meta.deletion = Some(DeletionMark { at: Timestamp::default(), grace_secs: 30 });
        assert_eq!(pod_status(&leaving, leaving.pod().unwrap()), "Terminating");
    }

    #[test]
    fn a_sidecar_counts_among_the_containers_that_are_ready() {
        let sidecar = |started: bool| {
            let mut sidecar = container("s", ContainerRole::Sidecar, RUNNING, started);
            (sidecar.fact.started, sidecar.fact.restarts) = (started, 2);
            sidecar
        };
        let containers = json!([{"name": "a", "image": "a"}]);
        let inits = json!([{"name": "s", "image": "s", "restartPolicy": "Always"}, {"name": "i", "image": "i"}]);
        let told = |statuses: Vec<ContainerStatus>| {
            let mut object = pod(PodPhase::Running, None, statuses);
            let Body::Pod(body) = &mut object.body else { unreachable!("a pod") };
            body.template = Template::from_json(json!({"spec": {"containers": containers, "initContainers": inits}}));
            let cells = cells(&object, Timestamp::default());
            [cells[1].clone(), cells[2].clone(), cells[3].clone()]
        };
        let setup = || container("i", ContainerRole::Init, ended("Completed", 0), true);
        let waits = || container("i", ContainerRole::Init, waiting("PodInitializing"), false);
        let main = || container("a", ContainerRole::Main, RUNNING, true);
        assert_eq!(told(vec![sidecar(true), setup(), main()]), [json!("2/2"), json!("Running"), json!("2")]);
        assert_eq!(told(vec![sidecar(false), waits()]), [json!("0/2"), json!("Init:0/2"), json!("2")]);
    }

    #[test]
    fn restarts_say_how_long_ago() {
        let mut crashed = container("a", ContainerRole::Main, RUNNING, true);
        crashed.fact.restarts = 3;
        let at = |secs: i64| Timestamp::from_millis(secs * 1000);
        crashed.last_exit = Some(LastExit { code: 1, started_at: at(1), finished_at: at(1_000) });
        let object = pod(PodPhase::Running, None, vec![crashed]);
        let cells = cells(&object, at(1_300));
        assert_eq!((&cells[1], &cells[3]), (&json!("1/2"), &json!("3 (5m ago)")));
    }
}
