//! Why a pod is not healthy.

use serde::{Deserialize, Serialize};

use super::Str;
use super::with_all::with_all;

/// Why a pod is not healthy (docs/kubernetes.md, *Why a pod is not healthy*).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// The kind of trouble.
    pub kind: CauseKind,
    /// The container in trouble, if the cause is about one.
    pub container: Option<Str>,
    /// The cluster's message, word by word.
    pub message: Option<Str>,
}

with_all! {
/// Kinds of trouble.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CauseKind {
    /// The registry has no such image.
    ImageNotFound,
    /// The registry refuses the credentials, or hides the image.
    ImageDenied,
    /// The registry limits the rate.
    ImageRateLimited,
    /// The image has no variant for this platform.
    ImagePlatform,
    /// The image name cannot be parsed.
    ImageName,
    /// The policy forbids pulling and the image is not there.
    ImageNeverPull,
    /// The registry could not be reached, broke off, or answered that it fails.
    ImageNetwork,
    /// The node's disk has no room for the image.
    ImageDisk,
    /// The pull failed otherwise.
    ImagePull,
    /// A volume is not attached or not mounted.
    VolumeMount,
    /// The runtime or the network plugin does not set up the pod's sandbox.
    PodSandbox,
    /// A ConfigMap, Secret or setting is missing or wrong.
    Config,
    /// The runtime cannot create or start the container.
    ContainerStart,
    /// The container keeps ending.
    CrashLoop,
    /// An init container that is no sidecar ends with an error, so that nothing after it starts.
    InitFailure,
    /// The container was killed for its memory use.
    OutOfMemory,
    /// The container runs but is not ready.
    NotReady,
    /// All its containers are ready, and a condition that its readiness gates name is not True.
    ReadinessGate,
    /// The scheduler finds no place on its node.
    Unschedulable,
    /// The pod is not bound to its node, and its scheduler has not said anything of it for a while.
    SchedulerIdle,
    /// The kubelet rejected the pod.
    Rejected,
    /// The kubelet evicted the pod, or did not admit it, because its node is short of memory, disk space or process ids.
    Evicted,
    /// The kubelet ended the pod, or did not admit it, because its node shut down.
    NodeShutdown,
    /// A policy or a webhook refuses the pod.
    AdmissionRefused,
    /// The namespace's quota has no room for the pod.
    QuotaExceeded,
    /// The pod may not be created: Pod Security, the controller's rights, a service account that is not there.
    CreationForbidden,
    /// The API server finds the pod invalid.
    PodInvalid,
    /// The pod is not created, for another reason or for an unknown one.
    NotCreated,
    /// The pod is not created, and its controller has not done anything for a while.
    ControllerIdle,
    /// The pod does not go away.
    StuckTerminating,
    /// The pod has ended, and finalizers keep its object.
    HeldByFinalizers,
    /// The pod was not available within the progress deadline.
    Deadline,
    /// Its node went down.
    NodeDown,
}
}
