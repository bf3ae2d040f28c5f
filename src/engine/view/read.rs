//! What others read of the view as it was observed. Whatever has to be worked out stands with its subject.

use std::sync::Arc;

use super::watch_states::WatchStates;
use super::{Creation, NodeEntry, View, WarmPods};
use crate::engine::model::Str;
use crate::engine::model::facts::DaemonSetFact;
use crate::engine::model::gitops_owner::GitOpsOwner;
use crate::engine::model::node::NodeIx;
use crate::engine::model::presence::Presence;
use crate::engine::model::time::Timestamp;

impl View {
    /// Whether the DaemonSet is there, as far as known.
    pub(crate) fn presence(&self) -> Presence {
        self.presence
    }

    /// The DaemonSet as it was seen last; `None` where it is not there or not known yet.
    pub(crate) fn daemonset(&self) -> Option<&DaemonSetFact> {
        self.daemonset.as_ref()
    }

    /// When the DaemonSet was seen to be adopted, by our clock; `None` where it was adopted before this process saw it.
    pub(crate) fn adoption_seen_at(&self) -> Option<Timestamp> {
        self.adoption_seen_at
    }

    /// The other managers of the DaemonSet.
    pub(crate) fn gitops_owners(&self) -> &Arc<[GitOpsOwner]> {
        &self.gitops_owners
    }

    /// Hash of the revision that holds the DaemonSet's present template, once it is recorded.
    pub(crate) fn current(&self) -> Option<&Str> {
        self.current.as_ref()
    }

    /// When the present template was first seen, by our clock.
    pub(crate) fn template_seen_at(&self) -> Timestamp {
        self.template_seen_at
    }

    /// All nodes that were seen or that pods name, by their index. A node that is gone stays, without its fact.
    pub(crate) fn nodes(&self) -> &[NodeEntry] {
        &self.nodes
    }

    /// The node with this index, which has to be one of this view.
    pub(crate) fn entry(&self, node: NodeIx) -> &NodeEntry {
        &self.nodes[node]
    }

    /// Since when nodes are watched.
    pub(crate) fn nodes_seen_since(&self) -> Timestamp {
        self.nodes_seen_since
    }

    /// The API server's clock minus ours, once it was measured.
    pub(crate) fn skew_millis(&self) -> Option<i64> {
        self.skew_millis
    }

    /// Old pods that the controller replaced while they were unready, since we look and since the last change of the template.
    pub(crate) fn replaced_unready(&self) -> u32 {
        self.replaced_unready
    }

    /// The knowledge about the controller that creates the pods.
    pub(crate) fn creation(&self) -> &Creation {
        &self.creation
    }

    /// The pods that were made for pre-warming.
    pub(crate) fn warm(&self) -> &WarmPods {
        &self.warm
    }

    /// What is known of the watches themselves.
    pub(crate) fn watches(&self) -> &WatchStates {
        &self.watches
    }
}
