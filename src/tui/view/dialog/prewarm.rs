//! The form for pre-warming: the images, the nodes, and how many nodes pull at once.
//!
//! ```text
//! > images           those of the template: v1.9.0   left, right: switch
//!   nodes            all nodes
//!   max pulling      as many as the rollout may have pulling: 2
//!   in each site     no limit of its own
//!   site label       topology.kubernetes.io/zone
//!   pace             fixed: as many as these limits say
//!   method           pods: whoever drives makes them
//! ```

use super::image::{change, offer};
use super::{DialogBody, NAME};
use crate::engine::model::prewarm::PrewarmMethod;
use crate::engine::model::settings::Pace;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::words::VersionWords;
use crate::tui::dialog::PrewarmForm;
use crate::tui::dialog::prewarm::{ImagesChoice, NodesChoice, PrewarmLine};
use crate::tui::theme::ThemeRole;
use crate::tui::words::width;

pub(super) fn fill(body: &mut DialogBody<'_>, form: &PrewarmForm, snapshot: &Snapshot, focused: bool) {
    let chosen = form.line();
    for line in form.lines() {
        let here = line == chosen;
        match line {
            PrewarmLine::Images => switch(body, (here, focused), "images", &images(form, snapshot)),
            PrewarmLine::Image(at) => {
                if let Some((name, now, input)) = form.containers.get(at) {
                    body.text_line((here, focused), name, input, "");
                    change(body, now, input.value().trim(), false);
                    if here && focused {
                        offer(body, &form.known, input);
                    }
                }
            }
            PrewarmLine::Revision => switch(body, (here, focused), "revision", &revision(form)),
            PrewarmLine::Nodes => switch(body, (here, focused), "nodes", &nodes(form)),
            PrewarmLine::Selector => {
                body.text_line(
                    (here, focused),
                    "with labels",
                    &form.selector.input,
                    "a label selector; right completes",
                );
                matching(body, form, snapshot);
            }
            PrewarmLine::Method => {
                let value = match form.method {
                    PrewarmMethod::Pods => "pods: whoever drives makes them",
                    PrewarmMethod::StatefulSet => "statefulset: goes on with every console closed",
                };
                switch(body, (here, focused), "method", value);
            }
            PrewarmLine::MaxPulling => {
                let words = match form.method {
                    PrewarmMethod::Pods => {
                        format!("as many as the rollout may have pulling: {}", snapshot.budget.max_pulling)
                    }
                    PrewarmMethod::StatefulSet => "1 StatefulSet, 1 node at a time".to_owned(),
                };
                body.text_line((here, focused), "max pulling", &form.max_pulling, &words);
            }
            PrewarmLine::MaxPullingPerSite => {
                // The rollout's limit holds for both.
                let default = match snapshot.settings.budgets.max_pulling_per_site.at() {
                    Some(limit) => format!("the rollout's limit: {limit}"),
                    None => "no limit of its own".to_owned(),
                };
                body.text_line((here, focused), "in each site", &form.max_pulling_per_site, &default);
            }
            PrewarmLine::SiteLabel => {
                body.text_line((here, focused), "site label", &form.site_label, snapshot.site_label.key());
            }
            PrewarmLine::Pace => {
                let value = match form.pace {
                    Pace::Fixed => "fixed: as many as these limits say",
                    Pace::Auto => "auto: up to that, as many as each site's link bears",
                };
                switch(body, (here, focused), "pace", value);
            }
        }
    }
}

fn images(form: &PrewarmForm, snapshot: &Snapshot) -> String {
    match form.images {
        ImagesChoice::Template => match &snapshot.to {
            Some(revision) => format!("those of the template: {}", VersionWords(revision)),
            None => "those of the template".to_owned(),
        },
        ImagesChoice::Typed => "these:".to_owned(),
        ImagesChoice::Revision => "those of an earlier revision".to_owned(),
    }
}

fn revision(form: &PrewarmForm) -> String {
    form.revisions.get(form.revision).map_or_else(String::new, |revision| {
        let number = revision.number.map(|number| number.to_string()).unwrap_or_default();
        format!("{number}: {}", VersionWords(revision))
    })
}

fn nodes(form: &PrewarmForm) -> String {
    match (form.nodes, &form.node) {
        (NodesChoice::All, _) => "all nodes".to_owned(),
        (NodesChoice::ThisStep, _) => "those that partition and selector let be updated".to_owned(),
        (NodesChoice::NextStep, _) => "those, and the nodes of the next step".to_owned(),
        (NodesChoice::Selector, _) => "those with labels".to_owned(),
        (NodesChoice::Node, node) => format!("only {}", node.as_deref().unwrap_or_default()),
    }
}

/// A line whose value is switched between a few choices.
fn switch(body: &mut DialogBody<'_>, (chosen, focused): (bool, bool), name: &str, value: &str) {
    let text = format!("{name:NAME$}{value}");
    let with_keys = format!("{text}   left, right: switch");
    // The value is told in full; where cells are few the keys are in the help only.
    let text = if chosen && focused && width(&with_keys) + 2 <= body.cells { with_keys } else { text };
    body.choice_in_full(chosen, &text);
}

/// The number of nodes that the selector matches, and its completions.
fn matching(body: &mut DialogBody<'_>, form: &PrewarmForm, snapshot: &Snapshot) {
    let Ok((nodes, all)) = form.selector.matching(snapshot) else { return };
    let role = if nodes.is_empty() { ThemeRole::Warn } else { ThemeRole::Muted };
    let completions: Vec<String> =
        form.selector.completions(snapshot).into_iter().take(6).map(|(text, _)| text).collect();
    let tab = if completions.is_empty() { String::new() } else { format!("   right: {}", completions.join("  ")) };
    let text = format!("{:1$}{2} of {all} nodes match{tab}", "", NAME + 2, nodes.len());
    let text = crate::tui::words::fit(&text, body.cells).into_owned();
    body.lines.push(ratatui::text::Line::from(body.ctx.span(text, role)));
}
