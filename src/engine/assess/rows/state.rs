//! The state of a node, derived from its pods and from the judgements on them.

use super::Assessor;
use super::pods_on_node::OnNode;
use crate::engine::model::event::Watched;
use crate::engine::model::facts::{ContainerFact, ContainerState};
use crate::engine::model::node::NodeState;
use crate::engine::rules::diagnose::diagnose_container;
use crate::engine::rules::pulls::images_present;
use crate::engine::view::PodEntry;

impl Assessor<'_> {
    pub(super) fn state(
        &self,
        in_fleet: bool,
        down: bool,
        at_target: bool,
        available: bool,
        failed: bool,
        pods: &OnNode<'_>,
    ) -> NodeState {
        match pods.live {
            _ if !in_fleet => NodeState::Ineligible,
            _ if down => NodeState::NodeDown,
            Some(_) if pods.being_deleted && !(at_target && failed) => NodeState::Terminating,
            None if pods.going.is_some() => NodeState::Terminating,
            None if self.view.is_forbidden(Watched::Pods) => NodeState::Unknown,
            None => NodeState::Creating,
            Some(_) if !at_target => NodeState::Outdated,
            Some(_) if failed => NodeState::Failed,
            Some(_) if available => NodeState::Updated,
            Some(pod) if pod.fact.ready => NodeState::Soaking,
            Some(pod) => self.starting_state(pod),
        }
    }

    fn starting_state(&self, pod: &PodEntry) -> NodeState {
        let image_trouble = pod.trouble.as_ref().is_some_and(|trouble| trouble.cause.kind.is_about_the_image());
        let pulling = self.view.pulling_since(&pod.fact).is_some() && !images_present(&pod.fact);
        // If the kubelet does not report the failed pull any more, it pulls again, even if no Event tells so.
        let says_so = |container: &ContainerFact| {
            diagnose_container(container, &pod.fact.containers).is_some_and(|cause| cause.kind.is_about_the_image())
        };
        if image_trouble && !pulling && pod.fact.containers.iter().any(says_so) {
            return NodeState::PullFailed;
        }
        if pulling || image_trouble {
            return NodeState::Pulling;
        }
        let begun = pod.fact.containers.iter().any(|container| {
            container.image_present
                || !matches!(container.state, ContainerState::Waiting { .. })
                || container.restarts > 0
        });
        // Events show a pull before the status of the container does.
        if begun || self.view.has_told_of_a_pull(&pod.fact.uid) { NodeState::Starting } else { NodeState::Creating }
    }
}

/// Whether the pod of a node in this state was ready, and is not any more.
pub(crate) fn lost_readiness(state: NodeState, pod: Option<&PodEntry>) -> bool {
    state == NodeState::Starting && pod.is_some_and(|pod| pod.served.is_some())
}
