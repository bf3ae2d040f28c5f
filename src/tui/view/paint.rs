//! The last step of drawing: applies the theme to all cells, whatever was drawn there.

use ratatui::buffer::Buffer;
use ratatui::style::Color;

use crate::tui::theme::{Theme, ThemeRole};

/// Removes the colours of words, if the theme asks for it; and paints the theme's own background.
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

/// A word stands between blanks and has a letter or a digit.
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
