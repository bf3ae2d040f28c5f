//! What happens: keys, snapshots, answers. The model changes here, and nowhere else.
//!
//! [`update`] is synchronous and total. Whatever needs the outside is handed back as [`Effect`]s.

use std::sync::Arc;

use ratatui::layout::Size;

use super::action::{self, Guard};
use super::dialog::{Answer, Form, Outcome};
use super::filter::Filter;
use super::key::Key;
use super::message;
use super::model::{DaemonSetRef, Model, Overlay, Page, ShownSnapshot, StatusTone, Uptime, WriteAccess};
use super::palette::{self, Recall};
use super::view;
use super::words::meant;
use crate::driver::{CommandError, Fleet};
use crate::engine::model::command::{Command, Preview, Refusal};
use crate::engine::report::snapshot::Snapshot;

use crossterm::event::KeyCode;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(Key),
    Paste(String),
    Resize(Size),
    /// The driver of a rollout has something new to show.
    Snapshot(DaemonSetRef, Arc<Snapshot>),
    /// The driver of a rollout has ended.
    Stopped(DaemonSetRef),
    Fleet(Arc<Fleet>),
    /// What a command would do.
    Previewed(u64, Result<Preview, CommandError>),
    /// What came of a command.
    Done(DaemonSetRef, Result<String, CommandError>),
    /// Something outside wants to be told.
    Said(StatusTone, String),
    /// Time has passed.
    Tick,
}

/// What the outside is asked for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Effect {
    /// Open a rollout.
    Open(DaemonSetRef),
    /// Let go of a rollout.
    Close(DaemonSetRef),
    /// Watch all DaemonSets of this namespace, or of all.
    Fleet(Option<Box<str>>),
    /// What would this do?
    Ask { target: DaemonSetRef, serial: u64, command: Command },
    /// Do this.
    Do { target: DaemonSetRef, command: Command },
    /// Paint everything again.
    Repaint,
    /// Back to the shell, for a while.
    Suspend,
    /// End, after stopping from these.
    Quit(Vec<DaemonSetRef>),
}

/// Takes in what happened at `now`.
pub(crate) fn update(model: &mut Model, msg: Msg, now: Uptime) -> Vec<Effect> {
    model.now = now;
    if matches!(model.access, WriteAccess::Armed { until } if until <= now) {
        model.access = WriteAccess::ReadOnly;
        model.say(StatusTone::Plain, "read-only again: 10 minutes are over; A arms");
    }
    let effects = match msg {
        Msg::Key(key) => on_key(model, key),
        Msg::Paste(text) => on_paste(model, &text),
        Msg::Resize(size) => {
            model.size = size;
            Vec::new()
        }
        Msg::Snapshot(target, snapshot) => {
            message::give_way(model, &target, &snapshot);
            if let Some(page) = model.rollouts.iter_mut().find(|page| page.target == target) {
                page.see(ShownSnapshot { snapshot, at: now });
            }
            ask_again(model, &target)
        }
        Msg::Stopped(target) => {
            if let Some(page) = model.rollouts.iter_mut().find(|page| page.target == target) {
                page.stopped = true;
            }
            Vec::new()
        }
        Msg::Fleet(fleet) => {
            if let Some(page) = &mut model.fleet {
                page.fleet = fleet;
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
        Msg::Done(target, result) => {
            match result {
                Ok(what) => model.say(StatusTone::Good, format!("{}: {what}", target.name)),
                Err(error) => model.say(StatusTone::Refused, format!("{}: {}", target.name, in_words(&error))),
            }
            Vec::new()
        }
        Msg::Said(tone, text) => {
            model.say(tone, text);
            Vec::new()
        }
        Msg::Tick => Vec::new(),
    };
    complain(model);
    settle(model);
    effects
}

/// Shows each complaint about the audit log or Events once. While a command is being waited for, its status line stays.
fn complain(model: &mut Model) {
    if model.status.as_ref().is_some_and(|status| status.tone == StatusTone::Busy) {
        return;
    }
    let Some(page) = model.rollout_mut() else { return };
    let Some(snapshot) = page.snapshot().cloned() else { return };
    let news: Vec<_> = snapshot.unaudited.iter().filter(|said| !page.unaudited.contains(said)).cloned().collect();
    page.unaudited.extend(news.iter().cloned());
    for complaint in news {
        match &mut model.status {
            Some(status) => status.text.push_str(&format!(" ({complaint})")),
            None => model.say(StatusTone::Refused, &*complaint),
        }
    }
}

/// Puts cursors and windows right after rows or sizes changed.
fn settle(model: &mut Model) {
    let height = view::list_height(model);
    if let Some(page) = &mut model.fleet {
        let mut list = std::mem::take(&mut page.list);
        let position =
            |target: &DaemonSetRef| (0..page.rows.len()).find(|row| page.target(*row).as_ref() == Some(target));
        // Every row has a target; were one missing, the selection would go to the first.
        let fallback = DaemonSetRef { namespace: "".into(), name: "".into() };
        list.follow(page.rows.len(), height, position, |row| page.target(row).unwrap_or(fallback.clone()));
        page.list = list;
    }
    if let Some(page) = model.rollout_mut() {
        if let Some(timeline) = &mut page.timeline {
            timeline.follow(height);
        }
        let mut list = std::mem::take(&mut page.list);
        let is_in = |row: &usize, name: &str| page.node(*row).is_some_and(|node| &*node.name == name);
        let known = list.cursor();
        let position = |name: &crate::engine::model::Str| {
            let same = known.filter(|row| is_in(row, name));
            same.or_else(|| (0..page.rows.len()).find(|row| is_in(row, name)))
        };
        let name = |row: usize| page.node(row).map(|node| node.name.clone()).unwrap_or_default();
        list.follow(page.rows.len(), height, position, name);
        page.list = list;
    }
}

fn on_key(model: &mut Model, key: Key) -> Vec<Effect> {
    if key == Key::ctrl('c') && is_quit_dialog(model) {
        // The second ctrl-c: at once.
        let driven = model.driven().map(|page| page.target.clone()).collect();
        return vec![Effect::Quit(driven)];
    }
    if key == Key::ctrl('c') || key == Key::ctrl('z') || key == Key::ctrl('l') {
        return dispatch(model, key);
    }
    match &mut model.overlay {
        Overlay::None => dispatch(model, key),
        Overlay::Help { top } | Overlay::Details { top } | Overlay::Watches { top } => match key.code {
            KeyCode::Down | KeyCode::Char('j') => scroll(top, 1),
            KeyCode::Up | KeyCode::Char('k') => scroll(top, -1),
            KeyCode::PageDown | KeyCode::Char(' ') => scroll(top, 10),
            KeyCode::PageUp => scroll(top, -10),
            KeyCode::Home | KeyCode::Char('g') => scroll(top, isize::MIN),
            KeyCode::Char('P' | 'B') => {
                // Pausing is at hand everywhere.
                model.overlay = Overlay::None;
                dispatch(model, key)
            }
            _ => {
                model.overlay = Overlay::None;
                Vec::new()
            }
        },
        Overlay::Palette(_) => palette_key(model, key),
        Overlay::Filter(_) => filter_key(model, key),
        Overlay::Dialog(_) => dialog_key(model, key),
    }
}

fn is_quit_dialog(model: &Model) -> bool {
    matches!(&model.overlay, Overlay::Dialog(dialog) if matches!(dialog.form, Form::Quit(_)))
}

fn scroll(top: &mut usize, by: isize) -> Vec<Effect> {
    *top = top.saturating_add_signed(by);
    Vec::new()
}

/// Does what the key is bound to, or says why not.
fn dispatch(model: &mut Model, key: Key) -> Vec<Effect> {
    match action::bound(model, key) {
        Some(action) => run(model, action, ""),
        None => {
            if key.text().is_some_and(|c| c.is_ascii_uppercase()) {
                model.say(StatusTone::Refused, format!("{key} does nothing here; ? lists what does"));
            }
            Vec::new()
        }
    }
}

fn run(model: &mut Model, action: &action::Action, argument: &str) -> Vec<Effect> {
    match action.available(model) {
        Ok(()) => {
            // The last refusal is answered by what is done now; looking around does not answer it.
            if action.guard != Guard::Read {
                model.status = None;
            }
            (action.run)(model, argument)
        }
        Err(why) => {
            model.say(StatusTone::Refused, why);
            Vec::new()
        }
    }
}

fn on_paste(model: &mut Model, text: &str) -> Vec<Effect> {
    match &mut model.overlay {
        Overlay::Palette(prompt) => {
            palette::paste(&mut prompt.input, text);
            Vec::new()
        }
        Overlay::Filter(prompt) => {
            palette::paste(&mut prompt.input, text);
            refilter(model);
            Vec::new()
        }
        Overlay::Dialog(dialog) => match dialog.paste(text) {
            Outcome::Ask => ask(model),
            _ => Vec::new(),
        },
        // Pasted text is never taken for keys.
        Overlay::None | Overlay::Help { .. } | Overlay::Details { .. } | Overlay::Watches { .. } => Vec::new(),
    }
}

fn palette_key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Overlay::Palette(prompt) = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => model.overlay = Overlay::None,
        KeyCode::Backspace if prompt.text().is_empty() => model.overlay = Overlay::None,
        KeyCode::Up => prompt.recall(&model.history, Recall::Older),
        KeyCode::Down => prompt.recall(&model.history, Recall::Newer),
        KeyCode::Tab => {
            let text = prompt.text().to_owned();
            if let Some(first) = palette::suggestions(model, &text).into_iter().next()
                && let Overlay::Palette(prompt) = &mut model.overlay
            {
                let takes_more = action::named(&first).is_some_and(|action| action.argument.is_some());
                prompt.set(&if takes_more { format!("{first} ") } else { first });
            }
        }
        KeyCode::Enter => {
            let line = prompt.text().trim().to_owned();
            model.overlay = Overlay::None;
            return run_line(model, &line);
        }
        _ => {
            palette::edit(&mut prompt.input, key);
        }
    }
    Vec::new()
}

/// Does what was typed after `:`.
fn run_line(model: &mut Model, line: &str) -> Vec<Effect> {
    if line.is_empty() {
        return Vec::new();
    }
    model.history.retain(|known| known != line);
    model.history.push(line.to_owned());
    if model.history.len() > 100 {
        model.history.remove(0);
    }
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match action::named(name) {
        Some(action) => run(model, action, argument.trim()),
        None => {
            let names = action::ACTIONS.iter().flat_map(|action| action.aliases.iter().chain([&action.name]));
            let guess = meant(name, names.copied()).map(|name| format!(": did you mean :{name}?")).unwrap_or_default();
            model.say(StatusTone::Refused, format!("there is no command `{name}`{guess}  (? lists all)"));
            Vec::new()
        }
    }
}

fn filter_key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Overlay::Filter(prompt) = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => {
            prompt.set("");
            refilter(model);
            model.overlay = Overlay::None;
        }
        KeyCode::Enter if prompt.complaint.is_none() => model.overlay = Overlay::None,
        KeyCode::Backspace if prompt.text().is_empty() => model.overlay = Overlay::None,
        // The list can be walked while the filter is typed.
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
            return dispatch(model, key);
        }
        _ => {
            palette::edit(&mut prompt.input, key);
            refilter(model);
        }
    }
    Vec::new()
}

/// Applies the filter as far as it is typed.
fn refilter(model: &mut Model) {
    let Overlay::Filter(prompt) = &model.overlay else { return };
    let text = prompt.text().to_owned();
    let complaint = set_filter(model, &text).err();
    if let Overlay::Filter(prompt) = &mut model.overlay {
        prompt.complaint = complaint;
    }
}

/// Shows only what passes `text`.
///
/// # Errors
/// Says what does not parse; the filter stays as it was.
pub(crate) fn set_filter(model: &mut Model, text: &str) -> Result<(), String> {
    let filter = Filter::parse(text)?;
    match &model.page {
        Page::Fleet => {
            if let Some(page) = &mut model.fleet {
                page.filter = filter;
                page.arrange();
            }
        }
        Page::Rollout(_) => {
            if let Some(page) = model.rollout_mut() {
                match &mut page.timeline {
                    Some(timeline) => {
                        timeline.filter = filter;
                        timeline.arrange();
                    }
                    None => {
                        page.filter = filter;
                        page.arrange();
                    }
                }
            }
        }
    }
    Ok(())
}

fn dialog_key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Overlay::Dialog(dialog) = &mut model.overlay else { return Vec::new() };
    let page = model.rollouts.iter().find(|page| page.target == dialog.target);
    let snapshot = page.and_then(|page| page.snapshot().cloned());
    match dialog.key(key, snapshot.as_deref()) {
        Outcome::Stay => Vec::new(),
        Outcome::Ask => ask(model),
        Outcome::Close => {
            model.overlay = Overlay::None;
            Vec::new()
        }
        Outcome::Go => go(model),
    }
}

/// Asks the driver what the dialog's command would do, as the form stands.
pub(crate) fn ask(model: &mut Model) -> Vec<Effect> {
    let serial = model.next_serial();
    let Overlay::Dialog(dialog) = &mut model.overlay else { return Vec::new() };
    let page = model.rollouts.iter().find(|page| page.target == dialog.target);
    let Some(snapshot) = page.and_then(|page| page.snapshot()) else { return Vec::new() };
    match dialog.command(snapshot) {
        Ok(command) => {
            dialog.answer = Answer::Asking(serial);
            vec![Effect::Ask { target: dialog.target.clone(), serial, command }]
        }
        Err(why) => {
            dialog.answer = Answer::Incomplete(why);
            Vec::new()
        }
    }
}

/// Asks again what would have been refused, now that something has changed: what was still loading is there by now.
fn ask_again(model: &mut Model, target: &DaemonSetRef) -> Vec<Effect> {
    let page = model.rollouts.iter().find(|page| page.target == *target);
    let command = match (&model.overlay, page.and_then(|page| page.snapshot())) {
        (Overlay::Dialog(dialog), Some(snapshot)) if dialog.target == *target && dialog.may_be_asked_again() => {
            dialog.command(snapshot)
        }
        _ => return Vec::new(),
    };
    let Ok(command) = command else { return Vec::new() };
    let serial = model.next_serial();
    if let Overlay::Dialog(dialog) = &mut model.overlay {
        dialog.asks_again(serial);
    }
    vec![Effect::Ask { target: target.clone(), serial, command }]
}

/// Does what the dialog was confirmed to do.
fn go(model: &mut Model) -> Vec<Effect> {
    let armed = model.armed_for().is_some();
    let Overlay::Dialog(dialog) = &model.overlay else { return Vec::new() };
    if let Form::Quit(driven) = &dialog.form {
        return vec![Effect::Quit(driven.clone())];
    }
    let page = model.rollouts.iter().find(|page| page.target == dialog.target);
    let Some(snapshot) = page.and_then(|page| page.snapshot()) else { return Vec::new() };
    let Ok(command) = dialog.command(snapshot) else { return Vec::new() };
    let target = dialog.target.clone();
    let title = match &dialog.answer {
        Answer::Preview(preview) => preview.title.clone(),
        _ => dialog.form.verb().to_owned(),
    };
    model.overlay = Overlay::None;
    if !armed && guard(&command) != Guard::Safety {
        model.say(StatusTone::Refused, "read-only again since this was opened: nothing was done; A arms");
        return Vec::new();
    }
    model.say(StatusTone::Busy, format!("asked: {title} …"));
    vec![Effect::Do { target, command }]
}

/// What stands before a command: the same as before the action that it came from.
fn guard(command: &Command) -> Guard {
    match command {
        Command::Pause { .. } | Command::StopDriving | Command::GiveUpDriving { .. } => Guard::Safety,
        _ => Guard::Write(crate::engine::model::command::Danger::Bounded),
    }
}

/// A refusal, with the key that would get what is missing.
fn in_words(error: &CommandError) -> String {
    match error {
        CommandError::Refused(refusal @ Refusal::DrivenBy { .. }) => format!("{refusal} (D)"),
        other => other.to_string(),
    }
}
