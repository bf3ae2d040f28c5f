//! The effect of each action on the model, and the effects that it asks for outside of it.
//!
//! No action writes to the cluster: an action that leads to a write opens a dialog that first shows the consequences.

mod context;
mod copy;
mod effects;
mod hits;
mod map;
mod marks;
mod navigate;
mod node;
mod revisions;
mod write;

use std::sync::Arc;

pub(crate) use self::context::{connect, connected};
use self::effects::{Effects, refuse};
pub(crate) use self::map::check_site;
pub(crate) use self::navigate::{fleet, open_rollout};
pub(crate) use self::node::{follow_pod, read_log};
pub(crate) use self::write::{arm_now, prewarm_revision};
use super::action::ActionId;
use super::daemonset_ref::DaemonSetRef;
use super::dialog::Dialog;
use super::list::Move;
use super::message::ConsoleEffect;
use super::model::{HelpFind, Model, Overlay};
use super::node_map::MapMove;
use super::node_page::{NodeReading, NodeTab};
use super::palette;
use super::status::StatusSeverity;
use super::theme::Glyphs;
use super::view;
use crate::engine::report::diagnosis::Diagnosis;
use crate::engine::report::snapshot::Snapshot;

/// Runs the action `id`, with the text typed after its name.
pub(crate) fn run(model: &mut Model, id: ActionId, argument: &str) -> Effects {
    match id {
        ActionId::Pause => write::pause(model, argument),
        ActionId::Arm => write::arm(model),
        ActionId::Step => write::step(model, argument),
        ActionId::Partition => write::partition(model, argument),
        ActionId::Canary => write::canary(model, argument),
        ActionId::Resume => write::resume(model),
        ActionId::Image => write::image(model, argument),
        ActionId::Drive => write::drive(model),
        ActionId::StopDriving => write::stop_driving(model),
        ActionId::Undo => write::undo(model, argument),
        ActionId::Release => write::release(model),
        ActionId::Adopt => write::adopt(model),
        ActionId::Tune => write::tune(model, argument),
        ActionId::Prewarm => write::prewarm(model, argument),
        ActionId::PausePrewarm => write::pause_prewarm(model),
        ActionId::RetryPrewarm => write::retry_prewarm(model),
        ActionId::CancelPrewarm => write::cancel_prewarm(model),
        ActionId::ReadOnly => write::read_only(model),
        ActionId::Open => navigate::open(model),
        ActionId::NodeLog => node::open(model, NodeTab::Log),
        ActionId::NodePrevious => node::open(model, NodeTab::Previous),
        ActionId::NodeEvents => node::open(model, NodeTab::Events),
        ActionId::NodeDescribe => node::open(model, NodeTab::Describe),
        ActionId::NodeYaml => node::open(model, NodeTab::Yaml),
        ActionId::NodeWhy => node::open(model, NodeTab::Why),
        ActionId::NextTab => node::turn(model, true),
        ActionId::PreviousTab => node::turn(model, false),
        ActionId::NextContainer => node::next_container(model),
        ActionId::Follow => node::follow(model),
        ActionId::Wrap => node::wrap(model),
        ActionId::Timestamps => node::timestamps(model),
        ActionId::FindNext => node::find(model, true),
        ActionId::FindPrevious => node::find(model, false),
        ActionId::LogCommand => node::command(model),
        ActionId::Back => navigate::back(model),
        ActionId::Filter => navigate::filter(model, argument),
        ActionId::NextHit => hits::next(model, true),
        ActionId::PreviousHit => hits::next(model, false),
        ActionId::Sort => navigate::sort(model, argument),
        ActionId::Freeze => navigate::freeze(model),
        ActionId::Watches => watches(model),
        ActionId::Diagnose => diagnosis(model),
        ActionId::Timeline => navigate::timeline(model, argument),
        ActionId::AllSteps => navigate::all_steps(model),
        ActionId::History => revisions::history(model),
        ActionId::Diff => revisions::diff(model, argument),
        ActionId::Template => revisions::template(model, argument),
        ActionId::Mark => revisions::mark(model),
        ActionId::MarkNode => marks::toggle(model),
        ActionId::Unmark => marks::clear(model),
        ActionId::Left => sideways(model, false),
        ActionId::Right => sideways(model, true),
        ActionId::Map => map::toggle(model),
        ActionId::Site => map::site(model, argument),
        ActionId::Nodes => navigate::nodes(model),
        ActionId::GoTo => navigate::go_to(model, argument),
        ActionId::Fleet => navigate::fleet(model, argument),
        ActionId::Namespace => navigate::namespace(model, argument),
        ActionId::Context => context::go_to(model, argument),
        ActionId::Up => navigate::move_by(model, Move::Up),
        ActionId::Down => navigate::move_by(model, Move::Down),
        ActionId::HalfUp => navigate::move_by(model, Move::HalfUp),
        ActionId::HalfDown => navigate::move_by(model, Move::HalfDown),
        ActionId::PageUp => navigate::move_by(model, Move::PageUp),
        ActionId::PageDown => navigate::move_by(model, Move::PageDown),
        ActionId::Top => navigate::move_by(model, Move::Top),
        ActionId::Bottom => navigate::move_by(model, Move::Bottom),
        ActionId::Copy => copy::copy(model, argument),
        ActionId::CopyWhat => copy::choose(model),
        ActionId::Help => help(model),
        ActionId::Palette => palette(model),
        ActionId::Theme => theme(model, argument),
        ActionId::Glyphs => glyphs(model, argument),
        ActionId::Save => save(model),
        ActionId::Repaint => repaint(model),
        ActionId::Suspend => vec![ConsoleEffect::Suspend],
        ActionId::Quit => quit(model),
    }
}

/// A user of k9s or lazygit may want to reload everything: the answer says that this is not necessary.
fn repaint(model: &mut Model) -> Effects {
    if matches!(model.overlay, Overlay::None) {
        let live = "nothing to reload: changes are shown as they come, failed reads are repeated";
        model.say(StatusSeverity::Plain, live);
    }
    vec![ConsoleEffect::Repaint]
}

/// Moves left or right: scrolls long lines of revisions, selects a cell of the map, or folds and opens groups of the list of nodes.
fn sideways(model: &mut Model, right: bool) -> Effects {
    match model.rollout() {
        Some(page) if page.revisions().is_some() => revisions::sideways(model, right),
        _ if map::is_seen(model) => map::go(model, if right { MapMove::Right } else { MapMove::Left }),
        _ => navigate::fold(model, right),
    }
}

fn help(model: &mut Model) -> Effects {
    model.overlay = Overlay::Help { top: 0, find: HelpFind::default(), dialog: None };
    Vec::new()
}

fn watches(model: &mut Model) -> Effects {
    if model.rollout().is_some_and(|page| page.live.is_some()) {
        model.overlay = Overlay::Watches { top: 0 };
    }
    Vec::new()
}

fn diagnosis(model: &mut Model) -> Effects {
    let Some((namespace, snapshot)) = model.rollout().and_then(|page| {
        let live = page.live.as_ref()?;
        Some((page.target.namespace.clone(), live.snapshot.clone()))
    }) else {
        return Vec::new();
    };
    let (mut readings, mut effects) = (Vec::new(), Vec::new());
    for (node, pod) in Diagnosis::of(&snapshot).lacking(&snapshot) {
        let serial = model.next_serial();
        readings.push(NodeReading { node: node.clone(), serial, inspection: Arc::default() });
        let (namespace, node, pod) = (namespace.clone(), node.clone(), Some(pod.clone()));
        effects.push(ConsoleEffect::Inspect { serial, namespace, node, pod });
    }
    model.overlay = Overlay::Diagnosis { top: 0, readings };
    effects
}

fn palette(model: &mut Model) -> Effects {
    palette::open(model, "");
    Vec::new()
}

fn theme(model: &mut Model, name: &str) -> Effects {
    if name.is_empty() {
        model.themes.cycle();
    } else if let Err(why) = model.themes.choose(name) {
        return refuse(model, why);
    }
    let name = model.theme().name.clone();
    model.say(StatusSeverity::Plain, format!("theme {name}"));
    Vec::new()
}

fn glyphs(model: &mut Model, name: &str) -> Effects {
    model.glyphs = match (name, model.glyphs) {
        ("unicode", _) | ("", Glyphs::Ascii) => Glyphs::Unicode,
        ("ascii", _) | ("", Glyphs::Unicode) => Glyphs::Ascii,
        (name, _) => return refuse(model, format!("there are no glyphs `{name}`; there are unicode and ascii")),
    };
    Vec::new()
}

/// Has the screen and the rollout on it written to files.
fn save(model: &mut Model) -> Effects {
    let screen = view::text(model);
    // Snapshots arrive when something changes, but the saved files hold the state as of now.
    let now = model.now;
    let rollout = model.rollout().and_then(|page| {
        // A frozen list is only for reading: the live snapshot is saved, because the rollout has gone on.
        let shown = page.live.as_ref()?;
        let snapshot = Snapshot { at: shown.reading().clock(now, 1), ..Snapshot::clone(&shown.snapshot) };
        Some((Arc::new(snapshot), page.story.clone()))
    });
    model.say(StatusSeverity::Busy, "saving …");
    vec![ConsoleEffect::Save { screen, rollout: rollout.map(Box::new) }]
}

fn quit(model: &mut Model) -> Effects {
    let driven: Vec<DaemonSetRef> = model.driven().map(|page| page.target.clone()).collect();
    match driven.first() {
        None => vec![ConsoleEffect::Quit(Vec::new())],
        Some(first) => {
            model.overlay = Overlay::Dialog(Box::new(Dialog::quit(first.clone(), driven)));
            Vec::new()
        }
    }
}
