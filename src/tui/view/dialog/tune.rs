//! The form for budgets and gates: their values and their meanings.
//!
//! ```text
//! > max-unavailable    5          6 of 120 nodes may be down
//!   max-pulling        default    as many as may be down
//!   strict             false      what the rollout took down is charged
//! ```

use ratatui::text::Line;

use super::super::footer::skip_cells;
use super::DialogBody;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::dialog::TuneForm;
use crate::tui::dialog::tune::SettingLine;
use crate::tui::dialog::tune::meaning;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, width};

/// The cells for a value; a longer one, such as a label, takes more.
const VALUE: usize = 9;

/// The width below which the meaning of the chosen line has a line of its own, and the meanings of other lines are left out.
const NARROW: usize = 60;
/// The indentation of that line.
const INDENT: &str = "  ";

pub(super) fn fill(body: &mut DialogBody<'_>, form: &TuneForm, snapshot: &Snapshot, focused: bool) {
    // The chosen one is always in view.
    // Where not all fit, the last line says how many more there are.
    let is_cut = body.room < form.rows.len();
    let explains = body.cells < NARROW;
    // Where lines are few, the title says which line of how many is chosen.
    let counts = is_cut && !is_low(body.cells);
    let taken = usize::from(counts) + usize::from(explains);
    let shown = body.room.saturating_sub(taken).clamp(1.min(body.room), form.rows.len());
    let first = form.chosen.saturating_sub(shown / 2).min(form.rows.len() - shown);
    let names = form.rows.iter().map(|row| width(row.setting.name())).max().unwrap_or(0) + 1;
    for (at, row) in form.rows.iter().enumerate().skip(first).take(shown) {
        let name = format!("{:names$}", row.setting.name());
        line(body, row, &name, snapshot, at == form.chosen, focused);
    }
    if counts && shown > 0 {
        let below = form.rows.len() - first - shown;
        let text = match below {
            0 => format!("  … {first} above"),
            _ => format!("  … {below} more: down"),
        };
        body.say(&text, ThemeRole::Muted);
    }
}

/// Whether a dialog of this width names in its title which line is chosen.
fn is_low(cells: usize) -> bool {
    cells < NARROW
}

/// `Limits, 3 of 18`: the title of a dialog of this width; `None` where the form itself says how many lines there are.
pub(super) fn title(form: &TuneForm, cells: usize, title: &str) -> Option<String> {
    is_low(cells).then(|| format!("{title}, {} of {}", form.chosen + 1, form.rows.len()))
}

fn line(body: &mut DialogBody<'_>, row: &SettingLine, name: &str, snapshot: &Snapshot, chosen: bool, focused: bool) {
    let ctx = body.ctx;
    let sign = if chosen { ctx.glyph(Glyph::Cursor) } else { " " };
    let role = if chosen { ThemeRole::Title } else { ThemeRole::Text };
    let name = format!("{sign} {name}");
    let text = row.input.value();
    let is_field = row.is_typed();
    let cells = VALUE.max(width(text) + 1).min(body.cells.saturating_sub(width(&name) + 2).max(VALUE));
    let scroll = row.input.visual_scroll(cells - 1);
    if chosen {
        body.focus_line = Some(body.lines.len());
    }
    if chosen && focused && is_field {
        body.cursor = Some((body.lines.len(), width(&name) + row.input.visual_cursor().saturating_sub(scroll)));
    }
    // A mark shows that text is left out on the left, as for text that is cut on the right.
    let seen = if scroll == 0 { text.to_owned() } else { format!("…{}", skip_cells(text, scroll + 1)) };
    let value = format!("{:cells$}", fit(&seen, cells));
    let value_role = match (chosen && is_field, row.is_changed()) {
        (true, _) => ThemeRole::Input,
        (false, true) => ThemeRole::Title,
        (false, false) => ThemeRole::Text,
    };
    let mark = if row.is_changed() { "*" } else { " " };
    let hint = if chosen && focused && !is_field { "  left, right: switch" } else { "" };
    let words = format!("{}{hint}", meaning(row.setting, row.text(), snapshot));
    let has_own_line = body.cells < NARROW;
    let room = if has_own_line { 0 } else { body.cells.saturating_sub(width(&name) + cells + 2) };
    body.lines.push(Line::from(vec![
        ctx.span(name, role),
        ctx.span(value, value_role),
        ctx.span(format!("{mark} "), ThemeRole::Title),
        ctx.span(fit(&words, room).into_owned(), ThemeRole::Muted),
    ]));
    if has_own_line && chosen && body.room > 1 {
        let words = fit(&words, body.cells.saturating_sub(INDENT.len())).into_owned();
        body.lines.push(Line::from(ctx.span(format!("{INDENT}{words}"), ThemeRole::Muted)));
    }
}
