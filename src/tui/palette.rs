//! What could be typed after `:`.

mod elsewhere;

pub(crate) use self::elsewhere::{Elsewhere, elsewhere};
use super::action::{self, Action, Group};
use super::model::{Model, Overlay};
use super::prompt::Prompt;

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

/// Begins a line after `:` with `text`, and offers how it could go on.
pub(crate) fn open(model: &mut Model, text: &str) {
    model.overlay = Overlay::Palette(Prompt::with(text));
    suggest(model);
}

/// Offers what could be typed, in the line that is typed after `:`.
pub(crate) fn suggest(model: &mut Model) {
    let Overlay::Palette(prompt) = &model.overlay else { return };
    let found = suggestions(model, prompt.text());
    if let Overlay::Palette(prompt) = &mut model.overlay {
        prompt.offer(found);
    }
}

/// The actions that have a name to type.
pub(crate) fn commands(model: &Model) -> impl Iterator<Item = &'static Action> {
    action::ACTIONS.iter().filter(|action| action.group != Group::Move && action.in_scope(model))
}
