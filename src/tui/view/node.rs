//! One node, in full: the side pane of wide terminals, and what enter opens on others.
//!
//! ```text
//! │ ipc-017
//! │ ✗ failed for 3m
//! │
//! │ Why        image not found
//! │            manifest for agent:v1.9.0 not found
//! │ Unavail.   ours
//! │ Revision   15 (new), 7d9f
//! │ Image      failed
//! │ Pod        ipc-agent-7x2kq, 0 restarts, 3m old
//! │ Order      next, place 3
//! │ Labels     zone=munich …
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::rollout::{image_sign, sign, state, why_at};
use super::{RenderContext, put, put_box, put_lines};
use crate::engine::model::budget::Replacer;
use crate::engine::model::node::Blame;
use crate::engine::model::time::ShortDuration;
use crate::engine::report::snapshot::NodeView;
use crate::engine::rules::clocks::ClockOff;
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::theme::{Glyph, Role};
use crate::tui::words::{fit, wrap};

/// How wide the names of the lines are.
const NAMES: usize = 10;

/// Draws the selected node, or the first of the list, beside the list.
pub(super) fn draw_side(ctx: &RenderContext<'_>, area: Rect, buffer: &mut Buffer) {
    for y in area.y..area.bottom() {
        put(buffer, area.x, y, ctx.glyph(Glyph::Side), 1, ctx.style(Role::Frame));
    }
    let inside = Rect { x: area.x + 2, width: area.width.saturating_sub(3), ..area };
    let Some(page) = ctx.model.rollout() else { return };
    match (page.selected(), page.shown()) {
        (Some(node), Some(seen)) => {
            put_lines(buffer, inside, &lines(ctx, page, seen, node, usize::from(inside.width)));
        }
        _ => {
            put(buffer, inside.x, inside.y, "down selects a node", usize::from(inside.width), ctx.style(Role::Muted));
        }
    }
}

/// Draws the selected node over everything.
pub(super) fn draw_over(ctx: &RenderContext<'_>, area: Rect, top: usize, buffer: &mut Buffer) {
    let Some(page) = ctx.model.rollout() else { return };
    let (Some(node), Some(seen)) = (page.selected(), page.shown()) else { return };
    let width = area.width.saturating_sub(if area.width >= 80 { 4 } else { 0 }).min(100);
    let lines = lines(ctx, page, seen, node, usize::from(width.saturating_sub(4)));
    // The header says whether it is safe: it is covered as little as possible, its first line never.
    let bottom = area.height.saturating_sub(if area.height >= 20 { 2 } else { 0 });
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(bottom.saturating_sub(1));
    let over = Rect { x: area.width.saturating_sub(width) / 2, y: bottom - height, width, height };
    let inside = put_box(ctx, buffer, over, &format!("Node {}  (esc: back, P pause)", node.name));
    let top = top.min(lines.len().saturating_sub(usize::from(inside.height)));
    put_lines(buffer, inside, &lines[top..]);
}

fn lines(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    seen: &ShownSnapshot,
    node: &NodeView,
    cells: usize,
) -> Vec<Line<'static>> {
    let (glyph, role) = sign(node);
    let since = node.since.map(|since| format!(" for {}", ctx.age(seen, since))).unwrap_or_default();
    let mut lines = vec![
        Line::from(ctx.span(fit(&node.name, cells), Role::Title)),
        Line::from(ctx.span(format!("{} {}{since}", ctx.glyph(glyph), state(node)), role)),
        Line::default(),
    ];
    let mut say = |name: &str, text: &str, role: Role| {
        for (nth, line) in wrap(text, cells.saturating_sub(NAMES + 1)).into_iter().enumerate() {
            let name = if nth == 0 { name } else { "" };
            lines.push(Line::from(vec![
                ctx.span(format!("{:NAMES$} ", fit(name, NAMES)), Role::Muted),
                Span::styled(line, ctx.style(role)),
            ]));
        }
    };
    if let Some(cause) = &node.cause {
        say("Cause", &cause.to_string(), role);
        if let Some(message) = &cause.message {
            say("", message, Role::Text);
        }
    }
    if let Some(wait) = &node.pod_wait {
        say("Waits", &wait.as_of(why_at(ctx, seen, node)).to_string(), Role::Text);
    }
    if let Some(hold) = &node.hold {
        say("Held by", &hold.to_string(), Role::Text);
    }
    if let Some(blame) = node.blame {
        let by = page.snapshot().map(|snapshot| snapshot.budget.replaced_by).unwrap_or_default();
        say("Down", in_words(blame, by), Role::Text);
    }
    if let Some(suspect) = node.suspect {
        let role = if suspect.has_failed() { Role::Bad } else { Role::Warn };
        say("Suspect", &suspect.words(ctx.instant(seen, seen.snapshot.at)).to_string(), role);
    }
    let revision = match (node.revision_number, &node.revision) {
        (Some(number), Some(hash)) => format!("{number} ({hash})"),
        (None, Some(hash)) => format!("{hash} (its ControllerRevision is gone)"),
        (_, None) => "none: it has no pod".to_owned(),
    };
    let target = if node.at_target { ", the target" } else { ", not the target" };
    let revision = if node.revision.is_some() { revision + target } else { revision };
    say("Revision", &revision, if node.at_target { Role::NewRev } else { Role::OldRev });
    let (glyph, role) = image_sign(node.image);
    say("Image", &format!("{} {}", ctx.glyph(glyph), node.image), role);
    if let Some(pod) = &node.pod {
        let age = node.pod_created_at.map(|at| format!(", {} old", ctx.age(seen, at))).unwrap_or_default();
        let plural = if node.restarts == 1 { "" } else { "s" };
        say("Pod", &format!("{pod}{age}, {} restart{plural}", node.restarts), Role::Text);
    }
    if let Some(restarted) = node.restarted {
        let exit = restarted.exit.map(|exit| format!(", last exit {exit}")).unwrap_or_default();
        let then = if restarted.speaks_against_revision() { "; nothing that serves is taken meanwhile" } else { "" };
        let times = restarted.times;
        say("Restarts", &format!("{times}× after it was ready{exit}: watched{then}"), Role::Warn);
    }
    if let Some(millis) = node.notable_clock() {
        let waits = node.uncounted_until.map(|until| {
            let left = ShortDuration(until.since(ctx.instant(seen, seen.snapshot.at)));
            format!("; its controller counts it unavailable for {left} more")
        });
        say("Clock", &format!("{}{}", ClockOff(millis), waits.unwrap_or_default()), Role::Warn);
    }
    if let Some(rank) = node.rank {
        say("In line", &format!("place {}", rank + 1), Role::Text);
    }
    if !node.eligible {
        let why = node.ineligible.as_ref().map_or_else(|| "its node is not there".to_owned(), ToString::to_string);
        let serves = if node.serves { "serves" } else { "does not serve" };
        say("Eligible", &format!("no: {why}; its pod {serves}"), Role::Warn);
    }
    if page.snapshot().is_some_and(|snapshot| snapshot.plan.selector.is_some()) {
        say("Canary", if node.selected { "matches the selector" } else { "does not match the selector" }, Role::Text);
    }
    if !node.labels.is_empty() {
        let labels: Vec<String> = node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        say("Labels", &labels.join(" "), Role::Muted);
    }
    lines
}

fn in_words(blame: Blame, replaced_by: Replacer) -> &'static str {
    match blame {
        Blame::Rollout if replaced_by == Replacer::Controller => "by its controller, which replaces pods by itself",
        Blame::Suspect if replaced_by == Replacer::Controller => "since after its controller had given it a new pod",
        Blame::Rollout => "by the rollout: charged to the budget",
        Blame::Suspect => "since after its update: charged to the budget",
        Blame::Node => "with its node, not by the rollout",
        Blame::PreExisting => "since before the rollout, or by its old pod",
    }
}
