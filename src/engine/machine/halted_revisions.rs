//! The revisions at which a rollout halted, and the numbers that revisions had, as far as known: from the events that are kept, from what
//! this process saw, and from the record while a halt stands.

use std::collections::{BTreeMap, HashMap};

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::facts::RevisionFact;
use crate::engine::model::rollout_event::{NumberedRevision, RevisionHalt, earlier_numbers, halts};

impl Engine {
    /// The numbers that revisions had before, by those that they have now, the last one first.
    pub(crate) fn earlier_numbers(&self) -> BTreeMap<i64, Vec<i64>> {
        let numbered = |revision| {
            let RevisionFact { number, hash, .. }: &RevisionFact = revision;
            NumberedRevision { hash, number: *number, seen: self.view.seen_numbers(hash) }
        };
        let revisions: Vec<_> = self.view.own_revisions().map(numbered).collect();
        earlier_numbers(self.event_log.kept(), &revisions)
    }

    /// The last halt at each revision, by the revision's hash.
    pub(crate) fn halted_revisions(&self) -> HashMap<Str, RevisionHalt> {
        let intent = self.intent();
        let mut known = halts(self.event_log.kept());
        // The Event of a halt that stands may not have come yet, or may not be readable.
        if let Some((target, halt)) = intent.target.as_ref().zip(self.progress.halt.as_ref())
            && self.is_halted(&intent)
            && halt.gate.speaks_against_revision()
        {
            known.insert(target.clone(), RevisionHalt { at: halt.at, why: halt.why.clone(), from_event: false });
        }
        known
    }
}
