//! Changes that no known rolldeck made, as far as the cluster shows them: ControllerRevisions show a template, a missing
//! record shows a deleted Lease.
//!
//! A running driver reports such changes itself. If nobody drove, only the objects show them.

use std::time::Duration;

use super::StoryLine;
use crate::engine::model::facts::Severity;
use crate::engine::model::record::By;
use crate::engine::model::rollout_event::EventFacts;
use crate::engine::model::time::Timestamp;
use crate::engine::report::node_story::clock_time;
use crate::engine::report::snapshot::{Alarm, RevisionView, Snapshot};
use crate::engine::report::words::VersionWords;

/// The longest time between a new ControllerRevision and the report of its change: the controller makes the revision a moment later.
const CHANGE_REPORTED_WITHIN: Duration = Duration::from_secs(15);

/// A line for each template made after `known_from` that no line of `told` tells.
pub(super) fn template_changes(snapshot: &Snapshot, told: &[StoryLine], known_from: Timestamp) -> Vec<StoryLine> {
    let earlier = snapshot.all_earlier_numbers();
    let line = |revision: &RevisionView| {
        let at = revision.created_at.filter(|at| *at > known_from)?;
        let numbers: Vec<i64> = match revision.number {
            Some(number) => earlier.get(&number).into_iter().flatten().copied().chain([number]).collect(),
            None => Vec::new(),
        };
        if is_change_told(&numbers, at, told) {
            return None;
        }
        let made = told.iter().filter_map(|line| line.facts.made_by_others.as_ref());
        let made = made.filter(|made| numbers.contains(&made.number)).find_map(|made| made.by.as_ref());
        // An entry of managedFields is as new as the last write of its manager, and not older than what that manager made.
        let writer = present_writer(snapshot, revision).filter(|writer| at.since(writer.at) <= CHANGE_REPORTED_WITHIN);
        let by = match (made, writer) {
            (Some(by), _) => format!("by {by}, as managedFields told"),
            (None, Some(writer)) => format!("by {}, as managedFields tell", writer.by),
            (None, None) => "by whom is not known".to_owned(),
        };
        // Each return gives it a greater number.
        let first = numbers.iter().min().map_or_else(|| revision.called(), |number| format!("revision {number}"));
        let what = format!("the template became that of {first}, {}", VersionWords(revision));
        Some(StoryLine {
            at,
            who: None,
            node: None,
            text: format!("{what}: not by a rolldeck that is known of, {by}"),
            severity: Severity::Warning,
            facts: EventFacts::default(),
        })
    };
    snapshot.revisions.iter().filter_map(line).collect()
}

/// Whether a line tells the change that made the revision which has or had these `numbers`: by its number, or, where a line tells none, by its time.
fn is_change_told(numbers: &[i64], created_at: Timestamp, told: &[StoryLine]) -> bool {
    let near = |line: &StoryLine, at: Timestamp| {
        line.at.since(at) <= CHANGE_REPORTED_WITHIN && at.since(line.at) <= CHANGE_REPORTED_WITHIN
    };
    let changes = || told.iter().filter(|line| line.facts.template_changed);
    // Whoever asks for another template tells no number. A line that does, beside it, tells of the same change.
    let is_told_with_number =
        |line: &StoryLine| changes().any(|other| other.facts.change.is_some() && near(other, line.at));
    // What leads to that template later tells of another change.
    let of_others = told.iter().filter_map(|line| line.facts.made_by_others.as_ref());
    let is_of_others = of_others.map(|made| made.number).any(|number| numbers.contains(&number));
    let is_of = |line: &StoryLine| match &line.facts {
        EventFacts { changed_by_others: true, .. } => near(line, created_at),
        _ if is_of_others => false,
        EventFacts { change: Some((_, to)), .. } => numbers.contains(to),
        facts if !facts.revisions.is_empty() => facts.revisions.iter().any(|number| numbers.contains(number)),
        _ => near(line, created_at) && !is_told_with_number(line),
    };
    changes().any(is_of)
}

/// Who wrote the template last, if it is that of `revision`, and if it was not rolldeck.
fn present_writer<'a>(snapshot: &'a Snapshot, revision: &RevisionView) -> Option<&'a By> {
    snapshot.template_writer.as_ref().filter(|_| snapshot.template_revision.as_ref() == Some(&revision.hash))
}

/// Templates that only a later change shows: that change leads away from a revision whose number is higher than all reported
/// ones. If the template is an earlier one, its revision keeps its first creation time, so the time of the change is not
/// known otherwise.
pub(super) fn between_changes(told: &[StoryLine]) -> Vec<StoryLine> {
    let of_others =
        |line: &StoryLine| line.facts.made_by_others.as_ref().and_then(|made| Some((made.after?, made.number)));
    let all = |line: &StoryLine| {
        line.facts.change.into_iter().chain(of_others(line)).map(|change| (line.at, change)).collect::<Vec<_>>()
    };
    let mut changes: Vec<(Timestamp, (i64, i64))> = told.iter().flat_map(all).collect();
    changes.sort_unstable();
    let mut highest: Option<(Timestamp, i64)> = None;
    let mut lines = Vec::new();
    for (at, (from, to)) in changes {
        if let Some((since, _)) = highest.filter(|(_, known)| from > *known) {
            lines.push(StoryLine {
                at: at - Duration::from_millis(1),
                who: None,
                node: None,
                text: format!(
                    "the template had become that of revision {from} since {}: not by a rolldeck that is known of, by whom is not known",
                    clock_time(since)
                ),
                severity: Severity::Warning,
                facts: EventFacts::default(),
            });
        }
        // A template that comes back gets the next number, whatever number its revision is told with.
        let now = if to <= from { from.saturating_add(1) } else { to };
        highest = Some((at, highest.map_or(0, |(_, known)| known).max(from).max(now)));
    }
    lines
}

/// Changes at unknown times, one sentence each.
pub(super) fn undated_changes(snapshot: &Snapshot, told: &[StoryLine]) -> Vec<String> {
    let mut notes = Vec::new();
    let renumbered = snapshot.all_earlier_numbers();
    for revision in snapshot.revisions.iter() {
        let Some(number) = revision.number else { continue };
        // The controller gives the revision of an earlier template a new number, and keeps its creation time.
        let is_reused = snapshot.revisions.iter().any(|later| {
            later.created_at > revision.created_at && later.number.is_some_and(|of_later| of_later < number)
        });
        // Of one that a rolldeck went back to, an event may name only the number that it had before.
        let is_told =
            told.iter().any(|line| line.facts.revisions.contains(&number)) || renumbered.contains_key(&number);
        if is_reused && !is_told {
            let since = revision.created_at.map(|at| at + CHANGE_REPORTED_WITHIN);
            let who = match present_writer(snapshot, revision).filter(|writer| since.is_none_or(|at| writer.at > at)) {
                Some(By { by, at }) => format!("by {by}, at {} or before, as managedFields tell", clock_time(*at)),
                None => "when and by whom is not known".to_owned(),
            };
            notes.push(format!(
                "Revision {number} is an earlier template that was put back, not by a rolldeck that is known of: {who}."
            ));
        }
    }
    let is_told = || told.iter().any(|line| line.facts.record_deleted);
    if snapshot.alarms.contains(&Alarm::RecordMissing) && !is_told() {
        notes.push(
            "The record of the rollout is gone with its Lease, or was taken off it: when and by whom is not known, as nobody drove then."
                .to_owned(),
        );
    }
    notes.extend(snapshot.begun_anew.as_ref().map(|By { by, at }| {
        format!("The record of the rollout was lost before {}, when {by} began it anew: what was recorded before is not known.", clock_time(*at))
    }));
    notes
}
