//! What a record keeps of the loss of an earlier one.

use serde::{Deserialize, Serialize};

use super::By;

/// The beginning of a record that replaced one that was lost with its Lease.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BegunAnew {
    /// Who began the record by a command, and when by their clock.
    #[serde(flatten)]
    pub begun: By,
    /// Whether anybody has set a limit in this record. The limits of the lost record are not known.
    #[serde(default)]
    pub limits_set: bool,
}
