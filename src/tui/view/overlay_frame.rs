//! The place of the overlays of a page: the help, an event in full, the watches, the diagnosis.
//!
//! ```text
//!  who drives, how fresh, armed                  never covered
//! ┌ Watches  (esc closes, other keys work) ────┐
//! │   WATCH      STATE             HEARD       │
//! └────────────────────────────────────────────┘
//!  P pause  A arm  ? help                        never covered
//! ```
//!
//! On small screens the frame consists only of the line with the title: the content needs the cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget as _;

use super::{RenderContext, inside_box, put_box, put_rule};
use crate::tui::words::is_wider;

/// Below this size the frame has no sides and no bottom.
const LEAST: (u16, u16) = (60, 16);

/// A frame around a number of lines, as large as they need and the screen allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OverlayFrame {
    over: Rect,
    /// The frame has a title and no box.
    is_bare: bool,
}

impl OverlayFrame {
    /// The frame on the screen `area`, at most `widest` cells wide, for `lines` lines.
    pub(super) fn of(area: Rect, widest: u16, lines: usize) -> Self {
        let is_bare = is_bare(area);
        let width = area.width.min(widest);
        let around = if is_bare { 1 } else { 2 };
        // The first line (the driver, the age of the view, armed) and the last one (the keys) stay visible.
        let most = area.height.saturating_sub(2);
        let height = u16::try_from(lines.saturating_add(around)).unwrap_or(u16::MAX).min(most);
        let y = area.bottom().saturating_sub(1 + height);
        Self { over: Rect { x: area.x + (area.width - width) / 2, y, width, height }, is_bare }
    }

    /// The width of a line inside the frame.
    pub(super) fn cells(area: Rect, widest: u16) -> usize {
        usize::from(area.width.min(widest).saturating_sub(if is_bare(area) { 2 } else { 4 }))
    }

    /// The area inside the frame.
    pub(super) fn inside(&self) -> Rect {
        match self.is_bare {
            true => Rect {
                x: self.over.x + 1,
                y: self.over.y + 1,
                width: self.over.width.saturating_sub(2),
                height: self.over.height.saturating_sub(1),
            },
            false => inside_box(self.over),
        }
    }

    /// The number of lines that are hidden at a time.
    pub(super) fn rows_below(&self, lines: &[Line<'_>]) -> usize {
        lines.len().saturating_sub(usize::from(self.inside().height))
    }

    /// Whether the title has room for all of these words.
    pub(super) fn has_room_for(&self, words: &str) -> bool {
        !is_wider(words, usize::from(self.over.width.saturating_sub(6)))
    }

    /// Draws the frame with its title, and with the hint behind the title if there is room for all of it; returns the area inside.
    pub(super) fn put(&self, ctx: &RenderContext<'_>, buffer: &mut Buffer, title: &str, hint: &str) -> Rect {
        let with_hint = format!("{title}{hint}");
        let room = usize::from(self.over.width.saturating_sub(6));
        let title = if is_wider(&with_hint, room) { title } else { &with_hint };
        if !self.is_bare {
            return put_box(ctx, buffer, self.over, title);
        }
        let over = self.over.intersection(buffer.area);
        ratatui::widgets::Clear.render(over, buffer);
        put_rule(ctx, buffer, Rect { height: over.height.min(1), ..over }, title);
        self.inside().intersection(over)
    }
}

fn is_bare(area: Rect) -> bool {
    area.width < LEAST.0 || area.height < LEAST.1
}
