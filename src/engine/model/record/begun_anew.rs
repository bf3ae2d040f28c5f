//! What a record keeps of the loss of an earlier one.

use serde::{Deserialize, Serialize};

use super::By;
use crate::engine::model::Str;

/// The beginning of a record that replaced one that was lost with its Lease.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BegunAnew {
    /// Who began the record by a command, and when by their clock.
    #[serde(flatten)]
    pub begun: By,
    /// Whether anybody has set a limit in this record.
    #[serde(default)]
    pub limits_set: bool,
    /// What was known of the lost record when this one began, in words, and how it was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Str>,
}
