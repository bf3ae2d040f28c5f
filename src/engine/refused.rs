//! Pods that the API server refuses to delete: a policy, a webhook, a right that is missing for just these.
//!
//! Such a node is held with the server's words, comes last in line, and is tried again at growing intervals: sooner if its pod
//! has changed, at once if an operator resumes. All other nodes go on. If several different nodes are refused in a row, the
//! refusal is not about one pod: then all nodes wait, and an alarm says so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::assess::Row;
use super::machine::Engine;
use super::model::Str;
use super::model::effect::EffectError;
use super::model::hold::Hold;
use super::model::node::NodeIx;
use super::model::node::NodeState;
use super::model::record::{Intent, RefusedDeletion};
use super::model::time::Timestamp;
use super::plan::Refused;
use super::snapshot::Alarm;

/// How long a node that was refused waits for its next turn, at first and at most; doubled each time.
const RETRY: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(300));
/// If so many different nodes in a row are refused, with no deletion in between, the refusal is not about one pod.
const GENERAL: usize = 3;
/// The most nodes of these that the record names.
const RECORDED: usize = 32;
/// The most that is kept of what the server said, in bytes.
const WORDS: usize = 300;

/// Deletions that were refused.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    by_node: BTreeMap<NodeIx, Refusal>,
    /// Nodes that were refused since a deletion last succeeded.
    in_a_row: BTreeSet<NodeIx>,
    /// Whether it was paused, and which halts were acknowledged, when we looked last.
    intent: (bool, u32),
}

/// The deletion of one pod was refused.
#[derive(Debug)]
struct Refusal {
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
pub(crate) enum Answer {
    /// The API server said no: nothing was done.
    Refused,
    /// No answer came, or an error of the server's own, and the pod is still there.
    Lost,
}

impl Refusals {
    /// Takes in that the pod with this uid could not be deleted.
    fn refuse(&mut self, node: NodeIx, (uid, version): (Str, Str), why: Str, answer: Answer, now: Timestamp) {
        let known = self.by_node.remove(&node).filter(|known| known.uid == uid);
        let failures = known.as_ref().map_or(0, |known| known.failures).saturating_add(1);
        // A lost answer has been waited for already.
        let doubled = match answer {
            Answer::Refused => failures - 1,
            Answer::Lost => failures.saturating_sub(2),
        };
        let wait = if answer == Answer::Lost && failures == 1 {
            Duration::ZERO
        } else {
            RETRY.0.saturating_mul(1 << doubled.min(8)).min(RETRY.1)
        };
        if answer == Answer::Refused {
            self.in_a_row.insert(node);
        }
        let since = known.map_or(now, |known| known.since);
        self.by_node.insert(node, Refusal { uid, version, why, since, failures, tried_at: now, again_at: now + wait });
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
    pub(crate) fn turns_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.by_node.values().map(|refusal| refusal.again_at).filter(|at| *at > now).min()
    }

    /// Has all of them tried again at once where somebody has just resumed.
    fn follow_intent(&mut self, intent: &Intent, now: Timestamp) {
        let (was_paused, acknowledged) =
            std::mem::replace(&mut self.intent, (intent.paused.is_some(), intent.acknowledged_halt));
        if (was_paused && intent.paused.is_none()) || acknowledged < intent.acknowledged_halt {
            self.by_node.values_mut().for_each(|refusal| refusal.again_at = now);
        }
    }
}

impl Engine {
    /// Takes in that a deletion was refused, or that its answer was lost for good.
    pub(crate) fn deletion_refused(
        &mut self,
        node: &str,
        uid: &Str,
        error: &EffectError,
        answer: Answer,
        now: Timestamp,
    ) {
        let Some(ix) = self.view.node(node) else { return };
        let pod = self.view.pods_on(ix).find(|(_, pod)| pod.fact.uid == *uid).map(|(_, pod)| &pod.fact);
        let Some(version) = pod.map(|pod| pod.resource_version.clone()) else { return };
        self.refusals.refuse(ix, (uid.clone(), version), words(&error.message, node), answer, now);
        if self.refusals.are_general() {
            self.delete_retry.failed(error, now);
            self.write_failure = Some(error.message.clone());
        }
    }

    /// Forgets refusals of pods that are gone, has those tried sooner that changed, and all where somebody resumed.
    pub(crate) fn follow_refusals(&mut self, intent: &Intent, now: Timestamp) {
        self.refusals.follow_intent(intent, now);
        let view = &self.view;
        self.refusals.by_node.retain(|node, refusal| {
            let mut pods = view.pods_on(*node).map(|(_, pod)| &pod.fact);
            let Some(pod) = pods.find(|pod| pod.uid == refusal.uid && pod.deletion_at.is_none()) else { return false };
            if pod.resource_version != refusal.version {
                refusal.version = pod.resource_version.clone();
                refusal.again_at = refusal.again_at.min(refusal.tried_at + RETRY.0);
            }
            true
        });
        let there: BTreeSet<NodeIx> = self.refusals.by_node.keys().copied().collect();
        self.refusals.in_a_row.retain(|node| there.contains(node));
    }

    /// Whether the deletion of a node's pod was refused: as we know it where we drive, as it is recorded where we look on.
    pub(crate) fn refused_deletion(&self, row: &Row, now: Timestamp) -> Option<Refused> {
        if let Some(refusal) = self.refusals.by_node.get(&row.node) {
            let due = refusal.again_at <= now;
            return Some(if due { Refused::Due } else { Refused::Held(refusal.why.clone()) });
        }
        if self.lock.holds() || self.progress.refused.is_empty() {
            return None;
        }
        let recorded = self.progress.refused.get(&self.view.nodes.get(row.node)?.name)?;
        let pod = self.view.pod(row.pod?)?;
        (pod.fact.uid == recorded.pod).then(|| Refused::Held(recorded.why.clone()))
    }

    /// Records which nodes are held by a refusal, so that consoles that only look show it.
    pub(crate) fn note_refused(&mut self) {
        let name = |node: NodeIx| self.view.nodes.get(node).map(|entry| entry.name.clone());
        let refused = self.refusals.by_node.iter().filter_map(|(node, refusal)| {
            let recorded = RefusedDeletion { pod: refusal.uid.clone(), since: refusal.since, why: refusal.why.clone() };
            Some((name(*node)?, recorded))
        });
        self.progress.refused = refused.take(RECORDED).collect();
    }

    /// Nodes that cannot be updated, because the API server refuses to delete their pod.
    pub(crate) fn refused_alarm(&self) -> Option<Alarm> {
        if self.refusals.are_general() {
            return None;
        }
        let held = |row: &Row| match self.plan.hold(row.node) {
            Some(Hold::DeletionRefused { why }) => Some((self.name(row), why.clone())),
            _ => None,
        };
        let mut refused: Vec<(Str, Str)> = self.assessment.rows().filter_map(held).collect();
        refused.sort();
        let count = u32::try_from(refused.len()).unwrap_or(u32::MAX);
        let (node, why) = refused.into_iter().next()?;
        let moving = self.assessment.rows().any(|row| {
            row.in_fleet
                && matches!(
                    row.state,
                    NodeState::Terminating
                        | NodeState::Creating
                        | NodeState::Pulling
                        | NodeState::Starting
                        | NodeState::Soaking
                )
        });
        Some(Alarm::DeletionRefused { node, count, why, others: moving || self.plan.in_line > count })
    }
}

/// What the server said, without what the row says anyway, and no more of it than a record has room for.
fn words(message: &str, node: &str) -> Str {
    let said = message.split_once(&format!(" on {node}: ")).map_or(message, |(_, said)| said);
    let end = (0..=WORDS.min(said.len())).rev().find(|end| said.is_char_boundary(*end)).unwrap_or(0);
    said[..end].into()
}

#[cfg(test)]
mod tests;
