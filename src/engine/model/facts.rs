//! Facts about a cluster: the few fields of each object that the engine's rules read.
//!
//! The cluster adapter makes facts from watches; the simulated world makes them from its own objects. Facts are observations without
//! judgement: other modules of the engine decide which nodes are eligible, unavailable or to blame.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Str;
use super::disruption::PodDisruption;
use super::failing_nodes::FailingNodes;
use super::labels::{Labels, Selector};
use super::node_details::NodeDetails;
use super::pace::PacedSite;
use super::prewarm::Prewarm;
use super::quantity::IntOrPercent;
use super::record::Record;
use super::template::{ContainerRole, TaintEffect, Template};
use super::time::Timestamp;

/// A condition's status, as Kubernetes has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(test, derive(Serialize))]
pub enum ConditionStatus {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown`, or the condition is not there.
    #[default]
    Unknown,
}

/// A taint of a node.
#[derive(Clone, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Its key.
    pub key: Str,
    /// Its value, empty when it has none.
    pub value: Str,
    /// Its effect.
    pub effect: TaintEffect,
}

/// The most images that a kubelet reports, unless it is configured otherwise (`nodeStatusMaxImages`). It reports the largest ones.
pub const REPORTED_IMAGES: usize = 50;

/// A node, as far as rollouts care.
#[derive(Clone, PartialEq, Debug, Default, Hash)]
#[cfg_attr(test, derive(Serialize))]
pub struct NodeFact {
    /// Its name, by which pods refer to it.
    pub name: Str,
    /// Its resource version, if it is a number. It keeps a list from a cache that is behind from bringing back an old state.
    pub version: Option<u64>,
    /// `metadata.creationTimestamp`, where it is told.
    pub created_at: Option<Timestamp>,
    /// Its labels.
    pub labels: Labels,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`: cordoned.
    pub unschedulable: bool,
    /// The `Ready` condition.
    pub ready: ConditionStatus,
    /// When the `Ready` condition last changed its status, by the cluster's clock.
    pub ready_since: Option<Timestamp>,
    /// Why it is not Ready: of the `Ready` condition the message where the kubelet itself says so (`False`), the reason where it is silent (`Unknown`), since
    /// the message says no more then.
    pub not_ready_why: Option<Str>,
    /// Whether `DiskPressure`, `MemoryPressure` or `PIDPressure` holds, by name of the first that does.
    pub pressure: Option<Str>,
    /// Images that the kubelet reported (`status.images`), as far as the cluster adapter kept them. An image in the list is on the
    /// node. An image outside the list may be on the node all the same, because kubelets report only the 50 largest
    /// (docs/kubernetes.md, *Image pulls*).
    pub images: Arc<[ListedImage]>,
    /// Whether the kubelet reported fewer images than [`REPORTED_IMAGES`]. In that case, an image of a kept repository that is not in
    /// the list is not on the node.
    pub lists_all_images: bool,
    /// The node's clock minus the API server's, in milliseconds, as `rules::clocks::clock_skew` has it; `None` where nothing
    /// tells.
    pub clock_skew_millis: Option<i64>,
    /// Fields that are only shown.
    pub details: NodeDetails,
}

impl NodeFact {
    /// Whether nothing is heard of its kubelet, so that the statuses of its pods are old: machine, kubelet or network may be down. A kubelet that says itself that
    /// the node is not Ready (`False`) goes on reporting.
    pub fn is_silent(&self) -> bool {
        self.ready == ConditionStatus::Unknown
    }
}

/// An image that a node lists in `status.images`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(test, derive(Serialize))]
pub struct ListedImage {
    /// One of its names.
    pub name: Str,
    /// `sizeBytes`.
    pub bytes: u64,
}

/// Hashes without the size: the size differs between reports of the same image, and a node without any other change must not be
/// reported again.
impl Hash for ListedImage {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// A pod's phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(test, derive(Serialize))]
pub enum PodPhase {
    /// Not all containers have run yet.
    #[default]
    Pending,
    /// Bound, and at least one container runs.
    Running,
    /// All containers ended well.
    Succeeded,
    /// Ended, not well; also how a kubelet refuses a pod.
    Failed,
    /// The node's kubelet cannot be asked.
    Unknown,
}

/// What a container does right now.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(Serialize))]
pub enum ContainerState {
    /// Not started: `waiting.reason` and `waiting.message`.
    Waiting {
        /// `ContainerCreating`, `ErrImagePull`, `CrashLoopBackOff`, …
        reason: Str,
        /// The kubelet's words, when there are any.
        message: Option<Str>,
    },
    /// Running since then.
    Running {
        /// `running.startedAt`.
        since: Option<Timestamp>,
    },
    /// Ended.
    Terminated {
        /// `Completed`, `Error`, `OOMKilled`, `StartError`, …
        reason: Str,
        /// Its exit code.
        exit_code: i32,
        /// The kubelet's words, when there are any.
        message: Option<Str>,
    },
}

/// A container's status.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(Serialize))]
pub struct ContainerFact {
    /// Its name in the pod.
    pub name: Str,
    /// Its part in the life of its pod.
    pub role: ContainerRole,
    /// Whether `imageID` is set: the image is on the node.
    pub image_present: bool,
    /// What it does.
    pub state: ContainerState,
    /// The reason of its last end (`lastState.terminated.reason`), such as `OOMKilled`.
    pub last_end: Option<Str>,
    /// The exit code of its last end.
    pub last_exit: Option<i32>,
    /// For how many seconds it ran before its last end, where its kubelet knows both ends of that run.
    pub last_ran_secs: Option<u32>,
    /// How often it was restarted.
    pub restarts: u32,
    /// Its readiness.
    pub ready: bool,
    /// Whether it runs and its startup probe, if it has one, has succeeded.
    pub started: bool,
}

#[cfg(test)]
impl ContainerFact {
    /// A main container `agent` in this state, of which nothing else is reported. Tests say beside it what they are about.
    pub(crate) fn in_state(state: ContainerState) -> Self {
        Self {
            name: "agent".into(),
            role: ContainerRole::Main,
            image_present: false,
            state,
            last_end: None,
            last_exit: None,
            last_ran_secs: None,
            restarts: 0,
            ready: false,
            started: false,
        }
    }
}

/// Whether the reason of a container's end says more than its exit code does.
pub(crate) fn says_more_than_the_code(reason: &str) -> bool {
    !matches!(reason, "" | "Error" | "Completed")
}

/// A pod of a DaemonSet.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(test, derive(Serialize))]
pub struct PodFact {
    /// `metadata.uid`: the pod's identity.
    pub uid: Str,
    /// `metadata.name`.
    pub name: Str,
    /// `metadata.resourceVersion`, opaque.
    pub resource_version: Str,
    /// Its node: `spec.nodeName`, else the one node that its required affinity names (docs/kubernetes.md, *Which pods belong
    /// to a DaemonSet*).
    pub node: Option<Str>,
    /// Whether it is bound: `spec.nodeName` is set.
    pub bound: bool,
    /// The uid of the owner that controls it.
    pub owner: Option<Str>,
    /// Label `controller-revision-hash`.
    pub revision: Option<Str>,
    /// Label `pod-template-generation`: how often the template had changed when the controller made this pod.
    pub template_generation: Option<i64>,
    /// `metadata.creationTimestamp`.
    pub created_at: Timestamp,
    /// `metadata.deletionTimestamp`, which is already "now + grace": the pod is terminating.
    pub deletion_at: Option<Timestamp>,
    /// `metadata.deletionGracePeriodSeconds`.
    pub deletion_grace_secs: Option<u32>,
    /// `metadata.finalizers` of a pod that is being deleted. They keep its object after the pod has ended.
    pub finalizers: Arc<[Str]>,
    /// `status.phase`.
    pub phase: PodPhase,
    /// Whether the `Ready` condition is `True`.
    pub ready: bool,
    /// When the `Ready` condition last changed its status, by the cluster's clock.
    pub ready_since: Option<Timestamp>,
    /// When its status was last written, by the API server's clock: the newest time of `metadata.managedFields` of the subresource `status`. Whatever the
    /// status says has been so since then, whether or not the clock of the node is right. `None` where no entry tells.
    pub status_written_at: Option<Timestamp>,
    /// `status.reason`, such as `Evicted` or `OutOfcpu`, or the reason of `PodScheduled=False`, or
    /// [`READINESS_GATES`] of `Ready=False`.
    pub reason: Option<Str>,
    /// The words that go with `reason`.
    pub message: Option<Str>,
    /// Who announced that it takes the pod away, if somebody did.
    pub disruption: Option<PodDisruption>,
    /// Its containers' statuses; empty before the kubelet has reported.
    pub containers: Vec<ContainerFact>,
    /// The containers for whose images its kubelet always asks the registry: those with `imagePullPolicy: Always`.
    pub always_pulled: Arc<[Str]>,
}

/// The reason of a pod's condition `Ready` if all its containers are ready and a condition that one of its readiness gates names is
/// not True.
pub const READINESS_GATES: &str = "ReadinessGatesNotReady";

impl PodFact {
    /// Whether the whole pod has ended, so that only finalizers keep its object. A kubelet that has ended a pod deletes it with a grace
    /// period of 0, and so does the API server if the pod has no node.
    pub fn is_held_by_finalizers(&self) -> bool {
        let ended = |container: &ContainerFact| matches!(container.state, ContainerState::Terminated { .. });
        let over = !self.containers.is_empty() && self.containers.iter().all(ended);
        !self.finalizers.is_empty() && (over || self.deletion_grace_secs.unwrap_or(0) == 0)
    }
}

/// `spec.updateStrategy`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UpdateStrategy {
    /// Its type.
    pub kind: StrategyKind,
    /// `rollingUpdate.maxUnavailable`; kept by Kubernetes even under `OnDelete`.
    pub max_unavailable: Option<IntOrPercent>,
    /// `rollingUpdate.maxSurge`.
    pub max_surge: Option<IntOrPercent>,
    /// The object as the API server gave it, to be restored to the byte.
    pub raw: Value,
}

impl UpdateStrategy {
    /// Reads `spec.updateStrategy`. A missing field has the API server's default; an unreadable field counts as missing.
    pub fn from_json(raw: Value) -> Self {
        let quantity = |field: &str| IntOrPercent::deserialize(&raw["rollingUpdate"][field]).ok();
        Self {
            kind: match raw["type"].as_str() {
                Some("OnDelete") => StrategyKind::OnDelete,
                _ => StrategyKind::RollingUpdate,
            },
            max_unavailable: quantity("maxUnavailable"),
            max_surge: quantity("maxSurge"),
            raw,
        }
    }
}

/// The type of an update strategy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
pub enum StrategyKind {
    /// The DaemonSet controller replaces pods by itself.
    #[default]
    RollingUpdate,
    /// Pods are replaced when somebody deletes them.
    OnDelete,
}

/// The counters that the DaemonSet controller keeps in `status` (formulas: docs/kubernetes.md, *Status*).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DaemonSetCounters {
    /// `desiredNumberScheduled`.
    pub desired: u32,
    /// `currentNumberScheduled`.
    pub current: u32,
    /// `numberReady`.
    pub ready: u32,
    /// `updatedNumberScheduled`.
    pub updated: u32,
    /// `numberAvailable`.
    pub available: u32,
    /// `numberMisscheduled`.
    pub misscheduled: u32,
}

/// A DaemonSet.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DaemonSetFact {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// Its uid.
    pub uid: Str,
    /// `metadata.resourceVersion`, opaque.
    pub resource_version: Str,
    /// `metadata.generation`: counts changes of the spec.
    pub generation: i64,
    /// `status.observedGeneration`: how far the controller has followed.
    pub observed_generation: i64,
    /// Its annotations, without the large ones nobody here reads (`last-applied-configuration`).
    pub annotations: Labels,
    /// Its labels.
    pub labels: Labels,
    /// `spec.selector`.
    pub selector: Selector,
    /// `spec.updateStrategy`.
    pub strategy: UpdateStrategy,
    /// `spec.minReadySeconds`.
    pub min_ready_secs: u32,
    /// `spec.revisionHistoryLimit`: how many revisions that no pod carries are kept; `None` if it is not known.
    pub revision_history_limit: Option<u32>,
    /// `spec.template`.
    pub template: Template,
    /// `status`, the counters.
    pub counters: DaemonSetCounters,
    /// Who wrote `spec.template` and `spec.updateStrategy`, from `metadata.managedFields`.
    pub owners: FieldOwners,
    /// The object that controls it (`metadata.ownerReferences`): an operator's, as a rule.
    pub controller: Option<ControllerRef>,
    /// `metadata.deletionTimestamp` is set.
    pub deleting: bool,
}

/// Field managers, as `metadata.managedFields` names them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FieldOwners {
    /// Of the managers that own a field inside `spec.template`, the one whose entry is the newest. It need not be the last writer: who only removes a field
    /// leaves no entry, and the entry of a manager is as new as its last write of any field.
    pub template: Option<Str>,
    /// The time of that entry, in whole seconds.
    pub template_at: Option<Timestamp>,
    /// Who set `spec.updateStrategy.type` as it is now.
    pub strategy: Option<Str>,
    /// Who set `spec.updateStrategy.rollingUpdate.maxUnavailable` as it is now.
    pub limit: Option<Str>,
    /// Every manager that owns a field of the template or the strategy, in the order of the list.
    pub writers: Arc<[FieldWriter]>,
    /// Which of the two fields are named by the manifest that client-side apply applied last; `None` if there is no such manifest
    /// (`kubectl.kubernetes.io/last-applied-configuration`: kubectl's, and Argo CD's unless told otherwise).
    pub applied: Option<Fields>,
}

/// One entry of `metadata.managedFields`, as far as it is about the template and the update strategy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldWriter {
    /// The manager's name.
    pub manager: Str,
    /// How it writes.
    pub operation: WriteOperation,
    /// Which of the two fields it owns.
    pub fields: Fields,
}

/// How a field manager writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WriteOperation {
    /// Server-side apply: it owns what its manifest names, changed or not.
    Apply,
    /// Any other write: it owns what it changed.
    #[default]
    Update,
}

/// A subset of the two fields that a rollout changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fields {
    /// `spec.template`.
    pub template: bool,
    /// `spec.updateStrategy`.
    pub strategy: bool,
}

/// The object that controls another one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ControllerRef {
    /// `apiVersion`.
    pub api_version: Str,
    /// `kind`.
    pub kind: Str,
    /// `name`.
    pub name: Str,
}

/// A ControllerRevision: one template that the DaemonSet had.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RevisionFact {
    /// Its name.
    pub name: Str,
    /// Label `controller-revision-hash`, by which pods refer to it.
    pub hash: Str,
    /// `revision`. The newest revision has the highest number; a roll back gives an old revision a new highest number.
    pub number: i64,
    /// The uid of the owner that controls it.
    pub owner: Option<Str>,
    /// `metadata.creationTimestamp`.
    pub created_at: Timestamp,
    /// Annotation `kubernetes.io/change-cause`. On a revision that was rolled back to it is that of the first time
    /// (docs/kubernetes.md, *ControllerRevisions*).
    pub change_cause: Option<Str>,
    /// The template it holds.
    pub template: Template,
}

/// An event of the cluster (`kind: Event`) about a pod or about the DaemonSet.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClusterEvent {
    /// `metadata.resourceVersion`, if it is a number: of two events, the one written later has the higher number.
    pub version: Option<u64>,
    /// `involvedObject.uid`.
    pub object: Str,
    /// The node whose kubelet wrote it (`source.host`, else `reportingInstance`).
    pub node: Option<Str>,
    /// `involvedObject.fieldPath`'s container name, when it names one.
    pub container: Option<Str>,
    /// `reason`: `Pulling`, `Pulled`, `Failed`, `BackOff`, `FailedCreate`, …
    pub reason: Str,
    /// The words. They change between versions, so rules read only the kind of trouble from them: a `FailedCreate` is a refusal,
    /// whatever its words.
    pub message: Str,
    /// When it last happened.
    pub at: Timestamp,
    /// When it first happened, if the event tells this.
    pub first_at: Option<Timestamp>,
    /// How often it happened.
    pub count: u32,
    /// Set if a rolldeck process wrote the event, about an operator's command or about an action of the rollout.
    pub reported_by: Option<Box<ReportedBy>>,
}

/// An Event's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

/// An event that a rolldeck wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportedBy {
    /// The event's name.
    pub event: Str,
    /// The process that wrote it, as a Lease would name it.
    pub identity: Str,
    /// Its type.
    pub severity: Severity,
    /// The hash of the ControllerRevision that it names as `related`.
    pub revision: Option<Str>,
}

/// The Lease that carries a rollout's lock (`spec`) and record (an annotation).
#[derive(Clone, PartialEq, Debug)]
pub struct LeaseFact {
    /// Its uid.
    pub uid: Str,
    /// `metadata.resourceVersion`, opaque: the compare-and-swap token.
    pub resource_version: Str,
    /// `spec.holderIdentity`; `None` when empty or absent: nobody drives.
    pub holder: Option<Str>,
    /// `spec.leaseDurationSeconds`.
    pub duration_secs: u32,
    /// `spec.acquireTime`.
    pub acquired_at: Option<Timestamp>,
    /// `spec.renewTime`. Shown, never compared with a local clock (docs/kubernetes.md, *Leases*).
    pub renewed_at: Option<Timestamp>,
    /// `spec.leaseTransitions`.
    pub transitions: u32,
    /// The record in annotation `rolldeck.io/rollout`; `Err` says why it could not be read.
    pub record: Result<Option<Record>, Str>,
    /// The request for pre-warming, in annotation `rolldeck.io/prewarm`; `Err` says why it could not be read.
    pub prewarm: Result<Option<Prewarm>, Str>,
    /// The pace of sites as the holder of the Lease told it, in annotation `rolldeck.io/pace`; empty if there is none.
    pub pace: Arc<[PacedSite]>,
    /// The failing nodes as the holder of the Lease told them, in annotation `rolldeck.io/failing`; `None`: not known.
    pub failing: Option<FailingNodes>,
}

/// A pod that was made for pre-warming.
#[derive(Clone, PartialEq, Debug)]
pub struct WarmPodFact {
    /// The pod. It has no controller, or a StatefulSet that was made for pre-warming.
    pub pod: PodFact,
    /// The uid of the DaemonSet that it was made for: its label [`super::prewarm::PREWARM`].
    pub daemonset: Str,
    /// Which images it brings: its label [`super::prewarm::PREWARM_IMAGES`].
    pub images: Str,
    /// For which attempt it was made: its label [`super::prewarm::PREWARM_ATTEMPT`]; `None`: by a StatefulSet, or by an earlier version.
    pub attempt: Option<Str>,
    /// The StatefulSet that made it: its label [`super::prewarm::PREWARM_SET`]; `None`: no StatefulSet did.
    pub set: Option<Str>,
}

/// A StatefulSet that was made for pre-warming.
#[derive(Clone, PartialEq, Debug)]
pub struct WarmSetFact {
    /// Its name.
    pub name: Str,
    /// Its uid.
    pub uid: Str,
    /// The uid of the DaemonSet that it was made for.
    pub daemonset: Str,
    /// Which images its pods bring.
    pub images: Str,
    /// The nodes and limits for which it was made: its label [`super::prewarm::PREWARM_REQUEST`].
    pub request: Str,
    /// The nodes that its pods may be placed on, one each.
    pub nodes: Vec<Str>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Why it cannot make its next pod, by the last event about it; `None`: it can, as far as is known.
    pub refused: Option<Str>,
}
