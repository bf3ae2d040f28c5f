//! The lines that can be typed after `:`.

mod elsewhere;

pub(crate) use self::elsewhere::{Elsewhere, elsewhere};
use super::action::{self, ACTIONS, Action, ActionId, Group};
use super::model::{Model, Overlay};
use super::prompt::Prompt;
use super::words::meant;

/// Completions of `text`, as whole lines; those that begin with it come first.
fn suggestions(model: &Model, text: &str) -> Vec<String> {
    let text = text.trim_start();
    if let Some((name, argument)) = text.split_once(' ') {
        let Some(action) = action::named(name) else { return Vec::new() };
        let known = action.argument.map(|argument| (argument.known)(model)).unwrap_or_default();
        let fitting = known.into_iter().filter(|one| one.contains(argument.trim()) && one != argument.trim());
        return fitting.map(|argument| format!("{name} {argument}")).collect();
    }
    let mut found: Vec<&Action> = commands(model).filter(|action| action.name.contains(text)).collect();
    found.sort_by_key(|action| (!action.name.starts_with(text), action.name));
    found.iter().map(|action| action.name.to_owned()).collect()
}

/// Opens the line after `:` with `text`, and offers its completions.
pub(crate) fn open(model: &mut Model, text: &str) {
    model.overlay = Overlay::Palette(Prompt::with(text));
    suggest(model);
}

/// Offers completions for the line typed after `:`.
pub(crate) fn suggest(model: &mut Model) {
    let Overlay::Palette(prompt) = &model.overlay else { return };
    let found = suggestions(model, prompt.text());
    if let Overlay::Palette(prompt) = &mut model.overlay {
        prompt.offer(found);
    }
}

/// Whether enter would run `line`.
///
/// # Errors
/// The line cannot run: there is no such command, or it is not possible now.
pub(crate) fn outlook(model: &Model, line: &str) -> Result<(), String> {
    let line = line.trim();
    let name = line.split(char::is_whitespace).next().unwrap_or_default();
    match (action::named(name), elsewhere(name)) {
        _ if name.is_empty() => Ok(()),
        (Some(action), _) => action.available(model),
        (None, Some(Elsewhere::Command(_))) => Ok(()),
        (None, Some(Elsewhere::Instead(words))) => Err(words.to_owned()),
        (None, None) => Err(unknown(model, name)),
    }
}

/// The text for an unknown command, with the one that may have been meant.
pub(crate) fn unknown(model: &Model, name: &str) -> String {
    if let Some(action) = begun_elsewhere(model, name) {
        let why = action.available(model).err().unwrap_or_default();
        return format!("did you mean :{}? {why}", action.name);
    }
    let guess = guess(model, name).map(|names| format!(": did you mean {names}?")).unwrap_or_default();
    format!("there is no command `{name}`{guess}")
}

/// The command that begins with this word and works on another page, where none that works here does.
fn begun_elsewhere(model: &Model, word: &str) -> Option<&'static Action> {
    let begins = |action: &&Action| action.name.starts_with(word) && action.id != ActionId::Palette;
    if word.is_empty() || commands(model).any(|action| begins(&action)) {
        return None;
    }
    ACTIONS.iter().filter(|action| action.group != Group::Move && !action.in_scope(model)).find(begins)
}

/// The word's probable meaning: a command that begins with it, or one that is spelt alike.
fn guess(model: &Model, word: &str) -> Option<String> {
    const MOST: usize = 4;
    // The action that opened this line cannot be meant.
    let begun = commands(model).filter(|action| action.name.starts_with(word) && action.id != ActionId::Palette);
    let mut begun: Vec<String> = begun.take(MOST).map(|action| format!(":{}", action.name)).collect();
    match begun.pop() {
        None => {
            let names = ACTIONS.iter().flat_map(|action| action.aliases.iter().chain([&action.name]));
            meant(word, names.copied()).map(|name| format!(":{name}"))
        }
        Some(last) if begun.is_empty() => Some(last),
        Some(last) => Some(format!("{} or {last}", begun.join(", "))),
    }
}

/// The actions that have a name to type.
pub(crate) fn commands(model: &Model) -> impl Iterator<Item = &'static Action> {
    action::ACTIONS.iter().filter(|action| action.group != Group::Move && action.in_scope(model))
}
