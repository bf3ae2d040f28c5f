//! What whoever quits, or goes to another cluster, leaves behind: the rollouts and the pre-warming that are driven from here.
//!
//! ```text
//! You drive edge/ipc-agent on prod-eu.
//! When nobody drives, nothing more is updated: what is in flight finishes, the rest waits until somebody drives again.
//! Pre-warming: no further node gets a pod; what is being pulled goes on, and whoever drives next carries on.
//! `rolldeck drive --context prod-eu -n edge ds/ipc-agent` goes on without a console.
//! ```
//!
//! Where a driver would move nothing, it says what comes first instead, or what ends the adoption.

use super::DialogBody;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::engine::report::words::reason_of_pause;
use crate::tui::copy::rolldeck;
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::dialog::Form;
use crate::tui::theme::{Glyph, ThemeRole};

pub(super) fn fill(body: &mut DialogBody<'_>, form: &Form, driven: &[DaemonSetRef]) {
    let ctx = body.ctx;
    let snapshot = |target: &DaemonSetRef| {
        let page = ctx.model.rollouts.iter().find(|page| page.target == *target);
        page.and_then(|page| page.snapshot()).map(|snapshot| &**snapshot)
    };
    let only_prewarms = driven.iter().all(|target| snapshot(target).is_some_and(Snapshot::only_prewarms));
    let (drive, driving) = if only_prewarms { ("pre-warm", "pre-warming") } else { ("drive", "driving") };
    let names: Vec<String> = driven.iter().map(|target| format!("{}/{}", target.namespace, target.name)).collect();
    body.say(&format!("You {drive} {} on {}.", names.join(", "), ctx.model.context), ThemeRole::Title);
    if matches!(form, Form::Quit(_)) && ctx.model.practice {
        body.say("This practice cluster ends with this console, and all that goes on there with it.", ThemeRole::Text);
        return;
    }
    for target in driven {
        if let Some(unsent) = snapshot(target).and_then(Snapshot::not_sent) {
            let what = format!("{} {}/{}", ctx.glyph(Glyph::Alarm), target.namespace, target.name);
            body.say(&format!("{what}: {} is not saved, and is lost with this console.", unsent.kind), ThemeRole::Bad);
        }
    }
    let is_halted = |target: &&DaemonSetRef| snapshot(target).is_some_and(|shown| shown.phase == Phase::Halted);
    let paused = |target: &&DaemonSetRef| match &snapshot(target)?.phase {
        Phase::Paused(paused) => Some(paused),
        _ => None,
    };
    let stays = |target: &&DaemonSetRef| snapshot(target).is_some_and(Snapshot::only_stays_adopted);
    let mut goes_on =
        driven.iter().filter(|target| !is_halted(target) && !stays(target) && paused(target).is_none()).peekable();
    if !only_prewarms && goes_on.peek().is_some() {
        body.say("When nobody drives, nothing more is updated: what is in flight finishes, the rest waits until somebody drives again.", ThemeRole::Text);
    }
    let whose = |target: &DaemonSetRef| match driven.len() {
        1 => "It".to_owned(),
        _ => format!("{}/{}", target.namespace, target.name),
    };
    for target in driven.iter().filter(is_halted) {
        let (resume, undo) = (rolldeck(ctx.model, "resume", target), rolldeck(ctx.model, "undo", target));
        let or_undo = snapshot(target).filter(|shown| shown.undo_is_free()).map(|_| format!(" or `{undo}`"));
        let halted = format!(
            "{} is halted: what is in flight finishes, and no further node is updated, whoever drives, before `{resume}`{}.",
            whose(target),
            or_undo.unwrap_or_default()
        );
        body.say(&halted, ThemeRole::Text);
    }
    for (target, paused) in driven.iter().filter_map(|target| Some((target, paused(&target)?))) {
        // After a pause of its own rolldeck leaves it to an operator how the rollout goes on: to resume is only one of the ways.
        let (by, before) = match paused.is_by_rolldeck() {
            true => {
                let status = rolldeck(ctx.model, "status", target);
                ("rolldeck itself", format!("before somebody decides how it goes on: `{status}` has the ways"))
            }
            false => (&*paused.by, format!("before `{}`", rolldeck(ctx.model, "resume", target))),
        };
        let it = format!("{} is paused by {by}{}", whose(target), reason_of_pause(paused));
        body.say(
            &format!("{it}. What is in flight finishes, and no further node is updated, whoever drives, {before}."),
            ThemeRole::Text,
        );
        if !paused.is_by_rolldeck() {
            let drive = rolldeck(ctx.model, "drive", target);
            body.say(&format!("Once it is resumed, `{drive}` goes on without a console."), ThemeRole::Text);
        }
    }
    for target in driven.iter().filter(stays) {
        let release = rolldeck(ctx.model, "release", target);
        let stays = format!(
            "{} stays adopted, and nothing is to be rolled out: its controller replaces no pod until `{release}`.",
            whose(target)
        );
        body.say(&stays, ThemeRole::Text);
    }
    let mut warms = false;
    for target in driven {
        let left = snapshot(target).and_then(|snapshot| snapshot.prewarm.as_ref()?.without_a_driver());
        if let Some(left) = left {
            let whose =
                if driven.len() > 1 { format!(" of {}/{}", target.namespace, target.name) } else { String::new() };
            body.say(&format!("Pre-warming{whose}: {left}."), ThemeRole::Text);
            warms = true;
        }
    }
    if only_prewarms && !warms {
        body.say("Nothing is left that needs a driver.", ThemeRole::Text);
    } else if let Some(target) = goes_on.next() {
        let command = rolldeck(ctx.model, "drive", target);
        body.say(&format!("`{command}` goes on without a console."), ThemeRole::Text);
    }
    if let Form::SwitchContext { context, .. } = form {
        body.say(
            &format!("You stop {driving} as soon as {context} answers; if it does not, nothing changes."),
            ThemeRole::Text,
        );
    }
}
