//! The line of the last message, or what stands there while there is none.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::{RenderContext, ScreenParts, Shape, fleet, node_list, put, put_rule};
use super::{GAP, list_mark, say, unnamed_cluster};
use crate::tui::action::{ActionId, key_of};
use crate::tui::model::Overlay;
use crate::tui::status::StatusSeverity;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, fit_path, width, wrap};

pub(super) fn draw_status(ctx: &RenderContext<'_>, buffer: &mut Buffer, parts: &ScreenParts) {
    let area = parts.status;
    let mark = list_mark(ctx, usize::from(area.width));
    let Some(status) = &ctx.model.status else {
        let named = unnamed_cluster(ctx, area.width).or(fleet::selected_in_full(ctx, area.width));
        // A rule has a sign on each side of its words.
        let why = || node_list::why_in_full(ctx, parts.list, usize::from(area.width).saturating_sub(7));
        let named = named.or_else(|| why().filter(|_| Shape::of(ctx.model) > Shape::Folded));
        match (mark, named) {
            (_, named) if Shape::of(ctx.model) > Shape::Folded => {
                put_rule(ctx, buffer, area, &named.unwrap_or_default());
            }
            // The screen has no room for the rule that tells it.
            (Some(mark), _) => say(ctx, buffer, area, &mark, ThemeRole::Muted),
            (None, Some(name)) => {
                // Of a name both ends tell, of a state the beginning.
                let room = usize::from(area.width).saturating_sub(2);
                let name = if name.contains(": ") { fit(&name, room) } else { fit_middle(&name, room) };
                say(ctx, buffer, area, &format!(" {name}"), ThemeRole::Muted);
            }
            (None, None) => {}
        }
        return;
    };
    let area = match mark.filter(|_| area.height > 1) {
        // A message does not replace the mark of a frozen or filtered list.
        Some(mark) => {
            say(ctx, buffer, area, &mark, ThemeRole::Muted);
            Rect { y: area.y + 1, height: area.height - 1, ..area }
        }
        None => area,
    };
    ctx.wake_at(status.may_go_at(ctx.model.now));
    let (glyph, role) = match status.severity {
        StatusSeverity::Good => (Glyph::Updated, ThemeRole::Ok),
        StatusSeverity::Busy => (Glyph::Moving, ThemeRole::Busy),
        StatusSeverity::Plain | StatusSeverity::UntilKey => (Glyph::Dot, ThemeRole::Text),
        StatusSeverity::Refused | StatusSeverity::KeyRefused => (Glyph::Failed, ThemeRole::Warn),
    };
    put(buffer, area.x, area.y, ctx.glyph(glyph), 1, ctx.style(role));
    let cells = usize::from(area.width.saturating_sub(2));
    let text = fit_path(&status.text, cells, usize::from(area.height));
    let mut lines = wrap(&text, cells);
    for y in area.y..area.bottom() {
        let is_last = y + 1 == area.bottom();
        let cluster = unnamed_cluster(ctx, area.width).filter(|_| is_last);
        let beside = cluster.as_ref().map_or(0, |cluster| width(cluster) + GAP);
        let line = lines.next().map(|line| {
            let room = cells.saturating_sub(beside);
            if !is_last {
                return line;
            }
            match lines.next() {
                None if width(&line) <= room => line,
                more => {
                    // The help shows the rest.
                    let help = format!(" ({}: all)", key_of(ctx.model, ActionId::Help.action()));
                    let all = format!("{line} {}", more.unwrap_or_default());
                    format!("{}{help}", fit(all.trim_end(), room.saturating_sub(width(&help))))
                }
            }
        });
        put(buffer, area.x + 2, y, &line.unwrap_or_default(), cells, ctx.style(role));
        if let Some(cluster) = cluster {
            let x = area.right().saturating_sub(u16::try_from(beside - 1).unwrap_or(0));
            put(buffer, x, y, &cluster, beside, ctx.style(ThemeRole::Muted));
        }
    }
}

/// How many lines a message takes, of `cells` each, where the name of the cluster stands behind it.
fn lines_of_message(text: &str, cells: usize, cluster: Option<&str>) -> usize {
    let lines: Vec<String> = wrap(text, cells).collect();
    let is_full = |cluster: &str| lines.last().is_some_and(|last| width(last) + GAP + width(cluster) > cells);
    lines.len().max(1) + usize::from(cluster.is_some_and(is_full))
}

/// The number of lines of the last message: one, or as many as it needs if there is room. Where lines are few, the page of a
/// node takes the message's line while there is no message.
pub(in crate::tui::view) fn status_height(ctx: &RenderContext<'_>, shape: Shape, area: Rect) -> u16 {
    let model = ctx.model;
    let is_folded = shape <= Shape::Folded;
    match (&model.overlay, &model.status) {
        (Overlay::Palette(_) | Overlay::Filter(_), _) => 1,
        (_, None) => u16::from(!is_folded || model.node_page().is_none()),
        (Overlay::Dialog(_), _) if is_folded => 1,
        (_, Some(status)) => {
            let most = if is_folded && area.height >= 12 { 3 } else { 2 };
            let has_mark = list_mark(ctx, usize::from(area.width)).is_some();
            // Below a mark the message is cut instead.
            let cluster = unnamed_cluster(ctx, area.width).filter(|_| !has_mark);
            let lines = lines_of_message(&status.text, usize::from(area.width.saturating_sub(2)), cluster.as_deref());
            let mark = u16::from(has_mark);
            // A long message leaves the list its rows.
            u16::try_from(lines.min(most)).unwrap_or(1).min(u16::try_from(most).unwrap_or(1) - mark) + mark
        }
    }
}
