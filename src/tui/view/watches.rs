//! The age of the view, watch by watch; and the clocks that are off.
//!
//! ```text
//! ┌ Watches  (esc closes, other keys work) ─────────────────────────────────────┐
//! │   WATCH      STATE             HEARD                                        │
//! │   daemonset  live              20s ago                                      │
//! │   revisions  live              20s ago                                      │
//! │ ! pods       lags              2m ago                                       │
//! │                a deletion that the API server confirmed does not come back  │
//! │ - nodes      n/a (forbidden)   never                                        │
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::overlay_frame::OverlayFrame;
use super::{RenderContext, put_lines};
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::process_of;
use crate::engine::report::node_story::clock_time;
use crate::engine::report::snapshot::{Snapshot, WatchView};
use crate::tui::model::ShownSnapshot;
use crate::tui::theme::ThemeRole;
use crate::tui::words::{fit, wrap};

/// The most cells of the overlay's width.
const WIDEST: u16 = 80;

/// Draws all watches over everything but the first line and the last.
pub(super) fn draw(ctx: &RenderContext<'_>, area: Rect, top: usize, buffer: &mut Buffer) {
    let Some((frame, lines)) = laid_out(ctx, area, top) else { return };
    let inside = frame.put(ctx, buffer, "Watches", "  (esc closes, other keys work)");
    let top = top.min(frame.rows_below(&lines));
    put_lines(buffer, inside, &lines[top..]);
}

/// The last line that can be the first visible one, if line `top` is asked for.
pub(super) fn end(ctx: &RenderContext<'_>, area: Rect, top: usize) -> usize {
    laid_out(ctx, area, top).map_or(0, |(frame, lines)| frame.rows_below(&lines))
}

/// The place of the overlay, and its lines as far as they can be visible.
fn laid_out(ctx: &RenderContext<'_>, area: Rect, top: usize) -> Option<(OverlayFrame, Vec<Line<'static>>)> {
    let shown = ctx.model.rollout()?.live.as_ref()?;
    let cells = OverlayFrame::cells(area, WIDEST);
    let lines = lines(ctx, shown, (cells, top.saturating_add(usize::from(area.height))));
    Some((OverlayFrame::of(area, WIDEST, lines.len()), lines))
}

/// The lines about each watch, limited in number and in cells.
fn lines(ctx: &RenderContext<'_>, shown: &ShownSnapshot, (cells, most): (usize, usize)) -> Vec<Line<'static>> {
    let snapshot = &*shown.snapshot;
    let mut lines = vec![Line::from(ctx.span(row(" ", "WATCH", "STATE", "HEARD"), ThemeRole::Title))];
    for view in &snapshot.watches {
        let WatchView { watched, health, heard_at, skipped } = view;
        let ago = if cells < 40 { "" } else { " ago" };
        let heard = heard_at.map_or_else(|| "never".to_owned(), |at| format!("{}{ago}", ctx.age(shown, at)));
        let (sign, state, role) = match health {
            WatchHealth::Live => (" ", "live", ThemeRole::Live),
            WatchHealth::Loading => ("~", "loading", ThemeRole::Warn),
            WatchHealth::Down { .. } => ("!", "not seen", ThemeRole::Stale),
            WatchHealth::Lagging { .. } => ("!", "lags", ThemeRole::Stale),
            WatchHealth::Forbidden { .. } => ("-", "n/a (forbidden)", ThemeRole::Warn),
        };
        lines.push(Line::from(ctx.span(fit(&row(sign, &watched.to_string(), state, &heard), cells), role)));
        let why = match health {
            WatchHealth::Down { why, .. } | WatchHealth::Lagging { why, .. } | WatchHealth::Forbidden { why } => {
                Some(why.to_string())
            }
            WatchHealth::Live | WatchHealth::Loading => None,
        };
        let skipped = skipped.as_ref().map(ToString::to_string);
        for sentence in why.into_iter().chain(skipped) {
            let wrapped = wrap(&sentence, cells.saturating_sub(4)).take(most.saturating_sub(lines.len()));
            lines.extend(wrapped.map(|line| Line::from(ctx.span(format!("    {line}"), ThemeRole::Text))));
        }
    }
    lines.push(Line::default());
    for sentence in remarks(snapshot) {
        lines.extend(wrap(&sentence, cells).map(|line| Line::from(ctx.span(line, ThemeRole::Text))));
    }
    lines
}

fn row(sign: &str, watch: &str, state: &str, heard: &str) -> String {
    format!("{sign} {watch:<10} {state:<16} {heard}")
}

fn remarks(snapshot: &Snapshot) -> Vec<String> {
    let needed = || Watched::NEEDED.iter().filter_map(|watched| snapshot.watch(*watched));
    let rule = if needed().all(|health| *health == WatchHealth::Live) {
        "All watches that a rollout needs are live. A quiet one sends a bookmark once a minute; one that does not, or does \
         not show our writes, is not relied on."
    } else if needed().all(|health| matches!(health, WatchHealth::Live | WatchHealth::Forbidden { .. })) {
        "This console starts nothing until it may watch all but events and prewarm."
    } else {
        "Nothing is started until all but events and prewarm are live; until then only a pause can be judged."
    };
    let clocks = snapshot.clocks();
    let clocks = match snapshot.skew_millis {
        _ if !clocks.is_empty() => format!("{clocks}."),
        Some(_) => "Clocks agree: here, the API server's, and the nodes' as far as they are measured.".to_owned(),
        None => "The API server's clock is not known yet.".to_owned(),
    };
    // The time of day does not tick: a console that only looks may measure nothing for long.
    let measured = snapshot.distance.measured_at.map(|at| format!(", as measured at {} UTC", clock_time(at)));
    let measured = measured.unwrap_or_default();
    let known = snapshot.distance.round_trip.map(|_| format!("The API server {}{measured}.", snapshot.distance));
    [rule.to_owned(), clocks].into_iter().chain(known).chain(other_driver(snapshot)).collect()
}

/// The other driver, and the meaning of the end of its name.
fn other_driver(snapshot: &Snapshot) -> Option<String> {
    let (DriverView::Other { holder, .. } | DriverView::Waiting { holder: Some(holder) }) = &snapshot.driver else {
        return None;
    };
    let (_, process) = holder.rsplit_once('/')?;
    let nth = match process.split_once('.') {
        Some(_) => ", behind the dot which of the rollouts that it has opened",
        None => "",
    };
    Some(match process_of(holder) {
        Some((Some(terminal), pid)) => {
            format!("{holder} drives: process {pid} of that user on that machine, on the terminal {terminal}{nth}.")
        }
        Some((None, pid)) => {
            format!("{holder} drives: process {pid} of that user on that machine, without a terminal{nth}.")
        }
        None => format!("{holder} drives: behind the slash stands which process of that user on that machine{nth}."),
    })
}
