//! The preview of a command: warnings, the changes of the template, the effect, the nodes that go, the writes.
//!
//! ```text
//! ! Argo CD (application edge-agents) sets this back at its next sync …
//! The template changes in 1 field:
//!   ~ containers[agent].image: …/agent:v1.8.2 → …/agent:v1.9.0
//! 22 nodes may be updated, at most 2 down and 2 pulling at a time.
//! 22 nodes in this order: ipc-001 ipc-002 …
//! API: DELETE pods, one by one, uid-guarded
//! ```

use ratatui::text::Line;

use super::super::revisions::{field, field_path};
use super::{DialogBody, NARROW};
use crate::engine::model::Str;
use crate::engine::model::command::Preview;
use crate::engine::model::quantity::counted;
use crate::engine::model::template::diff::FieldChange;
use crate::tui::action::in_keys;
use crate::tui::dialog::{Dialog, Form};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, is_wider, width, wrap};

/// The most nodes that are named; the count is shown beside them.
const NAMED: usize = 200;
/// The number of changed fields of the template that are shown until somebody scrolls.
const FIRST_FIELDS: usize = 5;
/// The number of nodes that are named in one line.
const FIRST_NODES: usize = 6;

pub(super) fn fill_preview(body: &mut DialogBody<'_>, preview: &Preview, dialog: &Dialog) {
    // Warnings stand first, so that they are visible without scrolling.
    for warning in &preview.warnings {
        body.say(&format!("{} {}", body.ctx.glyph(Glyph::Alarm), in_keys(warning)), ThemeRole::Warn);
    }
    fill_changes(body, &preview.changes, dialog.scroll != 0);
    for effect in &preview.effects {
        body.say(effect, ThemeRole::Text);
    }
    // The first nodes are visible before the writes; the others may be many.
    let names = !preview.nodes.is_empty() && !matches!(dialog.form, Form::Canary(_));
    if names {
        let order = if preview.nodes.len() > 1 { " in this order" } else { "" };
        first_nodes(body, dialog.nodes(), order);
    }
    let pull = if preview.pulls_on.len() == 1 { " pulls" } else { " pull" };
    first_nodes(body, &preview.pulls_on, pull);
    for call in &preview.calls {
        body.say(&format!("API: {call}"), ThemeRole::Muted);
    }
    if names && preview.nodes.len() > FIRST_NODES {
        body.say(&format!("The other {}:", preview.nodes.len() - FIRST_NODES), ThemeRole::Text);
        name_nodes(body, dialog.nodes().iter().skip(FIRST_NODES).map(|node| &**node));
    }
    if preview.pulls_on.len() > FIRST_NODES {
        body.say(&format!("The other {} that pull:", preview.pulls_on.len() - FIRST_NODES), ThemeRole::Text);
        name_nodes(body, preview.pulls_on.iter().skip(FIRST_NODES).map(|node| &**node));
    }
}

/// `22 nodes in this order: ipc-001 ipc-002 …`, with what the nodes do or how they stand after their number; nothing without any.
fn first_nodes(body: &mut DialogBody<'_>, nodes: &[Str], what: &str) {
    if nodes.is_empty() {
        return;
    }
    // Lines end between names, even if a name is as long as a line.
    let cells = body.cells;
    let shown = nodes.iter().take(FIRST_NODES).map(|node| fit_middle(node, cells)).collect::<Vec<_>>().join(" ");
    let more = if nodes.len() > FIRST_NODES { " …" } else { "" };
    body.say(&format!("{}{what}: {shown}{more}", counted(nodes.len(), "node")), ThemeRole::Text);
}

/// The changes of the template: the first fields, a line each where there is little room; all of them in full once somebody `scrolls`.
fn fill_changes(body: &mut DialogBody<'_>, changes: &[FieldChange], scrolls: bool) {
    if changes.is_empty() {
        return;
    }
    let count = if changes.len() == 1 { "1 field".to_owned() } else { format!("{} fields", changes.len()) };
    body.say(&format!("The template changes in {count}:"), ThemeRole::Title);
    let shown = if scrolls || changes.len() <= FIRST_FIELDS { changes.len() } else { FIRST_FIELDS - 1 };
    for change in &changes[..shown] {
        let in_full = format!("  {}", field(change, usize::MAX));
        if body.fields_in_full && is_wider(&in_full, body.cells) {
            for (nth, text) in wrap(&field(change, usize::MAX), body.cells.saturating_sub(4)).enumerate() {
                let text = format!("{}{text}", if nth == 0 { "  " } else { "    " });
                body.lines.push(Line::from(body.ctx.span(text, ThemeRole::Text)));
            }
        } else if body.cells < NARROW && is_wider(&in_full, body.cells) {
            // The new value matters most: it gets a line of its own.
            let path = field_path(change);
            body.hidden = true;
            let what = change.what_within(body.cells.saturating_sub(4));
            for text in [format!("  {}", fit_middle(&path, body.cells.saturating_sub(2))), format!("    {what}")] {
                let text = fit(&text, body.cells).into_owned();
                body.lines.push(Line::from(body.ctx.span(text, ThemeRole::Text)));
            }
        } else {
            body.hidden |= is_wider(&in_full, body.cells);
            let text = format!("  {}", field(change, body.cells.saturating_sub(2)));
            let text = fit(&text, body.cells).into_owned();
            body.lines.push(Line::from(body.ctx.span(text, ThemeRole::Text)));
        }
    }
    if changes.len() > shown {
        body.hidden = true;
        let more = format!("  and {} more", changes.len() - shown);
        body.lines.push(Line::from(body.ctx.span(more, ThemeRole::Muted)));
    }
}

/// Names nodes in columns; of very many only the first, with the number of the others.
pub(super) fn name_nodes<'n>(body: &mut DialogBody<'_>, names: impl ExactSizeIterator<Item = &'n str>) {
    let all = names.len();
    let names: Vec<&str> = names.take(NAMED).collect();
    let cells =
        names.iter().map(|name| width(name)).max().unwrap_or(0).clamp(1, body.cells.saturating_sub(4).max(1)) + 2;
    let per_line = (body.cells.saturating_sub(2) / cells).max(1);
    for row in names.chunks(per_line).take(body.rows) {
        let text: String = row.iter().map(|name| format!("{:cells$}", fit_middle(name, cells - 2))).collect();
        body.lines.push(Line::from(body.ctx.span(format!("  {}", text.trim_end()), ThemeRole::Text)));
    }
    let shown = names.len().min(per_line.saturating_mul(body.rows));
    if all > shown {
        body.hidden |= names.len() > shown;
        body.lines.push(Line::from(body.ctx.span(format!("  and {} more", all - shown), ThemeRole::Muted)));
    }
}
