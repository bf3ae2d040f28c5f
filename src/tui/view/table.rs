//! Draws a table: the headings, and the cells of a row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::{RenderContext, put};
use crate::tui::columns::{Column, ColumnKind, MARGIN};
use crate::tui::filter::Filter;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, width};

/// A table's columns, and the width of each; zero for a column without room.
pub(super) struct Table<'a, R: 'static, P: 'static, C: 'static> {
    pub(super) columns: &'a [Column<R, P, C>],
    pub(super) widths: Vec<usize>,
}

impl<'a, R, P, C> Table<'a, R, P, C> {
    /// The visible columns, from left to right, each with its place and its width.
    fn shown(&self, x: u16) -> impl Iterator<Item = (&'a Column<R, P, C>, u16, usize)> {
        let mut x = usize::from(x) + MARGIN;
        let shown = self.columns.iter().zip(&self.widths).filter(|(_, cells)| **cells > 0);
        shown.map(move |(column, cells)| {
            let at = x;
            x += cells + 1;
            (column, u16::try_from(at).unwrap_or(u16::MAX), *cells)
        })
    }

    /// Draws the headings into the first line of `area`, as `heading` returns them for a given width; the heading of the
    /// column called `sorted` is highlighted.
    pub(super) fn draw_header(
        &self,
        ctx: &RenderContext<'_>,
        area: Rect,
        sorted: Option<&str>,
        heading: impl Fn(&Column<R, P, C>, usize) -> &'static str,
        buffer: &mut Buffer,
    ) {
        if area.height < 2 {
            return;
        }
        for (column, x, cells) in self.shown(area.x) {
            let style = ctx.style(ThemeRole::Column);
            let style = if sorted == Some(column.name) { style.patch(ctx.style(ThemeRole::Title)) } else { style };
            put_cell(buffer, (x, area.y), heading(column, cells), cells, column.kind, style);
        }
    }

    /// Draws a row with its sign; `text` turns the content of a cell into text. If the sign is quiet, the whole row is: it
    /// waits, does not count, or is out of date.
    pub(super) fn draw_row(
        &self,
        ctx: &RenderContext<'_>,
        area: Rect,
        (glyph, role): (Glyph, ThemeRole),
        (row, page): (&R, &P),
        text: impl Fn(C) -> String,
        buffer: &mut Buffer,
    ) {
        put(buffer, area.x + 1, area.y, ctx.glyph(glyph), 1, ctx.style(role));
        for (column, x, cells) in self.shown(area.x) {
            let (cell, own) = (column.cell)(row, page, cells);
            let role = if is_quiet(role) { role } else { own };
            put_cell(buffer, (x, area.y), &text(cell), cells, column.kind, ctx.style(role));
        }
    }
}

impl<R, P, C> Table<'_, R, P, C> {
    /// Highlights the matches of the filter in the row drawn in `area`.
    pub(super) fn mark_hits(&self, area: Rect, filter: &Filter, buffer: &mut Buffer) {
        if filter.is_all() {
            return;
        }
        let fields = self.columns.iter().zip(&self.widths).enumerate().filter(|(_, (_, cells))| **cells > 0);
        for ((field, _), (_, x, cells)) in fields.zip(self.shown(area.x)) {
            let cells = u16::try_from(cells).unwrap_or(u16::MAX);
            mark_hits(Rect { x, width: cells, height: 1, ..area }, filter, field, buffer);
        }
    }
}

/// Stands in place of a field: the line shows several fields, and only matches of words for any field are highlighted.
pub(super) const ANYWHERE: usize = usize::MAX;

/// Highlights the matches of this field in the line drawn in `area`. It works on the cells on screen, so that hidden rows
/// and cut texts cost nothing.
pub(super) fn mark_hits(area: Rect, filter: &Filter, field: usize, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if filter.is_all() || area.is_empty() {
        return;
    }
    let (mut text, mut begins) = (String::new(), Vec::new());
    let mut x = area.x;
    while x < area.right() {
        let Some(cell) = buffer.cell((x, area.y)) else { break };
        begins.push((text.len(), x));
        text.push_str(cell.symbol());
        x += u16::try_from(width(cell.symbol()).max(1)).unwrap_or(1);
    }
    let shown = text.trim_end();
    let from = shown.len() - shown.trim_start().len();
    for hit in filter.hits(field, shown.trim_start()) {
        let hit = hit.start + from..hit.end + from;
        for (_, x) in begins.iter().filter(|(at, _)| hit.contains(at)) {
            let style = Style::default().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
            buffer.set_style(Rect { x: *x, width: 1, ..area }, style);
        }
    }
}

/// Whether a row with a sign in this role is quiet as a whole.
fn is_quiet(role: ThemeRole) -> bool {
    matches!(role, ThemeRole::Held | ThemeRole::Muted)
}

/// Marks the row in `area` as the selected one: one bar, in one style, over all cells and the gaps between them. Underlined
/// text, such as a match of a filter, stays underlined.
pub(super) fn select(ctx: &RenderContext<'_>, area: Rect, buffer: &mut Buffer) {
    put(buffer, area.x, area.y, ctx.glyph(Glyph::Cursor), 1, Style::default());
    let bar = Style::reset().patch(ctx.style(ThemeRole::Selection));
    for at in area.intersection(buffer.area).positions() {
        let Some(cell) = buffer.cell_mut(at) else { continue };
        let kept = cell.modifier & Modifier::UNDERLINED;
        cell.set_style(bar);
        cell.modifier |= kept;
    }
}

fn put_cell(buffer: &mut Buffer, (x, y): (u16, u16), text: &str, cells: usize, kind: ColumnKind, style: Style) {
    let text = if kind == ColumnKind::Name { fit_middle(text, cells) } else { fit(text, cells) };
    let indent = if kind.is_number() { cells - width(&text) } else { 0 };
    put(buffer, x + u16::try_from(indent).unwrap_or(0), y, &text, cells - indent, style);
}
