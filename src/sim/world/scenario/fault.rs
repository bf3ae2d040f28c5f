//! The faults of a world: changes that its controllers and kubelets do not make by themselves.
//!
//! Each fault is instantaneous; "down for a minute" is two faults. [`FleetFault`]s happen to machines, links and the registry, so hollow nodes play
//! them too; [`ClusterFault`]s are writes through the API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::engine::model::Str;
use crate::engine::model::facts::{StrategyKind, Taint};
use crate::engine::model::quantity::IntOrPercent;

use super::{DaemonSetPlan, NodeSetup, PullError, PullQuota, RegistryImage};

/// A fault.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fault {
    /// A fault of machines, links or the registry.
    Fleet(FleetFault),
    /// A write through the API.
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

/// A fault of machines, links or the registry.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FleetFault {
    /// The node loses power: its containers end, and its pulls are lost.
    PowerOff(Str),
    /// The node boots: its kubelet comes back, and every container starts anew.
    PowerOn(Str),
    /// The node loses the network: its containers run on, but it reports nothing.
    Cut(Str),
    /// The node's network is back.
    Restore(Str),
    /// The readiness probes of the node's pods fail from now on.
    ProbesFail(Str),
    /// The readiness probes of the node's pods pass again.
    ProbesPass(Str),
    /// The node's disk is full: `DiskPressure`, new pods are refused as `Evicted`.
    DiskFull(Str),
    /// The node's disk has room again.
    DiskFree(Str),
    /// The node's kubelet evicts the pods that run on it: they end as `Failed`.
    EvictAll(Str),
    /// The node's clock is set: its kubelet dates its writes by a clock with this offset from now on.
    Clock {
        /// The node's name.
        node: Str,
        /// The node's clock minus the API server's, in milliseconds; 0 sets the clock right.
        offset_millis: i64,
    },
    /// A machine joins.
    Join(Box<NodeSetup>),
    /// A machine is gone for good; its Lease is not renewed any more.
    Leave(Str),
    /// A site's link gets another capacity.
    Link {
        /// The site's name.
        site: Str,
        /// Bytes a second.
        bytes_per_sec: u64,
    },
    /// The registry refuses an image from now on, or serves it again.
    Registry {
        /// The image's name.
        image: Str,
        /// The refusal; `None`: the registry serves the image.
        error: Option<PullError>,
    },
    /// A registry counts pulls from now on, or no more.
    LimitPulls {
        /// The registry's name, as in `registry.example/agent:v2`; `docker.io` where an image names none.
        registry: Str,
        /// The number of pulls that it serves; `None`: all.
        quota: Option<PullQuota>,
    },
    /// The registry gets a new image, or another image under a known name.
    Publish(Box<RegistryImage>),
}

/// A write through the API.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ClusterFault {
    /// Sets labels of a node; an empty value removes the label.
    Label {
        /// The node's name.
        node: Str,
        /// The labels.
        labels: BTreeMap<String, String>,
    },
    /// Cordons a node.
    Cordon(Str),
    /// Uncordons a node.
    Uncordon(Str),
    /// Taints a node.
    Taint {
        /// The node's name.
        node: Str,
        /// The taint.
        taint: Taint,
    },
    /// Removes all taints with that key from a node.
    Untaint {
        /// The node's name.
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
        /// The node's name.
        node: Str,
    },
    /// Sets labels of those pods on a node that belong to a DaemonSet, or have no controller any more; an empty value removes the label.
    LabelPods {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// The node's name.
        node: Str,
        /// The labels.
        labels: BTreeMap<String, String>,
    },
    /// Gives a DaemonSet a finalizer (`example.com/backup`), which holds it when it is deleted; or removes the finalizer.
    HoldDaemonSet {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Whether the DaemonSet has the finalizer from now on.
        held: bool,
    },
    /// Deletes a DaemonSet.
    DeleteDaemonSet {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Whether its pods stay (`--cascade=orphan`); else they are deleted after it.
        orphan: bool,
    },
    /// Creates a DaemonSet, unless one of that name exists.
    CreateDaemonSet(Box<DaemonSetPlan>),
    /// Puts a finalizer on a DaemonSet's pods on a node: once deleted, the pods stay until the finalizer is removed.
    AddFinalizer {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// The node's name.
        node: Str,
        /// The finalizer, `example.com/hold`.
        finalizer: Str,
    },
    /// Removes the finalizer from the pods.
    RemoveFinalizer {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// The node's name.
        node: Str,
        /// The finalizer.
        finalizer: Str,
    },
    /// Gives a DaemonSet other images, as a deploy without rolldeck does.
    SetImages {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// Images by container.
        images: BTreeMap<String, String>,
    },
    /// Changes a DaemonSet's strategy, as a GitOps tool does that reverts.
    SetStrategy {
        /// The DaemonSet, as `namespace/name`.
        daemon_set: Str,
        /// The strategy.
        kind: StrategyKind,
        /// `maxUnavailable`, when it changes too.
        max_unavailable: Option<IntOrPercent>,
    },
    /// Refuses all new pods of a namespace, as a quota or a webhook does.
    RefusePods {
        /// The namespace.
        namespace: Str,
        /// The API server's message.
        why: Str,
    },
    /// Admits the namespace's pods again.
    AdmitPods {
        /// The namespace.
        namespace: Str,
    },
    /// Refuses DaemonSets whose template has this image from now on, as a policy does.
    RefuseTemplates {
        /// The namespace.
        namespace: Str,
        /// The image; `None` refuses every change of a template.
        image: Option<Str>,
        /// The API server's message.
        why: Str,
    },
    /// Admits all templates again.
    AdmitTemplates {
        /// The namespace.
        namespace: Str,
    },
    /// Writes digests for the tags in templates from now on, whoever writes the DaemonSet.
    PinImages {
        /// The namespace.
        namespace: Str,
    },
    /// Stores templates as they are written again.
    UnpinImages {
        /// The namespace.
        namespace: Str,
    },
    /// Sets `RollingUpdate` in every written DaemonSet from now on, whoever writes it.
    SetRollingInWrites {
        /// The namespace.
        namespace: Str,
    },
    /// Stores update strategies as they are written again.
    AdmitStrategies {
        /// The namespace.
        namespace: Str,
    },
    /// Gives every new pod one more container from now on (`mesh-proxy`), which its template does not name.
    InjectContainer {
        /// The namespace.
        namespace: Str,
        /// The image of that container.
        image: Str,
    },
    /// Leaves new pods as they are created again, and deletes the pods that have the added container.
    StopInjecting {
        /// The namespace.
        namespace: Str,
    },
    /// Refuses to delete the pods on a node from now on, whoever asks, as a policy or a webhook does. Kubelets and controllers may delete them.
    RefuseDeletion {
        /// The namespace of the pods.
        namespace: Str,
        /// The node.
        node: Str,
        /// The API server's message.
        why: Str,
    },
    /// Admits the deletion of these pods again.
    AdmitDeletion {
        /// The namespace of the pods.
        namespace: Str,
        /// The node.
        node: Str,
    },
    /// Makes the DaemonSet controller stand still.
    StopController,
    /// Lets the DaemonSet controller go on, with the changes that it has missed.
    StartController,
    /// Cuts the log of changes: open watches that lag behind expire.
    Compact,
}
