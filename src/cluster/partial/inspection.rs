//! A pod, a node and the Events on a pod, as the page of a node shows them.
//!
//! The data are read from whole objects, one at a time, while a front end shows them. Unexpected fields are left out.

use std::sync::Arc;

use serde_json::Value;

use super::{instant_of, str_of, words_of};
use crate::cluster::clip::{MESSAGE, NAME, clip, clip_name};
use crate::engine::model::Str;
use crate::engine::model::facts::Severity;
use crate::engine::model::inspection::{
    ConditionInspection, ContainerInspection, ContainerKind, ContainerPhase, EndedRun, NodeInspection, PodEvent,
    PodInspection,
};
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;

/// The annotation with which a pod names the container whose log is shown by default.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";
/// The lists of containers: their field in the spec, their field in the status, and their kind, if they are no sidecars.
const CONTAINERS: [(&str, &str, ContainerKind); 3] = [
    ("initContainers", "initContainerStatuses", ContainerKind::Init),
    ("containers", "containerStatuses", ContainerKind::Main),
    ("ephemeralContainers", "ephemeralContainerStatuses", ContainerKind::Ephemeral),
];
/// The most entries of a list that are shown. People read no more, and the author of a status decides how many there are.
const MOST: usize = 200;

/// The displayed data of a pod.
pub(in crate::cluster) fn pod_inspection(mut object: Value) -> PodInspection {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let (spec, status) = (&object["spec"], &object["status"]);
    let verdict = [&status["reason"], &status["message"]].map(|text| words_of(text, MESSAGE));
    let verdict: Vec<Str> = verdict.into_iter().flatten().collect();
    PodInspection {
        name: name_of(&object["metadata"]["name"]),
        phase: name_of(&status["phase"]),
        verdict: (!verdict.is_empty()).then(|| verdict.join(": ").into()),
        ip: words_of(&status["podIP"], NAME),
        qos_class: words_of(&status["qosClass"], NAME),
        service_account: words_of(&spec["serviceAccountName"], NAME),
        priority_class: words_of(&spec["priorityClassName"], NAME),
        conditions: conditions(status),
        containers: CONTAINERS
            .iter()
            .flat_map(|(inside, statuses, kind)| {
                list(&spec[*inside]).map(|container| inspected(container, &status[*statuses], *kind))
            })
            .collect(),
        default_container: words_of(&object["metadata"]["annotations"][DEFAULT_CONTAINER], NAME),
        raw: Arc::new(object),
    }
}

fn inspected(container: &Value, statuses: &Value, kind: ContainerKind) -> ContainerInspection {
    let status = list(statuses).find(|status| status["name"] == container["name"]).unwrap_or(&Value::Null);
    ContainerInspection {
        // The name is a part of a path, so it is never clipped.
        name: str_of(&container["name"]).unwrap_or_default(),
        kind: match kind {
            ContainerKind::Init => match ContainerRole::of_init_container(container["restartPolicy"].as_str()) {
                ContainerRole::Sidecar => ContainerKind::Sidecar,
                ContainerRole::Init | ContainerRole::Main => ContainerKind::Init,
            },
            ContainerKind::Sidecar | ContainerKind::Main | ContainerKind::Ephemeral => kind,
        },
        image: clip(container["image"].as_str().unwrap_or_default(), MESSAGE).into(),
        image_id: words_of(&status["imageID"], MESSAGE),
        ready: status["ready"] == true,
        restarts: status["restartCount"].as_u64().map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX)),
        state: phase(&status["state"]),
        last: ended(&status["lastState"]["terminated"]),
    }
}

fn phase(state: &Value) -> Option<ContainerPhase> {
    if let Some(run) = ended(&state["terminated"]) {
        return Some(ContainerPhase::Ended(run));
    }
    if state["running"].is_object() {
        return Some(ContainerPhase::Running { since: instant_of(&state["running"]["startedAt"]) });
    }
    let waiting = state["waiting"].as_object()?;
    let text = |key: &str| waiting.get(key).and_then(|text| words_of(text, MESSAGE));
    Some(ContainerPhase::Waiting { reason: text("reason").unwrap_or_default(), message: text("message") })
}

fn ended(terminated: &Value) -> Option<EndedRun> {
    terminated.is_object().then(|| EndedRun {
        reason: name_of(&terminated["reason"]),
        exit_code: terminated["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(-1),
        message: words_of(&terminated["message"], MESSAGE),
        started_at: instant_of(&terminated["startedAt"]),
        finished_at: instant_of(&terminated["finishedAt"]),
    })
}

/// The displayed data of a node.
pub(in crate::cluster) fn node_inspection(object: &Value) -> NodeInspection {
    let (spec, status) = (&object["spec"], &object["status"]);
    let info = |key: &str| words_of(&status["nodeInfo"][key], NAME);
    let amounts = status["allocatable"].as_object().into_iter().flatten();
    NodeInspection {
        conditions: conditions(status),
        taints: list(&spec["taints"])
            .map(|taint| {
                let text = |key: &str| clip(taint[key].as_str().unwrap_or_default(), NAME);
                let value = if text("value").is_empty() { String::new() } else { format!("={}", text("value")) };
                format!("{}{value}:{}", text("key"), text("effect")).into()
            })
            .collect(),
        cordoned: spec["unschedulable"] == true,
        addresses: list(&status["addresses"])
            .map(|address| (name_of(&address["type"]), name_of(&address["address"])))
            .collect(),
        allocatable: amounts
            .take(MOST)
            .filter_map(|(name, amount)| Some((clip_name(name).into(), words_of(amount, NAME)?)))
            .filter(|(_, amount): &(Str, Str)| &**amount != "0")
            .collect(),
        system: ["osImage", "kernelVersion", "containerRuntimeVersion"].into_iter().filter_map(info).collect(),
    }
}

/// The Events of a list, newest first.
pub(in crate::cluster) fn pod_events(list_of_events: &Value) -> Vec<PodEvent> {
    let items = list_of_events["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Kubelets report whole seconds, schedulers fractions of them: only the seconds can be compared. Within the same second, the object that was
    // written last is the newest.
    let version =
        |event: &Value| event["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
    let mut events: Vec<(Option<u64>, PodEvent)> =
        items.iter().map(|event| (version(event), pod_event(event))).collect();
    events.sort_by_key(|(version, event)| std::cmp::Reverse((event.at.map(Timestamp::secs), *version)));
    events.truncate(MOST);
    events.into_iter().map(|(_, event)| event).collect()
}

fn pod_event(event: &Value) -> PodEvent {
    let series = &event["series"];
    let count = event["count"].as_u64().or(series["count"].as_u64()).unwrap_or(1);
    let (first, time) = (instant_of(&event["firstTimestamp"]), instant_of(&event["eventTime"]));
    let last = instant_of(&series["lastObservedTime"]).or_else(|| instant_of(&event["lastTimestamp"]));
    let at = last.or(time).or(first);
    let from = [&event["source"]["component"], &event["reportingComponent"]];
    PodEvent {
        at,
        first_at: first.or(time).filter(|first| count > 1 && Some(*first) != at),
        severity: if event["type"] == "Warning" { Severity::Warning } else { Severity::Normal },
        reason: name_of(&event["reason"]),
        message: clip(event["message"].as_str().unwrap_or_default(), MESSAGE).into(),
        count: u32::try_from(count.max(1)).unwrap_or(u32::MAX),
        from: from.into_iter().find_map(|name| words_of(name, NAME)).unwrap_or_default(),
    }
}

fn conditions(status: &Value) -> Vec<ConditionInspection> {
    list(&status["conditions"])
        .map(|condition| ConditionInspection {
            kind: name_of(&condition["type"]),
            status: name_of(&condition["status"]),
            since: instant_of(&condition["lastTransitionTime"]),
            reason: words_of(&condition["reason"], NAME),
            message: words_of(&condition["message"], MESSAGE),
        })
        .collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten().take(MOST)
}

fn name_of(value: &Value) -> Str {
    clip_name(value.as_str().unwrap_or_default()).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Option<Timestamp> {
        Some(Timestamp::parse(text).unwrap())
    }

    #[test]
    fn a_pod_with_a_crash_loop_is_read_in_full() {
        let pod = pod_inspection(json!({
            "metadata": {"name": "agent-x1", "managedFields": [{"manager": "kubelet"}], "annotations": {
                "kubectl.kubernetes.io/default-container": "agent"}},
            "spec": {"serviceAccountName": "default", "initContainers": [{"name": "init", "image": "init:v1"},
                    {"name": "mesh", "image": "mesh:v1", "restartPolicy": "Always"}],
                "containers": [{"name": "agent", "image": "agent:v2"}, {"name": "new", "image": "x"}]},
            "status": {"phase": "Running", "podIP": "10.0.0.7", "qosClass": "Burstable",
                "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady",
                    "message": "containers with unready status: [agent]", "lastTransitionTime": "2026-11-23T08:00:00Z"}],
                "initContainerStatuses": [{"name": "init", "ready": true, "state": {"terminated": {"exitCode": 0,
                    "reason": "Completed"}}}],
                "containerStatuses": [{"name": "agent", "image": "agent:v2", "imageID": "agent@sha256:1", "ready": false,
                    "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
                    "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "message": "last words",
                        "startedAt": "2026-11-23T07:59:00Z", "finishedAt": "2026-11-23T07:59:30Z"}}}]},
        }));
        assert_eq!((&*pod.name, &*pod.phase, pod.qos_class.as_deref()), ("agent-x1", "Running", Some("Burstable")));
        assert_eq!(pod.raw["metadata"].get("managedFields"), None);
        assert_eq!(pod.conditions[0].reason.as_deref(), Some("ContainersNotReady"));
        assert_eq!(pod.conditions[0].since, at("2026-11-23T08:00:00Z"));
        let names: Vec<&str> = pod.containers.iter().map(|one| &*one.name).collect();
        assert_eq!(names, ["init", "mesh", "agent", "new"]);
        let kinds: Vec<_> = pod.containers[..3].iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [ContainerKind::Init, ContainerKind::Sidecar, ContainerKind::Main]);
        let agent = &pod.containers[2];
        assert_eq!((agent.restarts, agent.ready, agent.has_failed()), (3, false, true));
        let last = agent.last.as_ref().unwrap();
        assert_eq!(
            (last.to_string(), last.message.as_deref()),
            ("OOMKilled, exit 137 (SIGKILL)".into(), Some("last words"))
        );
        assert_eq!(last.finished_at, at("2026-11-23T07:59:30Z"));
        assert_eq!(pod.containers[3].state, None, "its kubelet has not said anything about it");
        assert_eq!(pod.telling_container().map(|one| &*one.name), Some("agent"));
    }

    #[test]
    fn a_node_is_read_in_full() {
        let node = node_inspection(&json!({
            "spec": {"unschedulable": true, "taints": [{"key": "line", "value": "3", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]},
            "status": {"allocatable": {"cpu": "4", "hugepages-2Mi": "0", "memory": "8Gi"},
                "addresses": [{"type": "InternalIP", "address": "10.1.0.9"}],
                "nodeInfo": {"osImage": "Debian 13", "kernelVersion": "6.12", "containerRuntimeVersion": "containerd://2.1"},
                "conditions": [{"type": "DiskPressure", "status": "True", "reason": "KubeletHasDiskPressure"}]},
        }));
        assert!(node.cordoned && !node.conditions[0].is_good());
        assert_eq!(node.taints, ["line=3:NoSchedule".into(), Str::from("node.kubernetes.io/unreachable:NoExecute")]);
        assert_eq!(node.allocatable.len(), 2);
        assert_eq!(node.system, ["Debian 13".into(), "6.12".into(), Str::from("containerd://2.1")]);
    }

    #[test]
    fn events_of_both_apis_are_read_newest_first() {
        let events = pod_events(&json!({"items": [
            {"type": "Normal", "reason": "Scheduled", "eventTime": "2026-11-23T07:00:00.123456Z", "firstTimestamp": null,
                "lastTimestamp": null, "reportingComponent": "default-scheduler", "message": "assigned"},
            {"type": "Warning", "reason": "BackOff", "firstTimestamp": "2026-11-23T07:01:00Z", "count": 7,
                "lastTimestamp": "2026-11-23T07:05:00Z", "source": {"component": "kubelet"}, "message": "back-off"},
            {"type": "Warning", "reason": "Series", "eventTime": "2026-11-23T07:02:00Z",
                "series": {"count": 4, "lastObservedTime": "2026-11-23T07:03:00Z"}},
        ]}));
        let told: Vec<_> = events.iter().map(|event| (&*event.reason, event.count, event.at, event.first_at)).collect();
        assert_eq!(
            told,
            [
                ("BackOff", 7, at("2026-11-23T07:05:00Z"), at("2026-11-23T07:01:00Z")),
                ("Series", 4, at("2026-11-23T07:03:00Z"), at("2026-11-23T07:02:00Z")),
                ("Scheduled", 1, at("2026-11-23T07:00:00.123456Z"), None),
            ]
        );
        assert_eq!(&*events[2].from, "default-scheduler");
    }

    /// The scheduler tells fractions of the second in which the kubelet, which tells none, began to pull.
    #[test]
    fn events_of_one_second_are_read_in_the_order_in_which_they_were_written() {
        let kubelets = |reason: &str, version: &str| json!({"metadata": {"resourceVersion": version}, "reason": reason, "lastTimestamp": "2026-11-23T07:00:00Z"});
        let scheduled = json!({"metadata": {"resourceVersion": "9"}, "reason": "Scheduled", "eventTime": "2026-11-23T07:00:00.900000Z"});
        let events = pod_events(&json!({"items": [scheduled, kubelets("Pulled", "11"), kubelets("Pulling", "10")]}));
        let told: Vec<&str> = events.iter().map(|event| &*event.reason).collect();
        assert_eq!(told, ["Pulled", "Pulling", "Scheduled"]);
    }

    #[test]
    fn what_is_not_as_expected_is_left_out() {
        for object in [json!(null), json!([]), json!({"metadata": 3, "spec": [], "status": "x"})] {
            assert!(pod_inspection(object.clone()).containers.is_empty());
            assert!(node_inspection(&object).conditions.is_empty());
            assert!(pod_events(&object).is_empty());
        }
        let odd = json!({"spec": {"containers": [7, {"name": 1}]}, "status": {"containerStatuses": {"a": 1}}});
        assert_eq!(pod_inspection(odd).containers.len(), 2);
    }
}
