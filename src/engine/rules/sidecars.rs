//! Sidecars: init containers that their kubelet restarts for ever (docs/kubernetes.md, *Sidecars*).

use super::node_restarts::ended_with_its_node;
use crate::engine::model::facts::{ContainerFact, ContainerState};
use crate::engine::model::template::ContainerRole;

/// Whether the containers after this sidecar wait for its start. Once an init container after it was begun, or while a main container runs, its kubelet lets
/// nothing wait for it, however often it ends.
pub(crate) fn holds_up_others(container: &ContainerFact, of_pod: &[ContainerFact]) -> bool {
    match container.role {
        ContainerRole::Sidecar => !container.started && !goes_on_without(container, of_pod),
        ContainerRole::Init | ContainerRole::Main => false,
    }
}

fn goes_on_without(sidecar: &ContainerFact, of_pod: &[ContainerFact]) -> bool {
    let after = of_pod.iter().skip_while(|container| container.name != sidecar.name).skip(1);
    // Before its first start in a new sandbox, the ends of the containers after it are those of the old one.
    let new_sandbox = ended_with_its_node(sidecar);
    after.into_iter().any(|container| match (container.role, &container.state) {
        (_, ContainerState::Running { .. }) => true,
        (ContainerRole::Init | ContainerRole::Sidecar, ContainerState::Terminated { .. }) => !new_sandbox,
        (ContainerRole::Init | ContainerRole::Sidecar, ContainerState::Waiting { .. }) => {
            container.last_exit.is_some() && !new_sandbox
        }
        // Its kubelet starts it again only after the init containers.
        (ContainerRole::Main, ContainerState::Terminated { .. } | ContainerState::Waiting { .. }) => false,
    })
}
