//! The blame for an unavailable node: on the rollout, on the node itself, or on something before the rollout.

use std::time::Duration;

use super::Assessor;
use super::controllers_rollout::was_never_ready;
use crate::engine::assess::inputs::BeforeBegin;
use crate::engine::model::Str;
use crate::engine::model::cause::Cause;
use crate::engine::model::facts::{ConditionStatus, NodeFact, PodFact};
use crate::engine::model::node::Blame;
use crate::engine::model::record::Direction;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::by_server;
use crate::engine::view::PodEntry;

impl Assessor<'_> {
    /// Whether the rollout put the pod on its node, whatever the target is by now.
    pub(super) fn put_there(&self, at_target: bool, pod: Option<&PodEntry>) -> bool {
        let inputs = self.question.inputs;
        let revision = pod.and_then(|pod| pod.fact.revision.as_ref());
        let began = inputs.started_at.filter(|_| at_target);
        let made_since = |began| pod.is_some_and(|pod| pod.fact.created_at > began);
        match (&inputs.origin, revision, began) {
            // On the way back, pods that never left the revision are at the target as well: only their age tells them from pods that were
            // put back.
            (_, Some(_), Some(began)) if self.question.inputs.direction == Direction::Back => made_since(began),
            // The same holds if a rollout goes forward to the revision that it came from.
            (Some(origin), Some(revision), began) => revision != origin || began.is_some_and(made_since),
            _ => at_target,
        }
    }

    /// Decides the blame for an unavailable node of the fleet.
    pub(super) fn blame(
        &mut self,
        (name, node): (&Str, Option<&NodeFact>),
        (down, at_target, replaced, put_there, has_pod): (bool, bool, bool, bool, bool),
        (pod, cause, never_served): (Option<&PodEntry>, Option<&Cause>, bool),
    ) -> Blame {
        let inputs = self.question.inputs;
        if inputs.down_before.contains_key(name) || self.was_down_before(name, node, at_target, pod) {
            return Blame::PreExisting;
        }
        let in_progress = inputs.in_progress.contains(name);
        match (down, replaced) {
            // A node that has joined and is not Ready gets no pod before it is. Nobody took one away.
            (true, true) if !has_pod && !in_progress => Blame::Node,
            (_, true) => Blame::Rollout,
            (true, false) if in_progress && at_target => Blame::Suspect,
            (true, false) if put_there && was_taken_up(pod) => Blame::Suspect,
            (true, false) if in_progress => Blame::Rollout,
            (true, false) => Blame::Node,
            // A node that the rollout took down is blamed on it until it is available again, even if the target has changed.
            (false, false) if put_there || in_progress => Blame::Rollout,
            // On the way back pods that never left the revision are at the target: nobody touched them.
            (false, false) if at_target && self.question.inputs.direction == Direction::Forward => Blame::Rollout,
            // Nobody drives yet, and a driver will not take this node for down before: see `Engine::begin`.
            (false, false) if self.was_taken_down_earlier(node, pod, (cause, never_served)) => Blame::Rollout,
            (false, false) => Blame::PreExisting,
        }
    }

    fn was_taken_down_earlier(
        &mut self,
        node: Option<&NodeFact>,
        pod: Option<&PodEntry>,
        (cause, never_served): (Option<&Cause>, bool),
    ) -> bool {
        let Some(pod) = pod.map(|pod| &pod.fact) else { return false };
        let skew = node.and_then(|node| node.clock_skew_millis);
        let (before, deadline) =
            (&self.question.inputs.before_begin, self.question.inputs.gates.progress_deadline_secs.into());
        if never_served && before.origin.is_some() {
            self.wake_after(deadline, self.server_now.since(pod.created_at));
        }
        before.took_down(pod, (cause, skew)) || before.left_behind(pod, never_served, deadline, self.server_now)
    }

    /// Whether the cluster shows that a node was down before the rollout began. It is asked only if the record had no room for
    /// the names of all nodes that were down before, and never of a node that the record names as in progress.
    ///
    /// A node that has not been Ready since before then was never acted on; an old pod that was made before then was not
    /// made by the rollout.
    fn was_down_before(&self, name: &Str, node: Option<&NodeFact>, at_target: bool, pod: Option<&PodEntry>) -> bool {
        let inputs = self.question.inputs;
        let Some(began_at) = inputs.left_out_since.filter(|_| !inputs.in_progress.contains(name)) else {
            return false;
        };
        let going = pod.is_some_and(|pod| (self.question.deleting)(&pod.fact.uid));
        let not_ready_since = node.and_then(not_ready_since);
        let is_ready = node.is_some_and(|fact| fact.ready == ConditionStatus::True);
        let old = pod.is_some_and(|pod| !at_target && pod.fact.created_at < began_at);
        !going && (not_ready_since.is_some_and(|since| since < began_at) || (is_ready && old))
    }
}

/// Since when a node is not Ready, by the API server's clock: its kubelet said so, or is silent, which the node lifecycle controller said.
pub(super) fn not_ready_since(fact: &NodeFact) -> Option<Timestamp> {
    match fact.ready {
        ConditionStatus::True => None,
        ConditionStatus::False => fact.ready_since.map(|at| by_server(at, fact.clock_skew_millis)),
        ConditionStatus::Unknown => fact.ready_since,
    }
}

/// Whether a kubelet has taken up the pod, so that it may be why its node went down. A node that joins the cluster gets a pod before it is Ready, and if
/// it never is, no kubelet reports any of that pod's containers.
pub(super) fn was_taken_up(pod: Option<&PodEntry>) -> bool {
    pod.is_some_and(|pod| !pod.fact.containers.is_empty())
}

impl BeforeBegin {
    /// Whether a rollout that is not recorded took a node down: its pod is not of the revision where this rollout comes from, and either its cause speaks
    /// against its revision or it has never been Ready. Somebody may have deleted the Lease, created the DaemonSet anew or changed its template in the
    /// middle. `skew`: by how many milliseconds the node's clock is ahead of the server's.
    pub(crate) fn took_down(&self, pod: &PodFact, (cause, skew): (Option<&Cause>, Option<i64>)) -> bool {
        let other = self.origin.is_some() && pod.revision != self.origin;
        let fails = || cause.is_some_and(|cause| cause.kind.speaks_against_revision());
        other && (fails() || was_never_ready(pod, skew))
    }

    /// Whether the rollout of the revision where this rollout comes from took a node down and is not over there: the pod has never served, and it was
    /// made less than `deadline` (the progress deadline) ago, or more such pods are there than that rollout was to take down. A pod that has not
    /// been Ready for longer than that, on one of few nodes, says more of its node.
    pub(crate) fn left_behind(
        &self,
        pod: &PodFact,
        never_served: bool,
        deadline: Duration,
        server_now: Timestamp,
    ) -> bool {
        let of_origin = self.origin.is_some() && pod.revision == self.origin;
        let is_young = || server_now.since(pod.created_at) < deadline;
        never_served && of_origin && (self.is_unfinished || is_young())
    }
}
