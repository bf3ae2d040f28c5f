//! Deletions that the API server refused: which pods, since when, and when each is tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::node::NodeIx;
use crate::engine::model::record::{Intent, RefusedDeletion};
use crate::engine::model::time::Timestamp;

/// How long a node that was refused waits for its next turn, at first and at most; doubled each time.
const RETRY: (Duration, Duration) = (SOONEST, Duration::from_secs(300));
/// How long a node that was refused waits at least.
const SOONEST: Duration = Duration::from_secs(10);

/// If this many different nodes in a row are refused, with no deletion in between, the refusal is not about one pod.
const GENERAL: usize = 3;

/// The length to which the server's words are cut, in bytes.
const WORDS: usize = 300;

/// Deletions that were refused.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    by_node: BTreeMap<NodeIx, DeletionRefusal>,
    /// Nodes that were refused since a deletion last succeeded.
    in_a_row: BTreeSet<NodeIx>,
    /// Whether the rollout was paused, and which halts were acknowledged, at the last look.
    intent: (bool, u32),
}

/// The refused deletion of one pod.
#[derive(Debug)]
struct DeletionRefusal {
    uid: Str,
    /// The pod's resource version at the refusal.
    version: Str,
    why: Str,
    since: Timestamp,
    failures: u32,
    tried_at: Timestamp,
    again_at: Timestamp,
}

/// The kind of a failed deletion, after which the pod is still there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailedDeletion {
    /// The API server refused the deletion: nothing was done.
    Refused,
    /// No answer came, or an error of the server's own, and the pod is still there.
    Lost,
}

impl Refusals {
    /// Takes in that the pod with this uid could not be deleted.
    pub(crate) fn refuse(
        &mut self,
        node: NodeIx,
        (uid, version): (Str, Str),
        why: Str,
        answer: FailedDeletion,
        now: Timestamp,
    ) {
        let known = self.by_node.remove(&node).filter(|known| known.uid == uid);
        let failures = known.as_ref().map_or(0, |known| known.failures).saturating_add(1);
        // A lost answer has already been waited for, so that its wait doubles one failure later.
        let doubled = match answer {
            FailedDeletion::Refused => failures - 1,
            FailedDeletion::Lost => failures.saturating_sub(2),
        };
        let wait = if answer == FailedDeletion::Lost && failures == 1 {
            Duration::ZERO
        } else {
            RETRY.0.saturating_mul(1 << doubled.min(8)).min(RETRY.1)
        };
        if answer == FailedDeletion::Refused {
            self.in_a_row.insert(node);
        }
        let since = known.map_or(now, |known| known.since);
        self.by_node
            .insert(node, DeletionRefusal { uid, version, why, since, failures, tried_at: now, again_at: now + wait });
    }

    /// Takes in that a deletion succeeded on this node.
    pub(crate) fn succeeded(&mut self, node: Option<NodeIx>) {
        self.in_a_row.clear();
        if let Some(node) = node {
            self.by_node.remove(&node);
        }
    }

    /// Whether deletions are refused in general, not for one pod.
    pub(crate) fn are_general(&self) -> bool {
        self.in_a_row.len() >= GENERAL
    }

    /// When the next of the waiting nodes has its turn.
    pub(crate) fn changes_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.by_node.values().map(|refusal| refusal.again_at).filter(|at| *at > now).min()
    }

    /// Forgets refusals of pods that are gone, and lets changed pods be tried sooner. `version_of` gives the resource version of a pod of
    /// this uid on a node, if it is there and not terminating.
    pub(crate) fn follow_pods(&mut self, version_of: impl Fn(NodeIx, &str) -> Option<Str>) {
        self.by_node.retain(|node, refusal| {
            let Some(version) = version_of(*node, &refusal.uid) else { return false };
            if version != refusal.version {
                refusal.version = version;
                refusal.again_at = refusal.again_at.min(refusal.tried_at + SOONEST);
            }
            true
        });
        let by_node = &self.by_node;
        self.in_a_row.retain(|node| by_node.contains_key(node));
    }

    /// The refusal of this node's pod, if there is one: whether its deletion is to be tried again now, and why it was refused.
    pub(crate) fn of(&self, node: NodeIx, now: Timestamp) -> Option<(bool, &Str)> {
        self.by_node.get(&node).map(|refusal| (refusal.again_at <= now, &refusal.why))
    }

    /// All refusals, as a record keeps them.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = (NodeIx, RefusedDeletion)> {
        self.by_node.iter().map(|(node, refusal)| {
            let DeletionRefusal { uid, since, why, .. } = refusal;
            (*node, RefusedDeletion { pod: uid.clone(), since: *since, why: why.clone() })
        })
    }

    /// If somebody has just resumed, has all refused pods tried again at once. Returns whether somebody has.
    pub(crate) fn follow_intent(&mut self, intent: &Intent, now: Timestamp) -> bool {
        let (was_paused, acknowledged) =
            std::mem::replace(&mut self.intent, (intent.paused.is_some(), intent.acknowledged_halt));
        let resumed = (was_paused && intent.paused.is_none()) || acknowledged < intent.acknowledged_halt;
        if resumed {
            self.by_node.values_mut().for_each(|refusal| refusal.again_at = now);
        }
        resumed
    }
}

/// The server's words, without what the row says anyway, cut to the room that a record has.
pub(crate) fn words(message: &str, node: &str) -> Str {
    let said = message.split_once(&format!(" on {node}: ")).map_or(message, |(_, said)| said);
    let end = (0..=WORDS.min(said.len())).rev().find(|end| said.is_char_boundary(*end)).unwrap_or(0);
    said[..end].into()
}
