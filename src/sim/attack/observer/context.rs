//! A deletion that is judged, with what every judge of it needs to know.

use std::collections::BTreeSet;

use super::ObservedPod;
use super::change::is_rolling_back;
use crate::engine::model::Str;
use crate::engine::model::record::{Intent, Record};
use crate::engine::model::time::Timestamp;

/// A promise, and how it was broken.
pub(super) type Broken = Option<(&'static str, String)>;

/// A deletion at the moment when the API server accepted it; what is known is the state just before it.
pub(super) struct DeletionContext<'a> {
    pub(super) node: &'a Str,
    pub(super) pod: &'a ObservedPod,
    pub(super) at: Timestamp,
    /// The records that were in force within the slack.
    pub(super) records: Vec<&'a Record>,
    pub(super) desired: u32,
    /// The most nodes that may be down by any of the intents.
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
