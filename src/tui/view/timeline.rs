//! The timeline: who did what, newest first.
//!
//! ```text
//! ─ timeline 1-14 of 31 · T: nodes ───────────────────────────────────────────────
//!    UTC      AGE WHO             WHAT
//!  ! 14:31:11  2m ipc-017         failed: image not found
//!  ! 14:31:12  2m by itself       halted: image not found on 1 node (ipc-017)
//!  · 14:30:05  3m ada@bastion-3   step to 50%: 60 of 120 nodes may be updated, par…
//!  ✗ 14:29:40  4m eve@bastion-1   refused: release: 82 pods are not at the current…
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::overlay_frame::OverlayFrame;
use super::table::{ANYWHERE, mark_hits, select};
use super::{RenderContext, ScreenParts, put, put_lines, put_rule};
use crate::engine::model::facts::Severity;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEventKind};
use crate::engine::report::node_story::clock_time;
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::timeline::{Timeline, TimelineEntry};
use crate::tui::words::{fit, fit_middle, width, wrap};

/// The width of the names of the lines.
const NAMES: usize = 6;
/// The width of `14:30:05`.
const TIME: usize = 8;
const AGE: usize = 4;

/// Draws the timeline below the header.
pub(super) fn draw(
    ctx: &RenderContext<'_>,
    parts: &ScreenParts,
    page: &RolloutPage,
    timeline: &Timeline,
    buffer: &mut Buffer,
) {
    put_rule(ctx, buffer, parts.rule, &about(ctx, parts, page, timeline));
    let rows = parts.rows();
    let Some(shown) = &page.live else { return };
    let people =
        (0..timeline.len()).filter_map(|row| timeline.row(row)).map(|entry| width(&short(&entry.subject()))).max();
    let columns = TimelineColumns::of(people.unwrap_or(0), usize::from(rows.width));
    if parts.list.height > 1 {
        draw_cells(buffer, parts.list, &columns, ["UTC", "AGE", "WHO", "WHAT"], [ctx.style(ThemeRole::Column); 4]);
    }
    for (row, y) in (timeline.list.top()..timeline.len()).zip(rows.y..rows.bottom()) {
        let Some(entry) = timeline.row(row) else { continue };
        let area = Rect { y, height: 1, ..rows };
        draw_row(ctx, shown, entry, area, &columns, buffer);
        mark_hits(area, &timeline.filter, ANYWHERE, buffer);
        if timeline.list.current(timeline.len()) == Some(row) {
            select(ctx, area, buffer);
        }
    }
    if timeline.len() == 0 && rows.height > 0 {
        let text = match (timeline.filter.is_all(), timeline.leaves_out()) {
            (true, true) => "nothing but the steps of nodes: a shows them",
            (true, false) => "nothing yet: what is done from now on is listed here",
            (false, _) => "nothing passes the filter: esc clears it",
        };
        put(buffer, rows.x + 3, rows.y, text, usize::from(rows.width).saturating_sub(4), ctx.style(ThemeRole::Muted));
    }
    if let (Some(side), Some(entry)) = (parts.side, timeline.selected()) {
        for y in side.y..side.bottom() {
            put(buffer, side.x, y, ctx.glyph(Glyph::Side), 1, ctx.style(ThemeRole::Frame));
        }
        let inside = Rect { x: side.x + 2, width: side.width.saturating_sub(3), ..side };
        put_lines(buffer, inside, &lines(ctx, shown, entry, (usize::from(inside.width), usize::from(inside.height))));
    }
}

/// Draws the selected entry in full, over everything but the first line and the last.
pub(super) fn draw_over(
    ctx: &RenderContext<'_>,
    area: Rect,
    (page, timeline): (&RolloutPage, &Timeline),
    top: usize,
    buffer: &mut Buffer,
) {
    let Some((frame, lines)) = laid_out_over(ctx, area, (page, timeline), top) else { return };
    let inside = frame.put(ctx, buffer, "What happened", "  (esc: back, P pause)");
    let top = top.min(frame.rows_below(&lines));
    put_lines(buffer, inside, &lines[top..]);
}

/// The last line that can be the first visible one, if line `top` is asked for.
pub(super) fn end_of_over(ctx: &RenderContext<'_>, area: Rect, of: (&RolloutPage, &Timeline), top: usize) -> usize {
    laid_out_over(ctx, area, of, top).map_or(0, |(frame, lines)| frame.rows_below(&lines))
}

/// The place of the overlay, and its lines as far as they can be visible.
fn laid_out_over(
    ctx: &RenderContext<'_>,
    area: Rect,
    (page, timeline): (&RolloutPage, &Timeline),
    top: usize,
) -> Option<(OverlayFrame, Vec<Line<'static>>)> {
    let (shown, entry) = (page.live.as_ref()?, timeline.selected()?);
    let widest = area.width.saturating_sub(if area.width >= 80 { 4 } else { 0 }).min(100);
    let cells = OverlayFrame::cells(area, widest);
    let lines = lines(ctx, shown, entry, (cells, top.saturating_add(usize::from(area.height))));
    Some((OverlayFrame::of(area, widest, lines.len()), lines))
}

/// The visible part of the timeline, the filter, and the complaints about the audit log.
fn about(ctx: &RenderContext<'_>, parts: &ScreenParts, page: &RolloutPage, timeline: &Timeline) -> String {
    let (top, len, all) = (timeline.list.top(), timeline.len(), timeline.all());
    let shown = (len - top.min(len)).min(usize::from(parts.rows().height));
    let dot = ctx.glyph(Glyph::Dot);
    let mut words = match len {
        0 => format!("timeline 0 of {all}"),
        _ => format!("timeline {}-{} of {len}", top + 1, top + shown),
    };
    if !timeline.filter.is_all() {
        words.push_str(&format!(" {dot} filter {} ({len} of {all}; esc clears)", timeline.filter.text()));
    }
    if timeline.filter.is_all() {
        let other = if timeline.all_steps { "less" } else { "each step of each node" };
        words.push_str(&format!(" {dot} a: {other}"));
    }
    words.push_str(&format!(" {dot} T: {}", if page.map.is_open { "map" } else { "nodes" }));
    for complaint in page.snapshot().into_iter().flat_map(|snapshot| &snapshot.unaudited) {
        words.push_str(&format!(" {dot} {complaint}"));
    }
    words
}

/// The width of each column; zero for a column without room.
struct TimelineColumns([usize; 4]);

impl TimelineColumns {
    /// The text always has room; the age is served next, then the person, then the time of day.
    fn of(people: usize, cells: usize) -> Self {
        let mut free = cells.saturating_sub(3);
        let mut take = |wanted: usize, keep: usize| {
            let fits = free >= wanted + 1 + keep;
            free -= if fits { wanted + 1 } else { 0 };
            if fits { wanted } else { 0 }
        };
        let age = take(AGE, 20);
        let who = take(people.clamp(9, (cells / 5).max(9)), 24);
        let time = take(TIME, 40);
        Self([time, age, who, free])
    }

    fn tells_who(&self) -> bool {
        self.0[2] > 0
    }
}

fn draw_row(
    ctx: &RenderContext<'_>,
    shown: &ShownSnapshot,
    entry: &TimelineEntry,
    area: Rect,
    columns: &TimelineColumns,
    buffer: &mut Buffer,
) {
    let (glyph, role) = sign(entry);
    put(buffer, area.x + 1, area.y, ctx.glyph(glyph), 1, ctx.style(role));
    let by = match entry {
        TimelineEntry::Rollout(event, _) if event.by.is_none() => ThemeRole::Muted,
        TimelineEntry::Controller(_) | TimelineEntry::Lifted(_) | TimelineEntry::LostDriver(_) => ThemeRole::Muted,
        TimelineEntry::Rollout(..) | TimelineEntry::Node(_) => ThemeRole::Text,
    };
    let cells = [
        clock_time(entry.at()),
        format!("{:>AGE$}", ctx.age(shown, entry.at())),
        short(&entry.subject()),
        // If there is no room for the person's column, the text of a node's event still names the node.
        match entry {
            TimelineEntry::Node(_) if !columns.tells_who() => format!("{}: {entry}", entry.subject()),
            _ => entry.to_string(),
        },
    ];
    let cells = cells.each_ref().map(String::as_str);
    let styles = [ThemeRole::Muted, ThemeRole::Text, by, role].map(|role| ctx.style(role));
    draw_cells(buffer, area, columns, cells, styles);
}

fn draw_cells(buffer: &mut Buffer, area: Rect, columns: &TimelineColumns, texts: [&str; 4], styles: [Style; 4]) {
    let mut x = area.x + 3;
    for (nth, ((text, cells), style)) in texts.into_iter().zip(columns.0).zip(styles).enumerate() {
        if cells == 0 {
            continue;
        }
        // Names differ at their ends, sentences at their beginnings.
        let text = if nth == 2 { fit_middle(text, cells) } else { fit(text, cells) };
        put(buffer, x, area.y, &text, cells, style);
        x += u16::try_from(cells + 1).unwrap_or(u16::MAX);
    }
}

/// The sign and the colour of an entry.
fn sign(entry: &TimelineEntry) -> (Glyph, ThemeRole) {
    let outcome = match entry {
        TimelineEntry::Rollout(event, _) => Some(event.outcome),
        TimelineEntry::Controller(_)
        | TimelineEntry::Lifted(_)
        | TimelineEntry::LostDriver(_)
        | TimelineEntry::Node(_) => None,
    };
    match (entry.severity(), outcome) {
        (_, Some(EventOutcome::Failed | EventOutcome::Refused)) => (Glyph::Failed, ThemeRole::Warn),
        (Severity::Warning, _) => (Glyph::Suspect, ThemeRole::Bad),
        (Severity::Normal, _) => (Glyph::Dot, ThemeRole::Text),
    }
}

/// An identity without the domain of its host.
fn short(who: &str) -> String {
    let host = who.find('@').unwrap_or(0);
    let closing = if who.starts_with('(') && who.ends_with(')') { ")" } else { "" };
    who[host..].find('.').map_or_else(|| who.to_owned(), |domain| format!("{}{closing}", &who[..host + domain]))
}

/// The lines of an entry, limited in number and in cells.
fn lines(
    ctx: &RenderContext<'_>,
    shown: &ShownSnapshot,
    entry: &TimelineEntry,
    (cells, most): (usize, usize),
) -> Vec<Line<'static>> {
    let (glyph, role) = sign(entry);
    let mut lines: Vec<Line<'static>> = Vec::new();
    let text = entry.to_string();
    for (nth, line) in wrap(&text, cells.saturating_sub(2)).take(most).enumerate() {
        let sign = if nth == 0 { ctx.glyph(glyph) } else { " " };
        lines.push(Line::from(ctx.span(format!("{sign} {line}"), role)));
    }
    lines.push(Line::default());
    let mut say = |name: &str, text: &str| {
        for (nth, line) in
            wrap(text, cells.saturating_sub(NAMES + 1)).take(most.saturating_sub(lines.len())).enumerate()
        {
            let name = if nth == 0 { name } else { "" };
            lines.push(Line::from(vec![
                ctx.span(format!("{name:NAMES$} "), ThemeRole::Muted),
                Span::styled(line, ctx.style(ThemeRole::Text)),
            ]));
        }
    };
    let subject = if matches!(entry, TimelineEntry::Node(_)) { "Node" } else { "Who" };
    say(subject, &entry.subject());
    say("When", &format!("{}, {} ago", entry.at(), ctx.age(shown, entry.at())));
    let TimelineEntry::Rollout(event, _) = entry else { return lines };
    if let Some(claimed) = event.reported_by() {
        say(
            "From",
            &format!(
                "an Event that names {claimed} as its author; anybody who may create Events can write such an Event"
            ),
        );
    }
    // A halt of the whole rollout, such as one by time, names no node.
    if let RolloutEventKind::Halted { nodes, .. } = &event.kind
        && !nodes.is_empty()
    {
        say("Where", &nodes.join(" "));
    }
    say("Event", event.reason());
    lines
}
