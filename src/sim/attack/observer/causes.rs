//! By what the observer itself sees each cause, in one table: a new cause needs an entry, and the compiler asks for it.

use crate::engine::model::cause::CauseKind;
use crate::sim::attack::faults::FaultKind;

/// The sign of a cause that the observer judges by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CauseSign {
    /// The API server refuses to create the pod.
    CreationRefused,
    /// A container waits for one of these reasons, and the new revision may be wrong: this failure.
    Waiting(FaultKind, &'static [&'static str]),
    /// None: it does not speak against the revision, shows otherwise, or does not occur in the simulated world.
    Unjudged,
}

/// The sign of the cause.
pub(super) fn sign_of(cause: CauseKind) -> CauseSign {
    match cause {
        CauseKind::AdmissionRefused
        | CauseKind::QuotaExceeded
        | CauseKind::CreationForbidden
        | CauseKind::PodInvalid => CauseSign::CreationRefused,
        CauseKind::ImageNotFound
        | CauseKind::ImageDenied
        | CauseKind::ImageRateLimited
        | CauseKind::ImagePlatform
        | CauseKind::ImageNetwork
        | CauseKind::ImageDisk
        | CauseKind::ImagePull => CauseSign::Waiting(FaultKind::PullFailed, &["ErrImagePull", "ImagePullBackOff"]),
        CauseKind::ImageName => CauseSign::Waiting(FaultKind::PullFailed, &["InvalidImageName"]),
        CauseKind::ImageNeverPull => CauseSign::Waiting(FaultKind::PullFailed, &["ErrImageNeverPull"]),
        CauseKind::Config => CauseSign::Waiting(FaultKind::PullFailed, &["CreateContainerConfigError"]),
        CauseKind::CrashLoop | CauseKind::InitFailure | CauseKind::OutOfMemory => {
            CauseSign::Waiting(FaultKind::CrashLoop, &["CrashLoopBackOff"])
        }
        CauseKind::VolumeMount
        | CauseKind::PodSandbox
        | CauseKind::ContainerStart
        | CauseKind::NotReady
        | CauseKind::ReadinessGate
        | CauseKind::Unschedulable
        | CauseKind::SchedulerIdle
        | CauseKind::Rejected
        | CauseKind::Evicted
        | CauseKind::NodeShutdown
        | CauseKind::NotCreated
        | CauseKind::ControllerIdle
        | CauseKind::StuckTerminating
        | CauseKind::HeldByFinalizers
        | CauseKind::Deadline
        | CauseKind::NodeDown => CauseSign::Unjudged,
    }
}

/// The failure for which a container waits that gives this reason.
pub(super) fn failure_for(reason: &str) -> Option<FaultKind> {
    CauseKind::ALL.into_iter().find_map(|cause| match sign_of(cause) {
        CauseSign::Waiting(failure, reasons) if reasons.contains(&reason) => Some(failure),
        CauseSign::Waiting(..) | CauseSign::CreationRefused | CauseSign::Unjudged => None,
    })
}
