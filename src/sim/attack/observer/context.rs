//! A deletion to be judged, with the facts that every check needs.

use std::collections::BTreeSet;

use super::ObservedPod;
use super::change::is_rolling_back;
use crate::engine::model::Str;
use crate::engine::model::record::{Intent, Record};
use crate::engine::model::time::Timestamp;

/// The broken promise, and how it was broken; `None`: the promise is kept.
pub(super) type Broken = Option<(&'static str, String)>;

/// A deletion at the moment at which the API server accepted it. The other fields have the state just before it.
pub(super) struct DeletionContext<'a> {
    pub(super) node: &'a Str,
    pub(super) pod: &'a ObservedPod,
    pub(super) at: Timestamp,
    /// The records that were in force within the slack.
    pub(super) records: Vec<&'a Record>,
    pub(super) desired: u32,
    /// The largest budget for unavailable nodes of all these records.
    pub(super) limit: u32,
}

impl<'a> DeletionContext<'a> {
    pub(super) fn intents(&self) -> impl Iterator<Item = &'a Intent> {
        self.records.iter().map(|record| &record.intent)
    }

    /// The intents, if all of them go forward.
    pub(super) fn forward(&self) -> Option<Vec<&'a Intent>> {
        self.intents().all(|intent| !is_rolling_back(intent)).then(|| self.intents().collect())
    }
}

/// The names of nodes, for a sentence.
pub(super) fn listed(nodes: &BTreeSet<Str>) -> String {
    nodes.iter().map(|node| &**node).collect::<Vec<_>>().join(" ")
}
