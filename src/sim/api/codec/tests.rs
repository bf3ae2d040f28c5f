use std::time::Duration;

use serde_json::{Value, json};

use super::{parse, pin, to_value};
use crate::engine::model::template::{ContainerRole, Template};
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::{Body, Object, Pod};
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

/// A status alone does not tell a sidecar from another init container; the spec does, and keeps its `restartPolicy`.
#[test]
fn the_spec_says_which_init_container_is_a_sidecar() {
    let mut shown = pod();
    shown["spec"]["initContainers"] = json!([
        {"name": "i", "image": "i:1", "restartPolicy": "Always"},
        {"name": "once", "image": "i:1"},
    ]);
    let mut once = shown["status"]["initContainerStatuses"][0].clone();
    once["name"] = json!("once");
    shown["status"]["initContainerStatuses"].as_array_mut().unwrap().push(once);
    let read = parse(Kind::Pod, shown.clone(), None).unwrap();
    let roles: Vec<_> = read.pod().unwrap().status.containers.iter().map(|container| container.fact.role).collect();
    assert_eq!(roles, [ContainerRole::Sidecar, ContainerRole::Init, ContainerRole::Main]);
    assert_eq!(to_value(&read, None), shown);
}

#[test]
fn what_is_read_is_written_again_as_it_was() {
    let meta = |name: &str| json!({"name": name, "resourceVersion": "9", "creationTimestamp": "2026-11-21T12:00:00Z"});
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

/// A pinned pod with an affinity in its template, as the DaemonSet controller makes it.
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
    assert_eq!(pin::node_of(shown.pointer("/spec/affinity")).as_deref(), Some("n1"));
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
