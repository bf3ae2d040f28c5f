//! Conditions of actions, on the rollout that is open. A condition that does not hold says what is missing.

use crate::driver::DrivenBy;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::{PrewarmMethod, PrewarmView, SETS_DO_NOT_PAUSE};
use crate::engine::model::step_ahead::SELECTOR_IGNORED;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::copy::NO_KUBECTL;
use crate::tui::dialog::form::{NO_OTHER_REVISION, Undo};
use crate::tui::model::{Model, RolloutScreen};
use crate::tui::revisions::text::RevisionText;

pub(super) fn always(_: &Model) -> Result<(), String> {
    Ok(())
}

/// The text shown behind keys that write, while the console is read-only.
fn arm_first(model: &Model) -> &'static str {
    if model.armed_for().is_none() { " (A arms first)" } else { "" }
}

fn rollout_says(model: &Model, refuse: impl Fn(&Snapshot) -> Option<&'static str>) -> Result<(), String> {
    match model.rollout().and_then(|page| page.snapshot()).and_then(|snapshot| refuse(snapshot)) {
        Some(why) => Err(why.to_owned()),
        None => Ok(()),
    }
}

pub(super) fn not_adopted(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| snapshot.adopted.then_some("already adopted: whoever drives replaces its pods"))
}

pub(super) fn adopted(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| (!snapshot.adopted).then_some("not adopted: its own controller has it already"))
}

pub(super) fn recorded(model: &Model) -> Result<(), String> {
    let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()) else { return Ok(()) };
    if snapshot.started_at.is_some() || snapshot.adopted {
        return Ok(());
    }
    // `U` is named only where it leads to a revision by itself.
    let undo =
        if snapshot.roll_back.is_ok() { format!(", U {}", snapshot.rolls_back_in_words()) } else { String::new() };
    Err(format!("no rollout is recorded: I sets a new image{undo}{}", arm_first(model)))
}

/// For the action that selects nodes. While a rollout goes back, only a selector that is set already can be lifted.
pub(super) fn selects(model: &Model) -> Result<(), String> {
    recorded(model)?;
    rollout_says(model, |snapshot| {
        let ignored = snapshot.goes_back() && snapshot.plan.selector.is_none();
        ignored.then_some(SELECTOR_IGNORED)
    })
}

/// Whether a roll back leads to a revision without that one being named, or to the one that is selected in the list of revisions.
pub(crate) fn has_way_back(model: &Model) -> bool {
    let Some(page) = model.rollout() else { return true };
    let is_selected = page.revisions().is_some_and(|screen| screen.chosen_to_go_back_to().is_some());
    is_selected || page.snapshot().is_none_or(|snapshot| snapshot.roll_back.is_ok())
}

/// For actions on budgets and gates, which belong to a rollout.
pub(super) fn has_limits(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| {
        let none = snapshot.started_at.is_none() && !snapshot.adopted;
        none.then_some("no rollout is recorded: I sets a new image, which moves no pod; then L, before the first step")
    })
    .map_err(|why| why + arm_first(model))
}

/// For the action that drives. A console that drives already may stop.
pub(super) fn has_work(model: &Model) -> Result<(), String> {
    let drives = driving(model).is_ok();
    rollout_says(model, |snapshot| {
        let loading = snapshot.phase == Phase::Loading;
        let is_missing = snapshot.lacks_its_record();
        let recorded = snapshot.started_at.is_some() || snapshot.adopted && !is_missing || snapshot.prewarm.is_some();
        let why = match is_missing {
            true => "no record is left of the rollout: L sets its limits, which begins a new one",
            false => "there is nothing to drive yet: I sets a new image",
        };
        (!drives && !loading && !recorded).then_some(why)
    })
    .map_err(|why| why + arm_first(model))
}

/// For going back to an earlier revision.
pub(super) fn has_other_revision(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| {
        let loading = snapshot.phase == Phase::Loading;
        (!loading && Undo::revisions(snapshot).is_empty()).then_some(NO_OTHER_REVISION)
    })
}

/// Whether the rollout on screen is paused and its controller replaces no Pod: another pause then changes only the reason.
pub(crate) fn is_paused(model: &Model) -> bool {
    model.rollout().and_then(|page| page.snapshot()).is_some_and(|snapshot| {
        let is_paused = matches!(snapshot.phase, Phase::Paused(_)) || snapshot.paused.is_some();
        // With `RollingUpdate` the controller replaces Pods although the rollout is paused: a pause then sets OnDelete.
        is_paused && snapshot.strategy == StrategyKind::OnDelete
    })
}

pub(super) fn stopped(model: &Model) -> Result<(), String> {
    rollout_says(model, |snapshot| {
        let stopped = matches!(snapshot.phase, Phase::Paused(_) | Phase::Halted);
        let is_missing = snapshot.lacks_its_record();
        if is_missing && !stopped {
            return Some(
                "no record is left, nor whether it was paused or halted: L sets its limits, which begins a new one",
            );
        }
        (!stopped).then_some("neither paused nor halted: there is nothing to resume")
    })
}

/// For actions on the list of nodes.
pub(super) fn no_timeline(model: &Model) -> Result<(), String> {
    no_prewarm(model)?;
    match model.rollout().map(|page| &page.screen) {
        Some(RolloutScreen::Timeline(_)) => Err("this is the timeline: T goes back to the nodes".to_owned()),
        Some(RolloutScreen::Revisions(_)) => Err("these are the revisions: v goes back to the nodes".to_owned()),
        // Pre-warming is refused above.
        None | Some(RolloutScreen::Nodes | RolloutScreen::Prewarm(_)) => Ok(()),
    }
}

/// For actions that tell of the DaemonSet.
pub(super) fn not_absent(model: &Model) -> Result<(), String> {
    match model.rollout().and_then(|page| page.snapshot()) {
        Some(snapshot) if snapshot.daemonset == Presence::Absent => {
            Err(format!("there is no DaemonSet {}/{}", snapshot.namespace, snapshot.name))
        }
        Some(_) | None => Ok(()),
    }
}

/// For actions that show the difference of two revisions.
fn not_comparing(model: &Model) -> Result<(), String> {
    let text = model.rollout().and_then(|page| page.revisions()?.text.as_ref());
    match text.is_some_and(RevisionText::is_diff) {
        true => Err("this is what differs: y shows the template that it leads to, esc goes back".to_owned()),
        false => Ok(()),
    }
}

/// For actions that go from one row that passes the filter to the next.
pub(super) fn filtered(model: &Model) -> Result<(), String> {
    match model.filter().is_some_and(|filter| !filter.is_all()) {
        true => Ok(()),
        false => Err("nothing is filtered: / asks for what to look for".to_owned()),
    }
}

/// For actions that open the selected row.
pub(super) fn opens(model: &Model) -> Result<(), String> {
    match model.node_page().is_some() {
        true => Err("this is the page of a node: esc goes back".to_owned()),
        false => not_comparing(model),
    }
}

/// For actions on a log.
pub(super) fn has_log(model: &Model) -> Result<(), String> {
    match model.node_page().is_some_and(|page| page.tab.run().is_some()) {
        true => Ok(()),
        false => Err("there is no log on this tab: 2 shows it".to_owned()),
    }
}

/// For the action that goes to the log of another container.
pub(super) fn has_other_container(model: &Model) -> Result<(), String> {
    has_log(model)?;
    let pod = model.node_page().and_then(|page| page.inspection.pod.read());
    match pod.is_some_and(|pod| pod.containers.len() == 1) {
        true => Err("there is no other container".to_owned()),
        false => Ok(()),
    }
}

/// For actions that go to the next line that contains the searched text.
pub(super) fn searches(model: &Model) -> Result<(), String> {
    match model.node_page().is_some_and(|page| !page.search.is_empty()) {
        true => Ok(()),
        false => Err("nothing is searched for: / asks for a text".to_owned()),
    }
}

/// For a command of kubectl: no kubeconfig leads to the practice cluster of a console.
pub(super) fn kubectl_reaches(model: &Model) -> Result<(), String> {
    if model.practice { Err(NO_KUBECTL.to_owned()) } else { Ok(()) }
}

/// For actions on the list of revisions.
pub(super) fn listing_revisions(model: &Model) -> Result<(), String> {
    let screen = model.rollout().and_then(|page| page.revisions());
    match screen.is_some_and(|screen| screen.text.is_none()) {
        true => Ok(()),
        false => Err("in the list of revisions: esc goes back to it".to_owned()),
    }
}

/// For actions that the pre-warm screen lacks.
pub(super) fn no_prewarm(model: &Model) -> Result<(), String> {
    if model.node_page().is_some() {
        return Err("this is the page of a node: esc goes back".to_owned());
    }
    match model.rollout().map(|page| &page.screen) {
        Some(RolloutScreen::Prewarm(_)) => Err("this is the pre-warm screen: esc goes back to the nodes".to_owned()),
        None | Some(RolloutScreen::Nodes | RolloutScreen::Timeline(_) | RolloutScreen::Revisions(_)) => Ok(()),
    }
}

/// Whether images are being pre-warmed and the screen that shows this is not open.
pub(crate) fn has_prewarm_to_show(model: &Model) -> bool {
    model.rollout().is_some_and(|page| {
        page.prewarm().is_none() && page.snapshot().is_some_and(|snapshot| snapshot.prewarm.is_some())
    })
}

fn prewarm_says(model: &Model, refuse: impl Fn(&PrewarmView) -> Option<&'static str>) -> Result<(), String> {
    let snapshot = model.rollout().and_then(|page| page.snapshot());
    let refused = match snapshot.and_then(|snapshot| snapshot.prewarm.as_ref()) {
        None => Some("nothing is being pre-warmed: W begins it"),
        Some(view) if view.request.complete.is_some() => Some("it is complete: its pods are being deleted"),
        Some(view) if view.request.cancelled.is_some() => Some("it is cancelled: its pods are being deleted"),
        Some(view) => refuse(view),
    };
    refused.map_or(Ok(()), |why| Err(why.to_owned()))
}

pub(super) fn prewarming(model: &Model) -> Result<(), String> {
    prewarm_says(model, |_| None)
}

/// Whether pre-warming is paused, so that the key of its pause lets it go on.
pub(crate) fn prewarm_is_paused(model: &Model) -> bool {
    let snapshot = model.rollout().and_then(|page| page.snapshot());
    snapshot.and_then(|snapshot| snapshot.prewarm.as_ref()).is_some_and(|view| view.request.paused.is_some())
}

/// For the pause of pre-warming, and for going on after one.
pub(super) fn prewarm_pauses(model: &Model) -> Result<(), String> {
    prewarm_says(model, |view| match view.request.method {
        PrewarmMethod::StatefulSet => Some(SETS_DO_NOT_PAUSE),
        _ if view.has_all() && view.request.paused.is_none() => {
            Some("every node has the images: there is nothing to pause, x ends it")
        }
        _ => None,
    })?;
    // To go on makes pods, which a read-only console does not.
    match prewarm_is_paused(model) && model.armed_for().is_none() {
        true => Err("read-only: A arms for 10 minutes, then p goes on pre-warming".to_owned()),
        false => Ok(()),
    }
}

pub(super) fn prewarm_failed(model: &Model) -> Result<(), String> {
    prewarm_says(model, |view| {
        if view.request.paused.is_some() {
            return Some("pre-warming is paused: nothing is pulled before it goes on");
        }
        (view.counts.failed == 0 && view.refusal.is_none()).then_some("nothing has failed: there is nothing to retry")
    })
}

/// The driver of the rollout on screen.
pub(crate) fn driver(model: &Model) -> Option<DriverView> {
    Some(model.rollout()?.snapshot()?.driver.clone())
}

/// For `:stop-driving`: only a console that drives can stop driving.
pub(super) fn driving(model: &Model) -> Result<(), String> {
    match driver(model) {
        Some(driver) if driver.is_ours() => Ok(()),
        _ => Err(match driven_by(model) {
            DrivenBy::Controller => "you do not drive this rollout; its controller does".to_owned(),
            DrivenBy::Unknown => "you do not drive this rollout; who does is not known".to_owned(),
            who @ (DrivenBy::You | DrivenBy::Other(_) | DrivenBy::Unconfirmed(_) | DrivenBy::Nobody) => {
                format!("you do not drive this rollout; {who} does")
            }
        }),
    }
}

fn driven_by(model: &Model) -> DrivenBy {
    match driver(model) {
        Some(DriverView::You { .. }) => DrivenBy::You,
        Some(DriverView::Other { holder, .. } | DriverView::Waiting { holder: Some(holder) }) => {
            DrivenBy::Other(holder)
        }
        Some(DriverView::Unconfirmed { holder, .. }) => DrivenBy::Unconfirmed(holder),
        Some(DriverView::Nobody) if rolls(model) => DrivenBy::Controller,
        Some(DriverView::Nobody | DriverView::Lost { .. } | DriverView::Waiting { holder: None }) => DrivenBy::Nobody,
        Some(DriverView::Unknown) | None => DrivenBy::Unknown,
    }
}

/// Whether the DaemonSet's own controller replaces Pods.
fn rolls(model: &Model) -> bool {
    let snapshot = model.rollout().and_then(|page| page.snapshot());
    snapshot.is_some_and(|snapshot| snapshot.strategy == StrategyKind::RollingUpdate)
}
