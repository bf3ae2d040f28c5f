//! Changes that were asked for here and have not reached the cluster.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::Str;
use super::time::Timestamp;

/// A write that is not answered after this long is shown as not sent. A link that is good enough to drive over answers sooner.
pub(crate) const LATE: Duration = Duration::from_secs(2);

/// A change that was asked for here, or that the driver here decided on, and that the cluster does not have yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unsent {
    /// The kind of change.
    pub kind: UnsentKind,
    /// Since when, by the clock that the engine is handed.
    pub since: Timestamp,
    /// Whether it takes longer than a write does (2 s), so that something must keep it from being saved. It is tried again until it is
    /// saved.
    pub late: bool,
    /// Why the last try failed, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Str>,
}

/// The kind of an unsent change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum UnsentKind {
    /// Start nothing more.
    Pause,
    /// Go on.
    Resume,
    /// Go back to an earlier revision.
    RollBack,
    /// New images.
    Image,
    /// A rollout to a later revision.
    LaterRevision,
    /// Another partition.
    Step,
    /// Another node selector.
    Selector,
    /// Budgets, gates, what a drift does, the end.
    Settings,
    /// Take over from the native controller.
    Adoption,
    /// Hand back to it.
    Release,
    /// What is to be pre-warmed.
    Prewarm,
    /// The present driver is asked to hand over.
    Takeover,
}

impl fmt::Display for UnsentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::RollBack => "roll back",
            Self::Image => "image",
            Self::LaterRevision => "later revision",
            Self::Step => "step",
            Self::Selector => "selector",
            Self::Settings => "settings",
            Self::Adoption => "adoption",
            Self::Release => "release",
            Self::Prewarm => "pre-warming",
            Self::Takeover => "takeover",
        })
    }
}

impl Serialize for UnsentKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
