//! Writes: each opens the dialog that shows the consequences and in which the write is confirmed.

use std::sync::Arc;

use super::effects::{Effects, refuse};
use super::navigate;
use crate::engine::model::command::{Command, Early, PrewarmCommand, Takeover};
use crate::engine::model::driver::DriverView;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::action::condition;
use crate::tui::dialog::{
    AdoptForm, Canary, Dialog, Form, ImageForm, OfferedImage, PrewarmForm, StepForm, TuneForm, Undo, known_images,
};
use crate::tui::model::{ARMED_FOR, FleetPage, Model, Overlay, Page, WriteAccess};
use crate::tui::preview::ask;
use crate::tui::prompt::Prompt;
use crate::tui::status::StatusSeverity;

pub(super) fn arm(model: &mut Model) -> Effects {
    if model.armed_for().is_some() {
        return read_only(model);
    }
    if model.protected {
        let form = Form::Arm { context: model.context.clone(), typed: Prompt::default().input };
        model.overlay = Overlay::Dialog(Box::new(Dialog::on_console(form)));
        return Vec::new();
    }
    arm_now(model)
}

/// Allows writes, after the name of a protected context was typed.
pub(crate) fn arm_now(model: &mut Model) -> Effects {
    model.overlay = Overlay::None;
    model.access = WriteAccess::Armed { until: model.now + ARMED_FOR };
    model.say(StatusSeverity::Plain, "armed for 10 minutes: capital letters write, after a preview (A: read-only)");
    Vec::new()
}

pub(super) fn read_only(model: &mut Model) -> Effects {
    model.access = WriteAccess::ReadOnly;
    let drives = condition::driver(model).is_some_and(|driver| driver.is_ours());
    let still = if drives { "P still pauses, D stops driving" } else { "P still pauses" };
    model.say(StatusSeverity::Plain, format!("read-only: nothing here can change the cluster ({still})"));
    Vec::new()
}

/// Opens a dialog with `form`, and asks the driver at once what its command would do.
fn dialog(model: &mut Model, form: Form) -> Effects {
    let Some(page) = model.rollout() else { return Vec::new() };
    let dialog = Dialog::new(page.target.clone(), form);
    model.overlay = Overlay::Dialog(Box::new(dialog));
    ask(model)
}

/// On the list of DaemonSets it opens that of the current row; the dialog names it.
pub(super) fn pause(model: &mut Model, why: &str) -> Effects {
    let row = Some(&model.page).filter(|page| **page == Page::Fleet);
    let row = row.and(model.fleet.as_ref()).and_then(FleetPage::current);
    let is_from_list = row.is_some();
    let mut effects = row.map_or_else(Vec::new, |target| navigate::open_rollout(model, target));
    effects.extend(dialog(model, Form::Pause { why: Prompt::with(why).input }));
    if let Overlay::Dialog(dialog) = &mut model.overlay {
        dialog.is_from_list = is_from_list;
    }
    effects
}

pub(super) fn resume(model: &mut Model) -> Effects {
    let halted =
        model.rollout().and_then(|page| page.snapshot()).is_some_and(|snapshot| snapshot.phase == Phase::Halted);
    let title = if halted { "Accept and resume" } else { "Resume" };
    dialog(model, Form::Plain { title, command: Command::Resume })
}

pub(super) fn adopt(model: &mut Model) -> Effects {
    match model.rollout().and_then(|page| page.snapshot()).map(|snapshot| AdoptForm::of(snapshot)) {
        Some(form) => dialog(model, Form::Adopt(form)),
        None => Vec::new(),
    }
}

pub(super) fn tune(model: &mut Model, changes: &str) -> Effects {
    let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()).cloned() else { return Vec::new() };
    match TuneForm::new(&snapshot, changes) {
        Ok(form) => dialog(model, Form::Tune(form)),
        Err(why) => refuse(model, why),
    }
}

pub(super) fn step(model: &mut Model, to: &str) -> Effects {
    match StepForm::to(to) {
        Ok(form) => dialog(model, Form::Step(form)),
        Err(why) => refuse(model, why),
    }
}

pub(super) fn partition(model: &mut Model, keep: &str) -> Effects {
    dialog(model, Form::Step(StepForm::keeping(keep)))
}

pub(super) fn canary(model: &mut Model, selector: &str) -> Effects {
    let plan = model.rollout().and_then(|page| page.snapshot()).map(|snapshot| &snapshot.plan);
    let in_force = plan.and_then(|plan| plan.selector.as_ref()).map(ToString::to_string);
    let lifts = in_force.is_some();
    // The selector in force is filled in also if all selected nodes are updated and it is to be lifted: an empty field would
    // look as if no selector were in force.
    let typed = if selector.is_empty() { in_force.unwrap_or_default() } else { selector.to_owned() };
    dialog(model, Form::Canary(Canary::new(&typed).lifting(lifts)))
}

/// The images that complete a form: those of the DaemonSet's revisions, and of the other rollouts that are open.
fn known(model: &Model, snapshot: &Snapshot) -> Arc<[OfferedImage]> {
    let is_other = |other: &&Snapshot| (&other.namespace, &other.name) != (&snapshot.namespace, &snapshot.name);
    known_images(
        snapshot,
        model.rollouts.iter().filter_map(|page| page.snapshot()).map(|other| &**other).filter(is_other),
    )
}

pub(super) fn image(model: &mut Model, change: &str) -> Effects {
    let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()).cloned() else { return Vec::new() };
    match ImageForm::new(&snapshot, known(model, &snapshot), change) {
        Ok(form) => dialog(model, Form::Image(form)),
        Err(why) => refuse(model, why),
    }
}

pub(super) fn undo(model: &mut Model, to: &str) -> Effects {
    let Some((page, snapshot)) = model.rollout().and_then(|page| Some((page, page.snapshot()?))) else {
        return Vec::new();
    };
    // In the list of revisions this is the selected one, if a roll back can go to it.
    let listed = page.revisions().and_then(|screen| screen.chosen_to_go_back_to()).map(|number| number.to_string());
    let to = if to.is_empty() { listed.as_deref().unwrap_or_default() } else { to };
    match Undo::new(snapshot, to) {
        Ok(form) => dialog(model, Form::Undo(form)),
        Err(why) => refuse(model, why),
    }
}

pub(super) fn release(model: &mut Model) -> Effects {
    let all = model.rollout().and_then(|page| page.snapshot()).is_some_and(|snapshot| {
        let counts = &snapshot.counts;
        (counts.committed == counts.nodes || !snapshot.has_change()) && counts.removed_by_release == 0
    });
    let early = if all { Early::Refuse } else { Early::Accept };
    dialog(model, Form::Plain { title: "Release", command: Command::Release(early) })
}

pub(super) fn drive(model: &mut Model) -> Effects {
    match condition::driver(model) {
        Some(driver) if driver.is_ours() => stop_driving(model),
        Some(DriverView::Unconfirmed { .. } | DriverView::Other { .. } | DriverView::Lost { .. }) => {
            dialog(model, Form::Plain { title: "Take over", command: Command::Drive(Takeover::Ask) })
        }
        _ => dialog(model, Form::Plain { title: "Drive", command: Command::Drive(Takeover::IfFree) }),
    }
}

pub(super) fn stop_driving(model: &mut Model) -> Effects {
    dialog(model, Form::Plain { title: "Stop driving", command: Command::StopDriving })
}

/// Shows the progress of pre-warming; opens the form if nothing is being pre-warmed, or if the progress is shown already.
pub(super) fn prewarm(model: &mut Model, change: &str) -> Effects {
    if condition::has_prewarm_to_show(model) && change.is_empty() {
        return navigate::prewarm(model);
    }
    if model.armed_for().is_none() {
        return refuse(model, "read-only: A arms for 10 minutes, then W pre-warms".into());
    }
    let Some(page) = model.rollout() else { return Vec::new() };
    let Some(snapshot) = page.snapshot() else { return Vec::new() };
    let node = page.selected().map(|node| node.name.clone());
    match PrewarmForm::new(snapshot, node, known(model, snapshot), change) {
        Ok(form) => dialog(model, Form::Prewarm(Box::new(form))),
        Err(why) => refuse(model, why),
    }
}

/// Pre-warms the images of an earlier revision, so that a roll back to it restarts Pods without downloading images.
pub(crate) fn prewarm_revision(model: &mut Model, hash: &str) -> Effects {
    if model.armed_for().is_none() {
        return refuse(model, "read-only: A arms for 10 minutes, then W pre-warms".into());
    }
    let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()).cloned() else { return Vec::new() };
    match PrewarmForm::of_revision(&snapshot, hash) {
        Ok(form) => dialog(model, Form::Prewarm(Box::new(form))),
        Err(why) => refuse(model, why),
    }
}

/// Pauses pre-warming, or continues it. Only the pause works while read-only.
pub(super) fn pause_prewarm(model: &mut Model) -> Effects {
    let view = model.rollout().and_then(|page| page.snapshot()).and_then(|snapshot| snapshot.prewarm.as_ref());
    if view.is_none_or(|view| view.request.paused.is_none()) {
        return dialog(
            model,
            Form::Plain { title: "Pause pre-warm", command: Command::Prewarm(PrewarmCommand::Pause) },
        );
    }
    if model.armed_for().is_none() {
        return refuse(model, "read-only: A arms for 10 minutes, then p goes on pre-warming".into());
    }
    dialog(model, Form::Plain { title: "Go on pre-warming", command: Command::Prewarm(PrewarmCommand::Resume) })
}

pub(super) fn retry_prewarm(model: &mut Model) -> Effects {
    dialog(model, Form::Plain { title: "Retry pre-warm", command: Command::Prewarm(PrewarmCommand::Retry) })
}

pub(super) fn cancel_prewarm(model: &mut Model) -> Effects {
    dialog(model, Form::Plain { title: "Cancel pre-warm", command: Command::Prewarm(PrewarmCommand::Cancel) })
}
