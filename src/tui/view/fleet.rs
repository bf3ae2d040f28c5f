//! All DaemonSets, worst first.
//!
//! ```text
//!  prod-eu   all namespaces · 14 daemonsets · live                  READ-ONLY  rolldeck
//! ─ 1-5 of 14 ────────────────────────────────────────────────────────────────────
//!    NAMESPACE DAEMONSET     REV     NEW AVL STATE                 FOR DRIVEN BY
//!  ✗ edge      ipc-agent   14→15  38/120 115 halted: 1 failed       2m you
//!  ◐ kube-sys… cilium        3→4  97/120 119 running                 ? controller
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::table::{Table, select};
use super::{RenderContext, ScreenParts, header, put, put_lines, put_rule};
use crate::driver::{Fleet, FleetRow};
use crate::engine::model::event::WatchHealth;
use crate::engine::model::quantity::counted;
use crate::engine::model::time::ShortDuration;
use crate::tui::columns::fleet::{BAR, FLEET_COLUMNS, FleetCell, FleetSort, progress_words, sign, standing};
use crate::tui::columns::{Column, widths};
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::model::{FleetPage, Page};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, width};

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
    let banner = header::banner(ctx, cells);
    let banner_cells = banner.as_ref().map_or(0, |banner| width(&banner.content) + 1);
    let room = cells.saturating_sub(right_cells + banner_cells + width(&tail) + 4);
    let scope = match &page.namespace {
        Some(namespace) => format!("namespace {namespace}"),
        None => "all namespaces".to_owned(),
    };
    let number = counted(page.fleet.rows.len(), "daemonset");
    let (full, short) = match &banner {
        Some(_) => (format!("{scope} {dot} {number}"), page.namespace.as_deref().unwrap_or("all")),
        None => (format!("{}   {scope} {dot} {number}", ctx.model.context), &*ctx.model.context),
    };
    let left = if width(&full) <= room { full } else { fit_middle(short, room).into_owned() };
    let gap = cells.saturating_sub(1 + banner_cells + width(&left) + width(&tail) + right_cells);
    let mut spans = vec![Span::raw(" ")];
    if let Some(banner) = banner {
        spans.extend([banner, Span::raw(" ")]);
    }
    let between = if left.is_empty() { "   ".to_owned() } else { format!(" {dot} ") };
    spans.extend([
        ctx.span(left, ThemeRole::Title),
        ctx.span(between, ThemeRole::Muted),
        ctx.span(health.0, health.1),
        Span::raw(" ".repeat(gap)),
    ]);
    spans.extend(warnings);
    spans.extend([access, ctx.span(brand, ThemeRole::Brand)]);
    let mut lines = vec![Line::from(spans)];
    match &page.fleet.health {
        WatchHealth::Forbidden { why } => {
            let text = format!(" DaemonSets: n/a (forbidden): {why}");
            lines.push(Line::from(ctx.span(fit(&text, cells), ThemeRole::Bad)));
            let remedy = " one namespace: :ns NAME   one DaemonSet: :ds NAMESPACE/NAME";
            lines.push(Line::from(ctx.span(fit(remedy, cells), ThemeRole::Text)));
        }
        WatchHealth::Down { why, .. } | WatchHealth::Lagging { why, .. } => {
            let text = format!(" not seen, trying again: {why}");
            lines.push(Line::from(ctx.span(fit(&text, cells), ThemeRole::Warn)));
        }
        WatchHealth::Loading | WatchHealth::Live => {}
    }
    let listed = |target: &DaemonSetRef| page.namespace.as_ref().is_none_or(|namespace| *namespace == target.namespace);
    let elsewhere: Vec<&DaemonSetRef> =
        ctx.model.driven().map(|page| &page.target).filter(|target| !listed(target)).collect();
    if let Some(first) = elsewhere.first() {
        let names: Vec<String> = elsewhere.iter().map(|one| format!("{}/{}", one.namespace, one.name)).collect();
        let text = format!(" you drive {}, not listed here (:ds {}/{})", names.join(", "), first.namespace, first.name);
        lines.push(Line::from(ctx.span(fit(&text, cells), ThemeRole::Live)));
    }
    let missing = missing(&page.fleet);
    lines.extend(missing.map(|text| Line::from(ctx.span(fit(&text, cells), ThemeRole::Warn))));
    lines
}

/// What cannot be seen besides the DaemonSets themselves, and what is not known because of that.
fn missing(fleet: &Fleet) -> impl Iterator<Item = String> {
    let leases = match &fleet.leases {
        WatchHealth::Forbidden { why } => Some(format!("n/a (forbidden), so who drives is not known: {why}")),
        health => not_seen(fleet, health, "states and drivers are as last seen"),
    };
    let revisions = match &fleet.revisions {
        // Their numbers are shown as `?`.
        WatchHealth::Forbidden { .. } => None,
        health => not_seen(fleet, health, "REVISION is as last seen"),
    };
    let pods = match &fleet.starting_pods {
        WatchHealth::Forbidden { why } => Some(format!("n/a (forbidden), so pulls of images are not known: {why}")),
        WatchHealth::Loading | WatchHealth::Live | WatchHealth::Down { .. } | WatchHealth::Lagging { .. } => None,
    };
    let all = [("leases", leases), ("revisions", revisions), ("pods", pods)];
    all.into_iter().filter_map(|(kind, words)| Some(format!(" {kind}: {}", words?)))
}

/// That a kind with this health is not seen now, and the consequence. `None` if it is seen, and while DaemonSets are not seen either, which is
/// said already.
fn not_seen(fleet: &Fleet, health: &WatchHealth, consequence: &str) -> Option<String> {
    let is_broken = |health: &WatchHealth| matches!(health, WatchHealth::Down { .. } | WatchHealth::Lagging { .. });
    match health {
        WatchHealth::Down { why, .. } | WatchHealth::Lagging { why, .. } if !is_broken(&fleet.health) => {
            Some(format!("not seen, trying again, so {consequence}: {why}"))
        }
        WatchHealth::Loading
        | WatchHealth::Live
        | WatchHealth::Down { .. }
        | WatchHealth::Lagging { .. }
        | WatchHealth::Forbidden { .. } => None,
    }
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
    if let FleetSort::By(column) = page.sort {
        words = format!("{words} {} sorted by {}", ctx.glyph(Glyph::Dot), column.name);
    }
    put_rule(ctx, buffer, parts.rule, words.trim_start());
    let fleet = &*page.fleet;
    let is_stale = matches!(fleet.health, WatchHealth::Down { .. } | WatchHealth::Lagging { .. });
    let cells = usize::from(parts.list.width);
    let table = Table { columns: FLEET_COLUMNS, widths: widths(FLEET_COLUMNS, fleet, cells) };
    // The width of the columns is unknown before anything is listed.
    if !fleet.rows.is_empty() || fleet.health != WatchHealth::Loading {
        table.draw_header(ctx, parts.list, Some(page.sort.name()), Column::header, buffer);
    }
    let progress = FLEET_COLUMNS.iter().position(|column| column.name == "up-to-date");
    let room = progress.and_then(|at| table.widths.get(at).copied()).unwrap_or(0);
    for (row, y) in (top..len).zip(rows.y..rows.bottom()) {
        if let Some(entry) = page.rows.get(row).and_then(|index| fleet.rows.get(*index)) {
            let area = Rect { y, height: 1, ..rows };
            let (glyph, role) = sign(entry);
            let role = if is_stale { ThemeRole::Muted } else { role };
            let text = |cell| cell_text(ctx, page, cell, room);
            table.draw_row(ctx, area, (glyph, role), (entry, fleet), text, buffer);
            table.mark_hits(area, &page.filter, buffer);
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

/// Namespace and name of the selected DaemonSet, if its row is too narrow for both: several namespaces may have DaemonSets
/// of the same name.
pub(super) fn name_in_full(ctx: &RenderContext<'_>, cells: u16) -> Option<String> {
    let row = selected(ctx)?;
    let cut = is_cut(ctx, cells, "namespace", &row.namespace) || is_cut(ctx, cells, "name", &row.name);
    cut.then(|| format!("{}/{}", row.namespace, row.name))
}

/// What its row is too narrow for of the selected DaemonSet: its name, its state, or both: `edge/ipc-agent: halted: 1 failed`.
pub(super) fn selected_in_full(ctx: &RenderContext<'_>, cells: u16) -> Option<String> {
    let standing = standing(selected(ctx)?);
    let state = is_cut(ctx, cells, "state", &standing).then_some(standing);
    match (name_in_full(ctx, cells), state) {
        (Some(name), Some(state)) => Some(format!("{name}: {state}")),
        (name, state) => name.or(state),
    }
}

/// The row with the cursor.
fn selected<'a>(ctx: &'a RenderContext<'_>) -> Option<&'a FleetRow> {
    ctx.model.fleet.as_ref().filter(|_| ctx.model.page == Page::Fleet)?.current_row()
}

/// Whether a column of the list is too narrow for `text`.
fn is_cut(ctx: &RenderContext<'_>, cells: u16, column: &str, text: &str) -> bool {
    let Some(page) = &ctx.model.fleet else { return false };
    let widths = widths(FLEET_COLUMNS, &*page.fleet, usize::from(cells));
    let at = FLEET_COLUMNS.iter().position(|known| known.name == column);
    at.and_then(|at| widths.get(at)).is_none_or(|cells| width(text) > *cells)
}

/// The content of a cell, as text; `room` is the width of the progress column.
fn cell_text(ctx: &RenderContext<'_>, page: &FleetPage, cell: FleetCell, room: usize) -> String {
    match cell {
        FleetCell::Text(text) => text,
        FleetCell::Age(since) => {
            since.map_or_else(String::new, |since| ShortDuration(ctx.elapsed_by(page.clock(), since)).to_string())
        }
        FleetCell::Progress { updated, well, desired, numbers } => {
            let words = progress_words(updated, desired);
            if room < numbers + BAR {
                return words;
            }
            format!("{} {words:>numbers$}", bar(ctx, (well, updated.unwrap_or(0)), desired))
        }
    }
}

/// `[■■■▒░░░░░░]`: full only when all Pods are updated and well, empty only when none is updated. As on the page of a
/// rollout, another sign stands for updated Pods that are not known to be well.
fn bar(ctx: &RenderContext<'_>, (well, updated): (u32, u32), desired: u32) -> String {
    const CELLS: u32 = 10;
    let part = |pods: u32| match (pods.min(desired), desired) {
        (0, _) | (_, 0) => 0,
        (pods, desired) => (u64::from(pods) * u64::from(CELLS) / u64::from(desired)).max(1) as usize,
    };
    let done = part(well);
    let more = part(updated).max(done + usize::from(updated > well)).min(CELLS as usize) - done;
    let [full, moving, rest] = [Glyph::BarDone, Glyph::BarMoving, Glyph::BarRest].map(|glyph| ctx.glyph(glyph));
    format!("[{}{}{}]", full.repeat(done), moving.repeat(more), rest.repeat(CELLS as usize - done - more))
}
