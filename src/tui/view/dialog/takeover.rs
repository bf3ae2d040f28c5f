//! The facts for somebody who drives a rollout that others have driven: its state, the nodes in trouble, its last driver and until when it drove,
//! what halts it, and what stops it.
//!
//! ```text
//! Step 2 of 4, 31 of 120 updated; paused by ops@bastion-2 3m ago: link to munich is down.
//! In trouble: 1 image not found (ipc-017, 3m), 1 went down since update (ipc-031, 1m).
//! Pre-warming: 12 of 120 present, 108 waiting; at most 2 pull at a time.
//! Silent: ops@bastion-2/3f9a1c was last seen 40s ago.
//! 7 nodes are in line, at most 2 down and 2 pulling at a time.
//! It halts once 1 node has failed (pod not available in 10m, more than 2 restarts, or node down for 5m).
//! P pauses it; D stops driving, and what is left then waits until somebody drives again.
//! ```

use super::super::RenderContext;
use super::super::header::{as_of, group};
use super::DialogBody;
use crate::engine::model::driver::DriverView;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::action::{ActionId, key_of};
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::theme::ThemeRole;

pub(super) fn fill(body: &mut DialogBody<'_>, page: &RolloutPage, shown: &ShownSnapshot) {
    let snapshot = &*shown.snapshot;
    let ctx = body.ctx;
    // If no rollout is recorded, only pre-warming can be taken over.
    if snapshot.started_at.is_some() {
        let changed = snapshot.template_of_others();
        let stands = changed.is_some() || matches!(snapshot.phase, Phase::Paused(_) | Phase::Halted);
        let role = if stands { ThemeRole::Warn } else { ThemeRole::Text };
        let state = changed.as_ref().map_or_else(|| state(ctx, shown), |changed| format!("{changed}, it pauses first"));
        body.say(&format!("{}{state}.", step(snapshot)), role);
        let trouble: Vec<String> =
            page.summary.trouble.iter().map(|trouble| group(ctx, page, shown, trouble)).collect();
        match trouble.is_empty() {
            true => body.say("No node is in trouble, as far as is seen.", ThemeRole::Text),
            false => body.say(&format!("In trouble: {}.", trouble.join(", ")), ThemeRole::Bad),
        }
    }
    if let Some(view) = snapshot.prewarm.as_ref().filter(|view| view.request.cancelled.is_none()) {
        let is_paused = if view.request.paused.is_some() { " is paused" } else { "" };
        let (counts, limit) = (view.counts, view.limit);
        let words = format!("Pre-warming{is_paused}: {counts}; at most {limit} pull at a time.");
        body.say(&words, ThemeRole::Text);
    }
    if let Some(silent) = silent(ctx, shown) {
        body.say(&format!("{silent}."), ThemeRole::Text);
    }
}

/// What halts the rollout that is driven, and which keys stop it.
pub(super) fn fill_stops(body: &mut DialogBody<'_>, snapshot: &Snapshot) {
    if snapshot.started_at.is_none() {
        return;
    }
    let key = |id: ActionId| key_of(body.ctx.model, id.action());
    let pauses = match snapshot.paused.is_some() || matches!(snapshot.phase, Phase::Paused(_)) {
        true => format!("It is paused, and stays so: {} resumes it", key(ActionId::Resume)),
        false => format!("{} pauses it", key(ActionId::Pause)),
    };
    let stops = format!(
        "{pauses}; {} stops driving, and what is left then waits until somebody drives again.",
        key(ActionId::Drive)
    );
    body.say(&format!("It {}.", snapshot.halts_when()), ThemeRole::Text);
    body.say(&stops, ThemeRole::Text);
}

/// `Step 2 of 4, 31 of 120 updated; `
fn step(snapshot: &Snapshot) -> String {
    let progress = snapshot.progress();
    let by_hand = snapshot.plan.by_hand(snapshot.counts.nodes);
    match (snapshot.direction, snapshot.plan.step, snapshot.plan.steps.len()) {
        (Direction::Forward, ..) if let Some(by_hand) = by_hand => format!("{by_hand} by hand, {progress}; "),
        (Direction::Forward, Some(step), all @ 1..) => format!("Step {} of {all}, {progress}; ", step + 1),
        (Direction::Forward | Direction::Back, ..) => format!("{progress}; "),
    }
}

/// The present action of the rollout; if it stands still, who stopped it and why.
fn state(ctx: &RenderContext<'_>, shown: &ShownSnapshot) -> String {
    let snapshot = &*shown.snapshot;
    let since = match (&snapshot.phase, &snapshot.halt) {
        (Phase::Paused(paused), _) => Some(paused.at),
        (Phase::Releasing(by), _) => Some(by.at),
        (Phase::Halted, Some(halt)) => Some(halt.at),
        _ => None,
    };
    since.map_or_else(|| snapshot.doing().to_string(), |since| as_of(ctx, shown, since).doing().to_string())
}

/// The last driver and when it was last seen, or the present driver.
fn silent(ctx: &RenderContext<'_>, shown: &ShownSnapshot) -> Option<String> {
    let ago = |at| ctx.age(shown, at);
    match &shown.snapshot.driver {
        DriverView::Other { holder, renewal_observed_at } => {
            Some(format!("{holder} drives it, last seen {} ago", ago(*renewal_observed_at)))
        }
        DriverView::Unconfirmed { holder, renewed_at: Some(at) } => {
            Some(format!("Not seen yet whether {holder} is alive: it renewed {} ago by its clock", ago(*at)))
        }
        DriverView::Unconfirmed { holder, renewed_at: None } => Some(format!("Not seen yet whether {holder} is alive")),
        DriverView::Lost { holder, renewed_at: Some(at), .. } => {
            Some(format!("Silent: {holder} drove last, {} ago by its clock", ago(*at)))
        }
        DriverView::Lost { holder, renewal_observed_at, renewed_at: None } => {
            Some(format!("Silent: {holder} was last seen {} ago", ago(*renewal_observed_at)))
        }
        DriverView::Unknown | DriverView::Nobody | DriverView::You { .. } | DriverView::Waiting { .. } => None,
    }
}
