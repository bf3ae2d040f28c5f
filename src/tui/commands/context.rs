//! Switches to another cluster: the console connects to it while it still shows this one, and switches once the other one answers.
//!
//! ```text
//!  :ctx NAME ─► (drives? asks first) ─► connect ─► answers ─► stop driving ─► the console ends, another begins there
//!                                            └─► does not: says why, nothing changed
//! ```

use super::effects::{Effects, refuse};
use crate::engine::model::Str;
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::dialog::{Dialog, Form};
use crate::tui::message::ConsoleEffect;
use crate::tui::model::{Connecting, Model, Overlay};
use crate::tui::palette;
use crate::tui::status::StatusSeverity;
use crate::tui::words::meant;

/// Goes to the cluster of this context; without a name, lists the contexts for completion.
pub(super) fn go_to(model: &mut Model, name: &str) -> Effects {
    if model.contexts.is_empty() {
        return refuse(
            model,
            "there is no other context: this console was not opened from a kubeconfig that stays".into(),
        );
    }
    if name.is_empty() && model.contexts.iter().all(|known| *known == *model.context) {
        return refuse(model, format!("there is no other context: the kubeconfig has {} alone", model.context));
    }
    if name.is_empty() {
        palette::open(model, "ctx ");
        return Vec::new();
    }
    if name == &*model.context {
        return refuse(model, format!("this console is on context {name} already"));
    }
    if !model.contexts.iter().any(|known| known == name) {
        let guess = meant(name, model.contexts.iter().map(String::as_str));
        let guess = guess.map_or_else(
            || format!("; there are {}", model.contexts.join(", ")),
            |guess| format!(": did you mean :ctx {guess}?"),
        );
        return refuse(model, format!("the kubeconfig has no context `{name}`{guess}"));
    }
    let driven: Vec<DaemonSetRef> = model.driven().map(|page| page.target.clone()).collect();
    match driven.first().cloned() {
        None => connect(model, name.into(), Vec::new()),
        Some(first) => {
            let dialog = Dialog::new(first, Form::SwitchContext { context: name.into(), driven });
            model.overlay = Overlay::Dialog(Box::new(dialog));
            Vec::new()
        }
    }
}

/// Connects to another cluster; these rollouts may be given up for it.
pub(crate) fn connect(model: &mut Model, context: Str, giving_up: Vec<DaemonSetRef>) -> Effects {
    model.say(StatusSeverity::Busy, format!("connecting to {context} … (still on {})", model.context));
    model.connecting = Some(Connecting { context: context.clone(), giving_up });
    vec![ConsoleEffect::Connect(context)]
}

/// Goes to the cluster that answered, unless something keeps the console here by now.
pub(crate) fn connected(model: &mut Model, context: &str, answer: Result<(), String>) -> Effects {
    let Some(connecting) = model.connecting.take_if(|connecting| *connecting.context == *context) else {
        return Vec::new();
    };
    if let Err(why) = answer {
        let here = model.context.clone();
        return refuse(model, format!("still on {here}, nothing changed; {context}: {why}"));
    }
    let driven: Vec<DaemonSetRef> = model.driven().map(|page| page.target.clone()).collect();
    if let Some(more) = driven.iter().find(|target| !connecting.giving_up.contains(target)) {
        let DaemonSetRef { namespace, name } = more.clone();
        return refuse(
            model,
            format!("{context} answers, but you drive {namespace}/{name} by now: `:ctx {context}` asks again"),
        );
    }
    if !matches!(model.overlay, Overlay::None) {
        return refuse(model, format!("{context} answers; you had begun something else: `:ctx {context}` goes there"));
    }
    vec![ConsoleEffect::Switch { context: connecting.context, driven }]
}
