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
const CHANGE_REPORTED_WITHIN_MILLIS: i64 = 15_000;

/// A line for each template made after `known_from` that no line of `told` tells.
pub(super) fn template_changes(snapshot: &Snapshot, told: &[StoryLine], known_from: Timestamp) -> Vec<StoryLine> {
    let near =
        |line: &&StoryLine, at: Timestamp| (line.at.millis() - at.millis()).abs() <= CHANGE_REPORTED_WITHIN_MILLIS;
    let is_told = |at| told.iter().filter(|line| near(line, at)).any(|line| line.facts.template_changed);
    let line = |revision: &RevisionView| {
        let at = revision.created_at.filter(|at| *at > known_from && !is_told(*at))?;
        let is_present = snapshot.template_revision.as_ref() == Some(&revision.hash);
        let by = match snapshot.alarms.iter().find_map(changed_by).filter(|_| is_present) {
            Some(by) => format!("by {by}, as managedFields tell"),
            None => "by whom is not known".to_owned(),
        };
        let what = format!("the template became that of {}, {}", revision.called(), VersionWords(revision));
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

fn changed_by(alarm: &Alarm) -> Option<&str> {
    match alarm {
        Alarm::TemplateChanged { by, .. } => by.as_deref(),
        _ => None,
    }
}

/// Templates that only a later change shows: that change leads away from a revision whose number is higher than all reported
/// ones. If the template is an earlier one, its revision keeps its first creation time, so the time of the change is not
/// known otherwise.
pub(super) fn between_changes(told: &[StoryLine]) -> Vec<StoryLine> {
    let mut changes: Vec<(Timestamp, (i64, i64))> =
        told.iter().filter_map(|line| Some((line.at, line.facts.change?))).collect();
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
            notes.push(format!(
                "Revision {number} is an earlier template that was put back, not by a rolldeck that is known of: when and by whom is not known."
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
