//! A table: the header above, and a row's cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::{RenderContext, put};
use crate::tui::columns::{Column, ColumnKind, MARGIN};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, width};

/// A table's columns, and how wide each is; zero where there is no room for it.
pub(super) struct Table<R: 'static, P: 'static, C: 'static> {
    pub(super) columns: &'static [Column<R, P, C>],
    pub(super) widths: Vec<usize>,
}

impl<R, P, C> Table<R, P, C> {
    /// The columns that are shown, from left to right, each with its place and its width.
    fn shown(&self, x: u16) -> impl Iterator<Item = (&'static Column<R, P, C>, u16, usize)> {
        let mut x = usize::from(x) + MARGIN;
        let shown = self.columns.iter().zip(&self.widths).filter(|(_, cells)| **cells > 0);
        shown.map(move |(column, cells)| {
            let at = x;
            x += cells + 1;
            (column, u16::try_from(at).unwrap_or(u16::MAX), *cells)
        })
    }

    /// Draws the headers into the first line of `area`; that of the column called `sorted` stands out.
    pub(super) fn draw_header(&self, ctx: &RenderContext<'_>, area: Rect, sorted: Option<&str>, buffer: &mut Buffer) {
        if area.height < 2 {
            return;
        }
        for (column, x, cells) in self.shown(area.x) {
            let style = ctx.style(ThemeRole::Column);
            let style = if sorted == Some(column.name) { style.patch(ctx.style(ThemeRole::Title)) } else { style };
            put_cell(buffer, (x, area.y), column.header(cells), cells, column.kind, style);
        }
    }

    /// Draws a row with its sign; `text` turns what is in a cell into text. Where the sign is quiet all of the row is: it waits, does not
    /// count, or is out of date.
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

/// Whether a row with a sign in this role is quiet as a whole.
fn is_quiet(role: ThemeRole) -> bool {
    matches!(role, ThemeRole::Held | ThemeRole::Muted)
}

/// Marks the row in `area` as the selected one: one bar, in one style, over all cells and what is between them. What is underlined, such
/// as what a filter found, stays so.
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
    let indent = if kind == ColumnKind::Number { cells - width(&text) } else { 0 };
    put(buffer, x + u16::try_from(indent).unwrap_or(0), y, &text, cells - indent, style);
}
