//! Why a pod is not healthy, read from its statuses (docs/kubernetes.md, *Why a pod is not healthy*). The first rule that
//! matches wins.

use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact, PodPhase};
use crate::engine::model::pull::PullFailure;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::pulls::waits_for_image;

/// How long after `deletionTimestamp` (which includes the grace) a pod is still thought to be on its way out.
const TERMINATION_SLACK: Duration = Duration::from_secs(45);

/// After which instant a pod on its way out counts as stuck.
pub(crate) fn stuck_at(pod: &PodFact) -> Option<Timestamp> {
    pod.deletion_at.map(|deletion_at| deletion_at + TERMINATION_SLACK)
}

/// What is wrong with `pod` as of `now`; `None` when nothing is, or when it is just starting.
pub(crate) fn diagnose(pod: &PodFact, now: Timestamp) -> Option<Cause> {
    if let Some(stuck_at) = stuck_at(pod) {
        let overdue = now > stuck_at;
        return overdue.then(|| cause(CauseKind::StuckTerminating, pod.message.clone()));
    }
    if pod.phase == PodPhase::Failed {
        return Some(cause(CauseKind::Rejected, pod.message.clone().or_else(|| pod.reason.clone())));
    }
    if pod.node.is_some() && pod.reason.as_deref() == Some("Unschedulable") {
        return Some(cause(CauseKind::Unschedulable, pod.message.as_deref().map(drop_affinity_clause)));
    }
    pod.containers.iter().find_map(diagnose_container).or_else(|| not_ready(pod))
}

fn diagnose_container(container: &ContainerFact) -> Option<Cause> {
    if let Some((failure, message)) = waits_for_image(container) {
        return Some(cause(kind_of(failure), Some(message)));
    }
    match &container.state {
        ContainerState::Waiting { reason, message } => {
            let kind = match &**reason {
                "CreateContainerConfigError" => CauseKind::Config,
                "CreateContainerError"
                | "RunContainerError"
                | "PreStartHookError"
                | "PostStartHookError"
                | "PreCreateHookError" => CauseKind::ContainerStart,
                "CrashLoopBackOff" => crash(container),
                _ => return None,
            };
            Some(cause(kind, message.clone().or_else(|| Some(reason.clone()))))
        }
        ContainerState::Terminated { reason, exit_code, message } if *exit_code != 0 => {
            let kind = match &**reason {
                "OOMKilled" => CauseKind::OutOfMemory,
                "StartError" | "ContainerCannotRun" => CauseKind::ContainerStart,
                _ => CauseKind::CrashLoop,
            };
            let words = || Some(format!("{reason}, exit code {exit_code}").into());
            Some(cause(kind, message.clone().or_else(words)))
        }
        ContainerState::Terminated { .. } | ContainerState::Running { .. } => None,
    }
}

fn crash(container: &ContainerFact) -> CauseKind {
    match container.last_end.as_deref() {
        Some("OOMKilled") => CauseKind::OutOfMemory,
        Some("StartError" | "ContainerCannotRun") => CauseKind::ContainerStart,
        _ => CauseKind::CrashLoop,
    }
}

fn not_ready(pod: &PodFact) -> Option<Cause> {
    let running = !pod.containers.is_empty()
        && pod.containers.iter().any(|container| matches!(container.state, ContainerState::Running { .. }));
    (running && !pod.ready && pod.phase == PodPhase::Running).then(|| {
        let names: Vec<&str> =
            pod.containers.iter().filter(|container| !container.ready).map(|container| &*container.name).collect();
        cause(CauseKind::NotReady, Some(format!("containers with unready status: {}", names.join(", ")).into()))
    })
}

/// The kind of trouble that a pod is in whose image cannot be pulled for this reason.
fn kind_of(failure: PullFailure) -> CauseKind {
    match failure {
        PullFailure::NotFound => CauseKind::ImageNotFound,
        PullFailure::Unauthorized => CauseKind::ImageDenied,
        PullFailure::RateLimited => CauseKind::ImageRateLimited,
        PullFailure::Platform => CauseKind::ImagePlatform,
        PullFailure::InvalidName => CauseKind::ImageName,
        PullFailure::NeverPulled => CauseKind::ImageNeverPull,
        PullFailure::Network | PullFailure::Disk | PullFailure::Other => CauseKind::ImagePull,
    }
}

/// The scheduler's message without the clause that every DaemonSet pod gets for all the nodes it is not meant for.
fn drop_affinity_clause(message: &str) -> Str {
    let kept: Vec<&str> =
        message.split(", ").filter(|clause| !clause.contains("didn't match Pod's node affinity/selector")).collect();
    kept.join(", ").into()
}

fn cause(kind: CauseKind, message: Option<Str>) -> Cause {
    Cause { kind, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::template::ContainerRole;

    fn waiting(reason: &str, message: &str) -> PodFact {
        let state = ContainerState::Waiting { reason: reason.into(), message: Some(message.into()) };
        PodFact { containers: vec![container(state)], ..PodFact::default() }
    }

    fn container(state: ContainerState) -> ContainerFact {
        ContainerFact {
            name: "agent".into(),
            role: ContainerRole::Main,
            image_present: false,
            state,
            last_end: None,
            last_exit: None,
            restarts: 0,
            ready: false,
        }
    }

    #[test]
    fn names_the_trouble_as_an_operator_would() {
        for (reason, message, want) in [
            (
                "ErrImagePull",
                "rpc error: code = NotFound desc = failed to pull and unpack image \"a:v2\": not found",
                CauseKind::ImageNotFound,
            ),
            (
                "ImagePullBackOff",
                "Back-off pulling image \"a:v2\": ErrImagePull: manifest unknown",
                CauseKind::ImageNotFound,
            ),
            (
                "ErrImagePull",
                "pull access denied, repository does not exist or may require authorization",
                CauseKind::ImageDenied,
            ),
            ("ErrImagePull", "dial tcp: i/o timeout", CauseKind::ImagePull),
            ("ErrImagePull", "429 Too Many Requests", CauseKind::ImageRateLimited),
            ("ErrImagePull", "no match for platform in manifest: not found", CauseKind::ImagePlatform),
            ("CreateContainerConfigError", "secret \"x\" not found", CauseKind::Config),
            ("CrashLoopBackOff", "back-off 10s", CauseKind::CrashLoop),
        ] {
            let found = diagnose(&waiting(reason, message), Timestamp::default()).map(|cause| cause.kind);
            assert_eq!(found, Some(want), "{reason}: {message}");
        }
        assert_eq!(diagnose(&waiting("ContainerCreating", ""), Timestamp::default()), None);
    }

    #[test]
    fn a_pod_is_stuck_only_past_its_grace() {
        let at = Timestamp::from_millis(1_000_000);
        let pod = PodFact { deletion_at: Some(at), ..PodFact::default() };
        assert_eq!(diagnose(&pod, at + Duration::from_secs(10)), None);
        let overdue = diagnose(&pod, at + Duration::from_secs(60)).map(|cause| cause.kind);
        assert_eq!(overdue, Some(CauseKind::StuckTerminating));
    }

    #[test]
    fn the_scheduler_is_quoted_without_its_noise() {
        let pod = PodFact {
            node: Some("ipc-1".into()),
            reason: Some("Unschedulable".into()),
            message: Some(
                "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector."
                    .into(),
            ),
            ..PodFact::default()
        };
        let cause = diagnose(&pod, Timestamp::default()).unwrap();
        assert_eq!(cause.message.as_deref(), Some("0/3 nodes are available: 1 Insufficient cpu"));
    }
}
