//! Changes that no known rolldeck made, as far as the cluster shows them: ControllerRevisions show a template, a missing
//! record shows a deleted Lease.
//!
//! A running driver reports such changes itself. If nobody drove, only the objects show them.

use std::time::Duration;

use super::StoryLine;
use crate::engine::model::facts::Severity;
use crate::engine::model::record::By;
use crate::engine::model::time::Timestamp;
use crate::engine::report::node_story::clock_time;
use crate::engine::report::snapshot::{Alarm, RevisionView, Snapshot};
use crate::engine::report::words::VersionWords;

/// The longest time between a new ControllerRevision and the report of its change: the controller makes the revision a moment later.
const TOLD_WITHIN_MILLIS: i64 = 15_000;

/// New templates since `known_from` that `told` does not report.
pub(super) fn template_changes(snapshot: &Snapshot, told: &[StoryLine], known_from: Timestamp) -> Vec<StoryLine> {
    let near = |line: &&StoryLine, at: Timestamp| (line.at.millis() - at.millis()).abs() <= TOLD_WITHIN_MILLIS;
    let is_told = |at| told.iter().filter(|line| near(line, at)).any(|line| line.text.contains("template"));
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
        told.iter().filter_map(|line| Some((line.at, change_of(&line.text)?))).collect();
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
            });
        }
        highest = Some((at, highest.map_or(0, |(_, known)| known).max(from).max(to)));
    }
    lines
}

/// The source and target revision of a change of the template: `template changed: revision 7 → 8, agent v2 → v1`.
fn change_of(text: &str) -> Option<(i64, i64)> {
    // As an Event of another process has it.
    let text = text.strip_prefix("reported: ").unwrap_or(text);
    let (from, rest) = text.strip_prefix("template changed: revision ")?.split_once(" → ")?;
    let to = rest.strip_prefix("that of revision ").unwrap_or(rest);
    let to = to.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

/// Changes at unknown times, one sentence each.
pub(super) fn at_unknown_times(snapshot: &Snapshot, told: &[StoryLine]) -> Vec<String> {
    let mut notes = Vec::new();
    for revision in snapshot.revisions.iter() {
        let Some(number) = revision.number else { continue };
        // The controller gives the revision of an earlier template a new number, and keeps its creation time.
        let is_reused = snapshot.revisions.iter().any(|later| {
            later.created_at > revision.created_at && later.number.is_some_and(|of_later| of_later < number)
        });
        let words = format!("revision {number}");
        let names = |text: &str| text.split(&words).skip(1).any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        if is_reused && !told.iter().any(|line| names(&line.text)) {
            notes.push(format!(
                "Revision {number} is an earlier template that was put back, not by a rolldeck that is known of: when and by whom is not known."
            ));
        }
    }
    let is_told = || told.iter().any(|line| line.text.contains("the Lease was deleted"));
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
