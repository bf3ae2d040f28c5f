//! A change of the template that is asked for, and what came of the last one.

use serde::{Deserialize, Serialize};

use super::Paused;
use crate::engine::model::Str;
use crate::engine::model::quantity::IntOrPercent;

/// Data about a change that is still to be made.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestedChange {
    /// Tells this change from any other.
    pub id: Str,
    /// The partition before all pods were held for this change. It is restored if the change is refused, unless somebody stepped
    /// meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_before: Option<IntOrPercent>,
    /// The pause of a person that the request lifted. It stands again if the change is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_before: Option<Paused>,
}

/// The outcome of a change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeOutcome {
    /// Identifier of the change.
    pub id: Str,
    /// Why the change was not made; `None`: it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Str>,
}
