//! The typed bodies of objects.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::engine::model::Str;
use crate::engine::model::facts::{
    ConditionStatus, ContainerFact, DaemonSetCounters, FieldOwners, PodPhase, Taint, UpdateStrategy,
};
use crate::engine::model::labels::Selector;
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;

/// Names of conditions.
pub mod conditions {
    /// A condition of nodes and pods.
    pub const READY: &str = "Ready";
    /// A condition of pods.
    pub const CONTAINERS_READY: &str = "ContainersReady";
    /// A condition of pods: volumes are mounted, and the sandbox has a network.
    pub const READY_TO_START: &str = "PodReadyToStartContainers";
    /// A condition of pods.
    pub const INITIALIZED: &str = "Initialized";
    /// A condition of pods.
    pub const POD_SCHEDULED: &str = "PodScheduled";
    /// A condition of nodes.
    pub const DISK_PRESSURE: &str = "DiskPressure";
    /// A condition of nodes.
    pub const MEMORY_PRESSURE: &str = "MemoryPressure";
    /// A condition of nodes.
    pub const PID_PRESSURE: &str = "PIDPressure";
}

/// A condition of a node or a pod.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// Its type.
    pub kind: Cow<'static, str>,
    /// Its status.
    pub status: ConditionStatus,
    /// `lastTransitionTime`: changes only when `status` does.
    pub since: Timestamp,
    /// `lastHeartbeatTime`; nodes only.
    pub heartbeat_at: Option<Timestamp>,
    /// Its reason.
    pub reason: Option<Str>,
    /// The message about the reason.
    pub message: Option<Str>,
}

impl Condition {
    /// The condition called `kind` in `conditions`.
    pub fn find<'a>(conditions: &'a [Self], kind: &str) -> Option<&'a Self> {
        conditions.iter().find(|condition| condition.kind == kind)
    }

    /// The status of the condition called `kind`; `Unknown` when there is none.
    pub fn status(conditions: &[Self], kind: &str) -> ConditionStatus {
        Self::find(conditions, kind).map_or(ConditionStatus::Unknown, |condition| condition.status)
    }

    /// `conditions` with this condition instead of the one of the same kind, or at the end. If the status is the same, `since` is kept.
    pub fn replaced_in(mut self, conditions: &[Self]) -> Arc<[Self]> {
        let mut all = conditions.to_vec();
        match all.iter_mut().find(|condition| condition.kind == self.kind) {
            Some(present) => {
                if present.status == self.status {
                    self.since = present.since;
                }
                *present = self;
            }
            None => all.push(self),
        }
        all.into()
    }
}

/// A node.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Node {
    /// `spec.unschedulable`: cordoned.
    pub unschedulable: bool,
    /// `spec.taints`.
    pub taints: Arc<[Taint]>,
    /// The rest of `spec`, a JSON object or null.
    pub spec_rest: Arc<Value>,
    /// `status.conditions`.
    pub conditions: Arc<[Condition]>,
    /// `status.images`, largest first, at most 50.
    pub images: Arc<[NodeImage]>,
    /// When the kubelet's status of the node was last written, by the API server's clock: the time in `managedFields`.
    pub reported_at: Option<Timestamp>,
    /// The rest of `status` (addresses, capacity, nodeInfo, …), a JSON object or null.
    pub status_rest: Arc<Value>,
}

/// An image that a kubelet reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeImage {
    /// Its names: digests first, then tags.
    pub names: Vec<Str>,
    /// `sizeBytes`.
    pub bytes: u64,
}

/// A pod.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pod {
    /// The pod's template: `template.spec` is the pod's `spec` without the fields below. Pods of a DaemonSet share the DaemonSet's template; a client
    /// that changes an image gives the pod another one.
    pub template: Template,
    /// The node to which the DaemonSet controller pinned the pod. It is rendered as the required node affinity `metadata.name In [node]` instead of
    /// all the template's terms, with the automatic tolerations appended.
    pub pinned: Option<Str>,
    /// `spec.nodeName`: the node to which the pod is bound.
    pub node: Option<Str>,
    /// Its status.
    pub status: PodStatus,
}

impl Pod {
    /// `spec.terminationGracePeriodSeconds`; 30 unless the template says otherwise.
    pub fn grace_secs(&self) -> u32 {
        let asked = self.template.json()["spec"]["terminationGracePeriodSeconds"].as_u64();
        asked.and_then(|secs| u32::try_from(secs).ok()).unwrap_or(30)
    }

    /// The node to which the pod is bound, or else pinned.
    pub fn target(&self) -> Option<&Str> {
        self.node.as_ref().or(self.pinned.as_ref())
    }

    /// The `Ready` condition, if it is `True`.
    pub fn ready(&self) -> Option<&Condition> {
        Condition::find(&self.status.conditions, conditions::READY)
            .filter(|condition| condition.status == ConditionStatus::True)
    }
}

/// `status` of a pod.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PodStatus {
    /// Its phase.
    pub phase: PodPhase,
    /// Its conditions.
    pub conditions: Arc<[Condition]>,
    /// The container statuses: init containers first, each group in the template's order; empty before the kubelet has reported.
    pub containers: Arc<[ContainerStatus]>,
    /// `reason`: `Evicted`, `NodeLost`, …
    pub reason: Option<Str>,
    /// The message about the reason.
    pub message: Option<Str>,
    /// When the kubelet accepted the pod.
    pub started_at: Option<Timestamp>,
    /// `hostIP`.
    pub host_ip: Option<Str>,
    /// `podIP`.
    pub pod_ip: Option<Str>,
    /// The rest of `status`, a JSON object or null.
    pub rest: Arc<Value>,
}

/// `status` of a container.
#[derive(Clone, PartialEq, Debug)]
pub struct ContainerStatus {
    /// The part of the status that the engine reads.
    pub fact: ContainerFact,
    /// `image`.
    pub image: Str,
    /// `imageID`, which is set if the image is on the node.
    pub image_id: Option<Str>,
    /// The last end: `lastState.terminated` (`reason` is in the fact).
    pub last_exit: Option<LastExit>,
}

/// `lastState.terminated` without its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastExit {
    /// `exitCode`.
    pub code: i32,
    /// `startedAt`.
    pub started_at: Timestamp,
    /// `finishedAt`.
    pub finished_at: Timestamp,
}

impl LastExit {
    /// For how many seconds it ran.
    pub(crate) fn ran_secs(self) -> u32 {
        u32::try_from(self.finished_at.since(self.started_at).as_secs()).unwrap_or(u32::MAX)
    }
}

/// A DaemonSet.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DaemonSet {
    /// Its spec.
    pub spec: Arc<DaemonSetSpec>,
    /// Its status.
    pub status: DaemonSetStatus,
    /// The managers that last changed the template and the strategy; kept by the store.
    pub owners: FieldOwners,
}

/// `spec` of a DaemonSet.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DaemonSetSpec {
    /// `selector`, parsed.
    pub selector: Selector,
    /// `selector`, as it was written.
    pub selector_json: Value,
    /// `template`.
    pub template: Template,
    /// `updateStrategy`; `raw` is rendered.
    pub strategy: UpdateStrategy,
    /// `minReadySeconds`.
    pub min_ready_secs: u32,
    /// `revisionHistoryLimit`.
    pub history_limit: u32,
    /// The rest of `spec`, a JSON object or null.
    pub rest: Value,
}

/// `status` of a DaemonSet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DaemonSetStatus {
    /// `observedGeneration`.
    pub observed_generation: i64,
    /// The counters that the engine reads.
    pub counters: DaemonSetCounters,
    /// `numberUnavailable`.
    pub unavailable: u32,
    /// `collisionCount`.
    pub collision_count: Option<u32>,
}

/// A ControllerRevision of a DaemonSet.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ControllerRevision {
    /// `revision`.
    pub number: i64,
    /// The template; `data` is `{"spec": {"template": {…, "$patch": "replace"}}}` of it.
    pub template: Template,
}

/// A Lease.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lease {
    /// `holderIdentity`, as it was written; it may be the empty string.
    pub holder: Option<Str>,
    /// `leaseDurationSeconds`.
    pub duration_secs: Option<u32>,
    /// `acquireTime`.
    pub acquired_at: Option<Timestamp>,
    /// `renewTime`.
    pub renewed_at: Option<Timestamp>,
    /// `leaseTransitions`.
    pub transitions: Option<u32>,
    /// The rest of `spec`, a JSON object or null.
    pub rest: Arc<Value>,
}

/// An event about an object.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EventBody {
    /// `involvedObject`.
    pub involved: ObjectRef,
    /// `type`.
    pub severity: EventType,
    /// `reason`.
    pub reason: Str,
    /// `message`.
    pub message: Str,
    /// `source.component`.
    pub component: Str,
    /// `source.host`.
    pub host: Option<Str>,
    /// `reportingComponent` and `reportingInstance`, where they differ from the two fields above.
    pub reporter: Option<(Str, Str)>,
    /// `firstTimestamp`.
    pub first_at: Timestamp,
    /// `lastTimestamp`.
    pub last_at: Timestamp,
    /// `count`.
    pub count: u32,
    /// The rest of the object, a JSON object or null.
    pub rest: Arc<Value>,
}

/// `type` of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EventType {
    /// A normal event.
    #[default]
    Normal,
    /// A warning: something is wrong.
    Warning,
}

/// A reference to an object, as in events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObjectRef {
    /// Its `apiVersion`.
    pub api_version: Str,
    /// Its kind.
    pub kind: Str,
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// Its uid.
    pub uid: Str,
    /// `fieldPath`: `spec.containers{agent}`.
    pub field_path: Option<Str>,
}
