//! How far a starting pod is, by its status alone.
//!
//! A kubelet pulls an image when it comes to the container, after volumes and sandbox; it creates the container a moment after the image
//! is there (docs/kubernetes.md, *Image pulls*). So a container that it has come to, and that has no image, waits for its image.

use super::pulls::waits_for_image;
use super::sidecars::holds_up_others;
use crate::engine::model::facts::{ContainerFact, ContainerState};
use crate::engine::model::starting_pod::{StartingPodFact, StartingPodState};
use crate::engine::model::template::ContainerRole;

/// What a kubelet says of a container that it has not started, in a pod without init containers.
const CREATING: &str = "ContainerCreating";
/// The same in a pod with init containers, even after they are done.
const INITIALIZING: &str = "PodInitializing";

/// The progress of the pod.
pub fn starting_pod_state(pod: &StartingPodFact) -> StartingPodState {
    if pod.containers.iter().any(|container| waits_for_image(container).is_some()) {
        return StartingPodState::PullFailed;
    }
    match (waits_for_its_start(&pod.containers), pod.sandbox_ready) {
        (true, Some(true)) => StartingPodState::Pulling,
        // Kubelets before 1.36 report the sandbox together with the end of the first pull.
        (true, Some(false) | None) => StartingPodState::PullingOrPreparing,
        (false, _) => StartingPodState::Preparing,
    }
}

/// Whether the kubelet has come to a container that has no image yet.
fn waits_for_its_start(containers: &[ContainerFact]) -> bool {
    let unstarted = |container: &ContainerFact| match &container.state {
        ContainerState::Waiting { reason, .. } => {
            !container.image_present && matches!(&**reason, CREATING | INITIALIZING)
        }
        ContainerState::Running { .. } | ContainerState::Terminated { .. } => false,
    };
    let current = containers.iter().find(|container| match container.role {
        ContainerRole::Init => !matches!(container.state, ContainerState::Terminated { exit_code: 0, .. }),
        ContainerRole::Sidecar => holds_up_others(container, containers),
        ContainerRole::Main => false,
    });
    match current {
        Some(init) => unstarted(init),
        None => containers.iter().any(|container| container.role == ContainerRole::Main && unstarted(container)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(role: ContainerRole, state: ContainerState, image_present: bool, ready: bool) -> ContainerFact {
        ContainerFact { role, image_present, ready, ..ContainerFact::in_state(state) }
    }

    fn waiting(role: ContainerRole, reason: &str) -> ContainerFact {
        container(role, ContainerState::Waiting { reason: reason.into(), message: None }, false, false)
    }

    fn init_ran(exit_code: i32) -> ContainerFact {
        let state = ContainerState::Terminated { reason: "Completed".into(), exit_code, message: None };
        container(ContainerRole::Init, state, true, exit_code == 0)
    }

    fn init_runs() -> ContainerFact {
        container(ContainerRole::Init, ContainerState::Running { since: None }, true, false)
    }

    /// A sidecar that runs and is not ready.
    fn sidecar_runs(started: bool) -> ContainerFact {
        ContainerFact { role: ContainerRole::Sidecar, started, ..init_runs() }
    }

    #[test]
    fn a_pull_is_told_by_the_container_that_the_kubelet_has_come_to() {
        use ContainerRole::{Init, Main, Sidecar};
        use StartingPodState::{Preparing, PullFailed, Pulling, PullingOrPreparing};
        let state = |containers: &[ContainerFact], sandbox_ready: Option<bool>| {
            let (uid, daemonset) = ("pod".into(), "daemonset".into());
            starting_pod_state(&StartingPodFact { uid, daemonset, sandbox_ready, containers: containers.to_vec() })
        };
        let main = || waiting(Main, "ContainerCreating");
        let later = || waiting(Main, "PodInitializing");
        let there =
            container(Main, ContainerState::Waiting { reason: "ContainerCreating".into(), message: None }, true, false);
        for (what, containers, sandbox_ready, want) in [
            ("its image", vec![main()], Some(true), Pulling),
            ("volumes, sandbox, or an old kubelet's pull", vec![main()], Some(false), PullingOrPreparing),
            ("an older kubelet", vec![main()], None, PullingOrPreparing),
            ("nothing reported", vec![], Some(true), Preparing),
            ("back-off", vec![waiting(Main, "ImagePullBackOff")], Some(true), PullFailed),
            ("an old kubelet's failure", vec![waiting(Main, "ErrImagePull")], None, PullFailed),
            ("a crash", vec![waiting(Main, "CrashLoopBackOff")], Some(true), Preparing),
            ("missing configuration", vec![waiting(Main, "CreateContainerConfigError")], Some(true), Preparing),
            ("the image is there", vec![there], Some(true), Preparing),
            ("an init image", vec![waiting(Init, "PodInitializing"), later()], Some(true), Pulling),
            ("an init container runs", vec![init_runs(), later()], Some(true), Preparing),
            ("an init container failed", vec![init_ran(1), later()], Some(true), Preparing),
            ("after init", vec![init_ran(0), later()], Some(true), Pulling),
            (
                "behind a running init container",
                vec![init_runs(), waiting(Init, "PodInitializing"), later()],
                Some(true),
                Preparing,
            ),
            ("a sidecar's image", vec![waiting(Sidecar, "PodInitializing"), later()], Some(true), Pulling),
            ("behind a sidecar that has not started", vec![sidecar_runs(false), later()], Some(true), Preparing),
            (
                "beside a sidecar that is not ready",
                vec![sidecar_runs(true), waiting(Init, "PodInitializing"), later()],
                Some(true),
                Pulling,
            ),
            (
                "a second main while a sidecar is down",
                vec![
                    waiting(Sidecar, "CrashLoopBackOff"),
                    container(Main, ContainerState::Running { since: None }, true, true),
                    later(),
                ],
                Some(true),
                Pulling,
            ),
            (
                "one of two mains",
                vec![init_ran(0), container(Main, ContainerState::Running { since: None }, true, true), main()],
                Some(true),
                Pulling,
            ),
        ] {
            assert_eq!(state(&containers, sandbox_ready), want, "{what}");
        }
    }
}
