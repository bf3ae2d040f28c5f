//! Why a pod is not healthy, read from its statuses (docs/kubernetes.md, *Why a pod is not healthy*). The first rule that
//! matches wins.

use std::time::Duration;

use super::recognise::{TextSource, recognise};
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact, PodPhase};
use crate::engine::model::time::Timestamp;

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
    if let (Some(_), Some(reason)) = (&pod.node, &pod.reason)
        && let Some(kind) = recognise(TextSource::PodReason, reason)
    {
        return Some(cause(kind, pod.message.as_deref().map(drop_affinity_clause)));
    }
    pod.containers.iter().find_map(diagnose_container).or_else(|| not_ready(pod))
}

fn diagnose_container(container: &ContainerFact) -> Option<Cause> {
    match &container.state {
        ContainerState::Waiting { reason, message } => {
            let message = || message.clone().or_else(|| Some(reason.clone()));
            let kind = match recognise(TextSource::WaitingReason, reason)? {
                CauseKind::ImagePull => pull_failure(message().as_deref().unwrap_or_default()),
                CauseKind::CrashLoop => end(container.last_end.as_deref().unwrap_or_default()),
                kind => kind,
            };
            Some(cause(kind, message()))
        }
        ContainerState::Terminated { reason, exit_code, message } if *exit_code != 0 => {
            let words = || Some(format!("{reason}, exit code {exit_code}").into());
            Some(cause(end(reason), message.clone().or_else(words)))
        }
        ContainerState::Terminated { .. } | ContainerState::Running { .. } => None,
    }
}

/// What ended a container, by the reason that its runtime gives.
fn end(reason: &str) -> CauseKind {
    recognise(TextSource::EndReason, reason).unwrap_or(CauseKind::CrashLoop)
}

/// Why a pull failed, by the words of runtimes and registries.
fn pull_failure(message: &str) -> CauseKind {
    recognise(TextSource::PullMessage, message).unwrap_or(CauseKind::ImagePull)
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
