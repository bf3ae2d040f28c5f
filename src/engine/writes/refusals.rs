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

/// If so many different nodes in a row are refused, with no deletion in between, the refusal is not about one pod.
const GENERAL: usize = 3;

/// The most that is kept of what the server said, in bytes.
const WORDS: usize = 300;

/// Deletions that were refused.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    by_node: BTreeMap<NodeIx, DeletionRefusal>,
    /// Nodes that were refused since a deletion last succeeded.
    in_a_row: BTreeSet<NodeIx>,
    /// Whether it was paused, and which halts were acknowledged, when we looked last.
    intent: (bool, u32),
}

/// The deletion of one pod was refused.
#[derive(Debug)]
struct DeletionRefusal {
    uid: Str,
    /// The pod's resource version then.
    version: Str,
    why: Str,
    since: Timestamp,
    failures: u32,
    tried_at: Timestamp,
    again_at: Timestamp,
}

/// How a deletion ended that did not delete the pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailedDeletion {
    /// The API server said no: nothing was done.
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
        // A lost answer has been waited for already.
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

    /// A deletion succeeded there.
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

    /// When a node has its next turn, of those that wait for one.
    pub(crate) fn changes_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.by_node.values().map(|refusal| refusal.again_at).filter(|at| *at > now).min()
    }

    /// Forgets refusals of pods that are gone, and has those tried sooner whose pod changed. `version_of` gives the resource
    /// version of a pod of this uid on a node, if it is there and not terminating.
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

    /// Whether the deletion of this node's pod was refused: whether it is to be tried again now, and why it was refused.
    pub(crate) fn of(&self, node: NodeIx, now: Timestamp) -> Option<(bool, &Str)> {
        self.by_node.get(&node).map(|refusal| (refusal.again_at <= now, &refusal.why))
    }

    /// All of them, as a record keeps them.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = (NodeIx, RefusedDeletion)> {
        self.by_node.iter().map(|(node, refusal)| {
            let DeletionRefusal { uid, since, why, .. } = refusal;
            (*node, RefusedDeletion { pod: uid.clone(), since: *since, why: why.clone() })
        })
    }

    /// Has all of them tried again at once where somebody has just resumed; whether that is so.
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

/// What the server said, without what the row says anyway, and no more of it than a record has room for.
pub(crate) fn words(message: &str, node: &str) -> Str {
    let said = message.split_once(&format!(" on {node}: ")).map_or(message, |(_, said)| said);
    let end = (0..=WORDS.min(said.len())).rev().find(|end| said.is_char_boundary(*end)).unwrap_or(0);
    said[..end].into()
}
