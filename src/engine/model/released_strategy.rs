//! The update strategy that a DaemonSet has once it is handed back to its controller.

use std::fmt;

use serde::Serialize;

use crate::engine::model::quantity::IntOrPercent;

/// The update strategy that a release leaves in the DaemonSet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReleasedStrategy {
    /// The original strategy, in which nobody has changed `maxUnavailable` since the adoption.
    Original,
    /// The original strategy, although somebody has changed `maxUnavailable` under `OnDelete` since the adoption.
    OriginalOverLimit(ChangedLimit),
    /// The rolling strategy that somebody set after the adoption: a release leaves it as it is.
    OfOthers,
    /// The strategy that the DaemonSet has: it was not adopted, so that only a record is dropped.
    NotAdopted,
}

/// A `maxUnavailable` of the DaemonSet that somebody has changed since the adoption.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedLimit {
    /// The value now.
    pub set: IntOrPercent,
    /// The value in the original strategy, which a release restores.
    pub saved: IntOrPercent,
}

impl fmt::Display for ReleasedStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Original => f.write_str("released: the original update strategy is restored"),
            Self::OriginalOverLimit(ChangedLimit { set, saved }) => write!(
                f,
                "released: the original update strategy is restored, with maxUnavailable {saved}; {set}, as somebody has set it since, is \
                 not kept"
            ),
            Self::OfOthers => f.write_str("released: the update strategy that somebody has set since stays"),
            Self::NotAdopted => {
                f.write_str("the record is dropped: the DaemonSet was not adopted, and its update strategy stays")
            }
        }
    }
}
