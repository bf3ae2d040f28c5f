//! All DaemonSets, worst first.
//!
//! ```text
//!  prod-eu   all namespaces · 14 daemonsets · live                  READ-ONLY  rolldeck
//! ─ 1-5 of 14 ────────────────────────────────────────────────────────────────────
//!    NAMESPACE  DAEMONSET     DES UPD AVL  STRATEGY        STATE           DRIVEN BY
//!  ✗ edge       ipc-agent     120  38 115  OnDelete (ours) halted: 1 f…    you
//!  ◐ kube-sys…  cilium        120  97 119  RollingUpdate 1 rolling out     controller
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Parts, RenderContext, header, put, put_lines, put_rule};
use crate::driver::{DrivenBy, FleetRow};
use crate::engine::model::event::WatchHealth;
use crate::engine::rules::fleet_state::FleetState;
use crate::tui::model::FleetPage;
use crate::tui::theme::{Glyph, Role};
use crate::tui::words::{count, fit, fit_middle, width};

/// The lines above the list.
pub(super) fn header(ctx: &RenderContext<'_>, cells: u16) -> Vec<Line<'static>> {
    let Some(page) = &ctx.model.fleet else { return Vec::new() };
    let cells = usize::from(cells);
    let dot = ctx.glyph(Glyph::Dot);
    let health = match &page.fleet.health {
        WatchHealth::Loading => ("loading", Role::Warn),
        WatchHealth::Live => ("live", Role::Live),
        WatchHealth::Down { .. } | WatchHealth::Lagging { .. } => ("STALE", Role::Stale),
        WatchHealth::Forbidden { .. } => ("n/a (forbidden)", Role::Bad),
    };
    let access = header::access(ctx);
    let brand = if cells >= 80 { "  rolldeck " } else { " " };
    let right_cells = width(&access.content) + width(brand);
    let tail = format!(" {dot} {}", health.0);
    let room = cells.saturating_sub(right_cells + width(&tail) + 4);
    let scope = match &page.namespace {
        Some(namespace) => format!("namespace {namespace}"),
        None => "all namespaces".to_owned(),
    };
    let number = count(u32::try_from(page.fleet.rows.len()).unwrap_or(u32::MAX), "daemonset");
    let full = format!("{}   {scope} {dot} {number}", ctx.model.context);
    let left = if width(&full) <= room { full } else { fit_middle(&ctx.model.context, room).into_owned() };
    let gap = cells.saturating_sub(1 + width(&left) + width(&tail) + right_cells);
    let mut lines = vec![Line::from(vec![
        Span::raw(" "),
        ctx.span(left, Role::Title),
        ctx.span(format!(" {dot} "), Role::Muted),
        ctx.span(health.0, health.1),
        Span::raw(" ".repeat(gap)),
        access,
        ctx.span(brand, Role::Brand),
    ])];
    match &page.fleet.health {
        WatchHealth::Forbidden { why } => {
            let text = format!(" DaemonSets: n/a (forbidden): {why}");
            lines.push(Line::from(ctx.span(fit(&text, cells), Role::Bad)));
            let way_out = " one namespace: :fleet NAME   one DaemonSet: :ds NAMESPACE/NAME";
            lines.push(Line::from(ctx.span(fit(way_out, cells), Role::Text)));
        }
        WatchHealth::Down { why, .. } | WatchHealth::Lagging { why, .. } => {
            let text = format!(" not seen, trying again: {why}");
            lines.push(Line::from(ctx.span(fit(&text, cells), Role::Warn)));
        }
        WatchHealth::Loading | WatchHealth::Live => {}
    }
    if let WatchHealth::Forbidden { why } = &page.fleet.leases {
        let text = format!(" leases: n/a (forbidden), so who drives is not known: {why}");
        lines.push(Line::from(ctx.span(fit(&text, cells), Role::Warn)));
    }
    lines
}

/// Draws header and list.
pub(super) fn draw(ctx: &RenderContext<'_>, parts: &Parts, buffer: &mut Buffer) {
    put_lines(buffer, parts.header, &parts.lines);
    let Some(page) = &ctx.model.fleet else { return };
    let rows = parts.rows();
    let (top, len) = (page.list.top(), page.rows.len());
    let shown = (len - top.min(len)).min(usize::from(rows.height));
    let mut words = if len == 0 { String::new() } else { format!("{}-{} of {len}", top + 1, top + shown) };
    if !page.filter.is_all() {
        words = format!(
            "{len} of {} {} filter {} (esc clears)",
            page.fleet.rows.len(),
            ctx.glyph(Glyph::Dot),
            page.filter.text()
        );
    }
    put_rule(ctx, buffer, parts.rule, &words);
    let columns = Columns::of(page, parts.list.width);
    if parts.list.height > 1 {
        let mut x = parts.list.x + 3;
        for (cells, head) in columns.widths.into_iter().zip(HEADS).filter(|(cells, _)| *cells > 0) {
            // The numbers' heads stand over their last digits.
            let indent = if head.len() == 3 { cells - 3 } else { 0 };
            let at = x + u16::try_from(indent).unwrap_or(0);
            put(buffer, at, parts.list.y, head, cells - indent, ctx.style(Role::Column));
            x += u16::try_from(cells + 1).unwrap_or(u16::MAX);
        }
    }
    for (row, y) in (top..len).zip(rows.y..rows.bottom()) {
        if let Some(entry) = page.rows.get(row).and_then(|index| page.fleet.rows.get(*index)) {
            let area = Rect { y, height: 1, ..rows };
            draw_row(ctx, area, &columns, entry, buffer);
            if page.list.cursor() == Some(row) {
                put(buffer, area.x, y, ctx.glyph(Glyph::Cursor), 1, Style::default());
                buffer.set_style(area, ctx.style(Role::Selection));
            }
        }
    }
    if len == 0 && rows.height > 0 {
        let text = match (&page.fleet.health, page.filter.is_all()) {
            (WatchHealth::Loading, _) => "loading …",
            (WatchHealth::Live, true) => "there are no DaemonSets here",
            (WatchHealth::Live, false) => "no DaemonSet passes the filter: esc clears it",
            _ => "",
        };
        put(buffer, rows.x + 3, rows.y, text, usize::from(rows.width).saturating_sub(4), ctx.style(Role::Muted));
    }
}

const HEADS: [&str; 8] = ["NAMESPACE", "DAEMONSET", "DES", "UPD", "AVL", "STRATEGY", "STATE", "DRIVEN BY"];

struct Columns {
    widths: [usize; 8],
}

impl Columns {
    /// Name and state always; then the numbers, the namespace, who drives, the strategy.
    fn of(page: &FleetPage, cells: u16) -> Self {
        let cells = usize::from(cells).saturating_sub(3);
        let longest =
            |text: fn(&FleetRow) -> &str| page.fleet.rows.iter().map(|row| width(text(row))).max().unwrap_or(0);
        let name = longest(|row| &row.name).clamp(9, (cells / 4).max(9));
        let mut widths = [0, name, 0, 0, 0, 0, 0, 0];
        let mut free = cells.saturating_sub(name + 1);
        let mut take = |column: usize, wanted: usize, keep: usize| {
            if free >= wanted + 1 + keep {
                widths[column] = wanted;
                free -= wanted + 1;
            }
        };
        let counters = page.fleet.rows.iter().map(|row| &row.counters);
        let most = counters.map(|counters| counters.desired.max(counters.updated)).max().unwrap_or(0);
        for number in [2, 3, 4] {
            take(number, most.to_string().len().max(3), 12);
        }
        take(0, longest(|row| &row.namespace).clamp(9, (cells / 7).max(9)), 16);
        take(7, if cells > 100 { 24 } else { 10 }, 16);
        take(5, if cells > 100 { 20 } else { 15 }, 11);
        widths[6] = free.saturating_sub(1);
        Self { widths }
    }
}

fn draw_row(ctx: &RenderContext<'_>, area: Rect, columns: &Columns, row: &FleetRow, buffer: &mut Buffer) {
    let (glyph, role) = match &row.state {
        FleetState::Halted(_) => (Glyph::Failed, Role::Bad),
        FleetState::Degraded(_) | FleetState::Misscheduled(_) => (Glyph::Down, Role::Warn),
        FleetState::Paused(_) => (Glyph::Paused, Role::Warn),
        FleetState::Rolling => (Glyph::Moving, Role::Busy),
        FleetState::Held | FleetState::Adopted => (Glyph::Outdated, Role::Text),
        FleetState::UpToDate => (Glyph::Updated, Role::Ok),
    };
    put(buffer, area.x + 1, area.y, ctx.glyph(glyph), 1, ctx.style(role));
    let counters = &row.counters;
    let plain = |text: String| (text, Role::Text);
    let driver = if row.driven_by == DrivenBy::You { Role::Live } else { Role::Text };
    let number = |column: usize, number: u32| format!("{number:>0$}", columns.widths[column]);
    let cells = [
        plain(row.namespace.to_string()),
        (row.name.to_string(), Role::Title),
        plain(number(2, counters.desired)),
        plain(number(3, counters.updated)),
        (number(4, counters.available), if counters.available < counters.desired { Role::Warn } else { Role::Text }),
        plain(row.strategy.clone()),
        (row.state.to_string(), role),
        (row.driven_by.to_string(), driver),
    ];
    let mut x = area.x + 3;
    for ((text, role), cells) in cells.into_iter().zip(columns.widths).filter(|(_, cells)| *cells > 0) {
        // Names differ at their ends, sentences at their beginnings.
        let text = if role == Role::Title { fit_middle(&text, cells) } else { fit(&text, cells) };
        put(buffer, x, area.y, &text, cells, ctx.style(role));
        x += u16::try_from(cells + 1).unwrap_or(u16::MAX);
    }
}
