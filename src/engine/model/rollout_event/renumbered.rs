//! The numbers that revisions had before a roll back. Their controller gives the revision that it goes back to a new number, above
//! all others, and the cluster forgets the former one. Only the events of the rollout tell it.

use std::collections::BTreeMap;

use super::phrases::{CHANGED, THAT_OF, number_at_the_beginning};
use super::told_images::ToldImages;
use super::{RolloutEvent, RolloutEventKind};
use crate::engine::model::template::Template;
use crate::engine::model::time::Timestamp;

/// The beginning of the words about a roll back, before the number that its revision had.
pub(crate) const ROLLED_BACK: &str = "roll back: template is that of revision ";

/// The same about going to a revision that was made after the present one.
pub(crate) const WENT_TO: &str = "go to a later revision: template is that of revision ";

/// What is known of a revision's numbers without events.
#[derive(Clone, Debug)]
pub(crate) struct NumberedRevision<'a> {
    /// The number that it has now.
    pub(crate) number: i64,
    /// When its ControllerRevision was created, by our clock: another number leaves that as it is.
    pub(crate) created_at: Option<Timestamp>,
    /// The numbers that this process saw it have before, the earliest first.
    pub(crate) seen: &'a [i64],
    /// Its template, where it is known: no number that Events tell with other images was ever its own.
    pub(crate) template: Option<&'a Template>,
}

/// A change of the template, according to an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Renumbering {
    /// The revision before the change, by its number then.
    pub(super) from: i64,
    /// The number that the revision had to which the change went back; `None`: it went to another revision, or the revision had its new
    /// number already.
    pub(super) back_to: Option<i64>,
    /// The number that the revision has, if it was known by then.
    pub(super) to: Option<i64>,
}

impl RolloutEvent {
    pub(super) fn renumbering(&self) -> Option<Renumbering> {
        match &self.kind {
            RolloutEventKind::TemplateChanged { from: Some(from), to: Some(to), .. } => {
                let is_back = to <= from;
                Some(Renumbering { from: *from, back_to: is_back.then_some(*to), to: (!is_back).then_some(*to) })
            }
            RolloutEventKind::Reported { reason, .. } if &**reason == "RolloutTemplateChanged" => {
                let (from, to) = self.said.as_deref()?.strip_prefix(CHANGED)?.split_once(" → ")?;
                let back_to = to.strip_prefix(THAT_OF).and_then(number_at_the_beginning);
                let to = if back_to.is_none() { number_at_the_beginning(to) } else { None };
                Some(Renumbering { from: from.parse().ok()?, back_to, to })
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

    fn hides_the_number(&self) -> bool {
        match &self.kind {
            RolloutEventKind::TemplateChangedByOthers { .. } => true,
            _ => self.reason() == "RolloutTemplateChangedByOthers",
        }
    }
}

/// The former numbers of revisions, by the number that each has now, the latest first, as far as `events`, oldest first, and
/// `revisions` tell. `current`: the number of the present template's revision. Without `revisions`, events alone tell.
pub(crate) fn earlier_numbers<'a>(
    events: impl Iterator<Item = &'a RolloutEvent> + Clone,
    current: Option<i64>,
    revisions: &[NumberedRevision<'_>],
) -> BTreeMap<i64, Vec<i64>> {
    let mut known: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let mut last: Option<(Renumbering, Timestamp)> = None;
    // When the change before the last one was told.
    let mut before_last: Option<Timestamp> = None;
    // What was asked for, and the number that the change before the answer led to. The answer may be told before the change that it is about.
    let mut asked: Option<(i64, i64, Timestamp)> = None;
    let with = |number: i64| revisions.iter().find(|revision| revision.number == number);
    let created_by = |number: i64, at: Timestamp| with(number)?.created_at.map(|created| created <= at);
    let images = ToldImages::of(events.clone());
    let had_its_images = |was: i64, now: i64| {
        with(now).and_then(|revision| revision.template).is_none_or(|template| images.allow_template(was, template))
    };
    let mut note = |was: i64, now: i64, at: Timestamp| {
        // A revision that was created later is none that was gone back to, and one that has its number still got no other.
        if now != was && created_by(now, at) != Some(false) && with(was).is_none() && had_its_images(was, now) {
            let before = known.remove(&was).unwrap_or_default();
            known.insert(now, std::iter::once(was).chain(before).collect());
        }
    };
    for event in events {
        if event.hides_the_number() {
            // Somebody may have changed the template before the controller saw it. A revision that is older than the roll back and
            // has the number that came next is the one that was gone back to.
            if let Some((Renumbering { from, back_to: Some(was), .. }, at)) = last
                && created_by(from + 1, at) == Some(true)
            {
                note(was, from + 1, at);
            }
            (last, before_last) = (None, None);
        } else if let Some(was) = event.rolled_back_to() {
            if let Some((Renumbering { from, back_to: None, to: Some(now) }, _)) = last
                && now > from
                && was != from
                // A revision that had a lower number than the one before the change was there when that one came.
                && before_last.is_none_or(|came| created_by(now, came) != Some(false))
            {
                asked = Some((was, now, event.at));
            }
        } else if let Some(change) = event.renumbering()
            && last.is_none_or(|(last, _)| last != change)
        {
            if let Some((was, now, at)) = asked.take()
                && change.back_to != Some(was)
            {
                note(was, now, at);
            }
            if let Some((Renumbering { from, back_to: Some(was), .. }, at)) = last
                && change.from > from
            {
                note(was, from + 1, at);
            }
            before_last = last.map(|(_, at)| at);
            last = Some((change, event.at));
        }
    }
    if let Some((was, now, at)) = asked {
        note(was, now, at);
    }
    // The controller gives out the next number above that of the revision that was rolled back from. Later changes, by whomever, get
    // higher ones. Until it has seen the template, there is no new number.
    if let (Some((Renumbering { from, back_to: Some(was), .. }, at)), Some(now)) = (last, current)
        && now > from
    {
        note(was, from + 1, at);
    }
    // What was seen counts: whatever the events seem to tell, no other revision had these numbers.
    for revision in revisions {
        if let Some(first) = revision.seen.first() {
            let before = known.remove(first).unwrap_or_default();
            revision.seen.iter().for_each(|number| drop(known.remove(number)));
            known.values_mut().for_each(|earlier| earlier.retain(|number| !revision.seen.contains(number)));
            known.insert(revision.number, revision.seen.iter().rev().copied().chain(before).collect());
        }
    }
    known.retain(|_, earlier| !earlier.is_empty());
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

/// A text about the past, whose numbers of revisions are those of that time, with the present number behind one that has another by now:
/// `revision 2 (now 4)`. A change from one revision to another is left as it was.
pub fn with_present_numbers(text: &str, known: &BTreeMap<i64, Vec<i64>>) -> String {
    const REVISION: &str = "revision ";
    let mut parts = text.split(REVISION);
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = part.split_at(digits);
        let had = |earlier: &Vec<i64>| number.parse().is_ok_and(|number| earlier.contains(&number));
        let now = known.iter().find(|(_, earlier)| had(earlier) && !rest.starts_with(" → "));
        said.extend([REVISION, number]);
        said.extend(now.map(|(now, _)| format!(" (now {now})")));
        said.push_str(rest);
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fake_cluster::template;
    use crate::engine::model::rollout_event::{EventOutcome, TemplateResponse, Visibility};
    use crate::engine::model::time::Timestamp;

    fn changed(from: i64, to: i64) -> RolloutEvent {
        RolloutEvent {
            at: Timestamp::default(),
            by: None,
            kind: RolloutEventKind::TemplateChanged { from: Some(from), to: Some(to), images: Vec::new() },
            outcome: EventOutcome::Done,
            command: None,
            said: None,
            visibility: Visibility::Cluster,
        }
    }

    fn numbers(events: &[RolloutEvent], current: i64) -> Vec<(i64, Vec<i64>)> {
        earlier_numbers(events.iter(), Some(current), &[]).into_iter().collect()
    }

    #[test]
    fn a_revision_that_was_gone_back_to_is_known_by_both_numbers() {
        assert_eq!(numbers(&[changed(2, 3)], 3), []);
        assert_eq!(numbers(&[changed(2, 3), changed(3, 2)], 4), [(4, vec![2])]);
        assert_eq!(numbers(&[changed(2, 3), changed(3, 2)], 2), [], "its controller has not seen it");
        assert_eq!(numbers(&[changed(3, 2), changed(3, 2)], 4), [(4, vec![2])], "the same is told twice");
        assert_eq!(numbers(&[changed(3, 2), changed(4, 5)], 5), [(4, vec![2])], "the next change names it");
        assert_eq!(numbers(&[changed(3, 2), changed(4, 5), changed(5, 4)], 6), [(6, vec![4, 2])]);
        let others = RolloutEvent {
            kind: RolloutEventKind::TemplateChangedByOthers {
                manager: None,
                how: "".into(),
                then: TemplateResponse::Paused,
            },
            ..changed(0, 0)
        };
        assert_eq!(numbers(&[changed(3, 2), others], 7), [], "whose number 7 is nobody knows");
    }

    /// What somebody else did since has no event, or one without numbers: the roll back's own number is the one that came next.
    #[test]
    fn a_later_change_by_others_is_not_taken_for_the_roll_back() {
        assert_eq!(numbers(&[changed(3, 2)], 7), [(4, vec![2])]);
        let at = |second: i64| Timestamp::from_millis(second * 1_000);
        let back = [RolloutEvent { at: at(50), ..changed(3, 2) }];
        let one =
            |number, created, seen| NumberedRevision { number, created_at: Some(at(created)), seen, template: None };
        let known = |revisions: &[NumberedRevision<'_>]| -> Vec<_> {
            earlier_numbers(back.iter(), revisions.iter().map(|one| one.number).max(), revisions).into_iter().collect()
        };
        assert_eq!(known(&[one(1, 10, &[]), one(4, 20, &[]), one(3, 30, &[])]), [(4, vec![2])]);
        assert_eq!(known(&[one(2, 20, &[]), one(3, 30, &[]), one(4, 60, &[])]), [], "another template came first");
        assert_eq!(known(&[one(4, 20, &[]), one(7, 30, &[3, 5])]), [(4, vec![2]), (7, vec![5, 3])]);
        assert_eq!(known(&[one(7, 20, &[4]), one(8, 30, &[3])]), [(7, vec![4, 2]), (8, vec![3])]);
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
                "template changed: revision 5 → that of revision 4 (now 6), v3",
            ),
            ("to revision 3 of revision 55, revision ", "to revision 3 of revision 55, revision "),
        ] {
            assert_eq!(with_present_numbers(said, &known), now);
        }
    }

    /// The console that drives lists the answer by when it was asked for, before a change that names the number that is new already. The
    /// change before that is none to the revision that was asked for.
    #[test]
    fn an_answer_that_is_listed_before_its_change_is_not_about_the_change_before() {
        let at = |second: i64| Timestamp::from_millis(second * 1_000);
        let asked = RolloutEvent {
            at: at(50),
            kind: RolloutEventKind::Adopted,
            said: Some(format!("{ROLLED_BACK}2; nodes").into()),
            ..changed(0, 0)
        };
        let told = |second, from, to| RolloutEvent { at: at(second), ..changed(from, to) };
        let events = [told(30, 3, 4), told(40, 4, 5), asked, told(51, 5, 6)];
        let one =
            |number, created, seen| NumberedRevision { number, created_at: Some(at(created)), seen, template: None };
        let known = |revisions: &[NumberedRevision<'_>]| -> Vec<_> {
            earlier_numbers(events.iter(), Some(6), revisions).into_iter().collect()
        };
        assert_eq!(known(&[one(4, 30, &[]), one(5, 40, &[]), one(6, 10, &[2])]), [(6, vec![2])], "it was seen");
        assert_eq!(known(&[one(4, 30, &[]), one(5, 40, &[]), one(6, 10, &[])]), [], "5 was made after 4");
        assert_eq!(known(&[one(4, 30, &[]), one(5, 10, &[]), one(6, 51, &[])]), [(5, vec![2])], "6 is another");
        let seen = |events: &[RolloutEvent]| -> Vec<_> {
            let revisions = [one(5, 40, &[]), one(6, 10, &[2])];
            earlier_numbers(events.iter(), Some(6), &revisions).into_iter().collect()
        };
        assert_eq!(seen(&events[1..]), [(6, vec![2])], "whatever came before the change to 5");
    }

    /// Where the controller has numbered it before that is told, what its operator was told names the number that it had.
    #[test]
    fn one_that_has_its_new_number_already_is_known_by_what_was_asked() {
        let asked = RolloutEvent { said: Some(format!("{ROLLED_BACK}2; nodes").into()), ..changed(0, 0) };
        let asked = RolloutEvent { kind: RolloutEventKind::Adopted, ..asked };
        assert_eq!(numbers(&[changed(3, 4), asked.clone()], 4), [(4, vec![2])]);
        assert_eq!(numbers(&[changed(3, 2), asked.clone()], 4), [(4, vec![2])], "it says the same");
        assert_eq!(numbers(std::slice::from_ref(&asked), 4), [], "what it became is not known");
        let told_first = [changed(2, 3), asked, changed(3, 2)];
        assert_eq!(numbers(&told_first, 4), [(4, vec![2])], "the answer is told before its change");
        assert_eq!(numbers(&told_first[..2], 3), [], "revision 3 is what came after 2");
        let further_back =
            RolloutEvent { said: Some(format!("{ROLLED_BACK}1; nodes").into()), ..told_first[1].clone() };
        assert_eq!(numbers(&[changed(2, 3), further_back, changed(3, 1)], 4), [(4, vec![1])]);
    }

    /// Of somebody else's changes there may be no event. The number that comes after a roll back went to another revision then.
    #[test]
    fn a_revision_with_other_images_never_had_the_number() {
        let at = |second: i64| Timestamp::from_millis(second * 1_000);
        let told = |second, said: &str| RolloutEvent {
            at: at(second),
            kind: RolloutEventKind::Reported {
                identity: "ops".into(),
                reason: "RolloutTemplateChanged".into(),
                event: "agent.1".into(),
                severity: crate::engine::model::facts::Severity::Normal,
            },
            said: Some(said.into()),
            ..changed(0, 0)
        };
        let events = [
            told(30, "template changed: revision 2 → 3, agent v2 → v3"),
            told(
                50,
                "template changed: revision 3 → that of revision 2, which its controller numbers anew, agent v3 → v2",
            ),
        ];
        let known = |image: &str| {
            let template = template(image);
            let revision =
                NumberedRevision { number: 4, created_at: Some(at(10)), seen: &[], template: Some(&template) };
            earlier_numbers(events.iter(), Some(4), &[revision]).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(known("registry.example/agent:v2"), [(4, vec![2])]);
        assert_eq!(known("registry.example/agent:v1"), []);
    }

    #[test]
    fn the_words_of_another_process_tell_the_same() {
        let said = RolloutEventKind::TemplateChanged { from: Some(3), to: Some(2), images: Vec::new() }.to_string();
        let reported = RolloutEvent {
            kind: RolloutEventKind::Reported {
                reason: "RolloutTemplateChanged".into(),
                identity: "ops".into(),
                event: "agent.1".into(),
                severity: crate::engine::model::facts::Severity::Normal,
            },
            said: Some(said.into()),
            ..changed(0, 0)
        };
        assert_eq!(numbers(&[reported], 4), [(4, vec![2])]);
    }
}
