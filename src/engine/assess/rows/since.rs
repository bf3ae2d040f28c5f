//! The time since when a node has been in its state: the age that is shown beside the state.

use std::time::Duration;

use super::Assessor;
use super::pods_on_node::OnNode;
use crate::engine::model::facts::{ConditionStatus, ContainerFact, ContainerState, NodeFact};
use crate::engine::model::node::NodeState;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::by_server;
use crate::engine::view::{NodeEntry, PodEntry, PodTrouble};

impl Assessor<'_> {
    /// Since when a pod is in trouble, by our own clock. An observer who has just begun to look takes the time from the kubelet's events.
    pub(super) fn troubled_since(&self, pod: &PodEntry, trouble: &PodTrouble, clock: Option<i64>) -> Timestamp {
        let told = Some(&pod.fact).filter(|_| trouble.cause.kind.is_about_the_image());
        let told = told.and_then(|fact| self.view.pull_failed_since(fact));
        // Events have whole seconds, so the pull failed at the latest at the end of that second. It did not fail before the pod was made,
        // whatever the node's clock says.
        let told = told.map(|at| (by_server(at, clock) + Duration::from_secs(1)).max(pod.fact.created_at));
        let told = told.map(|at| self.view.our_time(at));
        told.map_or(trouble.since, |told| told.min(trouble.since))
    }

    /// Since when a pod in trouble has not been Ready, by its condition: whoever looks, and however late, tells the same age.
    /// [`Self::troubled_since`] handles trouble with images.
    fn unready_since(pod: &PodEntry, trouble: &PodTrouble, clock: Option<i64>) -> Option<Timestamp> {
        let counts = !pod.fact.ready && !trouble.cause.kind.is_about_the_image();
        pod.fact.ready_since.filter(|_| counts).map(|at| by_server(at, clock).max(pod.fact.created_at))
    }

    /// Since when a pod is in trouble, by the API server's clock.
    fn in_trouble_since(&self, pod: &PodEntry, trouble: &PodTrouble, clock: Option<i64>) -> Timestamp {
        let known = self.view.server_time(self.troubled_since(pod, trouble, clock));
        Self::unready_since(pod, trouble, clock).map_or(known, |unready| unready.min(known))
    }

    /// Since when the pod's containers restart. In a crash loop they run in between, and the trouble of the pod begins anew each time.
    fn restarts_since(&self, pod: &PodEntry, clock: Option<i64>) -> Option<Timestamp> {
        let (observed, said) = pod.restarts.began()?;
        let said = said.map(|at| by_server(at, clock));
        let seen = self.server_now - observed.elapsed(said, self.question.now, self.server_now);
        // An observer who has just begun to look saw only the last restart.
        let told = self.view.backs_off_since(&pod.fact).map(|at| by_server(at, clock).max(pod.fact.created_at));
        Some(told.map_or(seen, |told| told.min(seen)))
    }

    /// Since when the target is the target, as far as known: since its revision was made or since the rollout to it began, whichever is
    /// later. A revision that is rolled back to was made long before.
    fn target_since(&self) -> Option<Timestamp> {
        let target = self.question.inputs.target.as_ref()?;
        let made = self.view.revision(target).map(|revision| revision.created_at);
        let inputs = self.question.inputs;
        let began = inputs.began.or(inputs.started_at);
        made.max(began)
    }

    pub(super) fn since(&self, state: NodeState, entry: &NodeEntry, pods: &OnNode<'_>) -> Option<Timestamp> {
        let (live, fact) = (pods.live, entry.fact.as_ref());
        if let (NodeState::Creating | NodeState::Failed, None, Some(missing_since)) = (state, live, entry.missing_since)
        {
            return Some(self.view.server_time(missing_since));
        }
        let clock = fact.and_then(|fact| fact.clock_skew_millis);
        match state {
            // Unknown is written by the node lifecycle controller, whose clock is taken to be the API server's.
            NodeState::NodeDown => fact.and_then(|fact| match fact.ready {
                ConditionStatus::False => Some(by_server(fact.ready_since?, clock)),
                ConditionStatus::True | ConditionStatus::Unknown => fact.ready_since,
            }),
            NodeState::Terminating => pods.going.and_then(|pod| {
                let grace = Duration::from_secs(pod.fact.deletion_grace_secs.unwrap_or(0).into());
                Some(pod.fact.deletion_at? - grace)
            }),
            NodeState::Failed | NodeState::Starting if live.is_some_and(restarts_without_ready) => {
                live.map(|pod| pod.fact.created_at)
            }
            NodeState::Failed | NodeState::PullFailed => live.map(|pod| {
                let since = |trouble: &PodTrouble| self.in_trouble_since(pod, trouble, clock);
                let since = pod.trouble.as_deref().map_or(pod.fact.created_at, since);
                let began = self.restarts_since(pod, clock).filter(|_| state == NodeState::Failed);
                began.map_or(since, |began| began.min(since))
            }),
            NodeState::Pulling => {
                let since = |pod: &PodEntry| Some(by_server(self.view.pulling_since(&pod.fact)?, clock));
                live.map(|pod| since(pod).unwrap_or(pod.fact.created_at))
            }
            NodeState::Creating | NodeState::Unknown => live.map(|pod| pod.fact.created_at),
            NodeState::Starting => live.map(|pod| {
                let run = |container: &ContainerFact| match container.state {
                    ContainerState::Running { since } => since.map(|at| by_server(at, clock)),
                    ContainerState::Waiting { .. } | ContainerState::Terminated { .. } => None,
                };
                let in_trouble = pod.trouble.as_ref().is_some_and(|trouble| !trouble.cause.kind.is_ordinary_at_start());
                // The age of the trouble must not become younger when the pod fails because of it.
                let began = self.restarts_since(pod, clock).filter(|_| in_trouble);
                // If the pod was Ready before, it counts from when it ceased to be, however long its containers run.
                let lost = pod.served.as_ref().and(pod.fact.ready_since).map(|at| by_server(at, clock));
                let runs = || pod.fact.containers.iter().filter_map(run).max();
                began.or(lost).or_else(runs).unwrap_or(pod.fact.created_at)
            }),
            NodeState::Updated => live.map(|pod| serves_since(pod, clock).max(node_ready_since(fact, clock))),
            NodeState::Soaking | NodeState::Ineligible => live.map(|pod| serves_since(pod, clock)),
            NodeState::Outdated => live.map(|pod| match pod.trouble.as_deref() {
                // The node shows the pod's trouble, which another target does not end.
                Some(trouble) if !pod.fact.ready => self.in_trouble_since(pod, trouble, clock),
                // A pod that has served for long is outdated only since there is another target.
                _ => {
                    let serves = serves_since(pod, clock).max(node_ready_since(fact, clock));
                    serves.max(self.target_since().unwrap_or_default())
                }
            }),
        }
    }
}

/// Since when a node is Ready, by the API server's clock. Its pods stay Ready while its kubelet says that the node is not, so that they do not tell when that was over.
fn node_ready_since(fact: Option<&NodeFact>, clock: Option<i64>) -> Timestamp {
    let ready = fact.filter(|fact| fact.ready == ConditionStatus::True);
    ready.and_then(|fact| fact.ready_since).map(|at| by_server(at, clock)).unwrap_or_default()
}

/// Whether the pod has been in trouble since it was made: its containers restart, and it was never Ready. Its containers run between two
/// crashes, and each crash begins a new trouble, so that the state would get younger with every crash.
fn restarts_without_ready(pod: &PodEntry) -> bool {
    let restarts = pod.fact.containers.iter().any(|container| container.restarts > 0);
    let about_image = pod.trouble.as_ref().is_some_and(|trouble| trouble.cause.kind.is_about_the_image());
    restarts && !about_image && !pod.fact.ready && pod.served.is_none()
}

/// When the Ready condition of a pod last changed; when the pod was made, if that is not known.
fn serves_since(pod: &PodEntry, clock: Option<i64>) -> Timestamp {
    pod.fact.ready_since.map_or(pod.fact.created_at, |at| by_server(at, clock))
}
