//! The lines printed to the shell when the console ends: one for each rollout that was open, or that this console has driven.

use crate::engine::model::driver::DriverView;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::person_of;
use crate::engine::model::prewarm::{PrewarmCounts, PrewarmMethod};
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::copy::rolldeck;
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::model::{Model, RolloutPage};

/// One line each: the state of the rollout on screen and of all that are driven from here; for those that were driven
/// earlier, that they no longer are; or that there were none. A practice cluster ends with its console, so nothing on it
/// goes on.
pub(in crate::tui) fn farewell(model: &Model) -> Vec<String> {
    let on_screen = model.rollout();
    let driven = model.driven().filter(|page| on_screen.is_none_or(|shown| shown.target != page.target));
    let pages: Vec<&RolloutPage> = on_screen.into_iter().chain(driven).collect();
    let mut lines: Vec<String> = pages.iter().filter_map(|page| of_rollout(page, model)).collect();
    let is_told = |target: &&DaemonSetRef| pages.iter().any(|page| page.target == **target);
    lines.extend(
        model.have_been_driven.iter().filter(|target| !is_told(target)).map(|target| of_earlier(model, target)),
    );
    match (model.practice, lines.is_empty()) {
        // In so few words that it does not break on 80 cells.
        (true, _) => lines.push(format!("{}: the practice cluster ended with this console", model.context)),
        (false, true) => {
            lines.push(format!("{}: nothing was driven from here, and what others drive goes on", model.context));
        }
        (false, false) => {}
    }
    lines
}

/// For a rollout that is neither open nor driven from here any more: its state in the list of DaemonSets, if the list is up to date.
fn of_earlier(model: &Model, target: &DaemonSetRef) -> String {
    let DaemonSetRef { namespace, name } = target;
    let fleet = model.fleet.as_ref().map(|page| &page.fleet).filter(|fleet| fleet.health == WatchHealth::Live);
    let row = fleet.and_then(|fleet| fleet.rows.iter().find(|row| row.namespace == *namespace && row.name == *name));
    let state = row.map(|row| format!(": {}", row.standing())).unwrap_or_default();
    format!("{namespace}/{name}{state}; it was driven from here, and is not any more")
}

fn of_rollout(page: &RolloutPage, model: &Model) -> Option<String> {
    let practice = model.practice;
    // The ages that are told are those of the present.
    let snapshot = &*page.live.as_ref()?.frozen(model.now).snapshot;
    let counts = &snapshot.counts;
    let target = &page.target;
    // Nobody repeats a write that could not be sent.
    let lost = snapshot.not_sent().map(|unsent| format!("; {} WAS NOT SENT and is lost", unsent.kind));
    let lost = lost.unwrap_or_default();
    let sent = Snapshot { unsent: Vec::new(), ..Snapshot::clone(snapshot) };
    let doing = sent.doing();
    let (updated, nodes) = (counts.updated, counts.nodes);
    let who = match &snapshot.driver {
        // The line about the cluster covers all its rollouts.
        _ if practice => String::new(),
        // Its own controller drives it, before and after.
        _ if page.driven_by_us() && snapshot.only_prewarms() => String::new(),
        _ if page.driven_by_us() && snapshot.only_stays_adopted() => {
            let release = rolldeck(model, "release", target);
            format!("; it stays adopted: its controller replaces no pod until `{release}`")
        }
        _ if page.driven_by_us() => "; nobody drives it now".to_owned(),
        DriverView::Other { holder, .. } => format!("; {} goes on driving it", person_of(holder)),
        _ => String::new(),
    };
    // Whoever stops driving stops pre-warming, too, and quits without being asked again.
    let is_left = snapshot.driver.is_nobody() || page.driven_by_us();
    let stands = snapshot.prewarm.as_ref().filter(|view| {
        let asked = &view.request;
        let waits_for_driver =
            asked.method == PrewarmMethod::Pods && asked.paused.is_none() && asked.cancelled.is_none();
        is_left && !practice && waits_for_driver && view.error.is_none() && view.counts.waiting > 0
    });
    let stands = stands.map(|view| {
        let PrewarmCounts { present, nodes, .. } = view.counts;
        format!("; pre-warming stands at {present} of {nodes} nodes until somebody drives")
    });
    let stands = stands.unwrap_or_default();
    let last = snapshot.last_rollout();
    let last =
        last.map(|last| format!(", {last} {} ago", ShortDuration(snapshot.at.since(last.at)))).unwrap_or_default();
    let trouble = in_trouble(page).map(|trouble| format!(", {trouble}")).unwrap_or_default();
    Some(format!(
        "{}/{}: {doing}, {updated} of {nodes} nodes updated{last}{trouble}{lost}{who}{stands}",
        target.namespace, target.name
    ))
}

/// The worst that is wrong with the new pods, which nothing stops where nobody drives: `1 crash loop (ipc-017)`. A halt says it itself.
fn in_trouble(page: &RolloutPage) -> Option<String> {
    let is_halted = page.snapshot().is_some_and(|snapshot| snapshot.phase == Phase::Halted);
    let worst = page.summary.trouble.iter().find(|trouble| !trouble.accepted && !is_halted)?;
    let more = if worst.nodes > 1 { " …" } else { "" };
    Some(format!("{} {} ({}{more})", worst.nodes, worst.kind, worst.example))
}
