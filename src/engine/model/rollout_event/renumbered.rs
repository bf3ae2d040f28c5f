//! The numbers that revisions had before a template came back. Its controller gives the revision of an earlier template a new number, above
//! all others, and the cluster forgets the former one. Only the events of the rollout tell it, with the revision's hash, which stays.

use std::collections::{BTreeMap, BTreeSet};

use super::phrases::{CHANGED, THAT_OF, number_at_the_beginning};
use super::{RolloutEvent, RolloutEventKind};

/// The beginning of the words about a roll back, before the number that its revision had.
pub(crate) const ROLLED_BACK: &str = "roll back: template is that of revision ";

/// The same about a rollout to a later revision, which rolls nothing back.
pub(crate) const WENT_TO: &str = "go to a later revision: template is that of revision ";

/// What is known of a revision's numbers without events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberedRevision<'a> {
    /// Its hash.
    pub(crate) hash: &'a str,
    /// The number that it has now.
    pub(crate) number: i64,
    /// The numbers that this process saw it have before.
    pub(crate) seen: &'a [i64],
}

impl RolloutEvent {
    /// The revisions of a change of the template, by the numbers that they had when it was told: before and after.
    pub(super) fn renumbering(&self) -> Option<(i64, i64)> {
        match &self.kind {
            RolloutEventKind::TemplateChanged { from: Some(from), to: Some(to), .. } => Some((*from, *to)),
            RolloutEventKind::Reported { reason, .. } if &**reason == "RolloutTemplateChanged" => {
                let (from, to) = self.said.as_deref()?.strip_prefix(CHANGED)?.split_once(" → ")?;
                let to = number_at_the_beginning(to.strip_prefix(THAT_OF).unwrap_or(to))?;
                Some((from.parse().ok()?, to))
            }
            _ => None,
        }
    }

    /// The number that a revision had when a roll back to it was asked for, according to the answer that its operator got once the
    /// template was changed.
    pub(super) fn rolled_back_to(&self) -> Option<i64> {
        let said = self.said.as_deref()?;
        number_at_the_beginning(said.strip_prefix(ROLLED_BACK).or_else(|| said.strip_prefix(WENT_TO))?)
    }
}

/// The former numbers of revisions, by the number that each has now, the latest first, as far as `events` and `revisions` tell. Of a revision that is
/// not among `revisions`, the last number that an event tells is the one that it has now.
pub(crate) fn earlier_numbers<'a>(
    events: impl Iterator<Item = &'a RolloutEvent>,
    revisions: &[NumberedRevision<'_>],
) -> BTreeMap<i64, Vec<i64>> {
    let mut told: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    for event in events {
        if let Some((hash, number)) = event.revision.as_deref().zip(event.number_of_its_revision()) {
            told.entry(hash).or_default().insert(number);
        }
    }
    for revision in revisions {
        // What was seen counts: whatever Events say, which anybody may write, no other revision had these numbers.
        let is_its_own = |number: &i64| *number == revision.number || revision.seen.contains(number);
        told.values_mut().for_each(|numbers| numbers.retain(|number| !is_its_own(number)));
    }
    for revision in revisions {
        // A controller whose cache is behind gives a new revision the number of another one for some seconds.
        let is_anothers = |number: &i64| revisions.iter().any(|one| one.number == *number);
        told.entry(revision.hash).or_default().extend(revision.seen.iter().filter(|number| !is_anothers(number)));
    }
    // A revision that comes back gets a number above all others.
    let mut known: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (hash, numbers) in told {
        let mut earlier: Vec<i64> = numbers.into_iter().rev().collect();
        let present = revisions.iter().find(|revision| revision.hash == hash).map(|revision| revision.number);
        let now = match present {
            Some(number) => number,
            None if earlier.is_empty() => continue,
            None => earlier.remove(0),
        };
        if !earlier.is_empty() {
            known.insert(now, earlier);
        }
    }
    known
}

/// The words for a revision that had these numbers, the latest first: `the template of 2`; `None` if it had no other number. Only the latest is
/// said: each roll back adds one.
pub(crate) fn template_of(earlier: &[i64]) -> Option<String> {
    earlier.first().map(|latest| format!("the template of {latest}"))
}

/// The number of a revision, with its former numbers: `4 (the template of 2)`.
pub(crate) fn with_earlier(number: i64, known: &BTreeMap<i64, Vec<i64>>) -> String {
    let template = known.get(&number).and_then(|earlier| template_of(earlier));
    template.map_or_else(|| number.to_string(), |template| format!("{number} ({template})"))
}

/// A text about the past, whose numbers of revisions are those of that time, with the present number behind each one that has another by now:
/// `revision 2 (now 4)`, `revision 2 (now 4) → 3 (now 5)`.
pub fn with_present_numbers(text: &str, known: &BTreeMap<i64, Vec<i64>>) -> String {
    const REVISION: &str = "revision ";
    const TO: &str = " → ";
    let mut parts = text.split(REVISION);
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        said.push_str(REVISION);
        let (number, rest) = digits_of(part);
        push_with_present(&mut said, number, known);
        match rest.strip_prefix(TO).map(digits_of) {
            Some((to, rest)) if !to.is_empty() => {
                said.push_str(TO);
                push_with_present(&mut said, to, known);
                said.push_str(rest);
            }
            Some(_) | None => said.push_str(rest),
        }
    }
    said
}

/// The digits at the beginning of a text, and what follows.
fn digits_of(text: &str) -> (&str, &str) {
    text.split_at(text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len())
}

/// Adds a number, with the one that its revision has now where that is another one.
fn push_with_present(said: &mut String, number: &str, known: &BTreeMap<i64, Vec<i64>>) {
    said.push_str(number);
    let had = |earlier: &Vec<i64>| number.parse().is_ok_and(|number| earlier.contains(&number));
    said.extend(known.iter().find(|(_, earlier)| had(earlier)).map(|(now, _)| format!(" (now {now})")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::facts::Severity;
    use crate::engine::model::rollout_event::{EventOutcome, Visibility};
    use crate::engine::model::time::Timestamp;

    /// An event about the revision with this hash, as its process knows it and as another one reads it.
    fn told(kind: RolloutEventKind, hash: &str) -> [RolloutEvent; 2] {
        let own = RolloutEvent {
            at: Timestamp::default(),
            by: None,
            kind,
            outcome: EventOutcome::Done,
            command: None,
            said: None,
            visibility: Visibility::Cluster,
            revision: Some(hash.into()),
        };
        let kind = RolloutEventKind::Reported {
            reason: own.reason().into(),
            identity: "ops".into(),
            event: "agent.1".into(),
            severity: Severity::Normal,
        };
        let reported = RolloutEvent { kind, said: Some(own.kind.to_string().into()), ..own.clone() };
        [own, reported]
    }

    fn changed(from: i64, to: i64, hash: &str) -> [RolloutEvent; 2] {
        told(RolloutEventKind::TemplateChanged { from: Some(from), to: Some(to), images: Vec::new() }, hash)
    }

    fn halted(number: i64, hash: &str) -> [RolloutEvent; 2] {
        let why = "crash loop".into();
        told(RolloutEventKind::Halted { number: 1, revision: Some(number), why, nodes: Vec::new() }, hash)
    }

    fn complete(back: bool, number: i64, hash: &str) -> [RolloutEvent; 2] {
        told(RolloutEventKind::Complete { nodes: 3, back, revision: Some(number) }, hash)
    }

    fn numbers(events: &[[RolloutEvent; 2]], revisions: &[NumberedRevision<'_>]) -> Vec<(i64, Vec<i64>)> {
        let [own, reported] = [0, 1].map(|which| {
            let events: Vec<RolloutEvent> = events.iter().map(|event| event[which].clone()).collect();
            earlier_numbers(events.iter(), revisions).into_iter().collect::<Vec<_>>()
        });
        assert_eq!(own, reported, "as another process reads it");
        own
    }

    fn one<'a>(hash: &'a str, number: i64, seen: &'a [i64]) -> NumberedRevision<'a> {
        NumberedRevision { hash, number, seen }
    }

    #[test]
    fn a_revision_that_came_back_is_known_by_each_number_that_an_event_tells() {
        assert_eq!(numbers(&[changed(2, 3, "c")], &[one("b", 2, &[]), one("c", 3, &[])]), []);
        let back = [changed(2, 3, "c"), halted(3, "c"), changed(3, 2, "b"), complete(true, 4, "b")];
        assert_eq!(numbers(&back, &[one("c", 3, &[]), one("b", 4, &[])]), [(4, vec![2])]);
        assert_eq!(numbers(&back[..3], &[one("c", 3, &[]), one("b", 2, &[])]), [], "its controller has not seen it");
        assert_eq!(numbers(&back, &[one("c", 3, &[]), one("b", 6, &[])]), [(6, vec![4, 2])], "others brought it again");
        assert_eq!(numbers(&back, &[one("c", 5, &[]), one("b", 4, &[])]), [(4, vec![2]), (5, vec![3])]);
        assert_eq!(numbers(&back, &[]), [(4, vec![2])], "of a log, the last number is the present one");
    }

    /// Whatever Events say, which anybody may write, no other revision had a number that this one was seen to have, or has.
    #[test]
    fn what_was_seen_counts() {
        let forged = [halted(2, "c"), halted(4, "c")];
        assert_eq!(numbers(&forged, &[one("c", 7, &[]), one("b", 4, &[2])]), [(4, vec![2])]);
        assert_eq!(numbers(&[], &[one("c", 7, &[3, 5]), one("b", 4, &[])]), [(7, vec![5, 3])]);
        assert_eq!(numbers(&[], &[one("a", 1, &[]), one("b", 2, &[1])]), [], "1 is another one, and always was");
    }

    /// The answer to who asked names the number that the revision had, with its hash.
    #[test]
    fn a_roll_back_whose_change_names_the_new_number_is_known_by_what_was_asked() {
        let [asked, _] = told(RolloutEventKind::Adopted, "b");
        let asked = RolloutEvent { said: Some(format!("{ROLLED_BACK}2; nodes").into()), ..asked };
        let events = [[asked.clone(), asked], changed(3, 4, "b")];
        assert_eq!(numbers(&events, &[one("c", 3, &[]), one("b", 4, &[])]), [(4, vec![2])]);
    }

    #[test]
    fn what_was_said_of_a_number_keeps_it_and_names_the_present_one() {
        let known = BTreeMap::from([(6, vec![4, 2]), (7, vec![5])]);
        for (said, now) in [
            (
                "roll back: template is that of revision 5; nodes",
                "roll back: template is that of revision 5 (now 7); nodes",
            ),
            ("halted at revision 2: crash", "halted at revision 2 (now 6): crash"),
            (
                "template changed: revision 5 → that of revision 4, v3",
                "template changed: revision 5 (now 7) → that of revision 4 (now 6), v3",
            ),
            ("revision 3 → 5, v1 → v2", "revision 3 → 5 (now 7), v1 → v2"),
            ("to revision 3 of revision 55, revision ", "to revision 3 of revision 55, revision "),
        ] {
            assert_eq!(with_present_numbers(said, &known), now);
        }
    }
}
