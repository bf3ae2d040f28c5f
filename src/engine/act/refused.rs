//! Pods whose deletion the API server refuses: because of a policy, a webhook, or a right that is missing for just these pods.
//!
//! Such a node is held with the server's words, comes last in line, and is tried again at growing intervals: sooner if its pod
//! has changed, at once if an operator resumes. All other nodes go on. If several different nodes are refused in a row, the
//! refusal is not about one pod: then all nodes wait, and an alarm says so.

use crate::engine::assess::plan::Refused;
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::effect::EffectError;
use crate::engine::model::node::NodeIx;
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;
use crate::engine::writes::failures::Written;
use crate::engine::writes::refusals::{FailedDeletion, words};

/// The record names at most this many refused nodes.
const RECORDED: usize = 32;

impl Engine {
    /// Takes in that a deletion was refused, or that its answer was lost for good.
    pub(super) fn deletion_refused(
        &mut self,
        node: &str,
        uid: &Str,
        error: &EffectError,
        answer: FailedDeletion,
        now: Timestamp,
    ) {
        let Some(ix) = self.view.node(node) else { return };
        let pod = self.view.pods_on(ix).find(|(_, pod)| pod.fact.uid == *uid).map(|(_, pod)| &pod.fact);
        let Some(version) = pod.map(|pod| pod.resource_version.clone()) else { return };
        self.refusals.refuse(ix, (uid.clone(), version), words(&error.message, node), answer, now);
        if self.refusals.are_general() {
            self.deletions.retry.failed(error, now);
            self.failures.write_failed(Written::Pod, error, now);
        }
    }

    /// Forgets refusals of pods that are gone. A refused pod is tried sooner if it has changed, and all are tried if somebody resumed.
    pub(crate) fn follow_refusals(&mut self, intent: &Intent, now: Timestamp) {
        if self.refusals.follow_intent(intent, now) && self.refusals.are_general() {
            self.deletions.retry.succeeded();
        }
        let view = &self.view;
        self.refusals.follow_pods(|node, uid| {
            let mut pods = view.pods_on(node).map(|(_, pod)| &pod.fact);
            let pod = pods.find(|pod| *pod.uid == *uid && pod.deletion_at.is_none())?;
            Some(pod.resource_version.clone())
        });
    }

    /// Whether the deletion of a node's pod was refused: by our own knowledge if we drive, by the record if we look on.
    pub(crate) fn refused_deletion(&self, row: &Row, now: Timestamp) -> Option<Refused> {
        if let Some((due, why)) = self.refusals.of(row.node, now) {
            return Some(if due { Refused::Due } else { Refused::Held(why.clone()) });
        }
        if self.lock.holds() || self.progress.refused.is_empty() {
            return None;
        }
        let recorded = self.progress.refused.get(&self.view.nodes().get(row.node)?.name)?;
        let pod = self.view.pod(row.pod?)?;
        (pod.fact.uid == recorded.pod).then(|| Refused::Held(recorded.why.clone()))
    }

    /// Records which nodes are held by a refusal, so that consoles that only look show it.
    pub(super) fn note_refused(&mut self) {
        let name = |node: NodeIx| self.view.nodes().get(node).map(|entry| entry.name.clone());
        let refused = self.refusals.recorded().filter_map(|(node, recorded)| Some((name(node)?, recorded)));
        self.progress.refused = refused.take(RECORDED).collect();
    }
}

#[cfg(test)]
mod tests;
