//! Who announced that it takes a pod away: the condition `DisruptionTarget` (docs/kubernetes.md, *Creating and deleting pods*).

use std::fmt;

use serde::Serialize;

/// The type of the condition.
pub const DISRUPTION_TARGET: &str = "DisruptionTarget";

/// A component of Kubernetes that removes pods which nobody has asked to delete by name, by the reason of the condition `DisruptionTarget`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PodDisruption {
    /// `PreemptionByScheduler`: a pod of higher priority needs the room.
    Preemption,
    /// `DeletionByTaintManager`: its node has a taint with the effect `NoExecute` that the pod does not tolerate.
    NoExecuteTaint,
    /// `EvictionByEvictionAPI`: somebody asked for an eviction, as autoscalers and deschedulers do.
    EvictionApi,
    /// `DeletionByPodGC`: its node is gone or out of service.
    PodGarbageCollection,
}

impl PodDisruption {
    /// From the reason of a condition `DisruptionTarget` that is True; `None` for a reason that is not known, and for `TerminationByKubelet`, where the
    /// pod fails and says itself why.
    pub fn of_reason(reason: &str) -> Option<Self> {
        match reason {
            "PreemptionByScheduler" => Some(Self::Preemption),
            "DeletionByTaintManager" => Some(Self::NoExecuteTaint),
            "EvictionByEvictionAPI" => Some(Self::EvictionApi),
            "DeletionByPodGC" => Some(Self::PodGarbageCollection),
            _ => None,
        }
    }
}

/// What happened to the pod, as the end of a sentence: `was preempted by …`.
impl fmt::Display for PodDisruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Preemption => "was preempted by the scheduler, for a pod of higher priority",
            Self::NoExecuteTaint => "was evicted for a NoExecute taint of its node",
            Self::EvictionApi => "was evicted through the Eviction API, as autoscalers and deschedulers do",
            Self::PodGarbageCollection => {
                "was deleted by the pod garbage collector, as its node is gone or out of service"
            }
        })
    }
}
