//! A kubelet's report of its node: name and place, conditions, and the images on the disk.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::model::Str;
use crate::engine::model::facts::ConditionStatus;
use crate::engine::model::labels::Labels;
use crate::engine::model::time::Timestamp;

use super::super::object::{Body, Condition, Node, Object, conditions};
use super::super::scenario::SITE_LABEL;
use super::env::Env;
use super::machine::{Kubelet, Posted};
use super::{HOSTNAME_LABEL, KubeletAction, STATUS_AT_LEAST};

impl Kubelet {
    /// Registers the node, or registers it again.
    pub(super) fn register(&mut self, env: &mut Env) {
        let labels: Labels = [
            ("kubernetes.io/arch".into(), "amd64".into()),
            ("kubernetes.io/os".into(), "linux".into()),
            (Str::from(HOSTNAME_LABEL), self.name.clone()),
            (Str::from(SITE_LABEL), self.spec.site.clone()),
        ]
        .into_iter()
        .chain(self.spec.labels.iter().map(|(key, value)| (key.clone(), value.clone())))
        .collect();
        let node = Node {
            taints: self.spec.taints.clone().into(),
            conditions: self.conditions(env.now),
            images: self.images.reported().into(),
            status_rest: Arc::new(self.describe()),
            ..Node::default()
        };
        let mut object = Object::new("", &self.name, Body::Node(node));
        object.meta.labels = labels;
        self.note_posted(env.now);
        env.actions.push(KubeletAction::Register(Box::new(object)));
    }

    fn describe(&self) -> Value {
        let room = json!({"cpu": "4", "memory": "8148000Ki", "pods": "110", "ephemeral-storage": "61255492Ki"});
        json!({
            "addresses": [
                {"type": "InternalIP", "address": &*self.ip},
                {"type": "Hostname", "address": &*self.name},
            ],
            "capacity": room,
            "allocatable": room,
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "osImage": "Debian GNU/Linux 13 (trixie)",
                "kernelVersion": "6.12.48+deb13-amd64",
                "kubeletVersion": "v1.36.3",
                "containerRuntimeVersion": "containerd://2.1.4",
                "kubeProxyVersion": "",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
            },
        })
    }

    /// Whether a node status would differ from the last one, or is due anyway.
    pub(super) fn has_news(&self, now: Timestamp) -> bool {
        let Posted { images, disk, ready, .. } = self.posted;
        let changed = images != self.images.changes || disk != self.disk.full || ready != self.readiness(now);
        changed || now.since(self.posted.at) >= STATUS_AT_LEAST
    }

    pub(super) fn post_status(&mut self, env: &mut Env) {
        self.note_posted(env.now);
        env.actions.push(KubeletAction::NodeStatus {
            node: self.name.clone(),
            conditions: self.conditions(env.now),
            images: self.images.reported().into(),
        });
    }

    fn note_posted(&mut self, now: Timestamp) {
        let ready = self.readiness(now);
        self.posted = Posted { at: now, images: self.images.changes, disk: self.disk.full, ready };
    }

    fn conditions(&self, now: Timestamp) -> Arc<[Condition]> {
        let ready = self.readiness(now);
        let now = self.dated(now);
        let healthy = |kind: &'static str, reason: &str, message: &str| Condition {
            kind: kind.into(),
            status: ConditionStatus::False,
            since: self.ready_since,
            heartbeat_at: Some(now),
            reason: Some(reason.into()),
            message: Some(message.into()),
        };
        let memory = "kubelet has sufficient memory available";
        let (disk_reason, disk) = match self.disk.full {
            ConditionStatus::True => ("KubeletHasDiskPressure", "kubelet has disk pressure"),
            _ => ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        };
        let pids = "kubelet has sufficient PID available";
        [
            healthy(conditions::MEMORY_PRESSURE, "KubeletHasSufficientMemory", memory),
            Condition {
                status: self.disk.full,
                since: self.disk.since.max(self.ready_since),
                ..healthy(conditions::DISK_PRESSURE, disk_reason, disk)
            },
            healthy(conditions::PID_PRESSURE, "KubeletHasSufficientPID", pids),
            match ready {
                ConditionStatus::False => {
                    let message = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady \
                                   message:Network plugin returns error: cni plugin not initialized";
                    healthy(conditions::READY, "KubeletNotReady", message)
                }
                _ => Condition {
                    status: ConditionStatus::True,
                    ..healthy(conditions::READY, "KubeletReady", "kubelet is posting ready status")
                },
            },
        ]
        .into()
    }
}
