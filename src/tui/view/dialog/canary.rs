//! The form for canaries: the selector, its completions, and the nodes that it matches.

use ratatui::text::Line;

use super::DialogBody;
use super::preview::name_nodes;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::dialog::{Canary, PreviewState};
use crate::tui::theme::ThemeRole;
use crate::tui::words::wrap;

pub(super) fn fill(
    body: &mut DialogBody<'_>,
    form: &Canary,
    answer: &PreviewState,
    snapshot: &Snapshot,
    focused: bool,
) {
    let ctx = body.ctx;
    body.field(ctx.span("Only nodes with: ", ThemeRole::Title), &form.input, focused);
    let completions = form.completions(snapshot);
    if !completions.is_empty() {
        for line in completion_lines(&completions, body.cells) {
            body.lines.push(Line::from(ctx.span(line, ThemeRole::Muted)));
        }
    }
    body.gap();
    match form.matching(snapshot) {
        // The error is shown in place of the preview.
        Err(_) => {}
        Ok((nodes, all)) if form.input.value().trim().is_empty() => {
            debug_assert_eq!(nodes.len(), all);
            body.say(&format!("No restriction: all {all} nodes."), ThemeRole::Text);
        }
        // The preview tells that no node matches.
        Ok((nodes, _)) if nodes.is_empty() => {}
        Ok((nodes, all)) => {
            // The preview tells the number of nodes, once it has arrived.
            let words = match answer {
                PreviewState::Preview(_) => "Nodes that match:".to_owned(),
                _ => format!("{} of {all} nodes match:", nodes.len()),
            };
            body.say(&words, ThemeRole::Title);
            name_nodes(body, nodes.iter().map(|node| &*node.name));
        }
    }
}

/// The completions, each with the number of nodes that have it, in three lines at most: `right completes: zone (120)  … and 3 more`.
fn completion_lines(completions: &[(String, usize)], cells: usize) -> Vec<String> {
    const LINES: usize = 3;
    let said = |shown: usize| {
        let mut words: Vec<String> =
            completions[..shown].iter().map(|(text, nodes)| format!("{text} ({nodes})")).collect();
        if shown < completions.len() {
            words.push(format!("and {} more", completions.len() - shown));
        }
        wrap(&format!("right completes: {}", words.join("  ")), cells).collect::<Vec<String>>()
    };
    let fits = |shown: &usize| said(*shown).len() <= LINES;
    let shown = (0..=completions.len().min(24)).rev().find(fits).unwrap_or(0);
    said(shown)
}
