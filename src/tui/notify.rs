//! Calls an operator who looks elsewhere, by the bell and the title of the terminal, if the operator asked for them.

use super::model::{Model, RolloutPage};
use crate::engine::model::Str;
use crate::engine::model::driver::DriverView;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Phase, Snapshot};

/// The ways in which the console calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NotifyBy {
    /// The terminal's bell rings, once for each event.
    pub bell: bool,
    /// The terminal's title shows the state of the rollout.
    pub title: bool,
}

/// Somebody else drives a rollout that this console drove.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TakenOver {
    /// The identity of the present driver.
    pub(crate) by: Str,
    /// The instant at which this console ceased to drive.
    pub(crate) at: Timestamp,
}

impl TakenOver {
    /// The driver that took the rollout over from this console, for as long as it holds the Lease and what was taken over is not over: another rollout
    /// of that driver, or a pre-warming that it began later, is not this console's to take back.
    pub(crate) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (DriverView::Other { holder, .. }
        | DriverView::Unconfirmed { holder, .. }
        | DriverView::Lost { holder, .. }) = &snapshot.driver
        else {
            return None;
        };
        let last = last_about_the_lease(snapshot)?;
        let (RolloutEventKind::LeaseLost { to } | RolloutEventKind::LeaseGivenBack { to }) = &last.kind else {
            return None;
        };
        (to.as_ref()? == holder && still_goes_on(snapshot, last.at)).then(|| Self { by: holder.clone(), at: last.at })
    }
}

/// Whether something that was there to be driven at `at` goes on: the rollout, or pre-warming. A rollout whose beginning is not known counts.
fn still_goes_on(snapshot: &Snapshot, at: Timestamp) -> bool {
    let is_over = matches!(snapshot.phase, Phase::Idle | Phase::Native | Phase::Complete);
    let began_later = |began: Timestamp| began > at;
    let rolls = !is_over && !snapshot.retargeted_at.or(snapshot.started_at).is_some_and(began_later);
    rolls || snapshot.prewarm.as_ref().is_some_and(|prewarm| !began_later(prewarm.request.by.at))
}

/// The last event that tells how this process came to drive, or ceased to: these events are only about this process.
fn last_about_the_lease(snapshot: &Snapshot) -> Option<&RolloutEvent> {
    snapshot.timeline.iter().rev().find(|event| {
        matches!(
            event.kind,
            RolloutEventKind::LeaseLost { .. }
                | RolloutEventKind::LeaseGivenBack { .. }
                | RolloutEventKind::LeaseAcquired
                | RolloutEventKind::LeaseTakenOver { .. }
                | RolloutEventKind::RecordDeleted
                | RolloutEventKind::RecordRemoved
                | RolloutEventKind::RecordUnreadable { .. }
        )
    })
}

/// How this console lost the record by which it drove, as long as there is no other record and nobody drives.
pub(crate) fn record_lost(snapshot: &Snapshot) -> Option<&RolloutEvent> {
    // A record that was begun anew has no driver yet who dates its beginning.
    let is_recorded = snapshot.started_at.is_some() || snapshot.begun_anew.is_some();
    let nobody = snapshot.driver == DriverView::Nobody && !is_recorded;
    last_about_the_lease(snapshot).filter(|last| nobody && last.loses_the_record())
}

/// The properties of a rollout whose change is worth a call.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Standing {
    Halted,
    Done,
    TakenOver(Timestamp),
}

fn standing(snapshot: &Snapshot) -> Option<Standing> {
    match (&snapshot.phase, TakenOver::of(snapshot)) {
        (Phase::Halted, _) => Some(Standing::Halted),
        (_, Some(taken_over)) => Some(Standing::TakenOver(taken_over.at)),
        (Phase::Complete, _) => Some(Standing::Done),
        _ => None,
    }
}

/// Whether `after` shows something worth a call that `before` did not show. The state at the opening of the rollout is never worth one.
pub(crate) fn calls(before: Option<&Snapshot>, after: &Snapshot) -> bool {
    let Some(before) = before.filter(|before| before.phase != Phase::Loading) else { return false };
    let now = standing(after);
    let taken_over_again = TakenOver::of(after).is_some() && TakenOver::of(after) != TakenOver::of(before);
    (now.is_some() && now != standing(before)) || taken_over_again
}

/// The title of the terminal: the rollout and its state.
pub(crate) fn title(model: &Model) -> String {
    match model.rollout() {
        Some(RolloutPage { target, live, .. }) => {
            let standing = live.as_ref().and_then(|shown| standing(&shown.snapshot));
            let words = match standing {
                Some(Standing::Halted) => " halted",
                Some(Standing::Done) => " done",
                Some(Standing::TakenOver(_)) => " taken over",
                None => "",
            };
            format!("rolldeck: ds/{}{words}", target.name)
        }
        None => format!("rolldeck: {}", model.context),
    }
}
