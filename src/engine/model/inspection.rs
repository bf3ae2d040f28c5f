//! One node and its pod in full, for the page of a node. They are read from the API server when the page is opened, and not watched.
//!
//! Rules never use these: they judge by the facts of watches. Texts that others wrote are clipped when they are read.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::Str;
use super::disruption::DISRUPTION_TARGET;
use super::facts::{Severity, says_more_than_the_code};
use super::occupancy::NodeOccupancy;
use super::time::Timestamp;

/// The state of one request for data.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Reading<T> {
    /// The request is under way.
    #[default]
    Pending,
    /// The answer.
    Read(T),
    /// There is no such object.
    Absent,
    /// It could not be read: why, and what to do where that is known.
    Failed(Str),
}

impl<T> Reading<T> {
    /// The answer, if there is one.
    pub fn read(&self) -> Option<&T> {
        match self {
            Self::Read(answer) => Some(answer),
            Self::Pending | Self::Absent | Self::Failed(_) => None,
        }
    }
}

/// A node and its pod, each as it was read last.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inspection {
    /// The pod.
    pub pod: Reading<PodInspection>,
    /// The node.
    pub node: Reading<NodeInspection>,
    /// The Events on the pod, newest first.
    pub events: Reading<Vec<PodEvent>>,
    /// The resources that the pod lacks on the node, and how much of them other pods hold; absent if the pod lacks none.
    pub occupancy: Reading<NodeOccupancy>,
    /// Why a part could not be read again. That part is shown as it was read before.
    pub stale: Option<Str>,
}

/// A pod.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PodInspection {
    /// Its name.
    pub name: Str,
    /// `status.phase`.
    pub phase: Str,
    /// `status.reason` and `status.message`, where the kubelet rejected or evicted it.
    pub verdict: Option<Str>,
    /// `status.podIP`.
    pub ip: Option<Str>,
    /// `status.qosClass`.
    pub qos_class: Option<Str>,
    /// `spec.serviceAccountName`.
    pub service_account: Option<Str>,
    /// `spec.priorityClassName`.
    pub priority_class: Option<Str>,
    /// Its conditions, in their order.
    pub conditions: Vec<ConditionInspection>,
    /// Its containers: init containers, containers, ephemeral ones.
    pub containers: Vec<ContainerInspection>,
    /// Annotation `kubectl.kubernetes.io/default-container`: the container whose log is meant if none is named.
    pub default_container: Option<Str>,
    /// The whole object, without `managedFields`.
    pub raw: Arc<Value>,
}

impl PodInspection {
    /// The container whose log says most: one that failed, else a running init container, else a running sidecar or main container that is
    /// not ready, else the default one, else the first.
    pub fn telling_container(&self) -> Option<&ContainerInspection> {
        let main = || self.containers.iter().filter(|one| one.kind == ContainerKind::Main);
        let of_ready = |one: &&ContainerInspection| matches!(one.kind, ContainerKind::Sidecar | ContainerKind::Main);
        let named = |name: &Str| self.containers.iter().find(|one| one.name == *name);
        self.containers
            .iter()
            .find(|one| one.has_failed())
            .or_else(|| self.containers.iter().find(|one| one.kind == ContainerKind::Init && one.is_running()))
            .or_else(|| self.containers.iter().filter(of_ready).find(|one| !one.ready && one.is_running()))
            .or_else(|| self.default_container.as_ref().and_then(named))
            .or_else(|| main().next())
            .or_else(|| self.containers.first())
    }
}

/// Which list of a pod a container is in, and whether it is a sidecar.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ContainerKind {
    /// `initContainers`, to its end.
    Init,
    /// `initContainers`, with `restartPolicy` Always: it goes on beside the main ones.
    Sidecar,
    /// `containers`.
    #[default]
    Main,
    /// `ephemeralContainers`: somebody debugs.
    Ephemeral,
}

/// One container of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContainerInspection {
    /// Its name.
    pub name: Str,
    /// Which list it is in, and whether it is a sidecar.
    pub kind: ContainerKind,
    /// Its image, as the template names it.
    pub image: Str,
    /// The runtime's name for its image, once the image was there.
    pub image_id: Option<Str>,
    /// Whether it is ready.
    pub ready: bool,
    /// How often it was started again.
    pub restarts: u32,
    /// What it does; `None` while the kubelet has not said.
    pub state: Option<ContainerPhase>,
    /// How its previous run ended.
    pub last: Option<EndedRun>,
}

impl ContainerInspection {
    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        matches!(self.state, Some(ContainerPhase::Running { .. }))
    }

    /// Whether it ended with an error, or waits after it did.
    pub fn has_failed(&self) -> bool {
        match &self.state {
            Some(ContainerPhase::Ended(run)) => run.exit_code != 0,
            Some(ContainerPhase::Waiting { .. }) => self.last.as_ref().is_some_and(|run| run.exit_code != 0),
            Some(ContainerPhase::Running { .. }) | None => false,
        }
    }

    /// Its last run that is over: the present one if it ended, else the previous one.
    pub fn ended(&self) -> Option<&EndedRun> {
        match &self.state {
            Some(ContainerPhase::Ended(run)) => Some(run),
            _ => self.last.as_ref(),
        }
    }
}

/// What a container does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ContainerPhase {
    /// It has not started, or not again.
    Waiting {
        /// `ContainerCreating`, `CrashLoopBackOff`, …
        reason: Str,
        /// The kubelet's words.
        message: Option<Str>,
    },
    /// It runs.
    Running {
        /// Since then.
        since: Option<Timestamp>,
    },
    /// It ended.
    Ended(EndedRun),
}

/// One run of a container that is over.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EndedRun {
    /// `Completed`, `Error`, `OOMKilled`, …
    pub reason: Str,
    /// Its exit code. From 128 on, a signal ended it: the code is 128 plus the signal's number.
    pub exit_code: i32,
    /// Its last words (`terminationMessagePath`).
    pub message: Option<Str>,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

/// `exit 1`, `exit 137 (SIGKILL)`, `OOMKilled, exit 137 (SIGKILL)`.
impl fmt::Display for EndedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if says_more_than_the_code(&self.reason) {
            write!(f, "{}, ", self.reason)?;
        }
        write!(f, "exit {}", self.exit_code)?;
        match signal_name(self.exit_code) {
            Some(signal) => write!(f, " ({signal})"),
            None => Ok(()),
        }
    }
}

/// The signal that a shell or a container runtime reports by this exit code: 128 plus the signal's number (signal(7), Linux).
fn signal_name(exit_code: i32) -> Option<&'static str> {
    Some(match exit_code.checked_sub(128)? {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// A node.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NodeInspection {
    /// Its conditions, in their order.
    pub conditions: Vec<ConditionInspection>,
    /// Its taints: `key=value:effect`.
    pub taints: Vec<Str>,
    /// `spec.unschedulable`: it is cordoned.
    pub cordoned: bool,
    /// Its addresses: type, address.
    pub addresses: Vec<(Str, Str)>,
    /// The resources that pods may use on it: resource, amount.
    pub allocatable: Vec<(Str, Str)>,
    /// What it runs: operating system, kernel, container runtime.
    pub system: Vec<Str>,
}

/// A condition of a pod or of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConditionInspection {
    /// Its type.
    pub kind: Str,
    /// `True`, `False` or `Unknown`.
    pub status: Str,
    /// Since when it is so.
    pub since: Option<Timestamp>,
    /// Why, in a word.
    pub reason: Option<Str>,
    /// Why, in words.
    pub message: Option<Str>,
}

impl ConditionInspection {
    /// Whether the condition is as it should be: one that names trouble (pressure, an unavailable network, a disruption, a problem, a
    /// deadlock) is good if it is `False`, any other if it is `True`.
    pub fn is_good(&self) -> bool {
        let bad_when_true = self.kind.ends_with("Pressure")
            || &*self.kind == "NetworkUnavailable"
            || &*self.kind == DISRUPTION_TARGET
            || self.kind.ends_with("Problem")
            || self.kind.ends_with("Deadlock");
        &*self.status == if bad_when_true { "False" } else { "True" }
    }
}

/// An Event on a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodEvent {
    /// When it happened last.
    pub at: Option<Timestamp>,
    /// When it happened first, where it happened several times.
    pub first_at: Option<Timestamp>,
    /// Normal or Warning.
    pub severity: Severity,
    /// Its reason.
    pub reason: Str,
    /// Its message.
    pub message: Str,
    /// How often.
    pub count: u32,
    /// Who reports it.
    pub from: Str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(name: &str, kind: ContainerKind, state: ContainerPhase) -> ContainerInspection {
        ContainerInspection {
            name: name.into(),
            kind,
            state: Some(state),
            ready: true,
            ..ContainerInspection::default()
        }
    }

    fn running() -> ContainerPhase {
        ContainerPhase::Running { since: None }
    }

    fn ended(exit_code: i32) -> EndedRun {
        EndedRun { exit_code, reason: "Error".into(), ..EndedRun::default() }
    }

    #[test]
    fn the_container_that_failed_is_the_one_to_read() {
        let mut pod = PodInspection {
            containers: vec![
                container("init", ContainerKind::Init, ContainerPhase::Ended(EndedRun::default())),
                container("proxy", ContainerKind::Main, running()),
                container("agent", ContainerKind::Main, running()),
            ],
            default_container: Some("agent".into()),
            ..PodInspection::default()
        };
        let told = |pod: &PodInspection| pod.telling_container().map(|one| one.name.to_string());
        assert_eq!(told(&pod).as_deref(), Some("agent"), "the default one");
        pod.default_container = None;
        assert_eq!(told(&pod).as_deref(), Some("proxy"), "the first that is no init container");
        pod.containers[0] = container("mesh", ContainerKind::Sidecar, running());
        assert_eq!(told(&pod).as_deref(), Some("proxy"), "a sidecar that is ready always runs");
        pod.containers[0].ready = false;
        pod.containers[2].ready = false;
        assert_eq!(told(&pod).as_deref(), Some("mesh"), "others may wait for its start");
        pod.containers[2].ready = true;
        pod.containers[0] = container("init", ContainerKind::Init, ContainerPhase::Ended(EndedRun::default()));
        pod.containers[2].ready = false;
        assert_eq!(told(&pod).as_deref(), Some("agent"), "it is not ready");
        let waits = ContainerPhase::Waiting { reason: "CrashLoopBackOff".into(), message: None };
        pod.containers[1] =
            ContainerInspection { last: Some(ended(1)), ..container("proxy", ContainerKind::Main, waits) };
        assert_eq!(told(&pod).as_deref(), Some("proxy"), "it keeps ending");
        pod.containers[0].state = Some(ContainerPhase::Ended(ended(3)));
        assert_eq!(told(&pod).as_deref(), Some("init"), "nothing else starts before it");
        assert_eq!(told(&PodInspection::default()), None);
    }

    #[test]
    fn ends_are_told_with_the_signal() {
        let words = |reason: &str, exit_code| EndedRun { reason: reason.into(), ..ended(exit_code) }.to_string();
        assert_eq!(words("Error", 1), "exit 1");
        assert_eq!(words("Completed", 0), "exit 0");
        assert_eq!(words("OOMKilled", 137), "OOMKilled, exit 137 (SIGKILL)");
        assert_eq!(words("Error", 143), "exit 143 (SIGTERM)");
        assert_eq!(words("StartError", 128), "StartError, exit 128");
        assert_eq!(words("Error", i32::MIN), format!("exit {}", i32::MIN));
    }

    #[test]
    fn conditions_are_good_or_bad_by_their_kind() {
        let good = |kind: &str, status: &str| {
            ConditionInspection { kind: kind.into(), status: status.into(), ..Default::default() }.is_good()
        };
        assert!(good("Ready", "True") && !good("Ready", "False") && !good("Ready", "Unknown"));
        assert!(good("DiskPressure", "False") && !good("DiskPressure", "True") && !good("DiskPressure", "Unknown"));
        assert!(good("KernelDeadlock", "False") && !good("NetworkUnavailable", "True"));
    }
}
