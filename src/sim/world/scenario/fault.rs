//! What can happen in a world, besides what its controllers and kubelets do by themselves.
//!
//! Each is one instantaneous turn; "down for a minute" is two of them. [`FleetFault`]s happen to machines, links and the
//! registry, so hollow nodes play them too; [`ClusterFault`]s are writes that somebody makes through the API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::model::Str;
use crate::engine::model::facts::{StrategyKind, Taint};
use crate::engine::model::quantity::IntOrPercent;

use super::{DaemonSetPlan, NodeSetup, PullError, PullQuota, RegistryImage};

/// Something that happens.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fault {
    /// To machines, links or the registry.
    Fleet(FleetFault),
    /// Through the API.
    Cluster(ClusterFault),
}

impl From<FleetFault> for Fault {
    fn from(fault: FleetFault) -> Self {
        Self::Fleet(fault)
    }
}

impl From<ClusterFault> for Fault {
    fn from(fault: ClusterFault) -> Self {
        Self::Cluster(fault)
    }
}

/// Something that happens to machines, links or the registry.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FleetFault {
    /// The node loses power: its containers end, its pulls are lost.
    PowerOff(Str),
    /// It boots: its kubelet comes back, and every container starts anew.
    PowerOn(Str),
    /// It loses the network: its containers run on, but it reports nothing.
    Cut(Str),
    /// The network is back.
    Restore(Str),
    /// Its readiness probes fail from now on.
    ProbesFail(Str),
    /// Its readiness probes pass again.
    ProbesPass(Str),
    /// Its disk is full: `DiskPressure`, new pods are refused as `Evicted`.
    DiskFull(Str),
    /// Its disk has room again.
    DiskFree(Str),
    /// Its kubelet evicts the pods that run on it: they end as `Failed`.
    EvictAll(Str),
    /// Its clock is set: what its kubelet writes from now on is dated by a clock that is off by so much.
    Clock {
        /// Which node.
        node: Str,
        /// Its clock minus the API server's, in milliseconds; 0 sets it right.
        offset_millis: i64,
    },
    /// A machine joins.
    Join(Box<NodeSetup>),
    /// A machine is gone for good; its Lease is not renewed any more.
    Leave(Str),
    /// A site's link has another capacity.
    Link {
        /// Which site.
        site: Str,
        /// Bytes a second.
        bytes_per_sec: u64,
    },
    /// The registry refuses an image from now on, or serves it again.
    Registry {
        /// Which image.
        image: Str,
        /// How it refuses; `None` serves.
        error: Option<PullError>,
    },
    /// A registry counts pulls from now on, or does not any more.
    LimitPulls {
        /// Its name, as in `registry.example/agent:v2`; `docker.io` where an image names none.
        registry: Str,
        /// How many it serves; `None`: all.
        quota: Option<PullQuota>,
    },
    /// The registry gets an image, or another of that name.
    Publish(Box<RegistryImage>),
}

/// A write that somebody makes through the API.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ClusterFault {
    /// Sets labels of a node; an empty value removes.
    Label {
        /// Which node.
        node: Str,
        /// What.
        labels: BTreeMap<String, String>,
    },
    /// Cordons a node.
    Cordon(Str),
    /// Uncordons it.
    Uncordon(Str),
    /// Taints a node.
    Taint {
        /// Which node.
        node: Str,
        /// With what.
        taint: Taint,
    },
    /// Takes all taints with that key off a node.
    Untaint {
        /// Which node.
        node: Str,
        /// The key.
        key: Str,
    },
    /// Deletes a node object.
    DeleteNode(Str),
    /// Deletes the pods of a DaemonSet on a node, as a drain would.
    DeletePods {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Which node.
        node: Str,
    },
    /// Sets labels of the pods on a node that are a DaemonSet's, or have no controller any more; an empty value removes.
    LabelPods {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Which node.
        node: Str,
        /// What.
        labels: BTreeMap<String, String>,
    },
    /// Gives a DaemonSet a finalizer (`example.com/backup`), which holds it when it is deleted, or takes it away.
    HoldDaemonSet {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Whether it has it from now on.
        held: bool,
    },
    /// Deletes a DaemonSet.
    DeleteDaemonSet {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Whether its pods stay (`--cascade=orphan`); else they go after it.
        orphan: bool,
    },
    /// Creates a DaemonSet, where there is none of that name.
    CreateDaemonSet(Box<DaemonSetPlan>),
    /// Puts a finalizer on the pods of a DaemonSet on a node: once deleted, they stay until it is taken off.
    AddFinalizer {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Which node.
        node: Str,
        /// The finalizer, `example.com/hold`.
        finalizer: Str,
    },
    /// Takes it off again.
    RemoveFinalizer {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Which node.
        node: Str,
        /// The finalizer.
        finalizer: Str,
    },
    /// Gives a DaemonSet other images: a deploy by somebody else.
    SetImages {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Images by container.
        images: BTreeMap<String, String>,
    },
    /// Changes a DaemonSet's strategy: a GitOps tool that reverts.
    SetStrategy {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// The strategy.
        kind: StrategyKind,
        /// `maxUnavailable`, when it changes too.
        max_unavailable: Option<IntOrPercent>,
    },
    /// No pod of a namespace is admitted any more: a quota, or a webhook that says no.
    RefusePods {
        /// The namespace.
        namespace: Str,
        /// What the API server says.
        why: Str,
    },
    /// Its pods are admitted again.
    AdmitPods {
        /// The namespace.
        namespace: Str,
    },
    /// DaemonSets whose template has this image are refused from now on: a policy.
    RefuseTemplates {
        /// The namespace.
        namespace: Str,
        /// Which image; `None` refuses every change of a template.
        image: Option<Str>,
        /// What the API server says.
        why: Str,
    },
    /// All templates are admitted again.
    AdmitTemplates {
        /// The namespace.
        namespace: Str,
    },
    /// From now on digests are written for the tags in templates, whoever writes the DaemonSet.
    PinImages {
        /// The namespace.
        namespace: Str,
    },
    /// Templates are stored as they are written again.
    UnpinImages {
        /// The namespace.
        namespace: Str,
    },
    /// From now on a DaemonSet is `RollingUpdate` in whatever is written of it, whoever writes it.
    SetRollingInWrites {
        /// The namespace.
        namespace: Str,
    },
    /// Update strategies are stored as they are written again.
    AdmitStrategies {
        /// The namespace.
        namespace: Str,
    },
    /// From now on every new pod gets a container more, which its template does not name (`mesh-proxy`).
    InjectContainer {
        /// The namespace.
        namespace: Str,
        /// The image of that container.
        image: Str,
    },
    /// New pods are as they are created again; whoever added the container deletes the pods that have it.
    StopInjecting {
        /// The namespace.
        namespace: Str,
    },
    /// Whoever asks, the pods on a node may not be deleted any more: a policy, or a webhook. Kubelets and controllers may.
    RefuseDeletion {
        /// The namespace of the pods.
        namespace: Str,
        /// The node.
        node: Str,
        /// What the API server says.
        why: Str,
    },
    /// They may be deleted again.
    AdmitDeletion {
        /// The namespace of the pods.
        namespace: Str,
        /// The node.
        node: Str,
    },
    /// The DaemonSet controller stands still.
    StopController,
    /// It goes on, with what it has missed.
    StartController,
    /// The log of changes is cut: open watches that lag behind expire.
    Compact,
}
