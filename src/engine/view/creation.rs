//! The facts about the controller that creates the pods: since when a node's pod is missing, its messages about pods that it could not create, and
//! when it last did anything.
//!
//! ```text
//!   FailedCreate event ─▶ refusal, in force until ─┬─ a pod of the DaemonSet is created after it
//!                                                  └─ a pod goes missing when none was, a good while after it
//! ```
//!
//! An event of a DaemonSet names no node: while it is in force it is about every node whose pod is missing. It need not
//! come again while the refusal lasts: the controller tries again after up to 1,000 s, its client drops all but 25
//! events about one object and one more every 5 minutes, and the API server forgets an event after an hour.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Touched, View};
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::{ClusterEvent, ConditionStatus, DaemonSetFact};
use crate::engine::model::node::NodeIx;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::recognise::{TextSource, recognise};

/// A controller that has something to do and has not done anything for this long counts as idle. A sync of 5,000 nodes takes a
/// quarter of a second.
pub(crate) const IDLE_AFTER: Duration = Duration::from_secs(40);
/// How many Events are kept that arrived before the DaemonSet did.
const EARLY: usize = 64;
/// The reasons that the DaemonSet controller gives in its events.
const ITS_REASONS: [&str; 6] =
    ["FailedCreate", "SuccessfulCreate", "FailedDelete", "SuccessfulDelete", "FailedDaemonPod", "SucceededDaemonPod"];
/// A refusal that is this much older than the first missing pod was about other pods.
const AROUND: Duration = Duration::from_secs(10);

/// The facts about the controller that creates the pods.
#[derive(Debug, Default)]
pub(crate) struct Creation {
    /// Its message when it could not create pods, until pods are created again.
    refusal: Option<CreationRefusal>,
    /// When the newest pod of the DaemonSet was created, by the API server's clock.
    newest_pod_at: Option<Timestamp>,
    /// When the controller last did anything for this DaemonSet, by our clock, as far as known.
    acted_at: Option<Timestamp>,
    /// Since when the present spec has not been observed by the controller, by our clock.
    unobserved_since: Option<Timestamp>,
    /// Nodes whose pod is missing.
    missing: BTreeSet<NodeIx>,
    /// Whether missing pods were looked for before. If so, we saw every pod that is missing now go missing.
    looked: bool,
    /// Events that arrived before the DaemonSet did and may be about it.
    early: Vec<ClusterEvent>,
}

/// The controller could not create pods.
#[derive(Clone, Debug)]
pub(crate) struct CreationRefusal {
    /// The kind of refusal.
    pub(crate) kind: CauseKind,
    /// The message, word by word.
    pub(crate) message: Str,
    /// When it was last said, by the cluster's clock.
    at: Timestamp,
    /// The same by our clock, as far as the skew is known.
    pub(crate) said_at: Timestamp,
    /// Since when pods are refused without one being created, by our clock, as far as we saw.
    pub(crate) since: Timestamp,
}

impl Creation {
    /// The refusal that is in force.
    pub(crate) fn refusal(&self) -> Option<&CreationRefusal> {
        self.refusal.as_ref()
    }

    /// Since when the controller has done nothing, by our clock; `since` is when its work came up.
    pub(crate) fn waiting_since(&self, since: Timestamp) -> Timestamp {
        self.acted_at.map_or(since, |acted_at| acted_at.max(since))
    }

    /// Since when the controller has neither observed the spec nor done anything else, by our clock.
    pub(crate) fn unobserved_since(&self) -> Option<Timestamp> {
        self.unobserved_since.map(|since| self.waiting_since(since))
    }

    /// How many nodes miss their pod.
    pub(crate) fn missing(&self) -> u32 {
        u32::try_from(self.missing.len()).unwrap_or(u32::MAX)
    }

    /// Whether the controller has something to do for this DaemonSet and has not said that it cannot.
    pub(crate) fn is_overdue(&self) -> bool {
        self.unobserved_since.is_some() || (!self.missing.is_empty() && self.refusal.is_none())
    }

    /// Takes in an event about the DaemonSet, of which the controller is the source.
    fn says(&mut self, event: &ClusterEvent, said_at: Timestamp, now: Timestamp) {
        self.acts(said_at);
        if &*event.reason != "FailedCreate" || self.newest_pod_at.is_some_and(|created_at| created_at > event.at) {
            return;
        }
        if self.refusal.as_ref().is_some_and(|known| known.at > event.at) {
            return;
        }
        let since = self.refusal.as_ref().map_or(now, |known| known.since);
        let (kind, message) = (refusal_kind(&event.message), event.message.clone());
        self.refusal = Some(CreationRefusal { kind, message, at: event.at, said_at, since });
    }

    fn acts(&mut self, at: Timestamp) {
        self.acted_at = Some(self.acted_at.map_or(at, |known| known.max(at)));
    }
}

impl View {
    /// Takes in an event that is about the DaemonSet, or may be.
    pub(super) fn controller_says(&mut self, event: &ClusterEvent, now: Timestamp) {
        if event.reported_by.is_some() || !ITS_REASONS.contains(&&*event.reason) {
            return;
        }
        if self.daemonset.is_none() {
            if self.creation.early.len() < EARLY {
                self.creation.early.push(event.clone());
            }
            return;
        }
        let said_at = self.our_time(event.at).min(now);
        self.creation.says(event, said_at, now);
        self.touch_missing();
    }

    /// Takes in a DaemonSet that was not there before: facts known already may be about it.
    pub(super) fn controller_begins(&mut self, now: Timestamp) {
        let early = std::mem::take(&mut self.creation.early);
        self.creation = Creation::default();
        let Some(uid) = self.daemonset.as_ref().map(|daemonset| daemonset.uid.clone()) else { return };
        let own = self.pods.iter().flatten().filter(|pod| pod.fact.owner.as_ref() == Some(&uid));
        if let Some(created_at) = own.map(|pod| pod.fact.created_at).max() {
            self.pod_was_created(created_at, now);
        }
        early.iter().filter(|event| event.object == uid).for_each(|event| self.controller_says(event, now));
    }

    /// Takes in when a pod of the DaemonSet was created.
    pub(super) fn pod_was_created(&mut self, created_at: Timestamp, now: Timestamp) {
        let our_time = self.our_time(created_at).min(now);
        self.creation.acts(our_time);
        self.creation.newest_pod_at = self.creation.newest_pod_at.max(Some(created_at));
        if self.creation.refusal.as_ref().is_some_and(|refusal| created_at > refusal.at) {
            self.creation.refusal = None;
        }
        self.touch_missing();
    }

    /// Takes in what the controller wrote into the DaemonSet since the state `before`, and the changes it has not followed yet.
    pub(super) fn controller_wrote(&mut self, before: Option<&DaemonSetFact>, now: Timestamp) {
        let Some(fact) = &self.daemonset else { return };
        let wrote = |before: &DaemonSetFact| {
            before.counters != fact.counters || before.observed_generation != fact.observed_generation
        };
        let wrote = before.is_some_and(wrote);
        let same_spec = before.is_some_and(|before| before.generation == fact.generation);
        let template_changed = before.is_some_and(|before| before.template != fact.template);
        let since = self.creation.unobserved_since.filter(|_| same_spec).unwrap_or(now);
        self.creation.unobserved_since = (fact.observed_generation < fact.generation).then_some(since);
        if wrote {
            self.creation.acts(now);
            self.touch_missing();
        }
        if template_changed {
            // The refusal was about pods of another template.
            self.forget_old_refusal(now);
        }
    }

    /// Updates since when pods are missing, for the nodes that something happened to.
    pub(crate) fn follow_missing(&mut self, touched: &mut Touched, now: Timestamp) {
        let live = matches!(self.health(Watched::Pods), WatchHealth::Live);
        let none_before = self.creation.missing.is_empty();
        let nodes: Vec<NodeIx> = if touched.all { (0..self.nodes.len()).collect() } else { touched.nodes.clone() };
        for ix in nodes {
            let known = self.nodes[ix].missing_since;
            // Pods are not seen at present, so the known state stays.
            let missing = self.misses_pod(ix) && (live || known.is_some());
            self.nodes[ix].missing_since = missing.then(|| known.unwrap_or(now));
            if missing {
                self.creation.missing.insert(ix)
            } else {
                self.creation.missing.remove(&ix)
            };
        }
        let nodes_live = matches!(self.health(Watched::Nodes), WatchHealth::Live);
        let looked = std::mem::replace(&mut self.creation.looked, live && nodes_live);
        if looked && none_before && !self.creation.missing.is_empty() {
            self.forget_old_refusal(now);
        }
        // These nodes are to be assessed in this pass, too.
        for ix in std::mem::take(&mut self.touched.nodes) {
            self.nodes[ix].touched = false;
            if !touched.all {
                touched.nodes.push(ix);
            }
        }
    }

    /// Whether the controller has a pod to create on a node: it is to run one, is Ready, and has none, not even one that
    /// is still going.
    fn misses_pod(&self, ix: NodeIx) -> bool {
        let entry = &self.nodes[ix];
        let up = entry.fact.as_ref().is_some_and(|fact| fact.ready == ConditionStatus::True);
        let kept = self.daemonset.as_ref().is_some_and(|daemonset| !daemonset.deleting);
        kept && up && entry.eligibility.should_run && self.pods_on(ix).next().is_none()
    }

    fn forget_old_refusal(&mut self, now: Timestamp) {
        if self.creation.refusal.take_if(|refusal| refusal.said_at + AROUND < now).is_some() {
            self.touch_missing();
        }
    }

    /// Marks the nodes whose pod is missing for another assessment.
    pub(super) fn touch_missing(&mut self) {
        let missing: Vec<NodeIx> = self.creation.missing.iter().copied().collect();
        missing.into_iter().for_each(|ix| self.touch(Some(ix)));
    }
}

/// The kind of refusal, by the words that the controller quotes from the API server: `Error creating: ` and the message of a `Status`. A message in
/// other words is `NotCreated`.
fn refusal_kind(message: &str) -> CauseKind {
    recognise(TextSource::CreationMessage, "", message).unwrap_or(CauseKind::NotCreated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rules::recognise::all_words;

    /// The words that are looked for in refusals are looked for where refusals are told.
    #[test]
    fn whatever_is_recognised_of_a_refusal_is_why_there_is_no_pod() {
        for words in all_words().filter(|words| words.source == TextSource::CreationMessage) {
            assert_eq!(refusal_kind(&format!("Error creating: {}", words.message)), words.cause, "{words:?}");
        }
    }

    #[test]
    fn a_refusal_is_called_what_the_api_server_means() {
        for (said, kind) in [
            (
                "Error creating: pods \"agent-8x2lq\" is forbidden: ValidatingAdmissionPolicy 'no-pods' with binding \
                 'no-pods' denied request: no pods today",
                CauseKind::AdmissionRefused,
            ),
            (
                "(combined from similar events): Error creating: admission webhook \"pods.example.com\" denied the \
                 request: unsigned image",
                CauseKind::AdmissionRefused,
            ),
            (
                "Error creating: pods \"agent-8x2lq\" is forbidden: exceeded quota: edge, requested: pods=1, used: \
                 pods=8, limited: pods=8",
                CauseKind::QuotaExceeded,
            ),
            (
                "Error creating: pods \"agent-8x2lq\" is forbidden: violates PodSecurity \"restricted:latest\": \
                 privileged",
                CauseKind::CreationForbidden,
            ),
            (
                "Error creating: pods \"agent-\" is forbidden: error looking up service account edge/agent: \
                 serviceaccount \"agent\" not found",
                CauseKind::CreationForbidden,
            ),
            (
                "Error creating: Pod \"agent-8x2lq\" is invalid: spec.containers[0].image: Required value",
                CauseKind::PodInvalid,
            ),
            (
                "Error creating: Internal error occurred: failed calling webhook \"pods.example.com\": connection refused",
                CauseKind::NotCreated,
            ),
        ] {
            assert_eq!(refusal_kind(said), kind, "{said}");
        }
    }
}
