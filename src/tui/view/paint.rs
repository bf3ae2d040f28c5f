//! The last step of drawing: what a theme asks of all cells, whatever was drawn there.

use ratatui::buffer::Buffer;
use ratatui::style::Color;

use crate::tui::theme::{Theme, ThemeRole};

/// Leaves words without colours, where the theme does; and paints the theme's own background.
pub(super) fn paint(theme: &Theme, buffer: &mut Buffer) {
    if theme.leaves_words_plain() {
        leave_words_plain(buffer);
    }
    let text = theme.style(ThemeRole::Text);
    if let (Some(foreground), Some(background)) = (text.fg, text.bg) {
        for cell in &mut buffer.content {
            cell.fg = if cell.fg == Color::Reset { foreground } else { cell.fg };
            cell.bg = if cell.bg == Color::Reset { background } else { cell.bg };
        }
    }
}

/// A word is what stands between blanks and has a letter or a digit.
fn leave_words_plain(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width).max(1);
    for row in buffer.content.chunks_mut(width) {
        for word in row.split_mut(|cell| cell.symbol() == " ") {
            if word.iter().any(|cell| cell.symbol().chars().any(char::is_alphanumeric)) {
                word.iter_mut().filter(|cell| cell.bg == Color::Reset).for_each(|cell| cell.fg = Color::Reset);
            }
        }
    }
}
