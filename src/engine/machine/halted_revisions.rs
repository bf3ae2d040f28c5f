//! The revisions at which a rollout halted, as far as known: from the events that are kept, and from the record while a halt stands.

use std::collections::HashMap;

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::rollout_event::{RevisionHalt, earlier_numbers, halts};

impl Engine {
    /// The last halt at each revision, by the revision's hash.
    pub(crate) fn halted_revisions(&self) -> HashMap<Str, RevisionHalt> {
        let intent = self.intent();
        let mut told = halts(self.event_log.kept());
        let mut known = HashMap::new();
        if !told.is_empty() {
            // Events name a revision by the number that it had at that time. No other revision ever gets that number.
            let current = self.view.current.as_ref().and_then(|hash| self.view.revision(hash));
            let earlier = earlier_numbers(self.event_log.kept(), current.map(|revision| revision.number));
            for revision in self.view.own_revisions() {
                let before = earlier.get(&revision.number).into_iter().flatten();
                let numbers = std::iter::once(&revision.number).chain(before);
                if let Some(last) = numbers.filter_map(|number| told.remove(number)).max_by_key(|halt| halt.at) {
                    known.insert(revision.hash.clone(), last);
                }
            }
        }
        // The Event of a halt that stands may not have come yet, or may not be readable.
        if let Some((target, halt)) = intent.target.as_ref().zip(self.progress.halt.as_ref())
            && self.is_halted(&intent)
            && halt.gate.speaks_against_revision()
        {
            let halt = RevisionHalt { at: halt.at, why: halt.why.clone(), from_event: false };
            known.insert(target.clone(), halt);
        }
        known
    }
}
