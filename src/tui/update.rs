//! Takes messages into the model: keys, snapshots, answers. Only this module and `commands` change the model.
//!
//! [`update`] is synchronous and total. It returns everything that needs the outside as [`ConsoleEffect`]s.

mod dialog;
mod dispatch;
mod help;
mod line;
mod overlay;
mod status;

use std::sync::Arc;

use crossterm::event::KeyCode;

use self::dialog::dialog_key;
use self::dispatch::dispatch;
use self::line::{filter_key, palette_key, refilter};
use self::overlay::overlay_key;
use super::action::{ActionId, in_keys, unreadable_in_keys};
use super::commands::{self, check_site, connected, follow_pod, read_log};
use super::daemonset_ref::DaemonSetRef;
use super::dialog::DialogEvent;
use super::dialog::form::Form;
use super::key::Key;
use super::message::{ConsoleEffect, Msg};
use super::model::{HelpFind, Model, Overlay, RolloutScreen, ShownSnapshot, Uptime, WriteAccess};
use super::notify;
use super::preview::{ask, ask_again};
use super::prompt;
use super::status::StatusSeverity;
use super::terminal::clamped;
use super::theme::Background;
use super::view::Shape;
use super::view::{self, Measures};
use crate::driver::{CommandError, FleetPrewarm, FleetRow};
use crate::engine::model::command::Refusal;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::record::Direction;
use crate::engine::report::snapshot::{Phase, Snapshot};

/// Takes in a message at `now`.
pub(crate) fn update(model: &mut Model, msg: Msg, now: Uptime) -> Vec<ConsoleEffect> {
    model.now = now;
    if matches!(model.access, WriteAccess::Armed { until } if until <= now) {
        model.access = WriteAccess::ReadOnly;
        model.say(StatusSeverity::Plain, "read-only again: 10 minutes are over; A arms");
    }
    let effects = match msg {
        Msg::Key(key) => {
            let effects = on_key(model, key);
            status::overtake(model);
            effects
        }
        Msg::Paste(text) => on_paste(model, &text),
        Msg::Resize(size) => {
            model.size = clamped(size);
            Vec::new()
        }
        Msg::Background(colour) => {
            model.themes.see_background(Background::of(colour));
            Vec::new()
        }
        Msg::Snapshot(target, snapshot) => {
            status::drop_outdated(model, &target, &snapshot);
            status::overtake(model);
            let known = model.rollouts.iter().find(|page| page.target == target);
            let before = known.and_then(|page| page.snapshot());
            let news = before.and_then(|before| {
                let ended = status::is_over(before, &snapshot).or_else(|| status::prewarmed(before, &snapshot));
                ended.or_else(|| status::reported(before, &snapshot))
            });
            let is_worth_a_call = known.is_some() && notify::calls(before.map(|known| &**known), &snapshot);
            let height = view::list_height(model);
            if let Some(page) = model.rollouts.iter_mut().find(|page| page.target == target) {
                if let RolloutScreen::Prewarm(prewarm) = &mut page.screen {
                    prewarm.hold_current(height);
                }
                page.see(ShownSnapshot { snapshot, at: now, is_frozen: false });
                if page.driven_by_us() && !model.have_been_driven.contains(&target) {
                    model.have_been_driven.push(target.clone());
                }
            }
            complete_list(model);
            if let Some(news) = news {
                status::announce(model, &target, &news);
            }
            let mut effects = ask_again(model, &target);
            drop_question_to_quit(model, &target);
            effects.extend(follow_pod(model));
            effects.extend(check_site(model, &target));
            effects.extend(is_worth_a_call.then_some(ConsoleEffect::Call));
            effects
        }
        Msg::Stopped(target) => {
            if let Some(page) = model.rollouts.iter_mut().find(|page| page.target == target) {
                page.stopped = true;
            }
            Vec::new()
        }
        Msg::Fleet(fleet) => {
            status::overtake(model);
            let height = view::list_height(model);
            if let Some(page) = &mut model.fleet {
                page.hold_current(height);
                model.namespaces.extend(fleet.rows.iter().map(|row| row.namespace.clone()));
                (page.fleet, page.at) = (fleet, now);
            }
            complete_list(model);
            if let Some(page) = &mut model.fleet {
                page.arrange();
            }
            Vec::new()
        }
        Msg::Previewed(serial, answer) => {
            if let Overlay::Dialog(dialog) = &mut model.overlay {
                dialog.answered(serial, answer.map_err(|error| in_words(&error)));
            }
            Vec::new()
        }
        Msg::Inspected(serial, inspection) => {
            if let Overlay::Diagnosis { readings, .. } = &mut model.overlay
                && let Some(reading) = readings.iter_mut().find(|reading| reading.serial == serial)
            {
                reading.inspection = inspection;
                return Vec::new();
            }
            match model.node_page_mut().filter(|page| page.serial == serial) {
                Some(page) => {
                    page.see(inspection);
                    read_log(model)
                }
                None => Vec::new(),
            }
        }
        Msg::Log(serial, news) => {
            let log = model.node_page_mut().and_then(|page| page.log.as_mut());
            if let Some(log) = log.filter(|log| log.serial == serial) {
                log.take_in(news);
            }
            Vec::new()
        }
        Msg::Done(target, result) => {
            match result {
                Ok(what) => model.say(StatusSeverity::Good, format!("{}: {what}", target.name)),
                Err(error) => model.say(StatusSeverity::Refused, format!("{}: {}", target.name, in_words(&error))),
            }
            Vec::new()
        }
        Msg::Connected(context, answer) => connected(model, &context, answer),
        Msg::Said(severity, text) => {
            model.say(severity, text);
            Vec::new()
        }
        Msg::Tick => Vec::new(),
    };
    status::expire(model);
    status::complain(model);
    settle(model);
    effects
}

/// Completes the list of DaemonSets with facts that only an open rollout knows: whether anything moves, since when the
/// rollout is in its state, and that all nodes have the pre-warmed images.
fn complete_list(model: &mut Model) {
    let Some(list) = &mut model.fleet else { return };
    for page in &model.rollouts {
        let Some(snapshot) = page.snapshot() else { continue };
        let is_it = |row: &FleetRow| row.namespace == page.target.namespace && row.name == page.target.name;
        let Some(at) = list.fleet.rows.iter().position(is_it) else { continue };
        let row = &list.fleet.rows[at];
        let state = state_on_its_page(&row.state, snapshot);
        let recorded = row.since.filter(|_| state == row.state);
        let is_same = match state {
            FleetState::Held => snapshot.phase == Phase::Held,
            FleetState::Rolling | FleetState::RollingBack => snapshot.phase == Phase::Running,
            FleetState::UpToDate => snapshot.phase == Phase::Idle,
            FleetState::Adopted => snapshot.phase == Phase::Complete,
            _ => false,
        };
        let since = recorded.or(page.phase_since.filter(|_| is_same));
        let is_done = snapshot.prewarm.as_ref().is_some_and(|view| {
            let counts = &view.counts;
            view.error.is_none() && counts.nodes > 0 && counts.present == counts.nodes
        });
        let prewarm = match row.prewarm {
            Some(FleetPrewarm::Requested | FleetPrewarm::NobodyDrives | FleetPrewarm::DriverUnknown) if is_done => {
                Some(FleetPrewarm::Done)
            }
            known => known,
        };
        if (&state, since, prewarm) != (&row.state, row.since, row.prewarm) {
            let row = &mut Arc::make_mut(&mut list.fleet).rows[at];
            (row.state, row.since, row.prewarm) = (state, since, prewarm);
            list.arrange();
        }
    }
}

/// The state in the list, corrected by the page of the same rollout. Counters and record do not tell whether a node that is
/// named as in progress still moves, or has failed and holds the others.
fn state_on_its_page(listed: &FleetState, snapshot: &Snapshot) -> FleetState {
    match (listed, &snapshot.phase, snapshot.direction) {
        (FleetState::Rolling | FleetState::RollingBack | FleetState::Unseen, Phase::Held, _) => FleetState::Held,
        (FleetState::Held | FleetState::Unseen, Phase::Running, Direction::Forward) => FleetState::Rolling,
        (FleetState::Held | FleetState::Unseen, Phase::Running, Direction::Back) => FleetState::RollingBack,
        (listed, _, _) => listed.clone(),
    }
}

/// Moves cursors and the visible parts of lists to the present places of their rows.
fn settle(model: &mut Model) {
    let Measures { list_height: height, map } = Measures::of(model);
    let (cells, now, draws_map) = (model.size.width, model.now, view::draws_map(model));
    if let Some(page) = &mut model.fleet {
        let is_awaited = page.awaited().is_some();
        let mut list = std::mem::take(&mut page.list);
        let position =
            |target: &DaemonSetRef| (0..page.rows.len()).find(|row| page.target(*row).as_ref() == Some(target));
        // Every row has a target: this is never used.
        let fallback = DaemonSetRef { namespace: "".into(), name: "".into() };
        // The selection waits for the DaemonSet that the user came back from.
        if !is_awaited {
            list.follow(page.rows.len(), height, position, |row| page.target(row).unwrap_or(fallback.clone()));
        }
        page.list = list;
    }
    if let Some(page) = model.rollout_mut() {
        match &mut page.screen {
            RolloutScreen::Nodes => {}
            RolloutScreen::Timeline(timeline) => timeline.follow(height),
            RolloutScreen::Prewarm(prewarm) => prewarm.follow(height),
            RolloutScreen::Revisions(revisions) => match &mut revisions.text {
                Some(text) => text.settle(text.sides(cells), height),
                None => revisions.follow(height),
            },
        }
        page.pass_time(now);
        if page.frozen.is_none() && page.nodes.expire(now) {
            page.arrange();
        }
        if let Some(shown) = page.shown().cloned() {
            page.nodes.follow(height, &shown.snapshot.nodes);
            page.nodes.note_front(&shown.snapshot.nodes, now);
            if draws_map {
                page.map.see(&shown.snapshot);
            } else {
                page.map.forget();
            }
            if page.map.is_open {
                let row = page.current().map(|node| node.name.clone());
                page.map.scroll_to(row.as_deref(), map);
            }
        }
    }
}

fn on_key(model: &mut Model, key: Key) -> Vec<ConsoleEffect> {
    model.status.take_if(|status| status.severity == StatusSeverity::UntilKey);
    if key == Key::ctrl('c') && model.asks_to_quit() {
        // The second ctrl-c quits without a question.
        return quit_at_once(model);
    }
    if Shape::of(model) <= Shape::Sentence {
        return key_without_room(model, key);
    }
    if key == Key::ctrl('c') || key == Key::ctrl('z') || key == Key::ctrl('l') || key == Key::ctrl('s') {
        return dispatch(model, key);
    }
    if help::takes(model, key) {
        return Vec::new();
    }
    match &mut model.overlay {
        Overlay::None => dispatch(model, key),
        Overlay::Help { .. } | Overlay::Details { .. } | Overlay::Watches { .. } | Overlay::Diagnosis { .. } => {
            overlay_key(model, key)
        }
        Overlay::Palette(_) => palette_key(model, key),
        Overlay::Filter(_) => filter_key(model, key),
        Overlay::Dialog(_) => dialog_key(model, key),
    }
}

/// A rollout that is not driven any more is none that the question whether to quit names; without any, nothing is asked.
fn drop_question_to_quit(model: &mut Model, target: &DaemonSetRef) {
    let is_driven = model.driven().any(|page| page.target == *target);
    let Overlay::Dialog(dialog) = &mut model.overlay else { return };
    let Form::Quit(driven) = &mut dialog.form else { return };
    driven.retain(|one| is_driven || one != target);
    if driven.is_empty() {
        model.overlay = Overlay::None;
        model.say(StatusSeverity::UntilKey, "nothing is driven any more: q quits");
    }
}

/// Takes a key while the terminal is too small to show its effect: the key can only quit, suspend the process or repaint,
/// and esc withdraws the question whether to quit. Quitting removes an open form, which otherwise waits until there is room
/// again.
fn key_without_room(model: &mut Model, key: Key) -> Vec<ConsoleEffect> {
    if key == Key::ctrl('c') || key.text() == Some('q') {
        if model.asks_to_quit() {
            return quit_at_once(model);
        }
        model.overlay = Overlay::None;
        return commands::run(model, ActionId::Quit, "");
    }
    if key == Key::ctrl('z') || key == Key::ctrl('l') {
        return dispatch(model, key);
    }
    if key.code == KeyCode::Esc && model.asks_to_quit() {
        model.overlay = Overlay::None;
    }
    Vec::new()
}

fn quit_at_once(model: &Model) -> Vec<ConsoleEffect> {
    vec![ConsoleEffect::Quit(model.driven().map(|page| page.target.clone()).collect())]
}

fn on_paste(model: &mut Model, text: &str) -> Vec<ConsoleEffect> {
    if Shape::of(model) <= Shape::Sentence {
        return Vec::new();
    }
    match &mut model.overlay {
        Overlay::Palette(prompt) => {
            prompt::paste(&mut prompt.input, text);
            Vec::new()
        }
        Overlay::Filter(prompt) => {
            prompt::paste(&mut prompt.input, text);
            refilter(model);
            Vec::new()
        }
        Overlay::Dialog(dialog) => match dialog.paste(text) {
            DialogEvent::Changed => ask(model),
            _ => Vec::new(),
        },
        Overlay::Help { find: HelpFind { prompt: Some(prompt), .. }, .. } => {
            prompt::paste(&mut prompt.input, text);
            help::refind(model);
            Vec::new()
        }
        // Pasted text is never interpreted as keys.
        Overlay::None
        | Overlay::Help { .. }
        | Overlay::Details { .. }
        | Overlay::Watches { .. }
        | Overlay::Diagnosis { .. } => Vec::new(),
    }
}

/// A refusal, with the key that provides what is missing.
fn in_words(error: &CommandError) -> String {
    match error {
        CommandError::Refused(refusal @ Refusal::DrivenBy { .. }) => format!("{refusal} (D)"),
        CommandError::Refused(refusal @ Refusal::RecordUnreadable { .. }) => unreadable_in_keys(refusal),
        other => in_keys(&other.to_string()),
    }
}
