//! Changes the status line without a command: a complaint about the audit log, an alarm after a success, and the end of a message's time.

use std::mem::discriminant;

use crate::engine::model::driver::DriverView;
use crate::engine::model::person_of;
use crate::engine::model::presence::Presence;
use crate::engine::model::record::Direction;
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::{Phase, RevisionView, Snapshot};
use crate::engine::report::words::VersionWords;
use crate::tui::action;
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::model::{Model, RolloutPage};
use crate::tui::status::StatusSeverity;

/// Removes a message that is old, one that could be read and is from the time of another target than that of `snapshot`, or
/// one about a success that could be read, if `snapshot` shows that something went wrong since; where it could not be read yet, it goes once it could. Call it
/// before the page takes the snapshot in.
pub(super) fn drop_outdated(model: &mut Model, target: &DaemonSetRef, snapshot: &Snapshot) {
    let read = model.status.as_ref().filter(|status| status.was_read(model.now));
    let success = model.status.as_ref().is_some_and(|status| status.severity == StatusSeverity::Good);
    let to = snapshot.to.as_ref().map(|to| &to.hash);
    let of_another = read.is_some_and(|status| {
        // The answer to a pending command is about whatever it asked for.
        status.severity != StatusSeverity::Busy && status.target.as_ref().zip(to).is_some_and(|(then, now)| then != now)
    });
    let old = model.status.as_ref().is_some_and(|status| status.is_old(model.now));
    let page = model.rollout().filter(|page| page.target == *target);
    let outdated = |page: &RolloutPage| {
        let known = page.snapshot().map(|known| &**known);
        let drives = |snapshot: &Snapshot| matches!(snapshot.driver, DriverView::You { .. });
        // A DaemonSet that was handed back needs no driver.
        let handed_back = snapshot.driver == DriverView::Nobody && !snapshot.adopted;
        let driver_changed = known.is_some_and(|known| drives(known) && !drives(snapshot)) && !handed_back;
        (old || of_another, success && (driver_changed || is_worse(known, snapshot)))
    };
    let (goes, contradicted) = page.map(outdated).unwrap_or_default();
    let was_read = read.is_some();
    if goes || (contradicted && was_read) {
        model.status = None;
    } else if let Some(status) = model.status.as_mut().filter(|_| contradicted) {
        status.is_contradicted = true;
    }
}

/// Notes that the screen shows news, or takes a key, since the message was given: what it speaks of may be over.
pub(super) fn overtake(model: &mut Model) {
    if let Some(status) = model.status.as_mut().filter(|status| status.at < model.now) {
        status.is_overtaken = true;
    }
}

/// Removes a message whose time is over, and one that could be read, if it is a refusal that would not be given any more, or a success against which
/// something speaks since.
pub(super) fn expire(model: &mut Model) {
    let Some(status) = &model.status else { return };
    let is_over = || {
        let refused = status.refused.and_then(action::named);
        refused.is_some_and(|action| {
            action.available(model).err().is_none_or(|why| !status.text.starts_with(why.as_str()))
        })
    };
    let is_untrue = || status.is_contradicted || is_over();
    if (status.is_overtaken && status.is_old(model.now)) || (status.was_read(model.now) && is_untrue()) {
        model.status = None;
    }
}

/// Whether `after` has an alarm of a new kind, more failed nodes, or an unsent write that `before` does not have.
fn is_worse(before: Option<&Snapshot>, after: &Snapshot) -> bool {
    let known = |snapshot: &Snapshot| -> Vec<_> { snapshot.alarms.iter().map(discriminant).collect() };
    let known = before.map(known).unwrap_or_default();
    let failed = before.map_or(0, |before| before.counts.failed);
    after.alarms.iter().any(|alarm| !known.contains(&discriminant(alarm)))
        || after.counts.failed > failed
        || (after.not_sent().is_some() && before.is_none_or(|before| before.not_sent().is_none()))
}

/// Whether a rollout forward was rolled back before its first node, so that no snapshot shows it on the way back: the template is again that of the
/// revision that the nodes came from.
fn went_back_at_once(before: &Snapshot, after: &Snapshot) -> bool {
    let hash = |revision: &Option<RevisionView>| revision.as_ref().map(|revision| revision.hash.clone());
    let from = hash(&before.from);
    before.direction == Direction::Forward && from.is_some() && from == hash(&after.to) && from != hash(&before.to)
}

/// The text of the status line if the rollout has ended between two snapshots, whoever drives.
pub(super) fn is_over(before: &Snapshot, after: &Snapshot) -> Option<String> {
    // A record may cover several rollouts.
    let began = before.target_began().filter(|_| after.daemonset == Presence::Present)?;
    let counts = after.counts;
    let at_once = went_back_at_once(before, after);
    let back = before.direction == Direction::Back || at_once;
    let to = if at_once { after.to.as_ref() } else { before.to.as_ref() };
    let revision = to.map_or_else(|| "the revision".to_owned(), |to| VersionWords(to).to_string());
    let are = if counts.updated == 1 { "is" } else { "are" };
    let how_far = match (counts.updated == counts.nodes, back) {
        (true, true) => format!("all {} nodes are back at {revision}", counts.nodes),
        (true, false) => format!("all {} nodes are updated", counts.nodes),
        (false, true) => format!("{} of {} nodes {are} back at {revision}", counts.updated, counts.nodes),
        (false, false) => format!("{} of {} nodes {are} updated", counts.updated, counts.nodes),
    };
    let what = if back { "rolled back" } else { "the rollout is complete" };
    // A roll back begins anew; one that no snapshot shows on its way has the beginning of the rollout before it.
    let whose = match (back, at_once) {
        (true, true) => "the rollout",
        (true, false) => "the roll back",
        (false, _) => "it",
    };
    let lasted = format!("{} after {whose} began", ShortDuration(after.at.since(began)));
    let handed_back = after.started_at.is_none() && after.phase == Phase::Idle && !after.adopted;
    let complete = after.phase == Phase::Complete && before.phase != Phase::Complete;
    match (handed_back, complete) {
        (true, _) if before.phase == Phase::Complete || counts.updated == counts.nodes => {
            Some(format!("{what}, {lasted}: {how_far}; its controller has it again"))
        }
        (true, _) => Some(format!("handed back to its controller, {lasted}: {how_far}")),
        (_, true) => Some(format!("{what}, {lasted}: {how_far}")),
        _ => None,
    }
}

/// The text of the status line for a command that another process carried out between two snapshots, as an Event of that process claims.
pub(super) fn reported(before: &Snapshot, after: &Snapshot) -> Option<String> {
    let known = before.timeline.last().map(|event| event.at);
    let is_news = |event: &&RolloutEvent| before.phase != Phase::Loading && Some(event.at) > known;
    let told = after.timeline.iter().rev().take_while(is_news).find(|event| event.reports_a_command())?;
    Some(format!("{} {told}", person_of(told.reported_by()?)))
}

/// The text of the status line if pre-warming has ended between two snapshots.
pub(super) fn prewarmed(before: &Snapshot, after: &Snapshot) -> Option<String> {
    let (before, after) = (before.prewarm.as_ref()?, after.prewarm.as_ref()?);
    let is_same = (&before.request.by, &before.request.source) == (&after.request.by, &after.request.source);
    after.end_in_words().filter(|_| is_same && before.end_in_words().is_none())
}

/// Shows `what` if that rollout is open. A status line about a pending command stays.
pub(super) fn announce(model: &mut Model, target: &DaemonSetRef, what: &str) {
    let waits = model.status.as_ref().is_some_and(|status| status.severity == StatusSeverity::Busy);
    if !waits && model.rollout().is_some_and(|page| page.target == *target) {
        model.say(StatusSeverity::Good, format!("{}: {what}", target.name));
    }
}

/// Shows each complaint about the audit log or Events once. A status line about a pending command stays.
pub(super) fn complain(model: &mut Model) {
    if model.status.as_ref().is_some_and(|status| status.severity == StatusSeverity::Busy) {
        return;
    }
    let Some(page) = model.rollout_mut() else { return };
    let Some(snapshot) = page.snapshot().cloned() else { return };
    let news: Vec<_> = snapshot.unaudited.iter().filter(|said| !page.unaudited.contains(said)).cloned().collect();
    page.unaudited.extend(news.iter().cloned());
    for complaint in news {
        match &mut model.status {
            Some(status) => status.text.push_str(&format!(" ({complaint})")),
            None => model.say(StatusSeverity::Refused, &*complaint),
        }
    }
}
