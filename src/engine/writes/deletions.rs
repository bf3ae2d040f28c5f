//! Deletions that were sent. Each counts against the budget until a watch shows its effect.

use std::collections::BTreeMap;

use super::retry::{LOST_ANSWER, Retry};
use super::trial::PodTrial;
use crate::engine::model::Str;
use crate::engine::model::effect::EffectError;
use crate::engine::model::node::NodeIx;
use crate::engine::model::time::Timestamp;

/// A deletion that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SentDeletion {
    /// No answer has come yet.
    Sent,
    /// The server confirmed the deletion at this time; the watch has not shown it yet.
    Confirmed(Timestamp),
    /// The answer was lost at this time.
    Unknown(Timestamp),
}

impl SentDeletion {
    /// Whether the outcome of the deletion is not known yet.
    fn is_unanswered(self) -> bool {
        matches!(self, Self::Sent | Self::Unknown(_))
    }
}

/// The deletions that no watch has shown yet, and the time of the next try.
#[derive(Debug, Default)]
pub(crate) struct Deletions {
    by_pod: BTreeMap<Str, SentDeletion>,
    /// For each deletion whose answer was lost, by pod uid: its node, and the error.
    lost: BTreeMap<Str, (Str, EffectError)>,
    /// When any deletion may be tried again.
    pub(crate) retry: Retry,
    /// Nodes on which a deletion failed, and until when no other is tried there.
    held_nodes: BTreeMap<NodeIx, Timestamp>,
    /// What has to be answered before the first one.
    pub(crate) trial: PodTrial,
}

impl Deletions {
    pub(crate) fn sent(&mut self, uid: &Str) {
        self.by_pod.insert(uid.clone(), SentDeletion::Sent);
    }

    pub(crate) fn confirmed(&mut self, uid: &Str, now: Timestamp) {
        self.by_pod.insert(uid.clone(), SentDeletion::Confirmed(now));
    }

    /// Notes a deletion whose outcome is not known. No error is reported if the pod stays.
    pub(crate) fn unknown(&mut self, uid: &Str, now: Timestamp) {
        self.by_pod.insert(uid.clone(), SentDeletion::Unknown(now));
    }

    /// Notes a deletion whose answer was lost. If the pod stays, `error` is the reason.
    pub(crate) fn answer_lost(&mut self, uid: &Str, node: &Str, error: EffectError, now: Timestamp) {
        self.unknown(uid, now);
        self.lost.insert(uid.clone(), (node.clone(), error));
    }

    /// Ends the count of a deletion: a watch has shown its effect, or it was not done.
    pub(crate) fn forget(&mut self, uid: &str) {
        self.by_pod.remove(uid);
    }

    /// Forgets the deletions whose outcome is known and for whose pod `stays` does not hold.
    pub(crate) fn forget_answered(&mut self, stays: impl Fn(&Str) -> bool) {
        self.by_pod.retain(|uid, deletion| stays(uid) || deletion.is_unanswered());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_pod.is_empty()
    }

    pub(crate) fn get(&self, uid: &str) -> Option<SentDeletion> {
        self.by_pod.get(uid).copied()
    }

    pub(crate) fn contains(&self, uid: &str) -> bool {
        self.by_pod.contains_key(uid)
    }

    /// Whether a deletion was sent for this pod and its outcome is not known.
    pub(crate) fn is_unanswered(&self, uid: &str) -> bool {
        self.get(uid).is_some_and(SentDeletion::is_unanswered)
    }

    /// Since when a confirmed deletion has not been seen.
    pub(crate) fn unseen_since(&self) -> Option<Timestamp> {
        let confirmed = self.by_pod.values().filter_map(|deletion| match deletion {
            SentDeletion::Confirmed(at) => Some(*at),
            SentDeletion::Sent | SentDeletion::Unknown(_) => None,
        });
        confirmed.min()
    }

    /// The deletions whose answer was lost, and when each is given up if its pod is still there.
    pub(crate) fn given_up_at(&self) -> impl Iterator<Item = (&Str, Timestamp)> {
        self.by_pod.iter().filter_map(|(uid, deletion)| match deletion {
            SentDeletion::Unknown(at) => Some((uid, *at + LOST_ANSWER)),
            SentDeletion::Sent | SentDeletion::Confirmed(_) => None,
        })
    }

    /// Gives up a deletion whose answer was lost. Returns its node and the error, if they are known.
    pub(crate) fn give_up(&mut self, uid: &str) -> Option<(Str, EffectError)> {
        self.by_pod.remove(uid);
        self.lost.remove(uid)
    }

    /// Forgets the errors of deletions that do not count any more.
    pub(crate) fn forget_errors(&mut self) {
        self.lost.retain(|uid, _| self.by_pod.contains_key(uid));
    }

    /// Holds a node: no deletion is tried on it until `until`.
    pub(crate) fn hold_node(&mut self, node: NodeIx, until: Timestamp) {
        self.held_nodes.insert(node, until);
    }

    /// Until when no deletion is tried on this node.
    pub(crate) fn node_held_until(&self, node: NodeIx) -> Option<Timestamp> {
        self.held_nodes.get(&node).copied()
    }

    /// Releases the nodes whose hold is over.
    pub(crate) fn let_nodes_go(&mut self, now: Timestamp) {
        self.held_nodes.retain(|_, until| *until > now);
    }

    /// When time alone changes what may be deleted or what counts.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        let given_up = self.given_up_at().map(|(_, at)| at);
        given_up.chain([self.retry.at]).chain(self.held_nodes.values().copied())
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.by_pod.len()
    }

    #[cfg(test)]
    pub(crate) fn pods(&self) -> impl Iterator<Item = &Str> {
        self.by_pod.keys()
    }
}
