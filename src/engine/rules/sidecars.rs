//! Sidecars: init containers that their kubelet restarts for ever (docs/kubernetes.md, *Sidecars*).

use super::node_restarts::ended_with_its_node;
use crate::engine::model::facts::{ContainerFact, ContainerState};
use crate::engine::model::template::ContainerRole;

/// Whether other containers of its pod wait for the start of this sidecar. Once the main containers run it holds up nothing any more, however often it
/// ends.
pub(crate) fn holds_up_others(container: &ContainerFact, of_pod: &[ContainerFact]) -> bool {
    match container.role {
        ContainerRole::Sidecar => !container.started && !of_pod.iter().any(is_main_and_begun),
        ContainerRole::Init | ContainerRole::Main => false,
    }
}

/// Whether it is a main container that was started in the present sandbox of its pod.
fn is_main_and_begun(container: &ContainerFact) -> bool {
    let begun = match &container.state {
        ContainerState::Running { .. } => true,
        ContainerState::Terminated { .. } | ContainerState::Waiting { .. } => {
            let ended = container.last_exit.is_some() || matches!(container.state, ContainerState::Terminated { .. });
            ended && !ended_with_its_node(container)
        }
    };
    container.role == ContainerRole::Main && begun
}
