//! What the API server refuses: the deletion of single pods, and the write for which the rollout waits.

use serde::{Deserialize, Serialize};

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

/// A pod that the API server refuses to delete.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedDeletion {
    /// Its uid.
    pub pod: Str,
    /// Since when, by the driver's clock.
    pub since: Timestamp,
    /// The server's answer, at most 300 bytes of it.
    pub why: Str,
}

/// A write that the API server refuses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedWrite {
    /// Since when, by the driver's clock.
    pub since: Timestamp,
    /// The attempted write and the server's last answer, at most 1 KiB of it.
    pub why: Str,
}
