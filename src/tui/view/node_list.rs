//! The list of nodes: one row a node, in two parts.
//!
//! ```text
//! ─ trouble 1 · moving 1 ─────────────────────────────────────────────────────────
//!    NODE       STATE       WHY                              REV IMG POD   RST FOR
//!  ✗ ipc-017    failed      image not found                   15 ✗   7x2kq   0  3m
//! >◐ ipc-018    pulling                                       15 ↓   m2xzp   0 20s
//! ─ waiting 79 · updated 38 ──────────────────────────────────────────────────────
//!  ▾ next in line: 22 nodes · budget: 2 of 2 taken
//!  · ipc-020    outdated    budget: 2 of 2 taken              14 ■   k8d2v   0  2d
//!  ▸ partition keeps 60: 57 nodes · ipc-053 ipc-054 …
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::table::{Table, select};
use super::{RenderContext, ScreenParts, knows_no_node, put, put_rule, shows_nodes, why};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::hold::Hold;
use crate::engine::model::presence::Presence;
use crate::engine::model::quantity::counted;
use crate::engine::report::snapshot::pull_words::PullEstimate;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};
use crate::tui::action::{ActionId, key_of};
use crate::tui::columns::nodes::{NodeCell, NodeColumn, NodeTable, Sort, sign};
use crate::tui::columns::{MARGIN, needed, widths};
use crate::tui::model::{COARSE_MILLIS, RolloutPage, ShownSnapshot};
use crate::tui::node_list::{GroupKey, NodeGroup, NodeRow, PartCounts};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, width};

/// Draws the rule above the list, the list, and the rule between its parts.
pub(super) fn draw(ctx: &RenderContext<'_>, parts: &ScreenParts, page: &RolloutPage, buffer: &mut Buffer) {
    let Some(shown) = page.shown() else {
        put_rule(ctx, buffer, parts.rule, "");
        return;
    };
    if page.frozen.is_none() {
        ctx.wake_at(page.nodes.expires_at());
    }
    if page.filter.tells_time() {
        // Other nodes may pass the filter by then.
        let now = ctx.model.now;
        ctx.wake_at(shown.reading().reaches(now, shown.coarse_clock(now), COARSE_MILLIS));
    }
    let cells = usize::from(parts.list.width);
    let summary = &page.summary.table;
    let columns = ctx.model.node_columns.as_slice();
    let table = Table { columns, widths: widths(columns, summary, cells) };
    let heading = |column: &NodeColumn, cells| summary.heading(column, cells);
    if !knows_no_node(page) {
        table.draw_header(ctx, parts.list, Some(page.sort.name()), heading, buffer);
    }
    let rows = parts.rows();
    let pinned_lines = u16::try_from(page.nodes.pinned_lines()).unwrap_or(u16::MAX).min(rows.height);
    let divider = Rect { y: rows.y + pinned_lines, height: u16::from(pinned_lines > 0), ..rows }.intersection(rows);
    let rest = Rect { y: divider.bottom(), height: rows.bottom() - divider.bottom(), ..rows };
    let (words, below) = (about_list(ctx, page, usize::from(rest.height)), counts_of_rest(ctx, page));
    let frozen = frozen_since(ctx, page);
    match pinned_lines {
        0 => put_rule(ctx, buffer, parts.rule, &joined(ctx, [frozen, below, words])),
        _ => {
            let pinned = counts_of_pinned(ctx, page, usize::from(pinned_lines));
            put_rule(ctx, buffer, parts.rule, &joined(ctx, [frozen.clone(), pinned]));
            put_rule(ctx, buffer, divider, &joined(ctx, [frozen, below, words]));
        }
    }
    // Rows that are no longer observed are grey: their state is the last known one, and may have changed.
    let is_stale = snapshot_is_stale(&shown.snapshot);
    let loud = |role: ThemeRole| if is_stale { ThemeRole::Muted } else { role };
    let draw_row = |buffer: &mut Buffer, (at, row): (usize, NodeRow), area: Rect| {
        match row {
            NodeRow::Node(index) => {
                let Some(node) = shown.snapshot.nodes.get(index as usize) else { return };
                let (glyph, role) = sign(node);
                table.draw_row(
                    ctx,
                    area,
                    (glyph, loud(role)),
                    (node, summary),
                    |cell| text(ctx, shown, node, cell),
                    buffer,
                );
                table.mark_hits(area, &page.filter, buffer);
            }
            NodeRow::Group(group) => {
                let Some(group) = page.nodes.group(group) else { return };
                draw_group(ctx, shown, (group, summary), (area, loud(ThemeRole::Text)), buffer);
            }
        }
        if page.nodes.current() == Some(at) {
            select(ctx, area, buffer);
        }
        let node = match row {
            NodeRow::Node(index) => shown.snapshot.nodes.get(index as usize),
            NodeRow::Group(_) => None,
        };
        if node.is_some_and(|node| page.marked.contains(&node.name)) {
            // The mark stands behind the sign, because the cursor stands before it.
            put(buffer, area.x + 2, area.y, ctx.glyph(Glyph::Marked), 1, ctx.style(ThemeRole::Key));
        }
    };
    let (pinned, others) = page.nodes.visible();
    for (row, y) in pinned.zip(rows.y..divider.y) {
        draw_row(buffer, row, Rect { y, height: 1, ..rows });
    }
    for (row, y) in others.zip(rest.y..rest.bottom()) {
        draw_row(buffer, row, Rect { y, height: 1, ..rows });
    }
    if page.nodes.len() == 0 && rest.height > 0 {
        let room = usize::from(rest.width).saturating_sub(4);
        put(buffer, rest.x + 3, rest.y, &empty_list(page), room, ctx.style(ThemeRole::Muted));
    }
}

/// Whether the rows are no longer observed: the watch of Pods, or that of nodes, is down or unreliable.
fn snapshot_is_stale(snapshot: &Snapshot) -> bool {
    snapshot.watches.iter().any(|watch| {
        let shown = matches!(watch.watched, Watched::Pods | Watched::Nodes);
        shown && matches!(watch.health, WatchHealth::Down { .. } | WatchHealth::Lagging { .. })
    })
}

/// The number of these cells that the list can use.
pub(super) fn needed_cells(columns: &[NodeColumn], page: &RolloutPage, cells: u16) -> u16 {
    u16::try_from(needed(columns, &page.summary.table, usize::from(cells))).unwrap_or(cells)
}

/// The reasons for the selected node's state, if its row is too narrow for them; with the key that shows more, if this line
/// is too narrow too.
pub(super) fn why_in_full(ctx: &RenderContext<'_>, list: Rect, cells: usize) -> Option<String> {
    let page = ctx.model.rollout().filter(|page| shows_nodes(page))?;
    let (shown, node) = (page.shown()?, page.current()?);
    let columns = ctx.model.node_columns.as_slice();
    let widths = widths(columns, &page.summary.table, usize::from(list.width));
    let room = columns.iter().zip(&widths).find(|(column, _)| column.name == "why").map_or(0, |(_, cells)| *cells);
    let why = Why { node, at: why::instant(ctx, shown, node) }.to_string();
    if width(&why) <= room {
        return None;
    }
    if width(&why) <= cells {
        return Some(why);
    }
    let tail = format!(" ({}: all)", key_of(ctx.model, ActionId::Open.action()));
    Some(format!("{}{tail}", fit(&why, cells.saturating_sub(width(&tail)))))
}

/// The heading of a group: the reason for its nodes' state, their number, and in a folded group the first of them.
fn draw_group(
    ctx: &RenderContext<'_>,
    shown: &ShownSnapshot,
    (group, table): (&NodeGroup, &NodeTable),
    (area, role): (Rect, ThemeRole),
    buffer: &mut Buffer,
) {
    let nodes = group.nodes.iter().filter_map(|index| shown.snapshot.nodes.get(*index as usize));
    let Some(first) = nodes.clone().next() else { return };
    let glyph = if group.is_open { Glyph::Unfolded } else { Glyph::Folded };
    put(buffer, area.x + 1, area.y, ctx.glyph(glyph), 1, ctx.style(role));
    let number = counted(group.nodes.len(), "node");
    let heading = format!("{}: {number}", group_words(group.key, first));
    let room = usize::from(area.width).saturating_sub(MARGIN + 1);
    let x = area.x + u16::try_from(MARGIN).unwrap_or(0);
    put(buffer, x, area.y, &heading, room, ctx.style(role));
    let used = width(&fit(&heading, room)) + 2;
    let rest = match (group.key, &first.hold) {
        // The heading already tells this.
        (GroupKey::InLine, Some(Hold::Next)) => String::new(),
        (GroupKey::InLine, Some(hold)) => hold.to_string(),
        _ if group.is_open => String::new(),
        _ => {
            let names: Vec<&str> = nodes.map(|node| table.short(&node.name)).collect();
            match names[..] {
                // A new node among many changes only the number.
                [first, .., last] if names.len() > 3 => format!("{first} … {last}"),
                _ => names.join(" "),
            }
        }
    };
    if used + 4 < room {
        put(buffer, x + used as u16, area.y, &rest, room - used, ctx.style(ThemeRole::Muted));
    }
}

fn group_words(key: GroupKey, first: &NodeView) -> String {
    match (key, &first.hold) {
        (GroupKey::InLine, _) => "next in line".to_owned(),
        (GroupKey::Held(_), Some(hold)) => hold.in_common(),
        (GroupKey::Held(_) | GroupKey::Outdated, _) => "outdated".to_owned(),
        (GroupKey::NotReady, _) => "pod not ready, not by the rollout".to_owned(),
        (GroupKey::Down, _) => "node down, not by the rollout".to_owned(),
        (GroupKey::Updated, _) => "updated".to_owned(),
        (GroupKey::Unknown, _) => "not known".to_owned(),
        (GroupKey::Ineligible, _) => "not eligible".to_owned(),
    }
}

/// The words that are not empty, with a dot between them.
fn joined<const N: usize>(ctx: &RenderContext<'_>, words: [String; N]) -> String {
    let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
    words.join(&format!(" {} ", ctx.glyph(Glyph::Dot)))
}

fn counts_in_words(ctx: &RenderContext<'_>, counts: &[(&str, usize)]) -> String {
    let some = counts.iter().filter(|(_, nodes)| *nodes > 0);
    some.map(|(name, nodes)| format!("{name} {nodes}"))
        .collect::<Vec<_>>()
        .join(&format!(" {} ", ctx.glyph(Glyph::Dot)))
}

/// The counts of the pinned part, and the number of its hidden rows.
fn counts_of_pinned(ctx: &RenderContext<'_>, page: &RolloutPage, lines: usize) -> String {
    let PartCounts { trouble, not_ready, down, moving, just_done, kept, .. } = page.nodes.counts();
    // The rows in trouble are the first.
    let in_sight = usize::from(page.nodes.keeps_the_worst());
    let above = match trouble.saturating_sub(in_sight).min(page.nodes.hidden_above()) {
        0 => String::new(),
        hidden if in_sight > 0 => format!("{hidden} more in trouble"),
        hidden => format!("{hidden} in trouble above"),
    };
    let words = match page.nodes.pinned() {
        0 => "nothing in trouble, nothing moves".to_owned(),
        _ => counts_in_words(
            ctx,
            &[
                ("trouble", trouble),
                ("pods not ready", not_ready),
                ("nodes down", down),
                ("moving", moving),
                ("just updated", just_done),
                ("kept by the cursor", kept),
            ],
        ),
    };
    let pinned = page.nodes.pinned();
    // The end may be cut off.
    joined(ctx, [above, if pinned > lines { format!("{lines} of {pinned} shown") } else { String::new() }, words])
}

/// The counts of the part below the pinned one; empty if the list is flat.
fn counts_of_rest(ctx: &RenderContext<'_>, page: &RolloutPage) -> String {
    let PartCounts { waiting, updated, unknown, ineligible, .. } = page.nodes.counts();
    let rest = [("waiting", waiting), ("updated", updated), ("not known", unknown), ("not eligible", ineligible)];
    counts_in_words(ctx, &rest)
}

/// The visible rows of the rest if not all are visible, and the filter.
fn about_list(ctx: &RenderContext<'_>, page: &RolloutPage, height: usize) -> String {
    let (top, len) = (page.nodes.top(), page.nodes.len() - page.nodes.pinned());
    let shown = (len - top.min(len)).min(height);
    let all = page.shown_nodes().len();
    let dot = ctx.glyph(Glyph::Dot);
    let is_flat = page.nodes.counts() == PartCounts::default();
    let mut words = match len {
        _ if !is_flat && shown == len => String::new(),
        // Headings of groups stand among the nodes, and are none. Those of closed groups are all that is seen of their nodes.
        _ if !is_flat => {
            let nodes = |rows: usize| rows - page.nodes.headings(rows);
            let PartCounts { waiting, updated, unknown, ineligible, .. } = page.nodes.counts();
            match nodes(len) == waiting + updated + unknown + ineligible && nodes(len) < len {
                true => format!("nodes {}-{} of {}", nodes(top) + 1, nodes(top + shown), nodes(len)),
                false => format!("rows {}-{} of {len}", top + 1, top + shown),
            }
        }
        0 => format!("0 of {all}"),
        _ => format!("{}-{} of {len}", top + 1, top + shown),
    };
    if !page.filter.is_all() {
        // The number of passing rows stands before texts of any length.
        let seen = if shown < len { format!(", {}-{} shown", top + 1, top + shown) } else { String::new() };
        words = joined(ctx, [format!("{len} of {all} pass{seen}"), page.hidden.to_string()]);
        words.push_str(&format!(" {dot} filter {} (esc clears)", page.filter.text()));
    }
    if let Sort::By(column) = page.sort {
        words.push_str(&format!(" {dot} sorted by {}", column.name));
    }
    words
}

/// Tells that the list is frozen, for how long, and the key that ends the freeze; empty while the list is live.
pub(super) fn frozen_since(ctx: &RenderContext<'_>, page: &RolloutPage) -> String {
    let (Some(frozen), Some(live)) = (&page.frozen, &page.live) else { return String::new() };
    let key = key_of(ctx.model, ActionId::Freeze.action());
    format!("FROZEN {} ({key}: live)", ctx.age(live, frozen.snapshot.at))
}

fn empty_list(page: &RolloutPage) -> String {
    let Some(snapshot) = page.shown().map(|shown| &shown.snapshot) else { return String::new() };
    match (snapshot.daemonset, page.filter.is_all(), &snapshot.phase) {
        (Presence::Absent, ..) => String::new(),
        (Presence::Loading, ..) | (_, _, Phase::Loading) => match snapshot.counts.nodes {
            0 => "loading …".to_owned(),
            nodes => format!("loading … {} so far", counted(nodes as usize, "node")),
        },
        (Presence::Present, false, _) => "no node passes the filter: esc clears it".to_owned(),
        (Presence::Present, true, _) => "no node should run this DaemonSet's pods".to_owned(),
    }
}

/// The content of a cell, as text.
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
        NodeCell::Why => Why { node, at: why::instant(ctx, shown, node) }.with_message(),
    }
}
