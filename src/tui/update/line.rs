//! Keys for a line of text at the bottom: a command after `:`, a filter after `/`.

use crossterm::event::KeyCode;

use super::dispatch::{dispatch, run};
use crate::tui::action::named;
use crate::tui::key::Key;
use crate::tui::message::ConsoleEffect;
use crate::tui::model::{Model, Overlay};
use crate::tui::palette::{Elsewhere, elsewhere, suggest, unknown};
use crate::tui::prompt::{Recall, edit};
use crate::tui::status::StatusSeverity;

pub(super) fn palette_key(model: &mut Model, key: Key) -> Vec<ConsoleEffect> {
    let Overlay::Palette(prompt) = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => model.overlay = Overlay::None,
        KeyCode::Backspace if prompt.text().is_empty() => model.overlay = Overlay::None,
        KeyCode::Up => {
            prompt.recall(&model.history, Recall::Older);
            suggest(model);
        }
        KeyCode::Down => {
            prompt.recall(&model.history, Recall::Newer);
            suggest(model);
        }
        KeyCode::Tab | KeyCode::BackTab => {
            if prompt.complete(key.code == KeyCode::Tab) {
                if named(prompt.text()).is_some_and(|action| action.argument.is_some()) {
                    let text = format!("{} ", prompt.text());
                    prompt.set(&text);
                }
                suggest(model);
            }
        }
        KeyCode::Enter => {
            let line = prompt.text().trim().to_owned();
            model.overlay = Overlay::None;
            return run_line(model, &line);
        }
        _ => {
            edit(&mut prompt.input, key);
            suggest(model);
        }
    }
    Vec::new()
}

/// Runs the line typed after `:`.
fn run_line(model: &mut Model, line: &str) -> Vec<ConsoleEffect> {
    if line.is_empty() {
        return Vec::new();
    }
    model.history.retain(|known| known != line);
    model.history.push(line.to_owned());
    if model.history.len() > 100 {
        model.history.remove(0);
    }
    // It is over with the message about the command before, unless that one is still pending.
    model.status.take_if(|status| status.severity != StatusSeverity::Busy);
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match named(name) {
        Some(action) => run(model, action, argument.trim()),
        None if let Some(known) = elsewhere(name) => match known {
            Elsewhere::Command(other) => {
                named(other).map(|action| run(model, action, argument.trim())).unwrap_or_default()
            }
            Elsewhere::Instead(words) => {
                model.say(StatusSeverity::Plain, format!(":{name}: {words}"));
                Vec::new()
            }
        },
        None => {
            let why = unknown(model, name);
            model.say(StatusSeverity::Refused, format!("{why}  (? lists all)"));
            Vec::new()
        }
    }
}

pub(super) fn filter_key(model: &mut Model, key: Key) -> Vec<ConsoleEffect> {
    let Overlay::Filter(prompt) = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => {
            prompt.set("");
            refilter(model);
            close(model);
        }
        KeyCode::Enter if prompt.complaint.is_none() => close(model),
        KeyCode::Backspace if prompt.text().is_empty() => close(model),
        KeyCode::Tab | KeyCode::BackTab => {
            let only = prompt.complete(key.code == KeyCode::Tab);
            apply_filter(model);
            if only {
                offer_completions(model);
            }
        }
        // The keys move through the list while the filter is typed.
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
            let effects = dispatch(model, key);
            if let Some(page) = model.rollout_mut() {
                page.nodes.set_home();
            }
            return effects;
        }
        _ => {
            edit(&mut prompt.input, key);
            refilter(model);
        }
    }
    Vec::new()
}

/// Ends the typing of the filter.
fn close(model: &mut Model) {
    model.overlay = Overlay::None;
    if let Some(page) = model.rollout_mut() {
        page.nodes.forget_home();
    }
}

/// Applies the text typed so far as a filter, and offers its completions.
pub(super) fn refilter(model: &mut Model) {
    apply_filter(model);
    offer_completions(model);
}

/// Applies the text typed so far as a filter. While it cannot be read it is in force without its last word, or if that is all there is, as it was before it was
/// typed: nobody asked for the rows with `rst` who types `rst>0`.
fn apply_filter(model: &mut Model) {
    let Overlay::Filter(prompt) = &model.overlay else { return };
    let (text, before) = (prompt.text().to_owned(), prompt.before.clone());
    let complaint = model.set_filter(&text).err();
    if complaint.is_some() {
        let readable =
            text.trim_end().rsplit_once(' ').map(|(words, _)| words).filter(|words| !words.trim().is_empty());
        if readable.is_none_or(|words| model.set_filter(words).is_err()) {
            // It may not be readable any more either: a label may have gone since.
            drop(model.set_filter(&before));
        }
    }
    if let Overlay::Filter(prompt) = &mut model.overlay {
        prompt.complaint = complaint;
    }
}

fn offer_completions(model: &mut Model) {
    let Overlay::Filter(prompt) = &model.overlay else { return };
    let found = model.filter_completions(prompt.text());
    if let Overlay::Filter(prompt) = &mut model.overlay {
        prompt.offer(found);
    }
}
