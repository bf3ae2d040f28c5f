//! Evictions of the pods before the present one, of which nothing is left in the cluster but Events that expire.

use serde::{Deserialize, Serialize};

use crate::engine::model::Str;
use crate::engine::model::record::size::clipped_to;
use crate::engine::model::time::Timestamp;

/// The most nodes for which evictions are stored: more than it takes to halt. Each write of the Lease carries them.
pub const EVICTED_LIMIT: usize = 20;
/// The most bytes that are stored of what a kubelet said.
const SAID_LIMIT: usize = 256;

/// The evictions of the pods of one node at the target before its present pod, which count as restarts of that one. Instants are by the API server's clock, as
/// far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvictedBefore {
    /// `metadata.uid` of the present pod. Where somebody deletes it, nothing of this is about the next one.
    pub pod: Str,
    /// How many evictions count; at least 1.
    pub times: u32,
    /// When the first of them was.
    pub since: Timestamp,
    /// When the last of them was.
    pub last_at: Timestamp,
    /// What the kubelet said of the last one, or the beginning of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Str>,
}

impl EvictedBefore {
    /// The evictions before `pod`, with as much of what the kubelet said as is stored.
    pub(crate) fn new(pod: Str, times: u32, (since, last_at): (Timestamp, Timestamp), said: Option<&Str>) -> Self {
        Self { pod, times, since, last_at, said: said.map(|said| clipped_to(said, SAID_LIMIT)) }
    }
}
