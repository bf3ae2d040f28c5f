//! The map: one cell a node, one block a site; below it the selected node, and the progress of each site.
//!
//! ```text
//! ─ map of 120 nodes by topology.kubernetes.io/zone · esc: nodes ─────────────────
//!  munich 22/30 ✗1            hamburg 3/30
//!  ✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✓✗·   ✓✓✓◐◐············
//! ─ ipc-017 · munich ─────────────────────────────────────────────────────────────
//!  ✗ failed for 3m: image not found
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{RenderContext, ScreenParts, node, node_list, put, put_line, put_lines, put_rule, why};
use crate::engine::model::quantity::counted;
use crate::engine::model::site::site_name;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Phase};
use crate::tui::action::{ActionId, key_of};
use crate::tui::columns::nodes::sign;
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::node_map::layout::MapLayout;
use crate::tui::node_map::{MapArea, MapSite, SiteCounts, worst};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, width};

/// The number of rows below the map about the selected node, the rule above them included.
const ABOUT: u16 = 3;
/// The same with a side pane, which tells its state: the rule names it, and the nodes that share its cell.
const NAMED: u16 = 1;
/// A site's name is cut down to this many cells before the numbers beside it are shortened.
const LONG_NAME: usize = 10;
/// The most cells of a site's bar.
const BAR: usize = 30;

/// The room for the cells on this screen.
pub(super) fn room(parts: &ScreenParts, screen: Rect) -> MapArea {
    let area = cells_area(parts);
    let steady_height = steady_height(screen, parts.list).saturating_sub(parts.list.height - area.height);
    MapArea { steady_height: usize::from(steady_height), ..MapArea::of(area.width, area.height) }
}

/// The height that the list keeps when the header has as many lines as in a rollout with trouble; more than that are rare. What is not counted of the screen
/// are these lines, the rule below them and the footer.
fn steady_height(screen: Rect, list: Rect) -> u16 {
    let others = match screen.height {
        ..16 => 5,
        16..32 => 9,
        32.. => 10,
    };
    list.height.min(screen.height.saturating_sub(others))
}

/// The part of the screen for the cells.
fn cells_area(parts: &ScreenParts) -> Rect {
    let about = if parts.side.is_some() { NAMED } else { ABOUT };
    let height = parts.list.height.saturating_sub(if parts.list.height > 2 * ABOUT { about } else { 0 });
    Rect { x: parts.list.x + 1, width: parts.list.width.saturating_sub(2), height, ..parts.list }
}

/// Draws the map in place of the list.
pub(super) fn draw(ctx: &RenderContext<'_>, parts: &ScreenParts, page: &RolloutPage, buffer: &mut Buffer) {
    let Some(shown) = page.shown() else {
        put_rule(ctx, buffer, parts.rule, "");
        return;
    };
    let area = cells_area(parts);
    let layout = page.map.layout(room(parts, buffer.area));
    put_rule(ctx, buffer, parts.rule, &heading(ctx, page, shown, &layout, usize::from(area.height)));
    draw_cells(ctx, page, shown, &layout, page.map.top, area, buffer);
    let below = Rect { y: area.bottom(), height: parts.list.bottom() - area.bottom(), ..parts.list };
    draw_about(ctx, page, shown, &layout, below, buffer);
    if let Some(side) = parts.side {
        let side = node::open_side(ctx, side, buffer);
        // By the height of the screen, so that a line more or less above moves bars and node as one, with the map: the terminal moves rows cheaply.
        let most = (buffer.area.height * 2 / 5).min(side.height / 2);
        let bars = bars(ctx, page, shown, usize::from(side.width), usize::from(most));
        let below = u16::try_from(bars.len()).unwrap_or(u16::MAX).saturating_add(1);
        put_lines(buffer, side, &bars);
        let rest = Rect { y: side.y + below, height: side.height.saturating_sub(below), ..side }.intersection(side);
        node::draw_current(ctx, rest, buffer);
    }
}

/// Draws the map, the progress of each site, and the node of the current row, one below the other: the side pane of a wide screen.
pub(super) fn draw_beside(ctx: &RenderContext<'_>, page: &RolloutPage, area: Rect, buffer: &mut Buffer) {
    let Some(shown) = page.shown() else { return };
    // The map gets two fifths at most and the bars a fifth, so that the node keeps its lines.
    let steady = steady_height(buffer.area, area);
    let most = steady * 2 / 5;
    let layout = page.map.layout(MapArea::of(area.width, most));
    let height = u16::try_from(layout.height).unwrap_or(u16::MAX).min(most);
    let map = Rect { height, ..area };
    let row =
        current(page).and_then(|(site, place)| Some(layout.blocks.get(site)?.position(place / layout.per_cell).1));
    let top = layout.scrolled(0, row, usize::from(height));
    draw_cells(ctx, page, shown, &layout, top, map, buffer);
    let below_map = Rect { y: map.bottom(), height: 1, ..area }.intersection(area);
    put_lines(buffer, below_map, &[more_of_the_map(ctx, &layout, top, usize::from(height))]);
    let bars = bars(ctx, page, shown, usize::from(area.width), usize::from(steady / 5));
    let rest = Rect { y: map.bottom() + 1, height: area.bottom().saturating_sub(map.bottom() + 1), ..area };
    put_lines(buffer, rest, &bars);
    let taken = u16::try_from(bars.len()).unwrap_or(u16::MAX);
    let rule = Rect { y: rest.y.saturating_add(taken), height: 1, ..rest }.intersection(rest);
    put_rule(ctx, buffer, rule, "");
    let node = Rect { y: rule.bottom(), height: rest.bottom().saturating_sub(rule.bottom()), ..rest };
    node::draw_current(ctx, node.intersection(rest), buffer);
}

/// Which lines of a map beside the list are visible, and the key that shows them all; empty if all are visible.
fn more_of_the_map(ctx: &RenderContext<'_>, layout: &MapLayout, top: usize, height: usize) -> Line<'static> {
    if layout.height <= height {
        return Line::default();
    }
    let (first, last) = (top + 1, (top + height).min(layout.height));
    let key = key_of(ctx.model, ActionId::Map.action());
    let words = format!("lines {first}-{last} of {} {} {key}: whole map", layout.height, ctx.glyph(Glyph::Dot));
    Line::from(ctx.span(words, ThemeRole::Muted))
}

/// The place of the current row's node: its site, and its place in the site.
fn current(page: &RolloutPage) -> Option<(usize, usize)> {
    page.map.place_of(&page.current()?.name)
}

fn heading(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    layout: &MapLayout,
    height: usize,
) -> String {
    let dot = ctx.glyph(Glyph::Dot);
    let nodes = counted(shown.snapshot.nodes.len(), "node");
    let label = page.map.label().unwrap_or_else(|| shown.snapshot.site_label.key());
    let mut words = match shown.snapshot.phase {
        Phase::Loading => format!("map of {nodes} so far by {label}"),
        _ => format!("map of {nodes} by {label}"),
    };
    if layout.per_cell > 1 {
        words.push_str(&format!(" {dot} a cell is {}, the worst shows", layout.per_cell));
    }
    if layout.height > height {
        let (first, last) = (page.map.top + 1, (page.map.top + height).min(layout.height));
        words.push_str(&format!(" {dot} lines {first}-{last} of {}", layout.height));
    }
    if !page.filter.is_all() {
        words.push_str(&format!(" {dot} filter {}", page.filter.text()));
    }
    let frozen = node_list::frozen_since(ctx, page);
    if !frozen.is_empty() {
        // The freeze stands first, because the end of the text may be cut off.
        words = format!("{frozen} {dot} {words}");
    }
    format!("{words} {dot} esc: nodes")
}

/// The name of a site: its label's value, or a text for nodes without the label.
fn name_of<'a>(page: &RolloutPage, site: &'a MapSite) -> &'a str {
    match (&*site.name, page.map.sites().len()) {
        ("", 1) => "all nodes",
        (name, _) => site_name(name),
    }
}

fn draw_cells(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    layout: &MapLayout,
    top: usize,
    area: Rect,
    buffer: &mut Buffer,
) {
    let nodes = &shown.snapshot.nodes;
    let selected = current(page).map(|(site, place)| (site, place / layout.per_cell));
    let passing = page.passing();
    let seen = |y: usize| {
        let line = u16::try_from(y.checked_sub(top)?).ok().filter(|line| *line < area.height)?;
        Some(area.y + line)
    };
    for (site, (block, it)) in layout.blocks.iter().zip(page.map.sites()).enumerate() {
        let x = area.x + u16::try_from(block.x).unwrap_or(u16::MAX);
        if let Some(y) = seen(block.y) {
            let (name, counts) = (name_of(page, it), SiteCounts::of(&it.nodes, nodes));
            let (spans, cells) = match block.indent {
                0 => (title(ctx, name, counts, block.width), block.width),
                indent => (vec![short_title(ctx, name, counts, indent - 1)], indent),
            };
            put_line(buffer, x, y, &Line::from(spans), u16::try_from(cells).unwrap_or(u16::MAX));
        }
        // Only visible cells are computed.
        let first = top.saturating_sub(block.first_row()) * block.width;
        for cell in first..block.cells {
            let (x, y) = block.position(cell);
            let Some(y) = seen(y) else { if y >= top { break } else { continue } };
            let x = area.x + u16::try_from(x).unwrap_or(u16::MAX);
            let indices = page.map.cell(layout, site, cell);
            let worst = match &passing {
                None => worst(indices, nodes),
                Some(passing) => {
                    let shown: Vec<u32> = indices.iter().copied().filter(|index| passing.contains(index)).collect();
                    worst(&shown, nodes)
                }
            };
            let (glyph, role) = match worst {
                Some(node) => sign(node),
                None => (Glyph::Outdated, ThemeRole::Unavailable),
            };
            let text = if worst.is_some() { ctx.glyph(glyph) } else { " " };
            put(buffer, x, y, text, 1, ctx.style(role));
            if selected == Some((site, cell)) {
                buffer.set_style(Rect { x, y, width: 1, height: 1 }, ctx.style(ThemeRole::Selection));
            }
        }
    }
}

/// The name of a block, the number of its updated nodes, and its problems.
fn title(ctx: &RenderContext<'_>, name: &str, counts: SiteCounts, cells: usize) -> Vec<Span<'static>> {
    let numbers = format!("{}/{}", counts.updated, counts.nodes);
    let signs = [
        (Glyph::Failed, counts.failed, ThemeRole::Bad),
        (Glyph::Suspect, counts.trouble - counts.failed, ThemeRole::Bad),
        (Glyph::Down, counts.down, ThemeRole::Warn),
        (Glyph::Struggling, counts.struggling, ThemeRole::Warn),
        (Glyph::Moving, counts.moving - counts.struggling, ThemeRole::Busy),
    ];
    let signs: Vec<(String, ThemeRole)> = signs
        .into_iter()
        .filter(|(_, nodes, _)| *nodes > 0)
        .map(|(glyph, nodes, role)| (format!(" {}{nodes}", ctx.glyph(glyph)), role))
        .collect();
    let said = signs.iter().map(|(text, _)| width(text)).sum::<usize>();
    let room = |numbers: &str| cells.saturating_sub(width(numbers) + 1 + said);
    // A sign takes the place of the total before a short name is cut. A long name is cut in its middle: names differ at their ends.
    let short = format!("{}/…", counts.updated);
    let least = if width(name) < LONG_NAME { width(name) } else { LONG_NAME };
    let numbers = if room(&numbers) < least { short } else { numbers };
    let name = fit_middle(name, room(&numbers).max(4)).into_owned();
    let mut spans = vec![
        ctx.span(name, ThemeRole::Title),
        Span::raw(" "),
        ctx.span(numbers, if counts.updated == counts.nodes { ThemeRole::Ok } else { ThemeRole::Title }),
    ];
    spans.extend(signs.into_iter().map(|(text, role)| ctx.span(text, role)));
    spans
}

/// The name of a block if nothing else fits: its colour shows the state of the nodes.
fn short_title(ctx: &RenderContext<'_>, name: &str, counts: SiteCounts, cells: usize) -> Span<'static> {
    let role = match counts {
        SiteCounts { trouble: 1.., .. } => ThemeRole::Bad,
        SiteCounts { down: 1.., .. } => ThemeRole::Warn,
        SiteCounts { moving: 1.., .. } => ThemeRole::Busy,
        SiteCounts { nodes, updated, .. } if nodes == updated => ThemeRole::Ok,
        SiteCounts { .. } => ThemeRole::Title,
    };
    ctx.span(fit(name, cells).into_owned(), role)
}

/// The selected node: its name, its site, its state, and the reason for it.
fn draw_about(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    layout: &MapLayout,
    area: Rect,
    buffer: &mut Buffer,
) {
    let rule = Rect { height: area.height.min(1), ..area };
    let Some(selected) = page.current() else {
        return put_rule(ctx, buffer, rule, "");
    };
    let dot = ctx.glyph(Glyph::Dot);
    let mut heading = selected.name.to_string();
    if let Some((site, place)) = current(page) {
        if let Some(site) = page.map.sites().get(site).filter(|_| page.map.sites().len() > 1) {
            heading.push_str(&format!(" {dot} {}", name_of(page, site)));
        }
        let indices = page.map.cell(layout, site, place / layout.per_cell);
        if let ([first, .., last], nodes) = (indices, &shown.snapshot.nodes) {
            let name = |index: &u32| nodes.get(*index as usize).map_or("", |node| &*node.name);
            heading.push_str(&format!(" {dot} one of {}: {} … {}", indices.len(), name(first), name(last)));
        }
    }
    put_rule(ctx, buffer, rule, &heading);
    let text = Rect { x: area.x + 1, y: rule.bottom(), width: area.width.saturating_sub(2), height: 1 };
    put_lines(buffer, text.intersection(area), &[standing(ctx, shown, selected)]);
}

/// A node's sign, its state, for how long, and why.
fn standing(ctx: &RenderContext<'_>, shown: &ShownSnapshot, node: &NodeView) -> Line<'static> {
    let (glyph, role) = sign(node);
    let since = node.shown_since().and_then(|since| ctx.lasted(shown, since));
    let since = since.map(|since| format!(" for {since}")).unwrap_or_default();
    let why = Why { node, at: why::instant(ctx, shown, node) }.to_string();
    let why = if why.is_empty() { why } else { format!(": {why}") };
    Line::from(vec![
        ctx.span(format!("{} {}", ctx.glyph(glyph), node.state_words()), role),
        Span::styled(since, Style::default()),
        ctx.span(why, ThemeRole::Text),
    ])
}

/// A bar for each site: the number of its updated nodes. At most `lines` bars; the sites with most left to do, and those in
/// trouble, are not left out. Empty if there is only one site.
fn bars(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    cells: usize,
    lines: usize,
) -> Vec<Line<'static>> {
    let sites = page.map.sites();
    if sites.len() < 2 || lines == 0 {
        return Vec::new();
    }
    let mut counted: Vec<(usize, SiteCounts)> =
        sites.iter().map(|site| SiteCounts::of(&site.nodes, &shown.snapshot.nodes)).enumerate().collect();
    let left_out = if counted.len() > lines { counted.len() - (lines - 1) } else { 0 };
    if left_out > 0 {
        counted.sort_by_key(|(at, counts)| {
            // Users look for the sites where something happens.
            let left = counts.nodes - counts.updated.min(counts.nodes);
            (counts.trouble == 0, counts.moving == 0, std::cmp::Reverse(left), *at)
        });
        counted.truncate(lines - 1);
        counted.sort_by_key(|(at, _)| *at);
    }
    let names = counted.iter().map(|(at, _)| width(name_of(page, &sites[*at]))).max().unwrap_or(0).min(cells / 3);
    let numbers = counted.iter().map(|(_, counts)| counts.nodes.to_string().len() * 2 + 1).max().unwrap_or(0);
    // A blank, the name, a blank, the bar, a blank, the numbers, and the troubles.
    let bar = cells.saturating_sub(names + numbers + 12).min(BAR);
    let line = |(at, counts): &(usize, SiteCounts)| {
        let name = fit(name_of(page, &sites[*at]), names).into_owned();
        let part = |nodes: u32| (nodes as usize * bar).checked_div(counts.nodes as usize).unwrap_or(0);
        let done = part(counts.updated).max(usize::from(counts.updated > 0));
        let moving = part(counts.moving).max(usize::from(counts.moving > 0)).min(bar.saturating_sub(done));
        let mut spans = vec![
            ctx.span(format!("{name}{:1$} ", "", names - width(&name)), ThemeRole::Text),
            ctx.span(ctx.glyph(Glyph::BarDone).repeat(done), ThemeRole::BarDone),
            ctx.span(ctx.glyph(Glyph::BarMoving).repeat(moving), ThemeRole::BarMoving),
            ctx.span(ctx.glyph(Glyph::BarRest).repeat(bar - done - moving), ThemeRole::BarRest),
            ctx.span(format!(" {:>numbers$}", format!("{}/{}", counts.updated, counts.nodes)), ThemeRole::Text),
        ];
        for (glyph, nodes) in [(Glyph::Failed, counts.failed), (Glyph::Suspect, counts.trouble - counts.failed)] {
            if nodes > 0 {
                spans.push(ctx.span(format!(" {}{nodes}", ctx.glyph(glyph)), ThemeRole::Bad));
            }
        }
        Line::from(spans)
    };
    let mut lines: Vec<Line<'static>> = counted.iter().map(line).collect();
    if left_out > 0 {
        lines.push(Line::from(ctx.span(format!("and {left_out} more sites"), ThemeRole::Muted)));
    }
    lines
}
