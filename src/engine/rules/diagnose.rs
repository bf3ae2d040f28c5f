//! Why a pod is not healthy, read from its statuses (docs/kubernetes.md, *Why a pod is not healthy*). The first rule that
//! matches wins.

use std::time::Duration;

use super::node_restarts::{ended_by_themselves, is_end_with_the_node};
use super::pulls::waits_by;
use super::recognise::{TextSource, recognise};
use super::sidecars::holds_up_others;
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact, PodPhase};
use crate::engine::model::inspection::EndedRun;
use crate::engine::model::pod_wait::Finalizers;
use crate::engine::model::settings::Secs;
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;

/// How long after `deletionTimestamp` (which includes the grace) a pod is still thought to be on its way out.
const TERMINATION_SLACK: Duration = Duration::from_secs(45);

/// The instant after which a pod on its way out counts as stuck.
pub(crate) fn stuck_at(pod: &PodFact) -> Option<Timestamp> {
    pod.deletion_at.map(|deletion_at| deletion_at + TERMINATION_SLACK)
}

/// A running scheduler looks at a new pod within this time, and binds it or says why not.
const SCHEDULED_WITHIN: Duration = Duration::from_secs(30);

/// The instant after which a pod counts as ignored by its scheduler: it is not bound, and no condition says why.
pub(crate) fn unscheduled_at(pod: &PodFact) -> Option<Timestamp> {
    let waits = pod.phase == PodPhase::Pending && !pod.bound && pod.deletion_at.is_none();
    (waits && pod.node.is_some() && pod.reason.is_none() && pod.containers.is_empty())
        .then(|| pod.created_at + SCHEDULED_WITHIN)
}

/// The cause of the trouble of `pod` as of `now`; `None` when it is well or just starting.
pub(crate) fn diagnose(pod: &PodFact, now: Timestamp) -> Option<Cause> {
    if let Some(stuck_at) = stuck_at(pod) {
        let overdue = now > stuck_at;
        return overdue.then(|| match pod.is_held_by_finalizers() {
            true => cause(CauseKind::HeldByFinalizers, Some(Finalizers(&pod.finalizers).to_string().into())),
            false => cause(CauseKind::StuckTerminating, pod.message.clone().or_else(|| Some(not_ended(pod)))),
        });
    }
    if pod.phase == PodPhase::Failed {
        let (reason, said) = (pod.reason.as_deref().unwrap_or_default(), pod.message.as_deref().unwrap_or_default());
        let kind = recognise(TextSource::EndedPod, reason, said).unwrap_or(CauseKind::Rejected);
        // Kubelets end their sentences with a space.
        let said = pod.message.as_deref().map(|message| Str::from(message.trim_end()));
        return Some(cause(kind, said.or_else(|| pod.reason.clone())));
    }
    if let (Some(_), Some(reason)) = (&pod.node, &pod.reason)
        && let Some(kind) = recognise(TextSource::Pod, reason, pod.message.as_deref().unwrap_or_default())
    {
        return Some(cause(kind, pod.message.as_deref().map(drop_affinity_clause)));
    }
    if unscheduled_at(pod).is_some_and(|at| now > at) {
        return Some(cause(CauseKind::SchedulerIdle, None));
    }
    let of_container = |container: &ContainerFact| diagnose_container(container, &pod.containers);
    pod.containers.iter().find_map(of_container).or_else(|| not_ready(pod))
}

/// The obstacle to the start of `pod` as its kubelet told it in an Event, while its statuses are silent on it. Kubelets write *FailedMount* for
/// running pods as well: there it is no cause.
pub(crate) fn diagnose_start(pod: &PodFact, told: &Cause) -> Option<Cause> {
    let has_begun = |container: &ContainerFact| {
        let waits = matches!(container.state, ContainerState::Waiting { .. });
        !waits || container.image_present || container.restarts > 0 || container.last_exit.is_some()
    };
    let starts = pod.bound && pod.deletion_at.is_none() && pod.phase == PodPhase::Pending;
    (starts && !pod.containers.iter().any(has_begun)).then(|| told.clone())
}

/// The cause of the trouble of one of the containers of a pod.
pub(crate) fn diagnose_container(container: &ContainerFact, of_pod: &[ContainerFact]) -> Option<Cause> {
    let (kind, message) = match &container.state {
        ContainerState::Waiting { reason, message } => {
            let message = message.clone().or_else(|| Some(reason.clone()));
            let kind = match waits_by(reason, message.as_deref().unwrap_or_default())? {
                CauseKind::CrashLoop => end(container, container.last_end.as_deref().unwrap_or_default()),
                kind => kind,
            };
            (kind, message)
        }
        // It is started again once its node is up.
        ContainerState::Terminated { reason, .. } if is_end_with_the_node(reason) => return None,
        ContainerState::Terminated { reason, exit_code, message } if *exit_code != 0 => {
            let words = || Some(format!("{reason}, exit code {exit_code}").into());
            (end(container, reason), message.clone().or_else(words))
        }
        ContainerState::Terminated { .. } | ContainerState::Running { .. } => return None,
    };
    let message = match (container.role, kind) {
        (ContainerRole::Init, CauseKind::InitFailure) => how_it_ended(container, of_pod),
        (ContainerRole::Sidecar, CauseKind::CrashLoop | CauseKind::OutOfMemory) => how_it_ended(container, of_pod),
        (ContainerRole::Init | ContainerRole::Sidecar | ContainerRole::Main, _) => message,
    };
    Some(Cause { kind, container: Some(container.name.clone()), message })
}

/// How an init container or a sidecar ended, with its kubelet's message: `setup ended with exit 137 (SIGKILL), 4 restarts: back-off 40s …`. Of a sidecar
/// that has not started the words say that other containers wait for it.
fn how_it_ended(container: &ContainerFact, of_pod: &[ContainerFact]) -> Option<Str> {
    let (reason, exit_code, said) = match &container.state {
        ContainerState::Terminated { reason, exit_code, message } => (Some(reason), Some(*exit_code), message.as_ref()),
        ContainerState::Waiting { message, .. } => (container.last_end.as_ref(), container.last_exit, message.as_ref()),
        ContainerState::Running { .. } => return None,
    };
    let mut words = match container.role {
        ContainerRole::Sidecar => format!("sidecar {}", container.name),
        ContainerRole::Init | ContainerRole::Main => container.name.to_string(),
    };
    match exit_code {
        Some(exit_code) => {
            let run = EndedRun { reason: reason.cloned().unwrap_or_default(), exit_code, ..EndedRun::default() };
            words.push_str(&format!(" ended with {run}"));
        }
        None => words.push_str(" keeps ending"),
    }
    match container.restarts {
        0 => {}
        1 => words.push_str(", 1 restart"),
        times => words.push_str(&format!(", {times} restarts")),
    }
    if holds_up_others(container, of_pod) {
        words.push_str(", the containers after it wait for its start");
    }
    if let Some(said) = said {
        words.push_str(&format!(": {said}"));
    }
    Some(words.into())
}

/// The cause of a container's end, by the reason that its runtime gives.
fn end(container: &ContainerFact, reason: &str) -> CauseKind {
    recognise(TextSource::EndReason, reason, "").unwrap_or(match container.role {
        ContainerRole::Init => CauseKind::InitFailure,
        ContainerRole::Sidecar | ContainerRole::Main => CauseKind::CrashLoop,
    })
}

/// Why the containers of this pod restart, by how the one that ended last ended; `None` where none restarts. An init container that is through
/// does not restart any more, and one that ended with its node says nothing.
pub(crate) fn why_it_restarts(pod: &PodFact) -> Option<CauseKind> {
    let is_through = |container: &ContainerFact| {
        container.role == ContainerRole::Init
            && matches!(container.state, ContainerState::Terminated { exit_code: 0, .. })
    };
    let restarts = ended_by_themselves(pod).filter(|container| container.restarts > 0 && !is_through(container));
    let container = restarts.max_by_key(|container| container.last_exit.is_some_and(|exit| exit != 0))?;
    Some(end(container, container.last_end.as_deref().unwrap_or_default()))
}

/// Of a pod that its kubelet has not ended.
fn not_ended(pod: &PodFact) -> Str {
    let grace = Secs(pod.deletion_grace_secs.unwrap_or(0));
    format!("its kubelet has not ended it within its grace of {grace}").into()
}

fn not_ready(pod: &PodFact) -> Option<Cause> {
    let running = !pod.containers.is_empty()
        && pod.containers.iter().any(|container| matches!(container.state, ContainerState::Running { .. }));
    (running && !pod.ready && pod.phase == PodPhase::Running).then(|| {
        let names: Vec<&str> =
            pod.containers.iter().filter(|container| !container.ready).map(|container| &*container.name).collect();
        // If its node is not Ready, neither is the pod, whatever state its containers had last.
        let message =
            (!names.is_empty()).then(|| format!("containers with unready status: {}", names.join(", ")).into());
        cause(CauseKind::NotReady, message)
    })
}

/// How schedulers tell of the nodes that a pod is not meant for: older ones and newer ones.
const NOT_MEANT_FOR: [&str; 2] =
    ["didn't match Pod's node affinity/selector", "didn't satisfy plugin(s) [NodeAffinity]"];

/// The scheduler's message without the clause that every DaemonSet pod gets for all the nodes it is not meant for.
fn drop_affinity_clause(message: &str) -> Str {
    let is_noise = |clause: &&str| NOT_MEANT_FOR.iter().any(|words| clause.contains(words));
    let kept: Vec<&str> = message.split(", ").filter(|clause| !is_noise(clause)).collect();
    kept.join(", ").into()
}

fn cause(kind: CauseKind, message: Option<Str>) -> Cause {
    Cause { kind, container: None, message }
}

#[cfg(test)]
mod tests {
    use super::super::recognise::all_words;
    use super::*;
    use crate::engine::model::facts::READINESS_GATES;
    use crate::engine::model::template::ContainerRole;

    fn waiting(reason: &str, message: &str) -> PodFact {
        let state = ContainerState::Waiting { reason: reason.into(), message: Some(message.into()) };
        PodFact { containers: vec![container(state)], ..PodFact::default() }
    }

    fn container(state: ContainerState) -> ContainerFact {
        ContainerFact::in_state(state)
    }

    /// A source of words that nobody asks would recognise nothing.
    #[test]
    fn whatever_is_recognised_of_a_pod_is_what_is_wrong_with_it() {
        for words in all_words() {
            let Some(pod) = words.source.pod_that_says(words.reason, words.message) else { continue };
            let found = diagnose(&pod, Timestamp::default()).map(|cause| cause.kind);
            assert_eq!(found, Some(words.cause), "{words:?}");
            let ended = pod.phase == PodPhase::Failed;
            assert_eq!(
                words.cause.is_told_by_ended_pod(),
                ended,
                "{words:?}: its `ToldBy` and its source contradict each other"
            );
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
            ("ErrImagePull", "dial tcp: i/o timeout", CauseKind::ImageNetwork),
            ("ErrImagePull", "write /var/lib/containerd/7: no space left on device", CauseKind::ImageDisk),
            ("ErrImagePull", "unpigz: corrupted", CauseKind::ImagePull),
            ("RegistryUnavailable", "image pull failed for r.example/agent:v2", CauseKind::ImageNetwork),
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
    fn a_readiness_gate_is_named_where_all_containers_are_ready() {
        let says = "corresponding condition of pod readiness gate \"example.com/serves\" does not exist.";
        let runs = || ContainerFact { ready: true, ..container(ContainerState::Running { since: None }) };
        let ready = PodFact {
            node: Some("n1".into()),
            phase: PodPhase::Running,
            containers: vec![runs()],
            ..PodFact::default()
        };
        let gated = PodFact { reason: Some(READINESS_GATES.into()), message: Some(says.into()), ..ready.clone() };
        let found = |pod: &PodFact| diagnose(pod, Timestamp::default()).map(|cause| (cause.kind, cause.message));
        assert_eq!(found(&gated), Some((CauseKind::ReadinessGate, Some(says.into()))));
        assert_eq!(found(&ready), Some((CauseKind::NotReady, None)));
    }

    #[test]
    fn an_init_container_that_fails_is_named_with_how_it_ended() {
        let state = |reason: &str, message: Option<&str>| ContainerState::Waiting {
            reason: reason.into(),
            message: message.map(Into::into),
        };
        let ended = |exit_code: i32, reason: &str, message: Option<&str>| ContainerState::Terminated {
            reason: reason.into(),
            exit_code,
            message: message.map(Into::into),
        };
        let back_off = || state("CrashLoopBackOff", Some("back-off 40s"));
        for (state, last, restarts, kind, words) in [
            (
                back_off(),
                Some((1, "Error")),
                4,
                CauseKind::InitFailure,
                "setup ended with exit 1, 4 restarts: back-off 40s",
            ),
            (
                back_off(),
                Some((139, "Error")),
                1,
                CauseKind::InitFailure,
                "setup ended with exit 139 (SIGSEGV), 1 restart: back-off 40s",
            ),
            (back_off(), None, 0, CauseKind::InitFailure, "setup keeps ending: back-off 40s"),
            (ended(3, "Error", None), None, 0, CauseKind::InitFailure, "setup ended with exit 3"),
            (
                ended(3, "Error", Some("no config")),
                None,
                0,
                CauseKind::InitFailure,
                "setup ended with exit 3: no config",
            ),
            (back_off(), Some((137, "OOMKilled")), 2, CauseKind::OutOfMemory, "back-off 40s"),
            (state("ErrImagePull", Some("manifest unknown")), None, 0, CauseKind::ImageNotFound, "manifest unknown"),
        ] {
            let init = ContainerFact {
                name: "setup".into(),
                role: ContainerRole::Init,
                last_exit: last.map(|(exit, _)| exit),
                last_end: last.map(|(_, reason)| reason.into()),
                restarts,
                ..container(state)
            };
            let main = container(ContainerState::Waiting { reason: "PodInitializing".into(), message: None });
            let pod = PodFact { containers: vec![init, main], ..PodFact::default() };
            let cause = diagnose(&pod, Timestamp::default()).unwrap();
            assert_eq!((cause.kind, cause.message.as_deref()), (kind, Some(words)));
            assert_eq!(cause.container.as_deref(), Some("setup"));
        }
    }

    #[test]
    fn what_a_kubelet_told_counts_until_the_pod_begins() {
        let told = Cause { kind: CauseKind::PodSandbox, container: None, message: Some("no IP addresses".into()) };
        let starts = PodFact { bound: true, ..waiting("ContainerCreating", "") };
        let counts = |pod: &PodFact| diagnose_start(pod, &told) == Some(told.clone());
        assert!(counts(&starts) && counts(&PodFact { containers: Vec::new(), ..starts.clone() }));
        let begun = |change: fn(&mut ContainerFact)| {
            let mut pod = starts.clone();
            change(&mut pod.containers[0]);
            pod
        };
        assert!(!counts(&begun(|container| container.image_present = true)));
        assert!(!counts(&begun(|container| container.restarts = 1)));
        assert!(!counts(&begun(|container| container.last_exit = Some(0))));
        assert!(!counts(&begun(|container| container.state = ContainerState::Running { since: None })));
        assert!(!counts(&PodFact { bound: false, ..starts.clone() }));
        assert!(!counts(&PodFact { phase: PodPhase::Running, ..starts.clone() }));
        assert!(!counts(&PodFact { deletion_at: Some(Timestamp::default()), ..starts }));
    }

    #[test]
    fn finalizers_are_named_once_nothing_else_keeps_the_pod() {
        let at = Timestamp::from_millis(1_000_000);
        let later = at + Duration::from_secs(60);
        let finalizers: std::sync::Arc<[Str]> = ["example.com/a".into(), "example.com/b".into()].into();
        let held = PodFact { deletion_at: Some(at), finalizers, deletion_grace_secs: Some(30), ..PodFact::default() };
        let cause = |pod: &PodFact| diagnose(pod, later).unwrap();
        assert_eq!(cause(&held).kind, CauseKind::StuckTerminating, "its kubelet has not ended it");
        let ended = container(ContainerState::Terminated { reason: "Error".into(), exit_code: 143, message: None });
        for over in
            [PodFact { deletion_grace_secs: Some(0), ..held.clone() }, PodFact { containers: vec![ended], ..held }]
        {
            let found = cause(&over);
            assert_eq!(found.kind, CauseKind::HeldByFinalizers);
            assert_eq!(found.message.as_deref(), Some("finalizers example.com/a, example.com/b"));
            assert_eq!(diagnose(&over, at + Duration::from_secs(9)), None, "controllers take them off by themselves");
        }
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
    fn a_pod_that_is_not_bound_and_of_which_nothing_is_said_waits_for_an_idle_scheduler() {
        let created_at = Timestamp::from_millis(1_000_000);
        let pod = PodFact { node: Some("ipc-1".into()), created_at, ..PodFact::default() };
        let kind = |pod: &PodFact, secs| diagnose(pod, created_at + Duration::from_secs(secs)).map(|cause| cause.kind);
        assert_eq!((kind(&pod, 30), kind(&pod, 31)), (None, Some(CauseKind::SchedulerIdle)));
        // Its scheduler says why; it is bound, and its kubelet has not begun it; somebody keeps it from being scheduled.
        let says = PodFact { reason: Some("Unschedulable".into()), ..pod.clone() };
        assert_eq!(kind(&says, 31), Some(CauseKind::Unschedulable));
        let bound = PodFact { bound: true, ..pod.clone() };
        let gated = PodFact { reason: Some("SchedulingGated".into()), ..pod };
        assert_eq!((kind(&bound, 3_600), kind(&gated, 3_600)), (None, None));
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
        let newer = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new \
                     claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
        assert_eq!(
            &*drop_affinity_clause(newer),
            "0/3 nodes are available: 1 Insufficient cpu, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
        );
    }
}
