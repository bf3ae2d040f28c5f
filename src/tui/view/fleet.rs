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
use ratatui::text::{Line, Span};

use super::table::{Table, select};
use super::{RenderContext, ScreenParts, header, put, put_lines, put_rule};
use crate::engine::model::event::WatchHealth;
use crate::tui::columns::fleet::FLEET_COLUMNS;
use crate::tui::columns::fleet::sign;
use crate::tui::columns::widths;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{count, fit, fit_middle, width};

/// The lines above the list.
pub(super) fn header(ctx: &RenderContext<'_>, cells: u16) -> Vec<Line<'static>> {
    let Some(page) = &ctx.model.fleet else { return Vec::new() };
    let cells = usize::from(cells);
    let dot = ctx.glyph(Glyph::Dot);
    let health = match &page.fleet.health {
        WatchHealth::Loading => ("loading", ThemeRole::Warn),
        WatchHealth::Live => ("live", ThemeRole::Live),
        WatchHealth::Down { .. } | WatchHealth::Lagging { .. } => ("STALE", ThemeRole::Stale),
        WatchHealth::Forbidden { .. } => ("n/a (forbidden)", ThemeRole::Bad),
    };
    let access = header::access(ctx);
    let brand = if cells >= 80 { "  rolldeck " } else { " " };
    let warnings: Vec<Span<'static>> = header::warnings(ctx, cells)
        .into_iter()
        .flat_map(|span| [span, ctx.span(format!(" {dot} "), ThemeRole::Muted)])
        .collect();
    let warned: usize = warnings.iter().map(|span| width(&span.content)).sum();
    let right_cells = width(&access.content) + width(brand) + warned;
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
    let mut spans = vec![
        Span::raw(" "),
        ctx.span(left, ThemeRole::Title),
        ctx.span(format!(" {dot} "), ThemeRole::Muted),
        ctx.span(health.0, health.1),
        Span::raw(" ".repeat(gap)),
    ];
    spans.extend(warnings);
    spans.extend([access, ctx.span(brand, ThemeRole::Brand)]);
    let mut lines = vec![Line::from(spans)];
    match &page.fleet.health {
        WatchHealth::Forbidden { why } => {
            let text = format!(" DaemonSets: n/a (forbidden): {why}");
            lines.push(Line::from(ctx.span(fit(&text, cells), ThemeRole::Bad)));
            let remedy = " one namespace: :fleet NAME   one DaemonSet: :ds NAMESPACE/NAME";
            lines.push(Line::from(ctx.span(fit(remedy, cells), ThemeRole::Text)));
        }
        WatchHealth::Down { why, .. } | WatchHealth::Lagging { why, .. } => {
            let text = format!(" not seen, trying again: {why}");
            lines.push(Line::from(ctx.span(fit(&text, cells), ThemeRole::Warn)));
        }
        WatchHealth::Loading | WatchHealth::Live => {}
    }
    if let WatchHealth::Forbidden { why } = &page.fleet.leases {
        let text = format!(" leases: n/a (forbidden), so who drives is not known: {why}");
        lines.push(Line::from(ctx.span(fit(&text, cells), ThemeRole::Warn)));
    }
    lines
}

/// Draws header and list.
pub(super) fn draw(ctx: &RenderContext<'_>, parts: &ScreenParts, buffer: &mut Buffer) {
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
    let fleet = &*page.fleet;
    let is_stale = matches!(fleet.health, WatchHealth::Down { .. } | WatchHealth::Lagging { .. });
    let cells = usize::from(parts.list.width);
    let table = Table { columns: FLEET_COLUMNS, widths: widths(FLEET_COLUMNS, fleet, cells) };
    table.draw_header(ctx, parts.list, None, buffer);
    for (row, y) in (top..len).zip(rows.y..rows.bottom()) {
        if let Some(entry) = page.rows.get(row).and_then(|index| fleet.rows.get(*index)) {
            let area = Rect { y, height: 1, ..rows };
            let (glyph, role) = sign(entry);
            let role = if is_stale { ThemeRole::Muted } else { role };
            table.draw_row(ctx, area, (glyph, role), (entry, fleet), |text| text, buffer);
            if page.list.current(len) == Some(row) {
                select(ctx, area, buffer);
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
        put(buffer, rows.x + 3, rows.y, text, usize::from(rows.width).saturating_sub(4), ctx.style(ThemeRole::Muted));
    }
}
