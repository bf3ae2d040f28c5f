//! Pods for pre-warming that are being made or deleted, and those that were refused.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::record::By;
use crate::engine::model::time::Timestamp;

/// The first wait before a pod whose pull failed is made again; it doubles up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(300);
/// The wait after a pod was refused: by a quota, by admission, for want of a right.
const REFUSED: Duration = Duration::from_secs(30);

/// The wait after a deletion was refused, or its answer lost.
const DELETE_AGAIN: Duration = Duration::from_secs(5);

/// What was sent for pre-warming and is not settled, and what has to wait.
#[derive(Debug, Default)]
pub(crate) struct WarmWrites {
    /// By node: the name of the pod that is being made there and that no watch has shown, and since when.
    creating: BTreeMap<Str, (Str, Timestamp)>,
    /// Uids of pods whose deletion was sent; where it failed, when it is sent again.
    deleting: BTreeMap<Str, Option<Timestamp>>,
    /// By node: pulls that failed.
    attempts: BTreeMap<Str, Attempts>,
    /// What was asked for when, and the last request to try again, as this process knows them; `None`: not seen yet.
    request: Option<(By, Option<By>)>,
    /// Uids of pods that are to be made anew because of such a request.
    renewed: BTreeSet<Str>,
    /// The last refusal, until a pod is made again.
    refusal: Option<WarmRefusal>,
}

/// Pulls that failed on a node, so that its pod was deleted.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Attempts {
    pub(crate) failed: u32,
    pub(crate) cause: Cause,
    /// Before that no other pod is made there.
    pub(crate) again_at: Timestamp,
}

/// A pod that the API server refused.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WarmRefusal {
    pub(crate) node: Str,
    pub(crate) message: Str,
    /// Before that none is tried.
    pub(crate) again_at: Timestamp,
}

impl WarmWrites {
    /// Whether a pod is being made on this node.
    pub(crate) fn is_creating(&self, node: &str) -> bool {
        self.creating.contains_key(node)
    }

    /// On which nodes pods are being made, each with its name.
    pub(crate) fn creating(&self) -> impl Iterator<Item = (&Str, &Str)> {
        self.creating.iter().map(|(node, (pod, _))| (node, pod))
    }

    pub(crate) fn create_sent(&mut self, node: &Str, pod: &Str, now: Timestamp) {
        self.creating.insert(node.clone(), (pod.clone(), now));
    }

    /// A pod is there, or it is known that none was made.
    pub(crate) fn create_settled(&mut self, node: &str) {
        self.creating.remove(node);
    }

    /// Creations that were sent before that instant and have shown nothing: they did not arrive.
    pub(crate) fn give_up_creations(&mut self, before: Timestamp) -> Vec<Str> {
        let lost = self.creating.iter().filter(|(_, (_, sent_at))| *sent_at < before).map(|(node, _)| node.clone());
        let lost: Vec<Str> = lost.collect();
        self.creating.retain(|_, (_, sent_at)| *sent_at >= before);
        lost
    }

    /// Whether the deletion of this pod is on its way, or has to wait because the last one failed.
    pub(crate) fn is_deleting(&self, uid: &str, now: Timestamp) -> bool {
        self.deleting.get(uid).is_some_and(|again_at| again_at.is_none_or(|at| now < at))
    }

    pub(crate) fn deleting(&self) -> impl Iterator<Item = &Str> {
        self.deleting.keys()
    }

    pub(crate) fn delete_sent(&mut self, uid: &Str) {
        self.deleting.insert(uid.clone(), None);
    }

    pub(crate) fn delete_settled(&mut self, uid: &str) {
        self.deleting.remove(uid);
    }

    /// A deletion was refused, or its answer lost.
    pub(crate) fn delete_failed(&mut self, uid: &Str, now: Timestamp) {
        self.deleting.insert(uid.clone(), Some(now + DELETE_AGAIN));
    }

    /// What failed on this node.
    pub(crate) fn attempts(&self, node: &str) -> Option<&Attempts> {
        self.attempts.get(node)
    }

    /// A pull failed, and its pod is deleted so that it does not go on outside of the limits.
    pub(crate) fn pull_failed(&mut self, node: &Str, cause: Cause, now: Timestamp) {
        let failed = self.attempts.get(node).map_or(0, |known| known.failed) + 1;
        let wait = FIRST.saturating_mul(1 << (failed - 1).min(8)).min(LONGEST);
        self.attempts.insert(node.clone(), Attempts { failed, cause, again_at: now + wait });
    }

    /// It worked after all.
    pub(crate) fn pull_succeeded(&mut self, node: &str) {
        self.attempts.remove(node);
    }

    /// Takes in what is asked for, and says whether it is news. If an operator has asked again since, everything that failed is
    /// tried now; `failed` are the pods that did. By no clock: those of an operator and of the cluster may differ.
    pub(crate) fn follow_request(
        &mut self,
        request: Option<(By, Option<By>)>,
        failed: impl Iterator<Item = Str>,
    ) -> bool {
        if self.request == request {
            return false;
        }
        let is_news = self.request.is_some();
        self.request = request;
        self.attempts.clear();
        self.refusal = None;
        self.renewed = if is_news { failed.collect() } else { BTreeSet::new() };
        true
    }

    /// Whether an operator has asked for this pod to be made anew.
    pub(crate) fn is_renewed(&self, uid: &str) -> bool {
        self.renewed.contains(uid)
    }

    pub(crate) fn refusal(&self) -> Option<&WarmRefusal> {
        self.refusal.as_ref()
    }

    pub(crate) fn refused(&mut self, node: &Str, message: &Str, now: Timestamp) {
        self.creating.remove(node);
        self.refusal = Some(WarmRefusal { node: node.clone(), message: message.clone(), again_at: now + REFUSED });
    }

    pub(crate) fn accepted(&mut self) {
        self.refusal = None;
    }

    /// When time alone lets something go on.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        let again = self.attempts.values().map(|attempts| attempts.again_at);
        let delete_again = self.deleting.values().copied().flatten();
        again.chain(self.refusal.iter().map(|refusal| refusal.again_at)).chain(delete_again)
    }
}
