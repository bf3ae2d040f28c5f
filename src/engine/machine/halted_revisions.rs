//! The revisions at which a rollout halted, as far as known: from the events that are kept, and from the record while a halt stands.
//!
//! Events name a revision by the number that it had at that time. A template that comes back gets another number, whoever brings it, so
//! the numbers that each revision had are looked up too: those that this process saw, and those that the events of roll backs tell.

use std::collections::{BTreeMap, HashMap};

use super::Engine;
use crate::engine::model::Str;
use crate::engine::model::facts::RevisionFact;
use crate::engine::model::rollout_event::{
    NumberedRevision, RevisionHalt, ToldImages, completions, earlier_numbers, halts,
};

impl Engine {
    /// The numbers that revisions had before, by those that they have now, the last one first.
    pub(crate) fn earlier_numbers(&self) -> BTreeMap<i64, Vec<i64>> {
        let current = self.view.current.as_ref().and_then(|hash| self.view.revision(hash));
        let numbered = |revision| {
            let RevisionFact { number, created_at, hash, template, .. }: &RevisionFact = revision;
            let created_at = Some(self.view.our_time(*created_at));
            NumberedRevision {
                number: *number,
                created_at,
                seen: self.view.seen_numbers(hash),
                template: Some(template),
            }
        };
        let revisions: Vec<_> = self.view.own_revisions().map(numbered).collect();
        earlier_numbers(self.event_log.kept(), current.map(|revision| revision.number), &revisions)
    }

    /// The last halt at each revision, by the revision's hash.
    pub(crate) fn halted_revisions(&self) -> HashMap<Str, RevisionHalt> {
        let intent = self.intent();
        let mut told = halts(self.event_log.kept());
        let mut known = HashMap::new();
        if !told.is_empty() {
            let earlier = self.earlier_numbers();
            let complete = completions(self.event_log.kept());
            let numbers = |number: i64| {
                let before = earlier.get(&number).into_iter().flatten().copied();
                std::iter::once(number).chain(before)
            };
            let is_over = |number: i64, halt: &RevisionHalt| {
                numbers(number).any(|number| complete.get(&number).is_some_and(|at| *at > halt.at))
            };
            for revision in self.view.own_revisions() {
                let halted = numbers(revision.number).filter_map(|number| told.remove(&number));
                let last = halted.max_by_key(|halt| halt.at).filter(|halt| !is_over(revision.number, halt));
                known.extend(last.map(|halt| (revision.hash.clone(), halt)));
            }
            // No revision is known to have had the numbers that are left. Each that was there at the halt, whose lowest known number
            // is above, may have had one of them, unless events tell other images of that number.
            let images = ToldImages::of(self.event_log.kept());
            for (number, halt) in told {
                let may_be_meant = |revision: &&RevisionFact| {
                    if !images.allow_template(number, &revision.template) {
                        return false;
                    }
                    let was_there = self.view.our_time(revision.created_at) <= halt.at;
                    was_there && numbers(revision.number).all(|had| had > number) && !is_over(revision.number, &halt)
                };
                for revision in self.view.own_revisions().filter(may_be_meant) {
                    let perhaps = RevisionHalt { perhaps_at: Some(number), ..halt.clone() };
                    known.entry(revision.hash.clone()).or_insert(perhaps);
                }
            }
        }
        // The Event of a halt that stands may not have come yet, or may not be readable.
        if let Some((target, halt)) = intent.target.as_ref().zip(self.progress.halt.as_ref())
            && self.is_halted(&intent)
            && halt.gate.speaks_against_revision()
        {
            let halt = RevisionHalt { at: halt.at, why: halt.why.clone(), from_event: false, perhaps_at: None };
            known.insert(target.clone(), halt);
        }
        known
    }
}
