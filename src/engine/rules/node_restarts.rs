//! What a restart of a node does to the containers of its pods (docs/kubernetes.md, *What a restart of a node does to its pods*).
//!
//! The pods stay, each gets a new sandbox, and all of their containers are started again: the init containers that were through first. Kubelets count each as a
//! restart, although no container ended by itself.

use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact};
use crate::engine::model::template::ContainerRole;

/// Whether a container that ended for this reason was ended by a restart of its node, or of the node's container runtime: that finds it gone, and
/// does not know how it ended.
pub(crate) fn is_end_with_the_node(reason: &str) -> bool {
    matches!(reason, "Unknown" | "ContainerStatusUnknown")
}

/// Whether it ended last because its node, or the container runtime of its node, was restarted.
pub(crate) fn ended_with_its_node(container: &ContainerFact) -> bool {
    match &container.state {
        ContainerState::Terminated { reason, .. } => is_end_with_the_node(reason),
        ContainerState::Waiting { .. } | ContainerState::Running { .. } => {
            container.last_end.as_deref().is_some_and(is_end_with_the_node)
        }
    }
}

/// The containers of a pod that did not end with its node last, and are not run again because of that.
pub(crate) fn ended_by_themselves(fact: &PodFact) -> impl Iterator<Item = &ContainerFact> {
    fact.containers.iter().filter(|container| !ended_with_its_node(container) && !is_run_again(container, fact))
}

/// Whether each container of the pod that was started again ended with its node last.
pub(crate) fn restarted_with_its_node(fact: &PodFact) -> bool {
    ended_by_themselves(fact).all(|container| container.restarts == 0)
}

/// Whether an init container that was through is run again, or was, because the pod got a new sandbox: the main containers are started only after it. A
/// sidecar is never through: it is started again after each end.
pub(crate) fn is_run_again(container: &ContainerFact, fact: &PodFact) -> bool {
    let is_through = matches!(container.state, ContainerState::Terminated { exit_code: 0, .. });
    container.role == ContainerRole::Init && container.last_exit == Some(0) && (is_through || !main_runs(fact))
}

fn main_runs(fact: &PodFact) -> bool {
    let runs = |container: &ContainerFact| matches!(container.state, ContainerState::Running { .. });
    fact.containers.iter().any(|container| container.role == ContainerRole::Main && runs(container))
}
