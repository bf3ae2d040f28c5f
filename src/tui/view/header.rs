//! The lines above the nodes: the driver, the progress, the budget, what blocks the rollout, and what is wrong.
//!
//! ```text
//!  prod-eu/edge ds/ipc-agent                        you drive · live · ARMED 9m
//!  v1.8.2 → v1.9.0   rev 14 → 15   step 2 of 4          adopted   ▶ running 4m     (wide: ✓ 1 ── ▶ 10% (7/12) ── · 50% ── · 100%)
//!  [■■■■■■■■■■■■■■■■▒▒░░░░░░░░░░░░░░░░░░░░░░░░░░░░]  38 of 120 updated, 60 allowed
//!  down 2 of 2: 1 ours, 1 suspect + 3 by themselves   pull slots 2 of 2   partition 82
//!  ✗ 1 image not found (ipc-017, 3m)   ! 1 went down after its update (ipc-031, 1m)
//! ```
//!
//! Folded, below 80 columns:
//!
//! ```text
//!  edge/ipc-agent  you · live · ARMED 9m
//!  ▶ running 38/120 down 2/2 1 crash loop
//!
//!  · held 38/120 down 0/2 v1.8.2 → v1.9.0        where it stands still, and there is a row to spare
//!  82 nodes wait: not selected   i: all
//!  S lets 3 nodes go, 41 in total
//! ```

mod attention;
mod identity;
mod prewarm;
mod rail;
mod rollout;
mod unsent;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use self::attention::{
    alarms, clocks, gitops_owner, next_keys, paused_briefly, record_lost, taken_over, trouble, unseen,
};
pub(super) use self::attention::{blocker, group, keys_in_words};
use self::identity::identity;
pub(super) use self::identity::{access, banner, warnings};
use self::rollout::{budget, change, change_in, doing, progress};
use super::{RenderContext, Shape};
use crate::engine::model::presence::Presence;
use crate::engine::model::record::Direction;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::action::ActionId;
use crate::tui::model::RolloutPage;
use crate::tui::model::ShownSnapshot;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, width};

/// The least number of columns at which the first line names context, namespace and DaemonSet.
pub(super) const NAMES_CLUSTER: u16 = 80;

/// The least number of cells at which the second of two lines shows a problem; a shorter text is shown in fewer.
const LEAST_WORDS: usize = 8;

/// The lines above the list of a rollout.
pub(super) fn lines(ctx: &RenderContext<'_>, shape: Shape, area: Rect) -> Vec<Line<'static>> {
    let mut lines = about_rollout(ctx, shape, area);
    if let Some(banner) = banner(ctx, usize::from(area.width)).filter(|_| area.width < NAMES_CLUSTER) {
        lines.insert(0, Line::from(vec![Span::raw(" "), banner]));
    }
    lines
}

fn about_rollout(ctx: &RenderContext<'_>, shape: Shape, area: Rect) -> Vec<Line<'static>> {
    let Some(page) = ctx.model.rollout() else { return Vec::new() };
    let cells = usize::from(area.width);
    let Some(shown) = page.live.as_ref() else {
        return vec![identity(ctx, page, None, cells), loading(ctx, page)];
    };
    let snapshot = &*shown.snapshot;
    if shape == Shape::Folded {
        // The reader of a log has few lines for it; the list of nodes shows the rest.
        let reason = why_it_stands(ctx, page, shown, cells);
        if page.node_page.is_some() {
            return vec![identity(ctx, page, Some(shown), cells), folded(ctx, page, shown, cells, reason.is_some())];
        }
        let mut below: Vec<Line<'static>> =
            taken_over(ctx, shown, cells).or_else(|| record_lost(ctx, shown, cells)).into_iter().collect();
        below.extend(alarms(ctx, shape, snapshot, cells).into_iter().take(if area.height < 12 { 1 } else { 2 }));
        below.extend(paused_briefly(ctx, snapshot, cells, if area.height < 12 { 1 } else { 2 }));
        // If no other text is shown: why the rollout stands still and what moves it; on a screen without a row to spare the
        // first line has to suffice.
        let reason = reason.filter(|_| below.is_empty() && area.height >= 12);
        let mut lines =
            vec![identity(ctx, page, Some(shown), cells), folded(ctx, page, shown, cells, reason.is_some())];
        if below.is_empty() && area.height >= 12 {
            let keys = next_keys(ctx, snapshot, cells);
            // A key is never shown without its purpose.
            let why = keys.as_ref().and_then(|_| guided(ctx, snapshot, cells));
            below.extend(reason.or(why));
            below.extend(keys);
        }
        lines.append(&mut below);
        return lines;
    }
    let mut lines = vec![identity(ctx, page, Some(shown), cells)];
    match snapshot.daemonset {
        Presence::Present => {}
        Presence::Loading => {
            lines.push(loading(ctx, page));
            lines.extend(blocker(ctx, shown, cells, 1));
            // The reason of the new beginning is known before anything else.
            lines.extend(alarms(ctx, shape, snapshot, cells));
            lines.extend(unseen(ctx, snapshot, cells));
            return lines;
        }
        Presence::Absent => {
            let text = format!(" There is no DaemonSet {}/{}. esc: all DaemonSets", snapshot.namespace, snapshot.name);
            lines.push(Line::from(ctx.span(text, ThemeRole::Bad)));
            return lines;
        }
    }
    lines.push(change(ctx, shown, cells));
    lines.push(progress(ctx, page, shown, cells));
    lines.extend(budget(ctx, page, shown, cells));
    lines.extend(taken_over(ctx, shown, cells).or_else(|| record_lost(ctx, shown, cells)));
    lines.extend(blocker(ctx, shown, cells, if area.height < 32 { 2 } else { 4 }));
    lines.extend(prewarm::stands(ctx, page, shown, cells));
    lines.extend(gitops_owner(ctx, snapshot, cells));
    lines.extend(alarms(ctx, shape, snapshot, cells));
    lines.extend(trouble(ctx, page, shown, cells).into_iter().take(if area.height < 32 { 2 } else { 4 }));
    lines.extend(unseen(ctx, snapshot, cells));
    lines.extend(clocks(ctx, snapshot, cells));
    lines
}

/// The snapshot with its clock set so that the age of `since` is the one shown elsewhere on the screen.
pub(super) fn as_of(ctx: &RenderContext<'_>, shown: &ShownSnapshot, since: Timestamp) -> Snapshot {
    Snapshot { at: ctx.instant(shown, since), ..Snapshot::clone(&shown.snapshot) }
}

fn loading(ctx: &RenderContext<'_>, page: &RolloutPage) -> Line<'static> {
    let text = if page.stopped {
        " The driver of this rollout has stopped; esc goes back".to_owned()
    } else {
        format!(" Loading {}/{} …", page.target.namespace, page.target.name)
    };
    Line::from(ctx.span(text, ThemeRole::Text))
}

/// Whether rolldeck knows of a rollout under way, or of one that its controller began and a pause took over: in both cases a
/// plan holds its nodes.
fn recorded(snapshot: &Snapshot) -> bool {
    let is_missing = snapshot.lacks_its_record() || snapshot.has_unknown_settings();
    snapshot.started_at.is_some() || (snapshot.adopted && snapshot.has_change() && !is_missing)
}

/// The reason why nothing moves, on a line of its own; if it is cut, with the key that shows all of it.
fn why_it_stands(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    cells: usize,
) -> Option<Line<'static>> {
    let snapshot = &*shown.snapshot;
    let stands = matches!(snapshot.phase, Phase::Held | Phase::Preparing | Phase::Complete | Phase::Releasing(_));
    let is_told = |(words, _): &(String, ThemeRole)| *words != snapshot.phase.to_string();
    let (words, role) = reason(ctx, page, shown).filter(|_| stands && snapshot.not_sent().is_none()).filter(is_told)?;
    let room = cells.saturating_sub(1);
    let more = format!("   {}: all", ActionId::Diagnose.key());
    let words = match width(&words) <= room {
        true => words,
        false => format!("{}{more}", fit(&words, room.saturating_sub(width(&more)))),
    };
    Some(Line::from(ctx.span(format!(" {words}"), role)))
}

/// The wait or the activity of the rollout, if an operator can do something about it.
fn guided(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Option<Line<'static>> {
    let waits = snapshot.guidance()?.waits;
    let words = fit(waits.trim_start_matches("held: "), cells.saturating_sub(1)).into_owned();
    Some(Line::from(ctx.span(format!(" {words}"), ThemeRole::Text)))
}

/// The worst problem, or else the wait of the rollout.
fn reason(ctx: &RenderContext<'_>, page: &RolloutPage, shown: &ShownSnapshot) -> Option<(String, ThemeRole)> {
    let snapshot = &*shown.snapshot;
    // The cause of the halt is shown below.
    let worst = page.summary.trouble.first().filter(|_| snapshot.phase != Phase::Halted);
    let worst = worst.map(|trouble| (group(ctx, page, shown, trouble), ThemeRole::Bad));
    worst.or_else(|| {
        let waits = snapshot.guidance().filter(|_| !matches!(snapshot.phase, Phase::Paused(_)))?.waits;
        Some((waits.trim_start_matches("held: ").to_owned(), ThemeRole::Text))
    })
}

/// A problem in `room` cells: an example that does not fit is left out rather than cut, and when it halts the rollout is told where there is room.
fn without_example(words: &str, room: usize) -> String {
    let Some((what, rest)) = words.split_once(" (").filter(|_| width(words) > room) else { return words.to_owned() };
    let then = rest.split_once("): ").map(|(_, then)| format!("{what}: {then}"));
    then.filter(|words| width(words) <= room).unwrap_or_else(|| what.to_owned())
}

/// The second of two lines. The reason why nothing moves is left out if it is `told_below`.
fn folded(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    cells: usize,
    told_below: bool,
) -> Line<'static> {
    let snapshot = &*shown.snapshot;
    match snapshot.daemonset {
        Presence::Present => {}
        Presence::Loading => return loading(ctx, page),
        Presence::Absent => return Line::from(ctx.span(" there is no such DaemonSet", ThemeRole::Bad)),
    }
    let (counts, budget) = (&snapshot.counts, &snapshot.budget);
    let mut spans = vec![Span::raw(" ")];
    match snapshot.phase {
        _ if snapshot.not_sent().is_some() => spans.extend(unsent::sign(ctx, shown, "")),
        // The usual text of this phase would leave no room for the numbers.
        Phase::Native => spans.push(ctx.span(format!("{} controller", ctx.glyph(Glyph::Moving)), ThemeRole::Warn)),
        Phase::Running if snapshot.direction == Direction::Forward && snapshot.undriven_in_words().is_none() => {
            spans.push(ctx.span(format!("{} running", ctx.glyph(Glyph::Running)), ThemeRole::Busy));
        }
        _ => spans.extend(doing(ctx, shown, false, 0)),
    }
    let numbers = match snapshot.phase {
        Phase::Loading => String::new(),
        _ => format!(" {}/{} down {}/{}", counts.updated, counts.nodes, budget.charged, budget.max_unavailable),
    };
    let role = if budget.charged > budget.max_unavailable { ThemeRole::Bad } else { ThemeRole::Title };
    spans.push(ctx.span(numbers, role));
    let used: usize = spans.iter().map(|span| width(&span.content)).sum();
    let room = cells.saturating_sub(used + 1);
    let changed = || match room >= LEAST_WORDS {
        true => change_in(snapshot, room),
        false => snapshot.change().to_string(),
    };
    let reason = reason(ctx, page, shown).filter(|_| !told_below);
    let (rest, role) = reason.unwrap_or_else(|| (changed(), ThemeRole::Text));
    let is_group = role == ThemeRole::Bad;
    let rest = if is_group { without_example(&rest, room) } else { rest };
    // Text that has to be cut is left out where fewer cells than `LEAST_WORDS` are free.
    if room >= LEAST_WORDS || width(&rest) <= room {
        spans.push(Span::raw(" "));
        spans.push(ctx.span(fit(&rest, room), role));
    }
    Line::from(spans)
}
