//! Pre-warming: the progress of each site, and the nodes that do not have the images yet.
//!
//! ```text
//! ─ pre-warm: 1-3 of 48 not present · esc: nodes ─────────────────────────────────
//!    SITE     PROGRESS        PRESENT PULL WAIT FAIL   LIMIT      RATE     ~ LEFT
//!    munich   [■■■■▒░░░░░]   12 of 40    1   27    0  1 of 1  ~11 MB/s    ~12–18m
//!    no site  [░░░░░░░░░░]    0 of 20    0   20    0       –         –          –
//!    all      [■▒░░░░░░░░]   12 of 60    1   47    0  1 of 2  ~11 MB/s    ~12–18m
//!  edge/agent:v1.9.0 on all nodes, asked by ada@bastion-3 4m ago
//!    munich 1 at once, halved: ipc-017 lost readiness
//!    NODE     SITE           PRE-WARM
//!  ✗ ipc-017  munich         failed: image not found
//!  ↓ ipc-018  munich         pulling for 20s
//!  · ipc-020                 waiting: 2 of 2 pull slots taken
//! ```

use std::cmp::Reverse;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::table::{ANYWHERE, mark_hits, select};
use super::{RenderContext, ScreenParts, node, put, put_lines, put_rule, why};
use crate::engine::model::cause::Cause;
use crate::engine::model::pace::PacedSite;
use crate::engine::model::person_of;
use crate::engine::model::prewarm::{
    PrewarmCounts, PrewarmNodes, PrewarmSite, PrewarmSource, PrewarmState, PrewarmView,
};
use crate::engine::model::site::site_name;
use crate::engine::model::time::ShortDuration;
use crate::engine::report::prewarm_words::PrewarmWords;
use crate::engine::report::snapshot::pull_words::PullRate;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::tui::columns::MARGIN;
use crate::tui::columns::nodes::prewarm_sign;
use crate::tui::model::{RolloutPage, ShownSnapshot};
use crate::tui::prewarm::PrewarmList;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, width};

/// The number of a site's figures: present, pulling, waiting, failed, limit; and two estimates: the rate of the pulls, and
/// the remaining time.
const FIGURES: usize = 7;
/// The widths and headings of the figures for much room, for little, and for least.
const WIDE: [(&str, usize); FIGURES] =
    [("PRESENT", 12), ("PULLING", 7), ("WAITING", 7), ("FAILED", 6), ("LIMIT", 8), ("RATE", 10), ("~ LEFT", 11)];
const MEDIUM: [(&str, usize); FIGURES] =
    [("PRESENT", 10), ("PULL", 4), ("WAIT", 4), ("FAIL", 4), ("LIMIT", 7), ("RATE", 9), ("~ LEFT", 11)];
const NARROW: [(&str, usize); FIGURES] =
    [("PRESENT", 9), ("PULL", 4), ("WAIT", 4), ("FAIL", 4), ("", 0), ("", 0), ("", 0)];
/// Stands for a value that is unknown, or that a site lacks: a limit of its own, and the estimates of a site that is done.
const UNKNOWN: &str = "–";
/// The most cells of a node's site.
const SITE: usize = 14;
/// The least number of cells at which a bar is drawn.
const LEAST_BAR: usize = 8;

/// The places of the parts of the screen.
struct Areas {
    sites: Rect,
    about: Rect,
    /// The lines for what the figures leave open, and for sites whose limit follows the capacity of their link.
    notes: Rect,
    nodes: Rect,
}

impl Areas {
    fn of(parts: &ScreenParts, view: Option<&PrewarmView>, notes: usize) -> Self {
        let list = parts.list;
        // The figures of what is cancelled would read as if it went on.
        let view = view.filter(|view| view.request.cancelled.is_none());
        // A heading, the sites, and a line for all of them; half of the list at most.
        let wanted = view.map_or(0, |view| view.sites.len() + 1 + usize::from(view.sites.len() != 1));
        let most = usize::from(list.height.saturating_sub(2)) / 2;
        let height = u16::try_from(wanted.min(most.max(2))).unwrap_or(u16::MAX).min(list.height);
        let sites = Rect { height, ..list };
        let about = Rect { y: sites.bottom(), height: 1, ..list }.intersection(list);
        let notes = notes.min(usize::from(list.height) / 5);
        let height = u16::try_from(notes).unwrap_or(u16::MAX);
        let notes = Rect { y: about.bottom(), height, ..list }.intersection(list);
        let nodes = Rect { y: notes.bottom(), height: list.bottom().saturating_sub(notes.bottom()), ..list };
        Self { sites, about, notes, nodes }
    }
}

/// The number of visible nodes.
pub(super) fn node_rows(parts: &ScreenParts, snapshot: Option<&Snapshot>) -> usize {
    let notes = snapshot.map_or(0, |snapshot| snapshot.pace.len() + warnings(snapshot).count());
    let areas = Areas::of(parts, snapshot.and_then(|snapshot| snapshot.prewarm.as_ref()), notes);
    usize::from(areas.nodes.height.saturating_sub(1))
}

/// Draws the screen below the header.
pub(super) fn draw(
    ctx: &RenderContext<'_>,
    parts: &ScreenParts,
    page: &RolloutPage,
    screen: &PrewarmList,
    buffer: &mut Buffer,
) {
    let Some(shown) = &page.live else { return };
    let view = shown.snapshot.prewarm.as_ref();
    let notes = notes(ctx, &shown.snapshot, usize::from(parts.list.width));
    let areas = Areas::of(parts, view, notes.len());
    let rows = usize::from(areas.nodes.height.saturating_sub(1));
    put_rule(ctx, buffer, parts.rule, &about_list(ctx, screen, rows));
    let Some(view) = view else {
        let text = "nothing is being pre-warmed: W begins it, esc goes back to the nodes";
        put(buffer, parts.list.x + 3, parts.list.y, text, cells_of(parts.list, 4), ctx.style(ThemeRole::Muted));
        return;
    };
    if areas.sites.height > 0 {
        put_lines(buffer, areas.sites, &sites(ctx, view, areas.sites));
    }
    put_lines(buffer, areas.about, &[about(ctx, shown, view, cells_of(areas.about, 2))]);
    put_lines(buffer, areas.notes, &notes);
    if view.request.cancelled.is_none() {
        draw_nodes(ctx, page, shown, screen, areas.nodes, buffer);
    }
    if screen.len() == 0 && areas.nodes.height > 1 {
        let text = match view.error {
            // The header tells who cancelled it, and whether somebody drives who deletes its pods.
            _ if view.request.cancelled.is_some() => {
                view.left_over().unwrap_or_else(|| "no node is pre-warmed".to_owned())
            }
            _ if !screen.filter.is_all() => "no node passes the filter: esc clears it".to_owned(),
            Some(_) => "no node is pre-warmed".to_owned(),
            None => "every node has the images".to_owned(),
        };
        put(buffer, areas.nodes.x + 3, areas.nodes.y + 1, &text, cells_of(areas.nodes, 4), ctx.style(ThemeRole::Muted));
    }
    if let Some(side) = parts.side {
        node::draw_side(ctx, side, buffer);
    }
}

fn cells_of(area: Rect, less: u16) -> usize {
    usize::from(area.width.saturating_sub(less))
}

/// The visible part of the list.
fn about_list(ctx: &RenderContext<'_>, screen: &PrewarmList, rows: usize) -> String {
    let (top, len) = (screen.list.top(), screen.len());
    let dot = ctx.glyph(Glyph::Dot);
    let which = match len {
        0 => "pre-warm".to_owned(),
        _ => format!("pre-warm: {}-{} of {len} not present", top + 1, (top + rows).min(len)),
    };
    if !screen.filter.is_all() {
        let all = screen.all_rows().count();
        return format!("{which} {dot} filter {} ({len} of {all}; esc clears)", screen.filter.text());
    }
    let behind = ctx.model.rollout().map_or("nodes", RolloutPage::nodes_shown_as);
    format!("{which} {dot} esc: {behind}")
}

/// One line: the images, the nodes, the person, and the time.
fn about(ctx: &RenderContext<'_>, shown: &ShownSnapshot, view: &PrewarmView, cells: usize) -> Line<'static> {
    let asked = &view.request;
    let images: Vec<&str> = view.images.iter().map(|image| image.rsplit('/').next().unwrap_or(image)).collect();
    let images = match (&asked.source, images.is_empty()) {
        (_, true) => "images".to_owned(),
        (PrewarmSource::Template, _) => format!("{} (template)", images.join(", ")),
        (PrewarmSource::Images(_), _) => images.join(", "),
        (PrewarmSource::Revision(hash), _) => format!("{} (revision {})", images.join(", "), number(shown, hash)),
    };
    let nodes = match &asked.nodes {
        PrewarmNodes::All => "all nodes".to_owned(),
        PrewarmNodes::Selector(selector) => format!("nodes with {selector}"),
        PrewarmNodes::LetGo => "the nodes of the step".to_owned(),
        PrewarmNodes::StepAhead => "the nodes of the step and the next".to_owned(),
        PrewarmNodes::Node(name) => name.to_string(),
    };
    let (did, by) = match &asked.cancelled {
        Some(_) if asked.complete.is_some() => ("complete, asked", &asked.by),
        Some(cancelled) => ("cancelled", cancelled),
        None => ("asked", &asked.by),
    };
    let by = format!(", {did} by {} {} ago", person_of(&by.by), ctx.age(shown, by.at));
    let what = format!("{images} on {nodes}");
    let what = fit(&what, cells.saturating_sub(width(&by)).max(cells / 2)).into_owned();
    let by = fit(&by, cells.saturating_sub(width(&what))).into_owned();
    Line::from(vec![Span::raw(" "), ctx.span(what, ThemeRole::Title), ctx.span(by, ThemeRole::Text)])
}

fn number(shown: &ShownSnapshot, hash: &str) -> String {
    let revision = shown.snapshot.revisions.iter().find(|revision| *revision.hash == *hash);
    revision.and_then(|revision| revision.number).map_or_else(|| hash.to_owned(), |number| number.to_string())
}

/// A line per site, and one for all. If there are more sites than lines, sites that are done are left out first, then those that take
/// least long: the others decide when all have the images.
fn sites(ctx: &RenderContext<'_>, view: &PrewarmView, area: Rect) -> Vec<Line<'static>> {
    let cells = usize::from(area.width);
    let columns = SiteColumns::of(view, cells);
    let mut lines = vec![columns.head(ctx)];
    let total = (view.sites.len() != 1).then(|| {
        let all = SiteFigures {
            counts: &view.counts,
            perhaps_failed: 0,
            limit: Some((view.pulling, view.limit)),
            rate: view.throughput.map(Rate::About).or_else(|| sum_of_sites(view)),
            left: view.estimate.map(|left| left.to_string()).or_else(|| longest_known(view)),
        };
        columns.line(ctx, "all", &all)
    });
    let room = usize::from(area.height).saturating_sub(1 + usize::from(total.is_some()));
    let all_fit = view.sites.len() <= room;
    let mut left = if all_fit { room } else { room.saturating_sub(1) };
    let mut shown: Vec<usize> = (0..view.sites.len()).collect();
    let takes = |site: &PrewarmSite| site.estimate.map_or(Duration::MAX, |range| range.most);
    shown.sort_by_key(|index| (is_done(&view.sites[*index].counts), Reverse(takes(&view.sites[*index]))));
    shown.truncate(left);
    // Ordered by name, with the nodes without a site last.
    shown.sort_by_key(|index| (view.sites[*index].name.is_empty(), *index));
    left = view.sites.len() - shown.len();
    for index in shown {
        let site = &view.sites[index];
        // With one site, its line is also the one for all.
        let limit = match site.limit {
            Some(limit) => Some((site.pulling, limit)),
            None => (view.sites.len() == 1).then_some((view.pulling, view.limit)),
        };
        let PrewarmSite { counts, throughput, estimate, .. } = site;
        let rate = throughput.map(Rate::About);
        let perhaps_failed = if view.sites.len() == 1 { 0 } else { view.failed_elsewhere.min(counts.waiting) };
        let figures = SiteFigures { counts, perhaps_failed, limit, rate, left: estimate.map(|left| left.to_string()) };
        lines.push(columns.line(ctx, name_of(site), &figures));
    }
    // If there is room for one line only, it is the one for all sites.
    if left > 0 && room > 0 {
        let more = if left == view.sites.len() { format!("{left} sites") } else { format!("and {left} more sites") };
        let text = format!("{:MARGIN$}{more}", "");
        lines.push(Line::from(ctx.span(fit(&text, cells).into_owned(), ThemeRole::Muted)));
    }
    lines.extend(total);
    lines
}

/// What the figures of the sites leave open, where the record names only some of the nodes that failed.
fn not_named(snapshot: &Snapshot) -> Option<String> {
    let view = snapshot.prewarm.as_ref().filter(|view| view.failed_elsewhere > 0)?;
    let (failed, are) = (view.failed_elsewhere, if view.failed_elsewhere == 1 { "is" } else { "are" });
    Some(format!("{failed} of the failed nodes {are} not recorded by name: what waits in a site may be among them"))
}

/// The warnings above the nodes: why nothing is pulled, unless the header says that, and what the figures of the sites leave open.
fn warnings(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let in_header = snapshot.driver.is_nobody() || snapshot.has_silent_driver();
    let waits = snapshot.prewarming_waits().filter(|_| !in_header);
    waits.into_iter().chain(not_named(snapshot))
}

/// These warnings, then a line per site whose limit follows the capacity of its link; sites with a halved limit come first.
fn notes(ctx: &RenderContext<'_>, snapshot: &Snapshot, cells: usize) -> Vec<Line<'static>> {
    let line = |site: &PacedSite| {
        let role = if site.why.is_halved() { ThemeRole::Warn } else { ThemeRole::Muted };
        Line::from(ctx.span(fit(&format!("{:MARGIN$}{site}", ""), cells).into_owned(), role))
    };
    let warnings = warnings(snapshot).map(|words| {
        let text = fit(&format!("{:MARGIN$}{words}", ""), cells).into_owned();
        Line::from(ctx.span(text, ThemeRole::Warn))
    });
    warnings.chain(PacedSite::by_news(&snapshot.pace).into_iter().map(line)).collect()
}

fn is_done(counts: &PrewarmCounts) -> bool {
    counts.present == counts.nodes
}

fn name_of(site: &PrewarmSite) -> &str {
    site_name(&site.name)
}

/// The figures of a site, or of all of them.
struct SiteFigures<'a> {
    counts: &'a PrewarmCounts,
    /// How many of those that count as waiting may be among the failed ones of which only the number is recorded.
    perhaps_failed: u32,
    limit: Option<(u32, u32)>,
    rate: Option<Rate>,
    /// How long it takes until all nodes have the images, in words.
    left: Option<String>,
}

/// The rate in bytes a second: estimated, or a lower bound if some of the pulling sites have no estimate.
#[derive(Clone, Copy)]
enum Rate {
    About(u64),
    AtLeast(u64),
}

/// The rate of all pulling sites together; sites that only wait add nothing.
fn sum_of_sites(view: &PrewarmView) -> Option<Rate> {
    let pulling = || view.sites.iter().filter(|site| site.counts.pulling > 0);
    let sum = pulling().filter_map(|site| site.throughput).reduce(u64::saturating_add)?;
    Some(if pulling().all(|site| site.throughput.is_some()) { Rate::About(sum) } else { Rate::AtLeast(sum) })
}

/// How long all sites take at least, while nothing measures how long some of them do: as long as the longest of those that are measured.
fn longest_known(view: &PrewarmView) -> Option<String> {
    let least = view.sites.iter().filter_map(|site| site.estimate).map(|left| left.least).max()?;
    (least.as_secs() > 0).then(|| format!("≥{}", ShortDuration(least)))
}

impl SiteFigures<'_> {
    /// In words, in the order of the columns.
    fn words(&self) -> [(String, ThemeRole); FIGURES] {
        let Self { counts, perhaps_failed, limit, rate, left } = self;
        let count = |nodes: u32, role: ThemeRole| (nodes.to_string(), if nodes > 0 { role } else { ThemeRole::Muted });
        let bound = |sign: &str, (nodes, role): (String, ThemeRole)| match perhaps_failed {
            0 => (nodes, role),
            _ => (format!("{sign}{nodes}"), role),
        };
        let unknown = || UNKNOWN.to_owned();
        let rate = rate.map(|rate| match rate {
            Rate::About(rate) => format!("~{}", PullRate(rate)),
            Rate::AtLeast(rate) => format!("≥{}", PullRate(rate)),
        });
        [
            (format!("{} of {}", counts.present, counts.nodes), ThemeRole::Title),
            count(counts.pulling, ThemeRole::Busy),
            bound("≤", count(counts.waiting, ThemeRole::Text)),
            bound("≥", count(counts.failed, ThemeRole::Bad)),
            (limit.map_or_else(unknown, |(used, limit)| format!("{used} of {limit}")), ThemeRole::Text),
            (rate.unwrap_or_else(unknown), ThemeRole::Text),
            (left.clone().unwrap_or_else(unknown), ThemeRole::Text),
        ]
    }
}

/// The widths of the columns of the sites.
struct SiteColumns {
    name: usize,
    bar: usize,
    numbers: [(&'static str, usize); FIGURES],
}

impl SiteColumns {
    fn of(view: &PrewarmView, cells: usize) -> Self {
        let numbers = match cells {
            0..70 => NARROW,
            70..110 => MEDIUM,
            _ => WIDE,
        };
        let names = view.sites.iter().map(|site| width(name_of(site))).max().unwrap_or(0);
        let taken: usize = numbers.iter().map(|(_, cells)| cells + usize::from(*cells > 0)).sum();
        let free = cells.saturating_sub(MARGIN + taken);
        // A bar is more useful than the end of a long name.
        let beside_bar = free.saturating_sub(LEAST_BAR + 3);
        let name = names.clamp(4, 30).min(if beside_bar >= 8 { beside_bar } else { free.max(4) });
        let bar = free.saturating_sub(name + 3).min(60);
        let bar = if bar >= LEAST_BAR { bar } else { 0 };
        Self { name, bar, numbers }
    }

    fn shown(&self) -> impl Iterator<Item = (usize, &'static str, usize)> {
        let numbered = self.numbers.into_iter().enumerate();
        numbered.filter(|(_, (_, cells))| *cells > 0).map(|(nth, (head, cells))| (nth, head, cells))
    }

    fn head(&self, ctx: &RenderContext<'_>) -> Line<'static> {
        let name = self.name;
        let mut text = format!("{:MARGIN$}{:name$}", "", "SITE");
        if self.bar > 0 {
            text.push_str(&format!(" {:1$}", "PROGRESS", self.bar + 2));
        }
        for (_, head, cells) in self.shown() {
            text.push_str(&format!(" {head:>cells$}"));
        }
        Line::from(ctx.span(text, ThemeRole::Column))
    }

    fn line(&self, ctx: &RenderContext<'_>, name: &str, figures: &SiteFigures<'_>) -> Line<'static> {
        let cells = self.name;
        let mut spans = vec![
            Span::raw(" ".repeat(MARGIN)),
            ctx.span(format!("{:cells$}", fit_middle(name, cells)), ThemeRole::Text),
        ];
        if self.bar > 0 {
            spans.extend(bar(ctx, figures.counts, self.bar));
        }
        let words = figures.words();
        for (nth, _, cells) in self.shown() {
            let (text, role) = &words[nth];
            spans.push(Span::raw(" ".repeat(1 + cells.saturating_sub(width(text)))));
            spans.push(ctx.span(text.clone(), *role));
        }
        Line::from(spans)
    }
}

/// The present, the pulling and the remaining part. Full only when the images are present on all nodes.
fn bar(ctx: &RenderContext<'_>, counts: &PrewarmCounts, cells: usize) -> Vec<Span<'static>> {
    let part = |nodes: u32| match counts.nodes {
        0 => 0,
        total => usize::try_from(u64::from(nodes) * cells as u64 / u64::from(total)).unwrap_or(0),
    };
    let at_least_one = |nodes: u32| if nodes > 0 { part(nodes).max(1) } else { 0 };
    let done = at_least_one(counts.present);
    let moving = at_least_one(counts.pulling).min(cells - done);
    vec![
        ctx.span(" [", ThemeRole::Frame),
        ctx.span(ctx.glyph(Glyph::BarDone).repeat(done), ThemeRole::BarDone),
        ctx.span(ctx.glyph(Glyph::BarMoving).repeat(moving), ThemeRole::BarMoving),
        ctx.span(ctx.glyph(Glyph::BarRest).repeat(cells - done - moving), ThemeRole::BarRest),
        ctx.span("]", ThemeRole::Frame),
    ]
}

fn draw_nodes(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    screen: &PrewarmList,
    area: Rect,
    buffer: &mut Buffer,
) {
    if area.height == 0 {
        return;
    }
    let table = &page.summary.table;
    let nodes = || (0..screen.len()).filter_map(|row| screen.node(row));
    let cells = cells_of(area, 3);
    let name = nodes().map(|node| width(table.short(&node.name))).max().unwrap_or(4).clamp(4, (cells * 2 / 5).max(4));
    let sites = nodes().any(|node| !node.site.is_empty());
    let longest = || nodes().map(|node| width(site_name(&node.site))).max().unwrap_or(0);
    let site = if sites && cells >= 70 { longest().clamp(4, SITE) } else { 0 };
    let widths = [name, site, cells.saturating_sub(name + 1 + site + usize::from(site > 0))];
    put_cells(ctx, area, area.y, ["NODE", "SITE", "PRE-WARM"], widths, ThemeRole::Column, buffer);
    for (row, y) in (screen.list.top()..screen.len()).zip(area.y + 1..area.bottom()) {
        let Some((node, state)) = screen.node(row).and_then(|node| Some((node, node.prewarm.as_ref()?))) else {
            continue;
        };
        let (glyph, role) = prewarm_sign(state);
        put(buffer, area.x + 1, y, ctx.glyph(glyph), 1, ctx.style(role));
        let site = site_name(&node.site);
        let words = words(ctx, shown, node, state);
        put_cells(ctx, area, y, [table.short(&node.name), site, &words], widths, role, buffer);
        mark_hits(Rect { y, height: 1, ..area }, &screen.filter, ANYWHERE, buffer);
        if screen.list.current(screen.len()) == Some(row) {
            select(ctx, Rect { y, height: 1, ..area }, buffer);
        }
    }
}

/// The progress of a node, with the message of a failure.
fn words(ctx: &RenderContext<'_>, shown: &ShownSnapshot, node: &NodeView, state: &PrewarmState) -> String {
    let words = PrewarmWords { state, at: why::prewarm_instant(ctx, shown, state) };
    match state {
        PrewarmState::Pulling { .. } | PrewarmState::Present => match why::prewarm_pulls(ctx, shown, node) {
            Some(pulls) => format!("{}: {pulls}", state.word()),
            None => words.to_string(),
        },
        PrewarmState::Failed { cause: Cause { message: Some(message), .. }, .. } => format!("{words} ({message})"),
        _ => words.to_string(),
    }
}

/// Writes a row: node, site, progress.
fn put_cells(
    ctx: &RenderContext<'_>,
    area: Rect,
    y: u16,
    texts: [&str; 3],
    widths: [usize; 3],
    role: ThemeRole,
    buffer: &mut Buffer,
) {
    let mut x = area.x + 3;
    for (nth, (text, cells)) in texts.into_iter().zip(widths).enumerate().filter(|(_, (_, cells))| *cells > 0) {
        let text = if nth == 2 { fit(text, cells) } else { fit_middle(text, cells) };
        put(buffer, x, y, &text, cells, ctx.style(role));
        x += u16::try_from(cells + 1).unwrap_or(u16::MAX);
    }
}
