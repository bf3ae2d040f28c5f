//! The rollout: one row a node.
//!
//! ```text
//! ─ 1-12 of 120 · sorted by trouble ──────────────────────────────────────────────
//!    NODE       STATE       WHY                              REV IMG POD   RST AGE
//!  ✗ ipc-017    failed      image not found                   15 ✗   7x2kq   0  3m
//! >◐ ipc-018    pulling                                       15 ↓   m2xzp   0 20s
//!  · ipc-020    outdated    budget: 2 of 2 down               14 ■   k8d2v   0  2d
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::table::{Table, select};
use super::{RenderContext, ScreenParts, node, node_page, prewarm, put, put_lines, put_rule, revisions, timeline, why};
use crate::engine::model::presence::Presence;
use crate::engine::report::snapshot::NodeView;
use crate::engine::report::snapshot::Phase;
use crate::engine::report::snapshot::pull_words::PullEstimate;
use crate::engine::report::snapshot::words::Why;
use crate::tui::columns::nodes::NODE_COLUMNS;
use crate::tui::columns::nodes::NodeCell;
use crate::tui::columns::nodes::Sort;
use crate::tui::columns::nodes::sign;
use crate::tui::columns::widths;
use crate::tui::model::Page;
use crate::tui::model::RolloutPage;
use crate::tui::model::ShownSnapshot;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::wrap;

/// Draws header and nodes.
pub(super) fn draw(ctx: &RenderContext<'_>, parts: &ScreenParts, buffer: &mut Buffer) {
    put_lines(buffer, parts.header, &parts.lines);
    let Some(page) = ctx.model.rollout() else { return };
    if let Some(open) = &page.node_page {
        return node_page::draw(ctx, parts, page, open, buffer);
    }
    if let Some(timeline) = &page.timeline {
        return timeline::draw(ctx, parts, page, timeline, buffer);
    }
    if let Some(screen) = &page.revisions {
        return revisions::draw(ctx, parts, page, screen, buffer);
    }
    if let Some(screen) = &page.prewarm {
        return prewarm::draw(ctx, parts, page, screen, buffer);
    }
    let Some(shown) = page.shown() else {
        put_rule(ctx, buffer, parts.rule, "");
        return;
    };
    put_rule(ctx, buffer, parts.rule, &about_list(ctx, page, parts));
    let summary = &page.summary.table;
    let cells = usize::from(parts.list.width);
    let table = Table { columns: NODE_COLUMNS, widths: widths(NODE_COLUMNS, summary, cells) };
    table.draw_header(ctx, parts.list, Some(page.sort.name()), buffer);
    let rows = parts.rows();
    let top = page.list.top();
    for (row, y) in (top..page.rows.len()).zip(rows.y..rows.bottom()) {
        if let Some(node) = page.node(row) {
            let area = Rect { y, height: 1, ..rows };
            table.draw_row(ctx, area, sign(node), (node, summary), |cell| text(ctx, shown, node, cell), buffer);
            if page.list.cursor() == Some(row) {
                select(ctx, area, buffer);
            }
        }
    }
    if page.rows.is_empty() && rows.height > 0 {
        put(
            buffer,
            rows.x + 3,
            rows.y,
            &empty_list(page),
            usize::from(rows.width).saturating_sub(4),
            ctx.style(ThemeRole::Muted),
        );
    }
    if let Some(side) = parts.side {
        node::draw_side(ctx, side, buffer);
    }
}

/// Which part of the list is visible, and what is filtered out.
fn about_list(ctx: &RenderContext<'_>, page: &RolloutPage, parts: &ScreenParts) -> String {
    let (top, len) = (page.list.top(), page.rows.len());
    let shown = (len - top.min(len)).min(usize::from(parts.rows().height));
    let all = page.shown().map_or(0, |shown| shown.snapshot.nodes.len());
    let dot = ctx.glyph(Glyph::Dot);
    let mut words = match len {
        0 => format!("0 of {all}"),
        _ => format!("{}-{} of {len}", top + 1, top + shown),
    };
    if !page.filter.is_all() {
        words.push_str(&format!(" {dot} filter {} ({len} of {all}; esc clears)", page.filter.text()));
    }
    if let Sort::By(column) = page.sort {
        words.push_str(&format!(" {dot} sorted by {}", column.name));
    }
    if let Some(frozen) = &page.frozen {
        let live = page.live.as_ref().unwrap_or(frozen);
        words.push_str(&format!(" {dot} FROZEN {} (f: live)", ctx.age(live, frozen.snapshot.at)));
    }
    words
}

fn empty_list(page: &RolloutPage) -> String {
    let Some(snapshot) = page.shown().map(|shown| &shown.snapshot) else { return String::new() };
    match (snapshot.daemonset, page.filter.is_all(), &snapshot.phase) {
        (Presence::Loading, ..) | (_, _, Phase::Loading) => "loading …".to_owned(),
        (Presence::Absent, ..) => String::new(),
        (Presence::Present, false, _) => "no node passes the filter: esc clears it".to_owned(),
        (Presence::Present, true, _) => "no node should run this DaemonSet's pods".to_owned(),
    }
}

/// What is in a cell, as text.
fn text(ctx: &RenderContext<'_>, shown: &ShownSnapshot, node: &NodeView, cell: NodeCell) -> String {
    match cell {
        NodeCell::Text(text) => text,
        NodeCell::Sign(glyph, words) if words.is_empty() => ctx.glyph(glyph).to_owned(),
        NodeCell::Sign(glyph, words) => format!("{} {words}", ctx.glyph(glyph)),
        NodeCell::Estimate(glyph, since, usual) => {
            let elapsed = ctx.present(shown).since(since);
            format!("{} {}", ctx.glyph(glyph), PullEstimate { elapsed, usual }.short())
        }
        NodeCell::Age(since) => ctx.age(shown, since),
        NodeCell::Why => Why { node, at: why::instant(ctx, shown, node) }.to_string(),
    }
}

/// What is drawn on a terminal that is too small for a list: one sentence.
pub(super) fn sentence(ctx: &RenderContext<'_>, area: Rect, buffer: &mut Buffer) {
    let model = ctx.model;
    let mut text = match (&model.page, model.rollout()) {
        (Page::Rollout(target), Some(page)) => match page.snapshot() {
            Some(snapshot) => {
                let (counts, budget) = (&snapshot.counts, &snapshot.budget);
                format!(
                    "{} {} {}/{} down {}/{}.",
                    target.name, snapshot.phase, counts.updated, counts.nodes, budget.charged, budget.max_unavailable
                )
            }
            None => format!("{}: loading.", target.name),
        },
        _ => format!("{} DaemonSets.", model.fleet.as_ref().map_or(0, |page| page.fleet.rows.len())),
    };
    text.push_str(" Enlarge to 40x10; q quits.");
    if let Some(status) = &model.status {
        text.push(' ');
        text.push_str(&status.text);
    }
    for (line, y) in wrap(&text, usize::from(area.width)).zip(area.y..area.bottom()) {
        put(buffer, area.x, y, &line, usize::from(area.width), Style::default());
    }
}
