//! Writes that were sent: what for, and whether they are answered.

use crate::engine::model::Str;
use crate::engine::model::change_request::ChangeRequest;
use crate::engine::model::effect::EffectId;
use crate::engine::model::time::Timestamp;

/// A write whose answer is still out.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    Delete { uid: Str, node: Str, pod: Str },
    DaemonSet,
    Lease,
}

/// A deletion that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deletion {
    /// No answer yet.
    Sent,
    /// The server confirmed it, then; the watch has not shown it yet.
    Confirmed(Timestamp),
    /// The answer was lost, then.
    Unknown(Timestamp),
}

impl Deletion {
    /// Whether its outcome is not known yet.
    pub(crate) fn is_unanswered(self) -> bool {
        matches!(self, Self::Sent | Self::Unknown(_))
    }
}

/// A DaemonSet patch that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Patching {
    pub(crate) id: EffectId,
    pub(crate) kind: PatchKind,
    pub(crate) resource_version: Str,
    /// The change that the record asked for when it was sent.
    pub(crate) request: Option<ChangeRequest>,
    pub(crate) sent_at: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PatchKind {
    Adopt,
    Template,
    ForgetChange,
    Release,
}
