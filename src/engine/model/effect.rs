//! Effects that the engine asks for, the few writes of a rollout, and their outcomes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Str;
use super::facts::{DaemonSetFact, LeaseFact, StrategyKind, WarmPodFact, WarmSetFact};
use super::failing_nodes::FailingNodes;
use super::pace::PacedSite;
use super::prewarm::Prewarm;
use super::record::Record;
use super::template::Template;
use super::time::Timestamp;

/// How long a write waits for its answer, counted from when it was sent. Together with the time for which the holder of the lease may
/// act, it stays below the lease duration.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(4);

/// Tells one requested effect from another; never used twice by one engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct EffectId(pub u64);

/// A write to be made.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Delete a pod, so that the DaemonSet controller makes a new one from the current template.
    ///
    /// The uid is sent as precondition. It must not be sent after `not_after`: by then somebody else may drive.
    DeletePod {
        /// The pod's name.
        name: Str,
        /// The pod's uid.
        uid: Str,
        /// Its node, for the log.
        node: Str,
        /// The instant after which this must not be sent any more, by the clock that the engine is handed.
        not_after: Timestamp,
    },
    /// Ask the API server whether it would admit this pod, as a dry run: nothing is created.
    TryPod {
        /// A pod of the target's template, without the owner reference to the DaemonSet: whoever sends it adds that.
        pod: Arc<Value>,
    },
    /// Create a pod for pre-warming. Must not be sent after `not_after`: by then somebody else may drive.
    CreateWarmPod {
        /// The pod's name. If there is one of that name, the outcome is [`EffectErrorKind::Conflict`].
        name: Str,
        /// The node it is pinned to, for the log.
        node: Str,
        /// The pod, without the owner reference to the DaemonSet: whoever sends it adds that.
        pod: Arc<Value>,
        /// The instant after which this must not be sent any more, by the clock that the engine is handed.
        not_after: Timestamp,
    },
    /// Delete a pod that was made for pre-warming. The uid is sent as precondition.
    DeleteWarmPod {
        /// The pod's name.
        name: Str,
        /// The pod's uid.
        uid: Str,
        /// Its node, for the log.
        node: Str,
        /// `gracePeriodSeconds`. With 0 the API server removes the pod without its kubelet.
        grace_secs: u32,
    },
    /// List the StatefulSets that were made for pre-warming in the namespace.
    ///
    /// There are few of them, and only the driver needs them, while pre-warming has some: a list now and then costs less than a watch
    /// in every process. The watch of their pods shows that these are made and deleted.
    ListWarmSets,
    /// Create a StatefulSet for pre-warming. Must not be sent after `not_after`: by then somebody else may drive.
    CreateWarmSet {
        /// Its name. If there is one of that name, the outcome is [`EffectErrorKind::Conflict`].
        name: Str,
        /// The StatefulSet, without the owner reference to the DaemonSet: whoever sends it adds that.
        set: Arc<Value>,
        /// The instant after which this must not be sent any more, by the clock that the engine is handed.
        not_after: Timestamp,
    },
    /// Delete a StatefulSet that was made for pre-warming, and with it its pods. The uid is sent as precondition.
    DeleteWarmSet {
        /// Its name.
        name: Str,
        /// Its uid.
        uid: Str,
    },
    /// Change the DaemonSet, if it is still at this resource version.
    PatchDaemonSet {
        /// `metadata.resourceVersion` as last seen; a mismatch is a conflict.
        resource_version: Str,
        /// The change.
        patch: DaemonSetPatch,
    },
    /// Create the Lease (`resource_version: None`), or replace it if it is still at this resource version.
    WriteLease {
        /// `metadata.resourceVersion` as last seen; `None` creates.
        resource_version: Option<Str>,
        /// The content that the Lease is to have.
        lease: Box<LeaseWrite>,
    },
}

impl Effect {
    /// Whether it must not be sent any more, because somebody else may drive by now.
    pub fn is_too_late(&self, now: Timestamp) -> bool {
        match self {
            Self::DeletePod { not_after, .. }
            | Self::CreateWarmPod { not_after, .. }
            | Self::CreateWarmSet { not_after, .. } => now > *not_after,
            Self::TryPod { .. }
            | Self::DeleteWarmPod { .. }
            | Self::ListWarmSets
            | Self::DeleteWarmSet { .. }
            | Self::PatchDaemonSet { .. }
            | Self::WriteLease { .. } => false,
        }
    }
}

/// A change of a DaemonSet.
#[derive(Clone, PartialEq, Debug)]
pub enum DaemonSetPatch {
    /// Save the original strategy in its annotation and set `OnDelete`, in one patch; `rollingUpdate` stays.
    Adopt {
        /// `spec.updateStrategy` as it is now, serialized: the annotation's value.
        original: String,
        /// Whether the strategy is `OnDelete` already, so that only the annotation is missing.
        on_delete: bool,
    },
    /// Replace `spec.template`.
    Template {
        /// The template.
        template: Value,
        /// The value of annotation [`super::record::CHANGE`], set in the same patch; `None` sets none.
        change: Option<Str>,
    },
    /// Drop annotation [`super::record::CHANGE`].
    ForgetChange,
    /// Replace `spec.updateStrategy` by this and drop our annotations, if admission leaves the template as it is.
    ///
    /// A policy that came into force since the template was written rewrites it with the next write of any kind. Together with
    /// `RollingUpdate` that is a rollout of the whole fleet by its controller, which nobody asked for. In that case the outcome is
    /// [`EffectErrorKind::Invalid`], and nothing is done.
    Release {
        /// `spec.updateStrategy` as it was.
        original: Value,
        /// `spec.template` as it is and has to stay, if `original` lets the controller replace pods.
        expected_template: Option<Template>,
    },
}

/// The part of the DaemonSet that admission has to leave as it is in the write of a patch. Otherwise the DaemonSet's own controller
/// would roll out by itself what nobody let go. A dry run shows it before the patch is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MustStay<'a> {
    /// `spec.template` stays this.
    Template(&'a Template),
    /// `spec.updateStrategy` stays `OnDelete`.
    OnDelete,
}

impl MustStay<'_> {
    /// Whether this part has stayed in the object that would be stored.
    pub fn holds_in(self, stored: &DaemonSetFact) -> bool {
        match self {
            Self::Template(template) => stored.template == *template,
            Self::OnDelete => stored.strategy.kind == StrategyKind::OnDelete,
        }
    }
}

impl DaemonSetPatch {
    /// The part that admission must leave as it is; a dry run checks it before the patch is written. `None`: the patch is written without a dry run,
    /// and its answer shows whether it took effect.
    pub fn must_stay(&self) -> Option<MustStay<'_>> {
        match self {
            Self::Release { expected_template: Some(template), .. } => Some(MustStay::Template(template)),
            Self::Release { original, expected_template: None } => {
                (original["type"] == "OnDelete").then_some(MustStay::OnDelete)
            }
            // Admission that sets the update strategy does so with every write.
            Self::Template { .. } | Self::ForgetChange => Some(MustStay::OnDelete),
            Self::Adopt { on_delete, .. } => on_delete.then_some(MustStay::OnDelete),
        }
    }
}

/// The fields of a Lease that rolldeck writes.
#[derive(Clone, PartialEq, Debug)]
pub struct LeaseWrite {
    /// `spec.holderIdentity`; `None` writes the empty string: nobody holds it.
    pub holder: Option<Str>,
    /// `spec.leaseDurationSeconds`; 1 when released, as client-go does.
    pub duration_secs: u32,
    /// `spec.acquireTime`.
    pub acquired_at: Option<Timestamp>,
    /// `spec.renewTime`.
    pub renewed_at: Option<Timestamp>,
    /// `spec.leaseTransitions`.
    pub transitions: u32,
    /// The record; `None` removes the annotation.
    pub record: Option<Record>,
    /// The request for pre-warming; `None` removes the annotation.
    pub prewarm: Option<Prewarm>,
    /// The pace of sites; an empty list removes the annotation.
    pub pace: Arc<[PacedSite]>,
    /// The nodes that fail; `None` removes the annotation.
    pub failing: Option<FailingNodes>,
    /// A record or a request for pre-warming that is `None` here stays on the Lease as it is: it cannot be read, and may be of a newer version.
    pub keeps_unreadable: bool,
}

/// The outcome of an effect.
pub type Outcome = Result<Done, EffectError>;

/// An effect that the API server confirmed.
#[derive(Clone, PartialEq, Debug)]
pub enum Done {
    /// The pod is terminating or gone.
    PodDeleted,
    /// The pod would be admitted.
    PodAdmitted,
    /// The pod for pre-warming is there, as the server answered.
    WarmPodCreated(Box<WarmPodFact>),
    /// The pod for pre-warming is terminating or gone.
    WarmPodDeleted,
    /// The StatefulSets for pre-warming that are there.
    WarmSets(Vec<WarmSetFact>),
    /// The StatefulSet for pre-warming is there.
    WarmSetCreated {
        /// Its uid, where the answer has it.
        uid: Option<Str>,
    },
    /// The StatefulSet for pre-warming is gone or going.
    WarmSetDeleted,
    /// The DaemonSet after the patch, as the server answered.
    DaemonSet(Box<DaemonSetFact>),
    /// The Lease after the write, as the server answered.
    Lease(Box<LeaseFact>),
}

/// An effect that failed, or whose outcome is not known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct EffectError {
    /// The kind of failure.
    pub kind: EffectErrorKind,
    /// What was attempted, and what the server or the network said.
    pub message: Str,
    /// Whether it failed as a dry run, so that the write itself was not sent.
    pub dry_run: bool,
}

/// Kinds of failure, by their meaning for the next decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EffectErrorKind {
    /// 409: the object changed, or the precondition did not hold. Nothing was done.
    Conflict,
    /// 404: it is not there. Nothing was done.
    NotFound,
    /// 401: the API server does not accept the credentials, or does not accept them any more. Nothing was done. It says nothing of the write, which is
    /// tried again: somebody may log in again meanwhile.
    Unauthorized,
    /// 403. Nothing was done.
    Forbidden,
    /// 400, 422 or another refusal that will not change by trying again. Nothing was done.
    Invalid,
    /// 429 or 503 with a time to wait. Nothing was done.
    Throttled {
        /// Milliseconds that the server asked to wait.
        retry_after_millis: u64,
    },
    /// It was not sent: there was no connection. Nothing was done.
    NotSent,
    /// It was not sent, because the proof behind it had become too old. Nothing was done; it is decided again behind the next proof.
    TooLate,
    /// Sent, but no answer came, or a 5xx: it may have been done.
    Unknown,
}

impl EffectErrorKind {
    /// Whether the API server refused the write, so that trying again changes nothing: for want of a right, by a policy, or because it finds the object invalid.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Forbidden | Self::Invalid)
    }

    /// Whether the write may have taken effect all the same.
    pub fn may_have_happened(self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// Whether it is certain that the write was not sent.
    pub fn was_not_sent(self) -> bool {
        matches!(self, Self::NotSent | Self::TooLate)
    }
}
