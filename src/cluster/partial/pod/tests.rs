//! What is read of a pod, and what is left out.

use super::*;

fn read(json: &str) -> PodFact {
    serde_json::from_str::<PodWire<'_>>(json).unwrap().fact(&mut Interner::default())
}

#[test]
fn a_running_pod_as_the_api_server_writes_it() {
    let pod = read(include_str!("../fixtures/pod-running.json"));
    assert_eq!((&*pod.name, &*pod.uid), ("agent-x7k2p", "0b6a4f0e-8c8e-4f5d-9a2e-0c9c6b2f1a11"));
    assert_eq!(pod.node.as_deref(), Some("ipc-a-07"));
    assert_eq!(pod.owner.as_deref(), Some("ds-uid"));
    assert_eq!(pod.revision.as_deref(), Some("7d9f8c6b5"));
    assert_eq!(pod.phase, PodPhase::Running);
    assert!(pod.ready && pod.reason.is_none() && pod.deletion_at.is_none());
    assert_eq!(pod.ready_since, Timestamp::parse("2026-11-20T08:00:05Z").ok());
    let [init, main] = &pod.containers[..] else { panic!("{:?}", pod.containers) };
    assert_eq!((init.role, main.role), (ContainerRole::Init, ContainerRole::Main));
    assert!(matches!(&init.state, ContainerState::Terminated { reason, exit_code: 0, .. } if &**reason == "Completed"));
    assert!(main.ready && main.image_present && main.restarts == 1);
    assert!(pod.always_pulled.is_empty());
    let always = include_str!("../fixtures/pod-running.json").replace("IfNotPresent", "Always");
    assert_eq!(read(&always).always_pulled.to_vec(), [crate::engine::model::Str::from("agent")]);
    assert_eq!(main.last_end.as_deref(), Some("OOMKilled"));
}

#[test]
fn the_last_write_of_the_status_is_dated_by_the_api_server_whoever_wrote_it() {
    let at = |entries: &str| {
        let json = format!(r#"{{"metadata": {{"managedFields": [{entries}]}}}}"#);
        read(&json).status_written_at.map(|at| at.to_rfc3339())
    };
    let entry = |manager: &str, more: &str, at: &str| {
        format!(
            r#"{{"manager": "{manager}", "operation": "Update"{more}, "time": "{at}", "fieldsV1": {{"f:status": {{}}}}}}"#
        )
    };
    let of_status = r#", "subresource": "status""#;
    let made = entry("kube-controller-manager", "", "2026-11-20T08:00:09Z");
    let ready = entry("k3s", of_status, "2026-11-20T08:00:07Z");
    let gate = entry("gate-writer", of_status, "2026-11-20T08:00:06Z");
    assert_eq!(at(&[made.clone(), ready, gate].join(", ")).as_deref(), Some("2026-11-20T08:00:07Z"));
    assert_eq!(at(&made), None);
    assert_eq!(at(""), None);
}

#[test]
fn an_init_container_that_is_always_restarted_is_a_sidecar() {
    let json = include_str!("../fixtures/pod-running.json");
    let sidecar = json.replace(
        r#""initContainers":[{"name":"prepare","#,
        r#""initContainers":[{"restartPolicy":"Always","name":"prepare","#,
    );
    let told = |json: &str| -> Vec<_> {
        read(json).containers.iter().map(|container| (container.role, container.started)).collect()
    };
    assert_eq!(told(json), [(ContainerRole::Init, false), (ContainerRole::Main, true)]);
    assert_eq!(told(&sidecar), [(ContainerRole::Sidecar, false), (ContainerRole::Main, true)]);
    // The status of a container that the spec does not name.
    let odd =
        sidecar.replace(r#""initContainerStatuses":[{"name":"prepare""#, r#""initContainerStatuses":[{"name":"other""#);
    assert_eq!(told(&odd)[0].0, ContainerRole::Init);
}

#[test]
fn a_pod_of_another_node_adds_nothing_to_what_is_interned() {
    let json = include_str!("../fixtures/pod-running.json");
    let mut interner = Interner::default();
    let mut read = |json: &str| {
        let fact = serde_json::from_str::<PodWire<'_>>(json).unwrap().fact(&mut interner);
        (fact.node, interner.len())
    };
    let (_, known) = read(json);
    assert_eq!(read(&json.replace("ipc-a-07", "ipc-a-08")), (Some("ipc-a-08".into()), known));
}

#[test]
fn a_pod_that_waits_for_its_node_belongs_to_it_already() {
    let pod = read(include_str!("../fixtures/pod-pending.json"));
    assert_eq!(pod.node.as_deref(), Some("ipc-b-01"));
    assert_eq!(pod.reason.as_deref(), Some("Unschedulable"));
    assert!(pod.message.is_some_and(|message| message.contains("Too many pods")));
    assert!(pod.containers.is_empty());
}

/// Every other reason of `Ready=False` only repeats the states of the containers.
#[test]
fn readiness_gates_that_are_not_met_are_its_reason() {
    let said = |reason: &str, status: &str| {
        let json = format!(
            r#"{{"metadata":{{"uid":"p"}},"status":{{"phase":"Running"{status},"conditions":[
            {{"type":"Ready","status":"False","reason":"{reason}","message":"gate"}}]}}}}"#
        );
        let pod = read(&json);
        (pod.reason.map(|reason| reason.to_string()), pod.message.map(|message| message.to_string()))
    };
    assert_eq!(said(READINESS_GATES, ""), (Some(READINESS_GATES.into()), Some("gate".into())));
    assert_eq!(said("ContainersNotReady", ""), (None, None));
    assert_eq!(said(READINESS_GATES, r#","reason":"Evicted""#), (Some("Evicted".into()), None));
}

#[test]
fn a_starting_pod_belongs_to_a_daemonset_or_warms_its_images() {
    let read = |kind: &str, labels: &str, conditions: &str| {
        let json = format!(
            r#"{{"metadata":{{"uid":"p","labels":{{{labels}}},"ownerReferences":[{{"kind":"{kind}","uid":"owner",
            "controller":true}}]}},"status":{{"phase":"Pending","conditions":[{conditions}],"containerStatuses":[
            {{"name":"agent","state":{{"waiting":{{"reason":"ContainerCreating"}}}}}}]}}}}"#
        );
        serde_json::from_str::<PodWire<'_>>(&json).unwrap().starting_fact(&mut Interner::default())
    };
    let sandbox = |status: &str| format!(r#"{{"type":"PodReadyToStartContainers","status":"{status}"}}"#);
    let pod = read("DaemonSet", "", &sandbox("True")).unwrap();
    assert_eq!((&*pod.uid, &*pod.daemonset, pod.sandbox_ready), ("p", "owner", Some(true)));
    assert_eq!(pod.containers.len(), 1);
    assert_eq!(read("DaemonSet", "", &sandbox("False")).unwrap().sandbox_ready, Some(false));
    assert_eq!(read("DaemonSet", "", "").unwrap().sandbox_ready, None, "a kubelet before 1.29");
    let warm = read("StatefulSet", r#""rolldeck.io/prewarm":"daemonset""#, "").unwrap();
    assert_eq!(&*warm.daemonset, "daemonset");
    assert_eq!(read("ReplicaSet", "", ""), None);
}

#[test]
fn no_more_finalizers_are_kept_than_are_read() {
    let names: Vec<String> = (0..500).map(|nth| format!(r#""example.com/{nth}""#)).collect();
    let pod = read(&format!(
        r#"{{"metadata":{{"name":"p","deletionTimestamp":"2026-11-21T10:00:30Z","finalizers":[{}]}}}}"#,
        names.join(",")
    ));
    assert_eq!((pod.finalizers.len(), &*pod.finalizers[0]), (FINALIZERS, "example.com/0"));
}

#[test]
fn an_affinity_to_several_nodes_is_no_node() {
    let pod = read(
        r#"{"metadata":{"name":"p"},"spec":{"affinity":{"nodeAffinity":{
        "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[
        {"key":"metadata.name","operator":"In","values":["a","b"]}]}]}}}}}"#,
    );
    assert_eq!(pod.node, None);
    let term =
        |node: &str| format!(r#"{{"matchFields":[{{"key":"metadata.name","operator":"In","values":["{node}"]}}]}}"#);
    let of = |terms: &str| {
        read(&format!(
            r#"{{"metadata":{{"name":"p"}},"spec":{{"affinity":{{"nodeAffinity":{{
            "requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{terms}]}}}}}}}}}}"#
        ))
    };
    assert_eq!(of(&format!("{},{}", term("a"), term("b"))).node, None, "terms are alternatives");
    assert_eq!(of(&format!("{},{}", term("a"), term("a"))).node.as_deref(), Some("a"));
}

#[test]
fn pull_trouble_keeps_the_kubelets_words() {
    let pod = read(
        r#"{"metadata":{"name":"p","deletionTimestamp":"2026-11-21T10:00:30Z","deletionGracePeriodSeconds":30},
        "status":{"phase":"Pending","containerStatuses":[{"name":"agent","ready":false,"imageID":"","restartCount":0,
        "state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \"agent:v9\""}}}]}}"#,
    );
    let ContainerState::Waiting { reason, message } = &pod.containers[0].state else { panic!() };
    assert_eq!((&**reason, message.as_deref()), ("ImagePullBackOff", Some("Back-off pulling image \"agent:v9\"")));
    assert!(!pod.containers[0].image_present);
    assert_eq!((pod.deletion_grace_secs, pod.deletion_at.is_some()), (Some(30), true));
}

#[test]
fn what_keeps_a_pod_is_of_note_once_it_is_to_go() {
    let held = r#""finalizers":["example.com/hold"]"#;
    let going = format!(r#"{{"metadata":{{"name":"p",{held},"deletionTimestamp":"2026-11-21T10:00:30Z"}}}}"#);
    assert_eq!(read(&going).finalizers.to_vec(), [crate::engine::model::Str::from("example.com/hold")]);
    assert!(read(&format!(r#"{{"metadata":{{"name":"p",{held}}}}}"#)).finalizers.is_empty());
    assert!(read(r#"{"metadata":{"name":"p"},"spec":{"nodeName":"n1"}}"#).bound);
    assert!(!read(include_str!("../fixtures/pod-pending.json")).bound);
}

#[test]
fn an_evicted_pod_says_so() {
    let pod = read(
        r#"{"metadata":{"name":"p"},"status":{"phase":"Failed","reason":"Evicted",
        "message":"The node had condition: [DiskPressure]. "}}"#,
    );
    assert_eq!((pod.phase, pod.reason.as_deref()), (PodPhase::Failed, Some("Evicted")));
}

/// Measured: what the scheduler writes before it deletes a pod for one of higher priority.
#[test]
fn who_announces_that_it_takes_a_pod_away() {
    let pod = |status: &str, reason: &str| {
        let condition = serde_json::json!({"type": "DisruptionTarget", "status": status, "reason": reason});
        read(&serde_json::json!({"metadata": {"name": "a"}, "status": {"conditions": [condition]}}).to_string())
    };
    let told = |reason: &str| pod("True", reason).disruption;
    assert_eq!(told("PreemptionByScheduler"), Some(PodDisruption::Preemption));
    assert_eq!(told("DeletionByTaintManager"), Some(PodDisruption::NoExecuteTaint));
    assert_eq!(told("EvictionByEvictionAPI"), Some(PodDisruption::EvictionApi));
    assert_eq!(told("DeletionByPodGC"), Some(PodDisruption::PodGarbageCollection));
    assert_eq!((told("TerminationByKubelet"), told("OfAnOperator")), (None, None));
    assert_eq!(pod("False", "PreemptionByScheduler").disruption, None, "it was announced, and did not happen");
}
