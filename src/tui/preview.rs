//! Asks the driver for the consequences of the open dialog's command.

use super::daemonset_ref::DaemonSetRef;
use super::dialog::PreviewState;
use super::message::ConsoleEffect;
use super::model::{Model, Overlay};

/// Asks the driver for the consequences of the command of the form in its present state.
pub(crate) fn ask(model: &mut Model) -> Vec<ConsoleEffect> {
    let serial = model.next_serial();
    let Overlay::Dialog(dialog) = &mut model.overlay else { return Vec::new() };
    let page = model.rollouts.iter().find(|page| page.target == dialog.target);
    let Some(snapshot) = page.and_then(|page| page.snapshot()) else {
        dialog.answer = PreviewState::Incomplete("loading …".to_owned());
        return Vec::new();
    };
    dialog.look_for_mistakes(snapshot);
    dialog.is_asked_under(snapshot);
    match dialog.command(snapshot) {
        Ok(command) => {
            dialog.answer = PreviewState::Asking(serial);
            vec![ConsoleEffect::Ask { target: dialog.target.clone(), serial, command }]
        }
        Err(why) => {
            dialog.answer = PreviewState::Incomplete(why);
            Vec::new()
        }
    }
}

/// Asks when the first snapshot has arrived, and again with a new one: a command refused during loading may be allowed by
/// now, and an earlier answer may no longer hold.
pub(crate) fn ask_again(model: &mut Model, target: &DaemonSetRef) -> Vec<ConsoleEffect> {
    if let Overlay::Dialog(dialog) = &model.overlay
        && dialog.target == *target
        && dialog.form.never_waits()
        && matches!(dialog.answer, PreviewState::Incomplete(_))
    {
        return ask(model);
    }
    let page = model.rollouts.iter().find(|page| page.target == *target);
    if let (Overlay::Dialog(dialog), Some(snapshot)) = (&mut model.overlay, page.and_then(|page| page.snapshot()))
        && dialog.target == *target
    {
        dialog.look_for_mistakes(snapshot);
    }
    let command = match (&model.overlay, page.and_then(|page| page.snapshot())) {
        (Overlay::Dialog(dialog), Some(snapshot))
            if dialog.target == *target && dialog.may_be_asked_again(snapshot) =>
        {
            dialog.command(snapshot)
        }
        _ => return Vec::new(),
    };
    let Ok(command) = command else { return Vec::new() };
    let serial = model.next_serial();
    let page = model.rollouts.iter().find(|page| page.target == *target);
    if let (Overlay::Dialog(dialog), Some(snapshot)) = (&mut model.overlay, page.and_then(|page| page.snapshot())) {
        dialog.is_asked_under(snapshot);
        dialog.asks_again(serial);
    }
    vec![ConsoleEffect::Ask { target: target.clone(), serial, command }]
}
