//! The log of a container.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::marked;
use crate::engine::model::container_log::LogState;
use crate::engine::report::node_story::clock_time;
use crate::tui::log_pane::{LogEntry, LogLayout, TIME};
use crate::tui::node_page::NodePage;
use crate::tui::theme::ThemeRole;
use crate::tui::view::{RenderContext, put_lines};
use crate::tui::words::{fit, wrap};

pub(super) fn draw(ctx: &RenderContext<'_>, open: &NodePage, layout: LogLayout, area: Rect, buffer: &mut Buffer) {
    let mut lines: Vec<Line<'static>> = Vec::new();
    if let Some(log) = &open.log {
        for entry in log.from(log.first_shown(layout)) {
            lines.extend(rows(ctx, entry, layout).map(|line| marked(&line, &open.search)));
            if lines.len() >= layout.height {
                break;
            }
        }
    }
    let room = layout.height.saturating_sub(lines.len());
    for text in instead(ctx, open).into_iter().take(room) {
        lines.extend(wrap(&text.0, layout.cells).take(room).map(|line| Line::from(ctx.span(line, text.1))));
    }
    put_lines(buffer, area, &lines);
}

/// The rows of one entry.
fn rows(ctx: &RenderContext<'_>, entry: &LogEntry, layout: LogLayout) -> impl Iterator<Item = Line<'static>> {
    let (at, role) = match entry {
        LogEntry::Line(line) => (line.at, ThemeRole::Text),
        LogEntry::Note(_) => (None, ThemeRole::Warn),
    };
    let cells = layout.text_cells();
    let body: Vec<String> = match layout.wraps {
        true => wrap(entry.text(), cells).take(layout.height.max(1)).collect(),
        false => vec![fit(entry.text(), cells).into_owned()],
    };
    let body = if body.is_empty() { vec![String::new()] } else { body };
    let (text, muted) = (ctx.style(role), ctx.style(ThemeRole::Muted));
    body.into_iter().enumerate().map(move |(nth, line)| {
        let mut spans = Vec::new();
        if layout.timestamps {
            let time = at.filter(|_| nth == 0).map(|at| format!("{} ", clock_time(at)));
            spans.push(Span::styled(time.unwrap_or_else(|| " ".repeat(TIME)), muted));
        }
        spans.push(Span::styled(line, text));
        Line::from(spans)
    })
}

/// The text shown if there are no lines, or below the last line.
fn instead(ctx: &RenderContext<'_>, open: &NodePage) -> Vec<(String, ThemeRole)> {
    let Some(log) = &open.log else {
        return vec![(open.no_pod().unwrap_or_else(|| "opening …".to_owned()), ThemeRole::Muted)];
    };
    let command = ctx.model.shell_flags().and_then(|cluster| log.source.kubectl(cluster));
    let (muted, warn) = (ThemeRole::Muted, ThemeRole::Warn);
    match &log.state {
        LogState::Opening => vec![("opening …".to_owned(), muted)],
        LogState::Following | LogState::Ended if log.len() == 0 => vec![("nothing is written".to_owned(), muted)],
        LogState::Following | LogState::Ended => Vec::new(),
        // If there are lines, the reason stands among them.
        LogState::Waiting(_) if log.len() > 0 => Vec::new(),
        LogState::Waiting(why) => vec![(format!("{why}; asked again every few seconds"), muted)],
        LogState::Failed(why) => vec![(why.to_string(), warn)],
        LogState::Forbidden(why) => {
            let mut lines = vec![
                (why.to_string(), warn),
                ("logs need the right to get `pods/log`; somebody who has it may run:".to_owned(), muted),
            ];
            lines.extend(command.map(|command| (command, ThemeRole::Text)));
            lines
        }
    }
}
