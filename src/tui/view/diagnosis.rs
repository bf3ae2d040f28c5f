//! What is wrong, cause by cause, over the list.
//!
//! ```text
//! ┌ What is wrong  (esc closes, other keys work) ───────────────────────────────┐
//! │ 116 of 120 nodes updated and well                                   │
//! │                                                                             │
//! │ ✗ image not found: edge/agent:v9, 2 nodes for 3m                            │
//! │   ipc-017 ipc-018                                                           │
//! │   manifest for edge/agent:v9 not found: manifest unknown                    │
//! │   → correct the name or the tag, or push the image                          │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::header::{blocker, keys_in_words};
use super::overlay_frame::OverlayFrame;
use super::why::as_of_now;
use super::{RenderContext, put_lines};
use crate::engine::model::facts::Severity;
use crate::engine::report::diagnosis::{Diagnosis, Finding, OfferedCommand};
use crate::tui::model::ShownSnapshot;
use crate::tui::node_page::NodeReading;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::wrap;

/// How many nodes of a finding are named: of one that is wrong, and of one that only waits.
const NAMED: usize = 30;
const NAMED_WAITING: usize = 6;
/// No more cells are shown of what the rollout waits for.
const MOST_WAITING: usize = 1_000;

/// No more cells are taken.
const WIDEST: u16 = 120;

/// Draws it over everything but the first line and the last.
pub(super) fn draw(ctx: &RenderContext<'_>, area: Rect, top: usize, readings: &[NodeReading], buffer: &mut Buffer) {
    let Some(LaidOut { title, frame, lines }) = laid_out(ctx, area, readings) else { return };
    let seen = usize::from(frame.inside().height);
    let top = top.min(frame.rows_below(&lines));
    let rows = match lines.len() > seen {
        true => format!(" {} lines {}-{} of {}", ctx.glyph(Glyph::Dot), top + 1, top + seen, lines.len()),
        false => String::new(),
    };
    let title = format!("{title}{rows}");
    let inside = frame.put(ctx, buffer, &title, "  (esc closes, other keys work)");
    put_lines(buffer, inside, &lines[top..]);
}

/// The last line that it can begin with.
pub(super) fn end(ctx: &RenderContext<'_>, area: Rect, readings: &[NodeReading]) -> usize {
    laid_out(ctx, area, readings).map_or(0, |LaidOut { frame, lines, .. }| frame.rows_below(&lines))
}

/// What is drawn, and where.
struct LaidOut {
    title: &'static str,
    frame: OverlayFrame,
    lines: Vec<Line<'static>>,
}

fn laid_out(ctx: &RenderContext<'_>, area: Rect, readings: &[NodeReading]) -> Option<LaidOut> {
    let shown = ctx.model.rollout()?.live.as_ref()?;
    let mut diagnosis = Diagnosis::of(&as_of_now(ctx, shown));
    for NodeReading { node, inspection, .. } in readings {
        diagnosis.add_occupancy(node, &inspection.occupancy);
    }
    let title = if diagnosis.is_bad() { "What is wrong" } else { "Nothing is wrong now" };
    let lines = lines(ctx, shown, &diagnosis, OverlayFrame::cells(area, WIDEST));
    Some(LaidOut { title, frame: OverlayFrame::of(area, WIDEST, lines.len()), lines })
}

fn lines(ctx: &RenderContext<'_>, shown: &ShownSnapshot, diagnosis: &Diagnosis, cells: usize) -> Vec<Line<'static>> {
    let findings = &diagnosis.findings;
    let how_many = diagnosis.how_many(&shown.snapshot);
    let mut lines: Vec<Line<'static>> =
        wrap(&how_many, cells).map(|line| Line::from(ctx.span(line, ThemeRole::Title))).collect();
    let waits = blocker(ctx, shown, MOST_WAITING, 1);
    if findings.is_empty() && waits.is_empty() {
        lines.push(Line::from(ctx.span("nothing is wrong, and nothing waits", ThemeRole::Ok)));
    }
    for line in waits {
        let style = line.spans.last().map_or_else(Style::default, |span| span.style);
        let words = line.to_string();
        lines.extend(indented(words.trim_start(), cells).map(|line| Line::styled(line, style)));
    }
    let mut offered: Vec<String> = Vec::new();
    let remedies = shown.snapshot.alarms.iter().flat_map(|alarm| shown.snapshot.remedies_of(alarm));
    for remedy in remedies {
        let line = keys_in_words(ctx, &[remedy], |remedy| remedy.to_string());
        if !offered.contains(&line) {
            offered.push(line);
        }
    }
    for line in offered {
        lines.extend(indented(&line, cells).map(|line| Line::from(ctx.span(line, ThemeRole::Text))));
    }
    for finding in findings {
        lines.push(Line::default());
        lines.extend(of(ctx, shown, finding, cells));
    }
    lines
}

/// The lines of a text, each after a blank.
fn indented(text: &str, cells: usize) -> impl Iterator<Item = String> {
    wrap(text, cells.saturating_sub(1)).map(|line| format!(" {line}"))
}

fn of(ctx: &RenderContext<'_>, shown: &ShownSnapshot, finding: &Finding, cells: usize) -> Vec<Line<'static>> {
    let (glyph, role) = match finding.severity {
        Severity::Warning => (Glyph::Failed, ThemeRole::Bad),
        Severity::Normal => (Glyph::Dot, ThemeRole::Text),
    };
    let count = finding.nodes.len();
    let plural = if count == 1 { "" } else { "s" };
    let since = finding.since.map(|since| format!(" for {}", ctx.age(shown, since))).unwrap_or_default();
    let nodes = if count == 0 { String::new() } else { format!(", {count} node{plural}{since}") };
    let mut lines = Vec::new();
    let mut say = |text: &str, first: &str, role: ThemeRole| {
        for (nth, line) in wrap(text, cells.saturating_sub(4)).enumerate() {
            let lead = if nth == 0 { first } else { "  " };
            lines.push(Line::from(ctx.span(format!("{lead}{line}"), role)));
        }
    };
    say(&format!("{}{nodes}", finding.title), &format!("{} ", ctx.glyph(glyph)), role);
    let named = if finding.severity == Severity::Warning { NAMED } else { NAMED_WAITING };
    let mut names: Vec<&str> = finding.nodes.iter().take(named).map(|name| &**name).collect();
    let more = format!("… ({} more)", count.saturating_sub(named));
    if count > named {
        names.push(&more);
    }
    say(&names.join(" "), "  ", ThemeRole::Muted);
    for evidence in &finding.evidence {
        say(&evidence.to_string(), "  ", ThemeRole::Text);
    }
    for held in &finding.held {
        say(held, "  ", ThemeRole::Text);
    }
    let arrow = format!("  {} ", ctx.glyph(Glyph::Arrow));
    for remedy in &finding.remedies {
        say(remedy, &arrow, ThemeRole::Ok);
    }
    for OfferedCommand { text, command } in &finding.commands {
        if let Some(line) = ctx.model.cluster_flags.as_deref().and_then(|cluster| command.line(cluster)) {
            say(&format!("{text}: {line}"), &arrow, ThemeRole::Ok);
        }
    }
    lines
}
