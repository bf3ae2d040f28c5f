//! Nodes whose kubelet ends the pod, or does not admit it: the DaemonSet's controller deletes that one and makes another, again and again. The trouble is
//! the same one until a kubelet takes a pod up, although there is no pod that shows it for a moment each time.

use std::collections::HashMap;

use super::View;
use super::pods::{PodEntry, PodTrouble};
use super::restarts::Restarts;
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::facts::PodPhase;
use crate::engine::model::node::NodeIx;

/// The trouble of pods that are gone, by node.
#[derive(Debug, Default)]
pub(super) struct Rejections(HashMap<NodeIx, Rejection>);

#[derive(Debug)]
struct Rejection {
    revision: Option<Str>,
    trouble: PodTrouble,
    /// With what the restarts of the next pod begin.
    restarts: Restarts,
}

impl Rejections {
    /// A pod of a node is gone.
    pub(super) fn pod_is_gone(&mut self, pod: &PodEntry) {
        let Some((node, trouble)) = pod.node.zip(pod.trouble.as_deref()) else { return };
        if trouble.cause.kind.is_told_by_ended_pod() {
            let evicted = (trouble.cause.kind == CauseKind::Evicted)
                .then(|| (trouble.cause_since().unwrap_or(trouble.since), trouble.cause.message.clone()));
            let restarts = pod.restarts.of_next_pod((pod.first_observed, pod.fact.created_at), evicted);
            let revision = pod.fact.revision.clone();
            self.0.insert(node, Rejection { revision, trouble: trouble.clone(), restarts });
        }
    }

    /// Takes in a pod of a node as it is now, and as it was before. If its kubelet does not take it either, that is so since it did not take the first one.
    pub(super) fn pod_is(&mut self, before: Option<&PodEntry>, pod: &mut PodEntry) {
        // A pod that is going shows its trouble no more.
        if let Some(before) = before.filter(|_| pod.fact.deletion_at.is_some()) {
            self.pod_is_gone(before);
        }
        let Some(node) = pod.node else { return };
        let Some(known) = self.0.get(&node) else { return };
        if before.is_none() && known.revision == pod.fact.revision {
            pod.restarts.begin_after(&known.restarts);
        }
        // One that was evicted had containers; that it ends is no sign that its kubelet takes one up.
        let has_ended = pod.fact.phase == PodPhase::Failed || pod.fact.deletion_at.is_some();
        if known.revision != pod.fact.revision || !has_ended && !pod.fact.containers.is_empty() {
            self.0.remove(&node);
        } else if let Some(trouble) = pod.trouble.as_mut().filter(|it| it.cause.kind.is_told_by_ended_pod()) {
            trouble.since = trouble.since.min(known.trouble.since);
        }
    }
}

impl View {
    /// The trouble of the last pod of this revision that the kubelet of a node did not take, where none was taken up since.
    pub(crate) fn rejected_before(&self, node: NodeIx, revision: Option<&Str>) -> Option<&PodTrouble> {
        let known = self.rejections.0.get(&node)?;
        (known.revision.as_ref() == revision).then_some(&known.trouble)
    }
}
