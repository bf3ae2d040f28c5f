//! The page of a rollout: its header, and the screen that is open below it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{
    RenderContext, ScreenParts, node, node_list, node_map, node_page, prewarm, put, put_lines, revisions, timeline,
};
use crate::engine::report::snapshot::Phase;
use crate::tui::model::{Page, RolloutPage, RolloutScreen};
use crate::tui::words::wrap;

/// The least number of lines beside the list that have room for both the map and a node.
const MAP_AND_NODE: u16 = 20;

/// Draws the header, and the screen below it.
pub(super) fn draw(ctx: &RenderContext<'_>, parts: &ScreenParts, buffer: &mut Buffer) {
    put_lines(buffer, parts.header, &parts.lines);
    let Some(page) = ctx.model.rollout() else { return };
    if let Some(open) = &page.node_page {
        return node_page::draw(ctx, parts, page, open, buffer);
    }
    match &page.screen {
        RolloutScreen::Timeline(timeline) => timeline::draw(ctx, parts, page, timeline, buffer),
        RolloutScreen::Revisions(screen) => revisions::draw(ctx, parts, page, screen, buffer),
        RolloutScreen::Prewarm(screen) => prewarm::draw(ctx, parts, page, screen, buffer),
        RolloutScreen::Nodes if page.map.is_open => node_map::draw(ctx, parts, page, buffer),
        RolloutScreen::Nodes => draw_nodes(ctx, parts, page, buffer),
    }
}

/// Draws the list of nodes, and beside it, if there is room, the map and a node.
fn draw_nodes(ctx: &RenderContext<'_>, parts: &ScreenParts, page: &RolloutPage, buffer: &mut Buffer) {
    node_list::draw(ctx, parts, page, buffer);
    if let Some(side) = parts.side {
        let inside = node::open_side(ctx, side, buffer);
        // If both do not fit, a selected node has precedence over the map.
        match inside.height < MAP_AND_NODE && page.nodes.is_selected() {
            true => node::draw_current(ctx, inside, buffer),
            false => node_map::draw_beside(ctx, page, inside, buffer),
        }
    }
}

/// Draws one sentence on a terminal that is too small for a list.
pub(super) fn sentence(ctx: &RenderContext<'_>, area: Rect, buffer: &mut Buffer) {
    let model = ctx.model;
    let mut text = match (&model.page, model.rollout()) {
        (Page::Rollout(target), Some(page)) => match page.snapshot() {
            Some(snapshot) if snapshot.phase != Phase::Loading => {
                let (counts, budget) = (&snapshot.counts, &snapshot.budget);
                format!(
                    "{} {} {}/{} down {}/{}.",
                    target.name, snapshot.phase, counts.updated, counts.nodes, budget.charged, budget.max_unavailable
                )
            }
            Some(_) | None => format!("{}: loading.", target.name),
        },
        _ => format!("{} DaemonSets.", model.fleet.as_ref().map_or(0, |page| page.fleet.rows.len())),
    };
    text.push_str(match model.asks_to_quit() {
        true => " You drive: q again quits, esc stays.",
        false => " Enlarge to 40x10; q quits.",
    });
    if let Some(status) = &model.status {
        text.push(' ');
        text.push_str(&status.text);
    }
    for (line, y) in wrap(&text, usize::from(area.width)).zip(area.y..area.bottom()) {
        put(buffer, area.x, y, &line, usize::from(area.width), Style::default());
    }
}
