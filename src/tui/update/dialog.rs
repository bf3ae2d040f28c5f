//! Keys for the open dialog, and the effects of its confirmation.

use crossterm::event::KeyCode;

use crate::tui::action::{ActionId, bound};
use crate::tui::commands::{arm_now, connect, fleet, prewarm_revision};
use crate::tui::dialog::{DialogEvent, Form, PreviewState, is_safety};
use crate::tui::key::Key;
use crate::tui::message::ConsoleEffect;
use crate::tui::model::{HelpFind, Model, Overlay};
use crate::tui::preview::ask;
use crate::tui::status::StatusSeverity;
use crate::tui::view::dialog_ends;

pub(super) fn dialog_key(model: &mut Model, key: Key) -> Vec<ConsoleEffect> {
    if matches!(key.code, KeyCode::PageUp | KeyCode::PageDown) {
        clamp(model);
    }
    let Overlay::Dialog(dialog) = &mut model.overlay else { return Vec::new() };
    let page = model.rollouts.iter().find(|page| page.target == dialog.target);
    let snapshot = page.and_then(|page| page.snapshot().cloned());
    if let Some(hash) = dialog.revision_to_prewarm(key) {
        return prewarm_revision(model, &hash);
    }
    match dialog.key(key, snapshot.as_deref()) {
        DialogEvent::None => Vec::new(),
        DialogEvent::Changed => ask(model),
        DialogEvent::Cancelled => {
            let effects = if dialog.is_from_list { fleet(model, "") } else { Vec::new() };
            model.overlay = Overlay::None;
            model.say(StatusSeverity::UntilKey, "cancelled, nothing changed");
            effects
        }
        DialogEvent::Confirmed => confirm(model),
        DialogEvent::NotYet(why) => {
            model.say(StatusSeverity::UntilKey, why);
            Vec::new()
        }
        DialogEvent::Unused => {
            unused_key(model, key);
            Vec::new()
        }
    }
}

/// A key that the dialog has no use for: the key of the help opens it, and of any other character it is said that nothing happens.
fn unused_key(model: &mut Model, key: Key) {
    let Overlay::Dialog(dialog) = &model.overlay else { return };
    let helps = bound(model, key).is_some_and(|action| action.id == ActionId::Help) && dialog.is_about_a_daemonset();
    if helps {
        if let Overlay::Dialog(dialog) = std::mem::take(&mut model.overlay) {
            model.overlay = Overlay::Help { top: 0, find: HelpFind::default(), dialog: Some(dialog) };
        }
    } else if key.text().is_some_and(|c| !c.is_whitespace()) {
        let helps = if dialog.is_about_a_daemonset() { "; ? lists its keys" } else { "" };
        model.say(StatusSeverity::UntilKey, format!("{key} does nothing in this dialog, esc closes it{helps}"));
    }
}

/// Closes the help. The dialog in which it was opened is shown again, and it is asked anew what its command would do.
pub(super) fn close_help(model: &mut Model) -> Vec<ConsoleEffect> {
    match std::mem::take(&mut model.overlay) {
        Overlay::Help { dialog: Some(dialog), .. } => {
            model.overlay = Overlay::Dialog(dialog);
            ask(model)
        }
        _ => Vec::new(),
    }
}

/// Carries out the confirmed dialog.
fn confirm(model: &mut Model) -> Vec<ConsoleEffect> {
    let armed = model.armed_for().is_some();
    let Overlay::Dialog(dialog) = &model.overlay else { return Vec::new() };
    if let Form::Quit(driven) = &dialog.form {
        return vec![ConsoleEffect::Quit(driven.clone())];
    }
    if let Form::Arm { .. } = &dialog.form {
        return arm_now(model);
    }
    if let Form::SwitchContext { context, driven } = &dialog.form {
        let (context, driven) = (context.clone(), driven.clone());
        model.overlay = Overlay::None;
        return connect(model, context, driven);
    }
    let page = model.rollouts.iter().find(|page| page.target == dialog.target);
    let Some(snapshot) = page.and_then(|page| page.snapshot()) else { return Vec::new() };
    let Ok(command) = dialog.confirmed_command(snapshot) else { return Vec::new() };
    let target = dialog.target.clone();
    let title = match &dialog.answer {
        PreviewState::Preview(preview) => preview.title.clone(),
        _ => dialog.form.verb().to_owned(),
    };
    model.overlay = Overlay::None;
    if !armed && !is_safety(&command) {
        model.say(StatusSeverity::Refused, "read-only again since this was opened: nothing was done; A arms");
        return Vec::new();
    }
    model.say(StatusSeverity::Busy, format!("asked: {title} …"));
    vec![ConsoleEffect::Do { target, command }]
}

/// Limits the scrolling to both ends of the text, so that the next key moves the visible part.
fn clamp(model: &mut Model) {
    let (least, most) = dialog_ends(model);
    if let Overlay::Dialog(dialog) = &mut model.overlay {
        dialog.scroll = dialog.scroll.clamp(least, most);
    }
}
