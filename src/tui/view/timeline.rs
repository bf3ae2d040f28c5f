//! The timeline: who did what, newest first.
//!
//! ```text
//! ─ timeline 1-14 of 31 · T: nodes ───────────────────────────────────────────────
//!    UTC      AGE WHO             WHAT
//!  ! 14:31:12  2m by itself       halted: image not found on 1 node (ipc-017)
//!  · 14:30:05  3m ada@bastion-3   step to 50%: 60 of 120 nodes may be updated, par…
//!  ✗ 14:29:40  4m eve@bastion-1   refused: release: 82 pods are not at the current…
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Ink, Parts, put, put_box, put_lines, put_rule};
use crate::engine::happening::{Happening, Tone, Upshot, What};
use crate::tui::model::{RolloutPage, Seen};
use crate::tui::theme::{Glyph, Role};
use crate::tui::timeline::{Timeline, who};
use crate::tui::words::{fit, fit_middle, width, wrap};

/// How wide the names of the lines are.
const NAMES: usize = 6;
/// `14:30:05`.
const TIME: usize = 8;
const AGE: usize = 4;

/// Draws the timeline below the header.
pub(super) fn draw(ink: &Ink<'_>, parts: &Parts, page: &RolloutPage, timeline: &Timeline, buffer: &mut Buffer) {
    put_rule(ink, buffer, parts.rule, &about(ink, parts, page, timeline));
    let rows = parts.rows();
    let Some(seen) = &page.live else { return };
    let people =
        (0..timeline.len()).filter_map(|row| timeline.row(row)).map(|happening| width(short(&who(happening)))).max();
    let columns = Columns::of(people.unwrap_or(0), usize::from(rows.width));
    if parts.list.height > 1 {
        draw_cells(buffer, parts.list, &columns, ["UTC", "AGE", "WHO", "WHAT"], [ink.style(Role::Column); 4]);
    }
    for (row, y) in (timeline.list.top()..timeline.len()).zip(rows.y..rows.bottom()) {
        let Some(happening) = timeline.row(row) else { continue };
        let area = Rect { y, height: 1, ..rows };
        draw_row(ink, seen, happening, area, &columns, buffer);
        if timeline.list.cursor() == Some(row) {
            put(buffer, area.x, y, ink.glyph(Glyph::Cursor), 1, Style::default());
            buffer.set_style(area, ink.style(Role::Selection));
        }
    }
    if timeline.len() == 0 && rows.height > 0 {
        let text = if timeline.filter.is_all() {
            "nothing yet: what is done from now on is told here"
        } else {
            "nothing passes the filter: esc clears it"
        };
        put(buffer, rows.x + 3, rows.y, text, usize::from(rows.width).saturating_sub(4), ink.style(Role::Muted));
    }
    if let (Some(side), Some(happening)) = (parts.side, timeline.selected()) {
        for y in side.y..side.bottom() {
            put(buffer, side.x, y, ink.glyph(Glyph::Side), 1, ink.style(Role::Frame));
        }
        let inside = Rect { x: side.x + 2, width: side.width.saturating_sub(3), ..side };
        put_lines(buffer, inside, &lines(ink, seen, happening, usize::from(inside.width)));
    }
}

/// Draws the selected one in full, over everything but the first line.
pub(super) fn draw_over(
    ink: &Ink<'_>,
    area: Rect,
    (page, timeline): (&RolloutPage, &Timeline),
    top: usize,
    buffer: &mut Buffer,
) {
    let (Some(seen), Some(happening)) = (&page.live, timeline.selected()) else { return };
    let width = area.width.saturating_sub(if area.width >= 80 { 4 } else { 0 }).min(100);
    let lines = lines(ink, seen, happening, usize::from(width.saturating_sub(4)));
    let bottom = area.height.saturating_sub(if area.height >= 20 { 2 } else { 0 });
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(bottom.saturating_sub(1));
    let over = Rect { x: area.width.saturating_sub(width) / 2, y: bottom - height, width, height };
    let inside = put_box(ink, buffer, over, "What happened  (esc: back, P pause)");
    let top = top.min(lines.len().saturating_sub(usize::from(inside.height)));
    put_lines(buffer, inside, &lines[top..]);
}

/// Where in the timeline we are, what it leaves out, and what of it others cannot see.
fn about(ink: &Ink<'_>, parts: &Parts, page: &RolloutPage, timeline: &Timeline) -> String {
    let (top, len, all) = (timeline.list.top(), timeline.len(), timeline.all());
    let shown = (len - top.min(len)).min(usize::from(parts.rows().height));
    let dot = ink.glyph(Glyph::Dot);
    let mut words = match len {
        0 => format!("timeline 0 of {all}"),
        _ => format!("timeline {}-{} of {len}", top + 1, top + shown),
    };
    if !timeline.filter.is_all() {
        words.push_str(&format!(" {dot} filter {} ({len} of {all}; esc clears)", timeline.filter.text()));
    }
    words.push_str(&format!(" {dot} T: nodes"));
    for complaint in page.snapshot().into_iter().flat_map(|snapshot| &snapshot.unaudited) {
        words.push_str(&format!(" {dot} {complaint}"));
    }
    words
}

/// How wide each column is; zero where there is no room for it.
struct Columns([usize; 4]);

impl Columns {
    /// What always, then when, then who.
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
}

fn draw_row(ink: &Ink<'_>, seen: &Seen, happening: &Happening, area: Rect, columns: &Columns, buffer: &mut Buffer) {
    let (glyph, role) = sign(happening);
    put(buffer, area.x + 1, area.y, ink.glyph(glyph), 1, ink.style(role));
    let by = if happening.by.is_some() { Role::Text } else { Role::Muted };
    let cells = [
        time(happening),
        format!("{:>AGE$}", ink.age(seen, happening.at)),
        short(&who(happening)).to_owned(),
        happening.to_string(),
    ];
    let cells = cells.each_ref().map(String::as_str);
    let styles = [Role::Muted, Role::Text, by, role].map(|role| ink.style(role));
    draw_cells(buffer, area, columns, cells, styles);
}

fn draw_cells(buffer: &mut Buffer, area: Rect, columns: &Columns, texts: [&str; 4], styles: [Style; 4]) {
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

/// The sign and the look of it: bad news first, then what was not done, then the rest.
fn sign(happening: &Happening) -> (Glyph, Role) {
    match (happening.tone(), happening.result) {
        (_, Upshot::Failed | Upshot::Refused) => (Glyph::Failed, Role::Warn),
        (Tone::Warning, _) => (Glyph::Suspect, Role::Bad),
        (Tone::Normal, _) => (Glyph::Dot, Role::Text),
    }
}

/// A person without the domain of their host, which all share.
fn short(who: &str) -> &str {
    let host = who.find('@').unwrap_or(0);
    who[host..].find('.').map_or(who, |domain| &who[..host + domain])
}

/// The time of day, in UTC.
fn time(happening: &Happening) -> String {
    happening.at.to_rfc3339().chars().skip(11).take(TIME).collect()
}

fn lines(ink: &Ink<'_>, seen: &Seen, happening: &Happening, cells: usize) -> Vec<Line<'static>> {
    let (glyph, role) = sign(happening);
    let mut lines: Vec<Line<'static>> = Vec::new();
    let text = wrap(&happening.to_string(), cells.saturating_sub(2));
    for (nth, line) in text.into_iter().enumerate() {
        let sign = if nth == 0 { ink.glyph(glyph) } else { " " };
        lines.push(Line::from(ink.span(format!("{sign} {line}"), role)));
    }
    lines.push(Line::default());
    let mut say = |name: &str, text: &str| {
        for (nth, line) in wrap(text, cells.saturating_sub(NAMES + 1)).into_iter().enumerate() {
            let name = if nth == 0 { name } else { "" };
            lines.push(Line::from(vec![
                ink.span(format!("{name:NAMES$} "), Role::Muted),
                Span::styled(line, ink.style(Role::Text)),
            ]));
        }
    };
    say("Who", &who(happening));
    say("When", &format!("{}, {} ago", happening.at, ink.age(seen, happening.at)));
    if let What::Reported { identity, .. } = &happening.what {
        say("From", identity);
    }
    if let What::Halted { nodes, .. } = &happening.what {
        say("Where", &nodes.join(" "));
    }
    say("Event", happening.reason());
    lines
}
