//! What each action does to the model, and what it asks of the outside.
//!
//! One function an action, named like it. None of them writes to the cluster: a write opens a dialog that says first what
//! it would do.

use crate::driver::DrivenBy;
use crate::engine::model::command::{Command, Early, Takeover};
use crate::engine::model::driver::DriverView;
use crate::engine::model::step_ahead::NoStep;
use crate::engine::report::snapshot::Phase;

use super::dialog::{AdoptForm, Canary, Dialog, Form, Image, StepForm, TuneForm, Undo};
use super::list::Move;
use super::model::{
    ARMED_FOR, DaemonSetRef, FleetPage, Model, Overlay, Page, RolloutPage, Sort, StatusTone, WriteAccess,
};
use super::palette::Prompt;
use super::theme::Glyphs;
use super::timeline::Timeline;
use super::update::{Effect, ask};
use super::view;

type Effects = Vec<Effect>;

fn move_by(model: &mut Model, movement: Move) -> Effects {
    let height = view::list_height(model);
    match &model.page {
        Page::Fleet => {
            if let Some(page) = &mut model.fleet {
                let targets: Vec<DaemonSetRef> = (0..page.rows.len()).filter_map(|row| page.target(row)).collect();
                page.list.go(movement, targets.len(), height, |row| targets[row].clone());
            }
        }
        Page::Rollout(_) => {
            if let Some(page) = model.rollout_mut() {
                if let Some(timeline) = &mut page.timeline {
                    timeline.go(movement, height);
                    return Vec::new();
                }
                let mut list = std::mem::take(&mut page.list);
                let name = |row: usize| page.node(row).map(|node| node.name.clone()).unwrap_or_default();
                list.go(movement, page.rows.len(), height, name);
                page.list = list;
            }
        }
    }
    Vec::new()
}

pub(crate) fn up(model: &mut Model, _: &str) -> Effects {
    move_by(model, Move::Up)
}

pub(crate) fn down(model: &mut Model, _: &str) -> Effects {
    move_by(model, Move::Down)
}

pub(crate) fn half_up(model: &mut Model, _: &str) -> Effects {
    move_by(model, Move::HalfUp)
}

pub(crate) fn half_down(model: &mut Model, _: &str) -> Effects {
    move_by(model, Move::HalfDown)
}

pub(crate) fn page_up(model: &mut Model, _: &str) -> Effects {
    move_by(model, Move::PageUp)
}

pub(crate) fn page_down(model: &mut Model, _: &str) -> Effects {
    move_by(model, Move::PageDown)
}

pub(crate) fn top(model: &mut Model, _: &str) -> Effects {
    move_by(model, Move::Top)
}

pub(crate) fn bottom(model: &mut Model, _: &str) -> Effects {
    move_by(model, Move::Bottom)
}

/// Fleet: opens the DaemonSet. Rollout: everything about the node.
pub(crate) fn open(model: &mut Model, _: &str) -> Effects {
    match &model.page {
        Page::Fleet => {
            let target = model.fleet.as_ref().and_then(|page| page.target(page.list.cursor().unwrap_or(0)));
            match target {
                Some(target) => open_rollout(model, target),
                None => Vec::new(),
            }
        }
        Page::Rollout(_) => {
            let selected = |page: &RolloutPage| match &page.timeline {
                Some(timeline) => timeline.list.selected().is_some(),
                None => page.selected().is_some(),
            };
            if model.rollout().is_some_and(selected) {
                model.overlay = Overlay::Details { top: 0 };
            } else {
                move_by(model, Move::Top);
            }
            Vec::new()
        }
    }
}

/// Shows the rollout of `target`, and asks for it unless it is there already.
pub(crate) fn open_rollout(model: &mut Model, target: DaemonSetRef) -> Effects {
    let mut effects = leave_rollout(model);
    let known = model.rollouts.iter().position(|page| page.target == target);
    if known.is_some_and(|at| model.rollouts[at].stopped) {
        model.rollouts.retain(|page| page.target != target);
    }
    if !model.rollouts.iter().any(|page| page.target == target) {
        model.rollouts.push(RolloutPage::new(target.clone()));
        effects.push(Effect::Open(target.clone()));
    }
    model.page = Page::Rollout(target);
    model.overlay = Overlay::None;
    model.status = None;
    effects
}

/// Lets go of the rollout on screen, unless it would stop moving.
fn leave_rollout(model: &mut Model) -> Effects {
    let leave = model.rollout().filter(|page| !page.driven_by_us()).map(|page| page.target.clone());
    let Some(target) = leave else { return Vec::new() };
    model.rollouts.retain(|page| page.target != target);
    vec![Effect::Close(target)]
}

/// Back one level: filter, then selection, then page.
pub(crate) fn back(model: &mut Model, _: &str) -> Effects {
    match &model.page {
        Page::Fleet => {
            if let Some(page) = &mut model.fleet {
                if page.filter.is_all() {
                    page.list.deselect();
                } else {
                    page.filter = Default::default();
                    page.arrange();
                }
            }
            Vec::new()
        }
        Page::Rollout(_) => {
            let Some(page) = model.rollout_mut() else { return Vec::new() };
            if let Some(timeline) = &mut page.timeline {
                if timeline.filter.is_all() {
                    page.timeline = None;
                } else {
                    timeline.filter = Default::default();
                    timeline.arrange();
                }
            } else if !page.filter.is_all() {
                page.filter = Default::default();
                page.arrange();
            } else if page.frozen.take().is_some() {
                page.arrange();
            } else if page.list.selected().is_some() {
                page.list.deselect();
            } else {
                return fleet(model, "");
            }
            Vec::new()
        }
    }
}

/// Shows all DaemonSets: of one namespace, or of those that were shown last.
pub(crate) fn fleet(model: &mut Model, namespace: &str) -> Effects {
    let mut effects = leave_rollout(model);
    let wanted = match namespace {
        "" => None,
        name => Some(name),
    };
    let known = model.fleet.as_ref().is_some_and(|page| wanted.is_none() || page.namespace.as_deref() == wanted);
    if !known {
        let namespace = wanted.map(Into::into);
        effects.push(Effect::Fleet(wanted.map(Into::into)));
        model.fleet = Some(FleetPage::new(namespace));
    }
    model.page = Page::Fleet;
    model.overlay = Overlay::None;
    model.status = None;
    effects
}

pub(crate) fn go_to(model: &mut Model, name: &str) -> Effects {
    if name.is_empty() {
        model.say(StatusTone::Refused, "which one? :ds namespace/name");
        return Vec::new();
    }
    let name = name.trim_start_matches("ds/");
    let (namespace, name) = name.split_once('/').unwrap_or((&model.default_namespace, name));
    let target = DaemonSetRef { namespace: namespace.into(), name: name.into() };
    open_rollout(model, target)
}

pub(crate) fn filter(model: &mut Model, text: &str) -> Effects {
    if text.is_empty() {
        let current = match &model.page {
            Page::Fleet => model.fleet.as_ref().map(|page| &page.filter),
            Page::Rollout(_) => model.rollout().map(|page| match &page.timeline {
                Some(timeline) => &timeline.filter,
                None => &page.filter,
            }),
        };
        let prompt = Prompt::with(current.map_or("", |filter| filter.text()));
        model.overlay = Overlay::Filter(prompt);
    } else if let Err(why) = super::update::set_filter(model, text) {
        model.say(StatusTone::Refused, why);
    }
    Vec::new()
}

pub(crate) fn sort(model: &mut Model, name: &str) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    let named = Sort::ALL.iter().find(|(_, known)| *known == name).map(|(sort, _)| *sort);
    match (name, named) {
        ("", _) => page.sort = page.sort.next(),
        (_, Some(sort)) => page.sort = sort,
        (name, None) => {
            let known: Vec<&str> = Sort::ALL.iter().map(|(_, name)| *name).collect();
            model.say(StatusTone::Refused, format!("cannot sort by `{name}`; there are {}", known.join(", ")));
            return Vec::new();
        }
    }
    page.arrange();
    Vec::new()
}

/// Shows what happened lately instead of the nodes, or the nodes again.
pub(crate) fn timeline(model: &mut Model, filter: &str) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    let open = page.timeline.is_none() || !filter.is_empty();
    let rollout_events = page.snapshot().map(|snapshot| snapshot.timeline.clone()).unwrap_or_default();
    page.timeline = open.then(|| Timeline::of(rollout_events));
    if filter.is_empty() {
        return Vec::new();
    }
    match super::update::set_filter(model, filter) {
        Ok(()) => Vec::new(),
        Err(why) => refuse(model, why),
    }
}

/// For what only concerns nodes.
pub(crate) fn nodes_shown(model: &Model) -> Result<(), String> {
    match model.rollout().is_some_and(|page| page.timeline.is_some()) {
        true => Err("this is the timeline: T goes back to the nodes".to_owned()),
        false => Ok(()),
    }
}

pub(crate) fn freeze(model: &mut Model, _: &str) -> Effects {
    if let Some(page) = model.rollout_mut() {
        page.frozen = match page.frozen.take() {
            Some(_) => None,
            None => page.live.clone(),
        };
        page.arrange();
    }
    Vec::new()
}

pub(crate) fn arm(model: &mut Model, _: &str) -> Effects {
    if model.armed_for().is_some() {
        return read_only(model, "");
    }
    model.access = WriteAccess::Armed { until: model.now + ARMED_FOR };
    model.say(StatusTone::Plain, "armed for 10 minutes: capital letters write, after a preview (A: read-only)");
    Vec::new()
}

pub(crate) fn read_only(model: &mut Model, _: &str) -> Effects {
    model.access = WriteAccess::ReadOnly;
    model.say(StatusTone::Plain, "read-only: nothing here can change the cluster (P still pauses)");
    Vec::new()
}

/// Opens the dialog that `form` is filled in on, and asks at once what it would do as it stands.
fn dialog(model: &mut Model, form: Form) -> Effects {
    let Some(page) = model.rollout() else { return Vec::new() };
    let dialog = Dialog::new(page.target.clone(), form);
    model.overlay = Overlay::Dialog(Box::new(dialog));
    ask(model)
}

pub(crate) fn pause(model: &mut Model, why: &str) -> Effects {
    dialog(model, Form::Pause { why: Prompt::with(why).input })
}

pub(crate) fn resume(model: &mut Model, _: &str) -> Effects {
    let halted =
        model.rollout().and_then(|page| page.snapshot()).is_some_and(|snapshot| snapshot.phase == Phase::Halted);
    let title = if halted { "Accept and continue" } else { "Continue" };
    dialog(model, Form::Plain { title, command: Command::Resume })
}

pub(crate) fn adopt(model: &mut Model, _: &str) -> Effects {
    match model.rollout().and_then(|page| page.snapshot()).map(|snapshot| AdoptForm::of(snapshot)) {
        Some(form) => dialog(model, Form::Adopt(form)),
        None => Vec::new(),
    }
}

pub(crate) fn tune(model: &mut Model, changes: &str) -> Effects {
    let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()).cloned() else { return Vec::new() };
    match TuneForm::new(&snapshot, changes) {
        Ok(form) => dialog(model, Form::Tune(form)),
        Err(why) => refuse(model, why),
    }
}

pub(crate) fn step(model: &mut Model, to: &str) -> Effects {
    match StepForm::to(to) {
        Ok(form) => dialog(model, Form::Step(form)),
        Err(why) => refuse(model, why),
    }
}

pub(crate) fn partition(model: &mut Model, keep: &str) -> Effects {
    dialog(model, Form::Step(StepForm::keeping(keep)))
}

pub(crate) fn canary(model: &mut Model, selector: &str) -> Effects {
    let plan = model.rollout().and_then(|page| page.snapshot()).map(|snapshot| &snapshot.plan);
    // Where the selection has nothing left to update, lifting it is what is meant.
    let done = plan.is_some_and(|plan| matches!(plan.next, Some(Err(NoStep::SelectionDone(_)))));
    let current = plan.and_then(|plan| plan.selector.as_ref()).filter(|_| !done);
    let current = current.map(|selector| selector.to_string()).unwrap_or_default();
    dialog(model, Form::Canary(Canary::new(if selector.is_empty() { &current } else { selector })))
}

pub(crate) fn image(model: &mut Model, change: &str) -> Effects {
    let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()).cloned() else { return Vec::new() };
    match Image::new(&snapshot, change) {
        Ok(form) => dialog(model, Form::Image(form)),
        Err(why) => refuse(model, why),
    }
}

pub(crate) fn undo(model: &mut Model, to: &str) -> Effects {
    let Some(snapshot) = model.rollout().and_then(|page| page.snapshot()).cloned() else { return Vec::new() };
    match Undo::new(&snapshot, to) {
        Ok(form) => dialog(model, Form::Undo(form)),
        Err(why) => refuse(model, why),
    }
}

pub(crate) fn release(model: &mut Model, _: &str) -> Effects {
    let all = model.rollout().and_then(|page| page.snapshot()).is_some_and(|snapshot| {
        let counts = &snapshot.counts;
        (counts.committed == counts.nodes || !snapshot.has_change()) && counts.removed_by_release == 0
    });
    let early = if all { Early::Refuse } else { Early::Accept };
    dialog(model, Form::Plain { title: "Release", command: Command::Release(early) })
}

/// The driver of the rollout on screen.
fn driver(model: &Model) -> Option<DriverView> {
    Some(model.rollout()?.snapshot()?.driver.clone())
}

/// For `:stop-driving`: only who drives can stop driving.
pub(crate) fn driving(model: &Model) -> Result<(), String> {
    match driver(model) {
        Some(DriverView::You { .. } | DriverView::Waiting { .. }) => Ok(()),
        _ => Err(format!("you do not drive this rollout; {} does", driven_by(model))),
    }
}

fn driven_by(model: &Model) -> DrivenBy {
    match driver(model) {
        Some(DriverView::You { .. }) => DrivenBy::You,
        Some(DriverView::Other { holder, .. }) => DrivenBy::Other(holder),
        Some(DriverView::Named { holder, .. }) => DrivenBy::Named(holder),
        Some(DriverView::Nobody | DriverView::Lost { .. } | DriverView::Waiting { .. }) => DrivenBy::Nobody,
        Some(DriverView::Unknown) | None => DrivenBy::Unknown,
    }
}

pub(crate) fn drive(model: &mut Model, _: &str) -> Effects {
    match driver(model) {
        Some(DriverView::You { .. } | DriverView::Waiting { .. }) => stop_driving(model, ""),
        Some(DriverView::Named { .. } | DriverView::Other { .. } | DriverView::Lost { .. }) => {
            dialog(model, Form::Plain { title: "Take over", command: Command::Drive(Takeover::Ask) })
        }
        _ => dialog(model, Form::Plain { title: "Drive", command: Command::Drive(Takeover::IfFree) }),
    }
}

pub(crate) fn stop_driving(model: &mut Model, _: &str) -> Effects {
    dialog(model, Form::Plain { title: "Stop driving", command: Command::StopDriving })
}

fn refuse(model: &mut Model, why: String) -> Effects {
    model.say(StatusTone::Refused, why);
    Vec::new()
}

pub(crate) fn help(model: &mut Model, _: &str) -> Effects {
    model.overlay = Overlay::Help { top: 0 };
    Vec::new()
}

pub(crate) fn watches(model: &mut Model, _: &str) -> Effects {
    if model.rollout().is_some_and(|page| page.live.is_some()) {
        model.overlay = Overlay::Watches { top: 0 };
    }
    Vec::new()
}

pub(crate) fn palette(model: &mut Model, _: &str) -> Effects {
    model.overlay = Overlay::Palette(Prompt::default());
    Vec::new()
}

pub(crate) fn theme(model: &mut Model, name: &str) -> Effects {
    if name.is_empty() {
        model.themes.cycle();
    } else if let Err(why) = model.themes.choose(name) {
        return refuse(model, why);
    }
    let name = model.theme().name.clone();
    model.say(StatusTone::Plain, format!("theme {name}"));
    Vec::new()
}

pub(crate) fn glyphs(model: &mut Model, name: &str) -> Effects {
    model.glyphs = match (name, model.glyphs) {
        ("unicode", _) | ("", Glyphs::Ascii) => Glyphs::Unicode,
        ("ascii", _) | ("", Glyphs::Unicode) => Glyphs::Ascii,
        (name, _) => return refuse(model, format!("there are no glyphs `{name}`; there are unicode and ascii")),
    };
    Vec::new()
}

pub(crate) fn repaint(_: &mut Model, _: &str) -> Effects {
    vec![Effect::Repaint]
}

pub(crate) fn suspend(_: &mut Model, _: &str) -> Effects {
    vec![Effect::Suspend]
}

pub(crate) fn quit(model: &mut Model, _: &str) -> Effects {
    let driven: Vec<DaemonSetRef> = model.driven().map(|page| page.target.clone()).collect();
    match driven.first() {
        None => vec![Effect::Quit(Vec::new())],
        Some(first) => {
            model.overlay = Overlay::Dialog(Box::new(Dialog::quit(first.clone(), driven)));
            Vec::new()
        }
    }
}
