//! The help: all actions, what the signs mean, what the columns tell. Derived from the tables of actions and columns.
//!
//! ```text
//! ┌ Help for this page  (j k scroll, any other key closes) ─────────────────────┐
//! │ Change the rollout (capital letters; read-only until armed)                 │
//! │  P B       :pause why         start no update from now on …                 │
//! │  S         :step …            let more nodes be updated …                   │
//! │              not now: no rollout yet: I sets a new image, U rolls back      │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{RenderContext, footer, put_box, put_lines};
use crate::tui::action::{ACTIONS, Action, ActionId, Group};
use crate::tui::columns::Column;
use crate::tui::columns::fleet::FLEET_COLUMNS;
use crate::tui::columns::nodes::{NODE_COLUMNS, Sort};
use crate::tui::dialog;
use crate::tui::model::Page;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, wrap};

/// How wide the names of the actions are.
const NAMES: usize = 24;

/// Draws the help over everything but the first line.
pub(super) fn draw(ctx: &RenderContext<'_>, area: Rect, top: usize, buffer: &mut Buffer) {
    // The first line (who drives, how fresh, armed) is never covered.
    let over = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let inside = put_box(ctx, buffer, over, "Help  (j k scroll, any other key closes)");
    let lines = lines(ctx, usize::from(inside.width), usize::from(area.width));
    let top = top.min(lines.len().saturating_sub(usize::from(inside.height)));
    put_lines(buffer, inside, &lines[top..]);
}

fn lines(ctx: &RenderContext<'_>, cells: usize, screen: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(status) = footer::status_in_full(ctx, screen) {
        lines.push(Line::from(ctx.span("Last message", ThemeRole::Title)));
        lines.extend(wrap(&status, cells).map(|line| Line::from(ctx.span(line, ThemeRole::Text))));
        lines.push(Line::default());
    }
    for (group, title) in Group::ALL {
        let actions: Vec<_> =
            ACTIONS.iter().filter(|action| action.group == group && action.in_scope(ctx.model)).collect();
        if actions.is_empty() {
            continue;
        }
        let title = match (group, ctx.model.armed_for()) {
            (Group::Change, None) => format!("{title}: A arms; P works at once"),
            _ => title.to_owned(),
        };
        lines.push(Line::from(ctx.span(title, ThemeRole::Title)));
        for action in actions {
            lines.extend(entry(ctx, action, cells));
        }
        lines.push(Line::default());
    }
    lines.extend(dialog_keys(ctx, cells));
    lines.push(Line::default());
    lines.push(Line::from(ctx.span("Glyphs", ThemeRole::Title)));
    let signs = [
        (Glyph::Updated, "updated"),
        (Glyph::Moving, "moving: terminating, creating, pulling, starting, soaking"),
        (Glyph::Outdated, "outdated, held; WHY says by what"),
        (Glyph::Failed, "failed at the new revision"),
        (Glyph::Suspect, "suspect: its node went down after the update"),
        (Glyph::Down, "node down with its old pod, not ours"),
        (Glyph::ImagePresent, "image is on the node"),
        (Glyph::ImagePulling, "image is being pulled"),
        (Glyph::ImageQueued, "image is pre-warmed: its kubelet has not begun to pull"),
        (Glyph::ImageUnknown, "not known whether the image is there"),
    ];
    for (glyph, meaning) in signs {
        lines.push(Line::from(ctx.span(format!(" {}  {meaning}", ctx.glyph(glyph)), ThemeRole::Text)));
    }
    lines.push(Line::default());
    lines.push(Line::from(ctx.span("Columns", ThemeRole::Title)));
    match &ctx.model.page {
        Page::Fleet => lines.extend(columns(ctx, FLEET_COLUMNS, cells)),
        Page::Rollout(_) => lines.extend(columns(ctx, NODE_COLUMNS, cells)),
    }
    lines
}

/// The keys in a dialog.
fn dialog_keys(ctx: &RenderContext<'_>, cells: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(ctx.span("In a dialog", ThemeRole::Title))];
    for (keys, what) in dialog::KEYS {
        let mut words = wrap(what, cells.saturating_sub(15));
        let head = ctx.span(format!(" {keys:13} "), ThemeRole::Key);
        lines.push(Line::from(vec![head, ctx.span(words.next().unwrap_or_default(), ThemeRole::Text)]));
        lines.extend(words.map(|more| Line::from(ctx.span(format!("{:15}{more}", ""), ThemeRole::Text))));
    }
    lines
}

/// What each column of a table tells, and the name to sort by it.
fn columns<R, P: 'static, C>(ctx: &RenderContext<'_>, columns: &[Column<R, P, C>], cells: usize) -> Vec<Line<'static>> {
    let lines = columns.iter().map(|column| {
        let header = column.headers.join(", ");
        let sort = if column.order.is_some() { format!(" (:sort {})", column.name) } else { String::new() };
        let text = format!(" {header:10} {}{sort}", column.help);
        Line::from(ctx.span(fit(&text, cells).into_owned(), ThemeRole::Text))
    });
    lines.collect()
}

/// One action: its keys, its name, what it does, and why not now.
fn entry(ctx: &RenderContext<'_>, action: &Action, cells: usize) -> Vec<Line<'static>> {
    let missing = action.available(ctx.model).err();
    let (key, role) = match missing {
        Some(_) => (ThemeRole::Unavailable, ThemeRole::Unavailable),
        None => (ThemeRole::Key, ThemeRole::Text),
    };
    let keys: Vec<String> = action.keys.iter().map(ToString::to_string).collect();
    let argument = action.argument.map(|argument| format!(" {}", argument.hint)).unwrap_or_default();
    // Movements have keys only; narrow terminals have no room for names.
    let named = action.group != Group::Move && cells >= 70;
    let mut head = vec![ctx.span(format!(" {:13} ", fit(&keys.join(" "), 13)), key)];
    if named {
        let name = format!(":{}{argument}", action.name);
        head.push(ctx.span(format!("{:NAMES$} ", fit(&name, NAMES)), role));
    }
    let indent: usize = head.iter().map(|span| span.width()).sum();
    let help = match action.id {
        ActionId::Sort => format!("{}: {}", action.help, Sort::all().map(Sort::name).collect::<Vec<_>>().join(", ")),
        _ => action.help.to_owned(),
    };
    let mut words = wrap(&help, cells.saturating_sub(indent));
    head.push(ctx.span(words.next().unwrap_or_default(), role));
    let mut lines = vec![Line::from(head)];
    lines.extend(words.map(|more| Line::from(ctx.span(format!("{:indent$}{more}", ""), role))));
    // That the console is read-only is in the title of the group.
    if let Some(why) = missing.filter(|why| !why.starts_with("read-only")) {
        let why = format!("not now: {why}");
        let why = wrap(&why, cells.saturating_sub(16));
        lines.extend(why.map(|line| Line::from(ctx.span(format!("{:16}{line}", ""), ThemeRole::Warn))));
    }
    lines
}
