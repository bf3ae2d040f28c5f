//! The kinds of object that the world holds, with their names in the API.

use std::fmt;

/// A kind of object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `v1` Node.
    Node,
    /// `v1` Pod.
    Pod,
    /// `apps/v1` DaemonSet.
    DaemonSet,
    /// `apps/v1` ControllerRevision.
    ControllerRevision,
    /// `coordination.k8s.io/v1` Lease.
    Lease,
    /// `v1` Event.
    Event,
    /// `v1` Namespace.
    Namespace,
    /// `v1` ConfigMap.
    ConfigMap,
    /// `v1` Secret.
    Secret,
    /// `v1` ServiceAccount.
    ServiceAccount,
    /// `apps/v1` StatefulSet.
    StatefulSet,
}

/// Whether objects of a kind live in namespaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResourceScope {
    /// They live in namespaces.
    Namespaced,
    /// They belong to the cluster as a whole.
    Cluster,
}

/// The names of a kind in the API.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version in that group.
    pub version: &'static str,
    /// `kind` in an object.
    pub kind: &'static str,
    /// The resource, as in URLs.
    pub plural: &'static str,
    /// The resource for one object, as in `kubectl get`.
    pub singular: &'static str,
    /// Short names, as in `kubectl get ds`.
    pub short: &'static [&'static str],
    /// Whether its objects live in namespaces.
    pub scope: ResourceScope,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Node,
        Self::Pod,
        Self::DaemonSet,
        Self::ControllerRevision,
        Self::Lease,
        Self::Event,
        Self::Namespace,
        Self::ConfigMap,
        Self::Secret,
        Self::ServiceAccount,
        Self::StatefulSet,
    ];

    /// The kind's names in the API.
    pub const fn words(self) -> Words {
        use ResourceScope::{Cluster, Namespaced};
        const fn words(
            group: &'static str,
            kind: &'static str,
            plural: &'static str,
            singular: &'static str,
            short: &'static [&'static str],
            scope: ResourceScope,
        ) -> Words {
            Words { group, version: "v1", kind, plural, singular, short, scope }
        }
        match self {
            Self::Node => words("", "Node", "nodes", "node", &["no"], Cluster),
            Self::Pod => words("", "Pod", "pods", "pod", &["po"], Namespaced),
            Self::DaemonSet => words("apps", "DaemonSet", "daemonsets", "daemonset", &["ds"], Namespaced),
            Self::ControllerRevision => {
                words("apps", "ControllerRevision", "controllerrevisions", "controllerrevision", &[], Namespaced)
            }
            Self::Lease => words("coordination.k8s.io", "Lease", "leases", "lease", &[], Namespaced),
            Self::Event => words("", "Event", "events", "event", &["ev"], Namespaced),
            Self::Namespace => words("", "Namespace", "namespaces", "namespace", &["ns"], Cluster),
            Self::ConfigMap => words("", "ConfigMap", "configmaps", "configmap", &["cm"], Namespaced),
            Self::Secret => words("", "Secret", "secrets", "secret", &[], Namespaced),
            Self::ServiceAccount => {
                words("", "ServiceAccount", "serviceaccounts", "serviceaccount", &["sa"], Namespaced)
            }
            Self::StatefulSet => words("apps", "StatefulSet", "statefulsets", "statefulset", &["sts"], Namespaced),
        }
    }

    /// `v1` or `group/v1`, as in an object's `apiVersion`.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::DaemonSet | Self::ControllerRevision | Self::StatefulSet => "apps/v1",
            Self::Lease => "coordination.k8s.io/v1",
            _ => "v1",
        }
    }

    /// The kind's index in tables.
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Kind {
    /// The resource and its group, as Kubernetes' error messages have it: `daemonsets.apps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Words { group, plural, .. } = self.words();
        if group.is_empty() { f.write_str(plural) } else { write!(f, "{plural}.{group}") }
    }
}
