//! Deletions that were sent. Each counts against the budget until a watch shows what became of it.

use std::collections::BTreeMap;

use super::retry::{LOST_ANSWER, Retry};
use crate::engine::model::Str;
use crate::engine::model::effect::EffectError;
use crate::engine::model::node::NodeIx;
use crate::engine::model::time::Timestamp;

/// A deletion that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SentDeletion {
    /// No answer yet.
    Sent,
    /// The server confirmed it, then; the watch has not shown it yet.
    Confirmed(Timestamp),
    /// The answer was lost, then.
    Unknown(Timestamp),
}

impl SentDeletion {
    /// Whether its outcome is not known yet.
    fn is_unanswered(self) -> bool {
        matches!(self, Self::Sent | Self::Unknown(_))
    }
}

/// The deletions that no watch has shown yet, and when the next may be tried.
#[derive(Debug, Default)]
pub(crate) struct Deletions {
    by_pod: BTreeMap<Str, SentDeletion>,
    /// For each whose answer was lost, by pod uid: its node, and what went wrong.
    lost: BTreeMap<Str, (Str, EffectError)>,
    /// When any may be tried again.
    pub(crate) retry: Retry,
    /// Nodes where one failed, and until when none is tried there.
    held_nodes: BTreeMap<NodeIx, Timestamp>,
}

impl Deletions {
    pub(crate) fn sent(&mut self, uid: &Str) {
        self.by_pod.insert(uid.clone(), SentDeletion::Sent);
    }

    pub(crate) fn confirmed(&mut self, uid: &Str, now: Timestamp) {
        self.by_pod.insert(uid.clone(), SentDeletion::Confirmed(now));
    }

    /// What became of it is not known, and no error is to be told if the pod stays.
    pub(crate) fn unknown(&mut self, uid: &Str, now: Timestamp) {
        self.by_pod.insert(uid.clone(), SentDeletion::Unknown(now));
    }

    /// Its answer was lost. If the pod stays, `error` is why.
    pub(crate) fn answer_lost(&mut self, uid: &Str, node: &Str, error: EffectError, now: Timestamp) {
        self.unknown(uid, now);
        self.lost.insert(uid.clone(), (node.clone(), error));
    }

    /// It counts no more: a watch has shown what became of it, or it was not done.
    pub(crate) fn forget(&mut self, uid: &str) {
        self.by_pod.remove(uid);
    }

    /// Forgets those whose outcome is known and of whose pod `stays` does not hold.
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

    /// Whether one was sent for this pod and its outcome is not known.
    pub(crate) fn is_unanswered(&self, uid: &str) -> bool {
        self.get(uid).is_some_and(SentDeletion::is_unanswered)
    }

    /// Since when one that was confirmed is not seen.
    pub(crate) fn unseen_since(&self) -> Option<Timestamp> {
        let confirmed = self.by_pod.values().filter_map(|deletion| match deletion {
            SentDeletion::Confirmed(at) => Some(*at),
            SentDeletion::Sent | SentDeletion::Unknown(_) => None,
        });
        confirmed.min()
    }

    /// Those whose answer was lost, and when each is given up if its pod is still there.
    pub(crate) fn given_up_at(&self) -> impl Iterator<Item = (&Str, Timestamp)> {
        self.by_pod.iter().filter_map(|(uid, deletion)| match deletion {
            SentDeletion::Unknown(at) => Some((uid, *at + LOST_ANSWER)),
            SentDeletion::Sent | SentDeletion::Confirmed(_) => None,
        })
    }

    /// Gives one up whose answer was lost; returns its node and what went wrong, where that is known.
    pub(crate) fn give_up(&mut self, uid: &str) -> Option<(Str, EffectError)> {
        self.by_pod.remove(uid);
        self.lost.remove(uid)
    }

    /// Forgets what went wrong with deletions that do not count any more.
    pub(crate) fn forget_errors(&mut self) {
        self.lost.retain(|uid, _| self.by_pod.contains_key(uid));
    }

    /// None is tried on this node until then.
    pub(crate) fn hold_node(&mut self, node: NodeIx, until: Timestamp) {
        self.held_nodes.insert(node, until);
    }

    /// Until when none is tried on this node.
    pub(crate) fn node_held_until(&self, node: NodeIx) -> Option<Timestamp> {
        self.held_nodes.get(&node).copied()
    }

    /// Lets nodes go whose time is over.
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
