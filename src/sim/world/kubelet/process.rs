//! A container's process, how it ended, and whether it is started again.

use serde_json::Value;

use crate::engine::model::Str;
use crate::engine::model::template::ContainerRole;

/// `restartPolicy` of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

impl RestartPolicy {
    pub(super) fn of(spec: &Value) -> Self {
        match spec["restartPolicy"].as_str() {
            Some("Never") => Self::Never,
            Some("OnFailure") => Self::OnFailure,
            _ => Self::Always,
        }
    }

    /// Whether a container with this role is started again after it ended so. An init container is through once it has ended well. A sidecar is started
    /// again whatever the policy of its pod.
    pub(super) fn restarts(self, role: ContainerRole, end: &ProcessEnd) -> bool {
        match (role, self) {
            (ContainerRole::Sidecar, Self::Always | Self::OnFailure | Self::Never)
            | (ContainerRole::Main, Self::Always) => true,
            (ContainerRole::Init, Self::Always) | (ContainerRole::Init | ContainerRole::Main, Self::OnFailure) => {
                end.code != 0
            }
            (ContainerRole::Init | ContainerRole::Main, Self::Never) => false,
        }
    }
}

/// A container's `command`, as far as the simulation needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ContainerCommand {
    /// The command's program.
    pub(super) program: Str,
    /// Whether it runs until it is told to end. A command whose last word is the program `true` ends at once.
    pub(super) goes_on: bool,
}

impl ContainerCommand {
    pub(super) fn of(container: &Value) -> Option<Self> {
        let words: Vec<&str> = container["command"].as_array()?.iter().filter_map(Value::as_str).collect();
        let (program, last) = (words.first()?, words.last()?);
        Some(Self { program: (*program).into(), goes_on: *last != "true" })
    }
}

/// How a process ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ProcessEnd {
    /// `exitCode`.
    pub(super) code: i32,
    /// `reason`.
    pub(super) reason: &'static str,
}

impl ProcessEnd {
    pub(super) const COMPLETED: Self = Self { code: 0, reason: "Completed" };
    pub(super) const CRASHED: Self = Self { code: 1, reason: "Error" };
    /// The runtime could not start the process.
    pub(super) const NOT_STARTED: Self = Self { code: 128, reason: "StartError" };
    pub(super) const KILLED: Self = Self { code: 137, reason: "Error" };
}
