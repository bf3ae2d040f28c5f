//! The fields of pods and nodes that kubelets read.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use rolldeck::engine::model::Str;
use rolldeck::engine::model::facts::ConditionStatus;
use rolldeck::engine::model::template::Template;
use rolldeck::engine::model::time::Timestamp;
use rolldeck::sim::world::kubelet::AssignedPod;
use rolldeck::sim::world::object::{DeletionMark, conditions};

use super::clock::FastClock;

/// The metadata that every object has.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PartialMeta {
    pub(super) namespace: Str,
    pub(super) name: Str,
    pub(super) uid: Str,
    pub(super) resource_version: String,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<u32>,
}

/// A list, or a page of one.
#[derive(Deserialize, Debug)]
pub(super) struct PartialList<T> {
    pub(super) metadata: PartialListMeta,
    /// Go writes `null` for an empty list.
    pub(super) items: Option<Vec<T>>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PartialListMeta {
    pub(super) resource_version: String,
    pub(super) r#continue: String,
}

#[derive(Deserialize, Debug)]
struct Condition {
    r#type: Str,
    status: Str,
}

#[derive(Deserialize, Debug, Default)]
#[serde(default)]
struct Status {
    conditions: Vec<Condition>,
}

impl Status {
    fn ready(&self) -> ConditionStatus {
        match self.conditions.iter().find(|condition| *condition.r#type == *conditions::READY) {
            Some(condition) if *condition.status == *"True" => ConditionStatus::True,
            Some(condition) if *condition.status == *"False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        }
    }
}

/// A node.
#[derive(Deserialize, Debug)]
pub(super) struct PartialNode {
    pub(super) metadata: PartialMeta,
    #[serde(default)]
    status: Status,
}

impl PartialNode {
    /// The `Ready` condition as the API server has it.
    pub(super) fn ready(&self) -> ConditionStatus {
        self.status.ready()
    }
}

/// A pod.
#[derive(Deserialize, Debug)]
pub(super) struct PartialPod {
    pub(super) metadata: PartialMeta,
    spec: PodSpec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    #[serde(default)]
    node_name: Str,
    #[serde(default)]
    restart_policy: Str,
    #[serde(default)]
    init_containers: Vec<Container>,
    containers: Vec<Container>,
    #[serde(default)]
    volumes: Vec<Volume>,
}

#[derive(Deserialize, Serialize, PartialEq, Eq, Hash, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    name: Str,
    image: Str,
    image_pull_policy: Str,
    command: Vec<Str>,
    /// Of an init container, `Always` makes it a sidecar.
    restart_policy: Str,
    #[serde(skip_serializing_if = "Option::is_none")]
    startup_probe: Option<StartupProbe>,
    volume_mounts: Vec<VolumeMount>,
}

/// Only that there is one counts.
#[derive(Deserialize, Serialize, PartialEq, Eq, Hash, Debug)]
struct StartupProbe {}

#[derive(Deserialize, Serialize, PartialEq, Eq, Hash, Debug)]
struct VolumeMount {
    name: Str,
}

#[derive(Deserialize, Serialize, PartialEq, Eq, Hash, Debug)]
struct Volume {
    name: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<VolumeImage>,
}

#[derive(Deserialize, Serialize, PartialEq, Eq, Hash, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
struct VolumeImage {
    reference: Str,
    pull_policy: Str,
}

/// A pod's restart policy, its init containers and containers, and its volumes.
type Runs = (Str, Vec<Container>, Vec<Container>, Vec<Volume>);

/// Templates by their content: the pods of a DaemonSet share one.
#[derive(Debug, Default)]
pub(super) struct Templates(HashMap<Runs, Template>);

impl Templates {
    /// The pod as its kubelet sees it; `None` when it is bound to no node.
    pub(super) fn seen(&mut self, pod: PartialPod, clock: FastClock) -> Option<AssignedPod> {
        let ready = pod.status.ready() == ConditionStatus::True;
        let PartialPod { metadata, spec, .. } = pod;
        if spec.node_name.is_empty() {
            return None;
        }
        let volumes: Vec<Volume> = spec.volumes.into_iter().filter(|volume| volume.image.is_some()).collect();
        let template = self.0.entry((spec.restart_policy, spec.init_containers, spec.containers, volumes));
        let template = template.or_insert_with_key(|(restarts, init, main, volumes)| {
            let spec =
                json!({"restartPolicy": restarts, "initContainers": init, "containers": main, "volumes": volumes});
            Template::from_json(json!({"spec": spec}))
        });
        let deletion = metadata.deletion_timestamp.and_then(|at| Timestamp::parse(&at).ok()).map(|at| DeletionMark {
            at: clock.seen(at),
            grace_secs: clock.secs_seen(metadata.deletion_grace_period_seconds.unwrap_or_default()),
        });
        Some(AssignedPod {
            namespace: metadata.namespace,
            name: metadata.name,
            uid: metadata.uid,
            node: spec.node_name,
            template: template.clone(),
            deletion,
            ready,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(uid: &str, image: &str) -> PartialPod {
        serde_json::from_value(json!({
            "metadata": {"namespace": "edge", "name": "agent-x", "uid": uid, "labels": {"app": "agent"}},
            "spec": {"nodeName": "n1", "containers": [{"name": "agent", "image": image, "command": ["run"]}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }))
        .unwrap()
    }

    #[test]
    fn pods_that_run_the_same_share_a_template() {
        let (mut templates, clock) = (Templates::default(), FastClock::new(1.0));
        let seen = ["v1", "v1", "v2"].map(|image| templates.seen(pod(image, image), clock).unwrap());
        assert_eq!(templates.0.len(), 2);
        assert_eq!(seen[0].template, seen[1].template);
        assert_eq!(&*seen[2].template.containers()[0].image, "v2");
        assert!(seen[0].ready && seen[0].deletion.is_none());
    }

    #[test]
    fn a_pod_that_is_to_end_says_when_and_how_gently() {
        let mut pod = pod("u", "v1");
        pod.metadata.deletion_timestamp = Some("2030-01-01T00:00:05Z".into());
        pod.metadata.deletion_grace_period_seconds = Some(5);
        let deletion = Templates::default().seen(pod, FastClock::new(1.0)).unwrap().deletion.unwrap();
        assert_eq!((deletion.at.to_rfc3339().as_str(), deletion.grace_secs), ("2030-01-01T00:00:05Z", 5));
    }

    #[test]
    fn an_empty_list_is_null_in_go() {
        let list: PartialList<PartialNode> =
            serde_json::from_str(r#"{"metadata":{"resourceVersion":"7"},"items":null}"#).unwrap();
        assert!(list.items.is_none() && list.metadata.resource_version == "7");
    }
}
