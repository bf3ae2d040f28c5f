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

use super::{Parts, RenderContext, node, put, put_lines, put_rule, timeline};
use crate::engine::model::node::{Blame, ImageState, NodeState};
use crate::engine::model::pod_wait::PodWait;
use crate::engine::model::presence::Presence;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Phase};
use crate::tui::model::{Page, RolloutPage, ShownSnapshot, Sort};
use crate::tui::theme::{Glyph, Role};
use crate::tui::words::{fit, fit_middle, width, wrap};

/// Draws header and nodes.
pub(super) fn draw(ctx: &RenderContext<'_>, parts: &Parts, buffer: &mut Buffer) {
    put_lines(buffer, parts.header, &parts.lines);
    let Some(page) = ctx.model.rollout() else { return };
    if let Some(timeline) = &page.timeline {
        return timeline::draw(ctx, parts, page, timeline, buffer);
    }
    let Some(seen) = page.shown() else {
        put_rule(ctx, buffer, parts.rule, "");
        return;
    };
    put_rule(ctx, buffer, parts.rule, &about_list(ctx, page, parts));
    let columns = Columns::of(page, parts.list.width);
    draw_head(ctx, page, parts, &columns, buffer);
    let rows = parts.rows();
    let top = page.list.top();
    for (row, y) in (top..page.rows.len()).zip(rows.y..rows.bottom()) {
        if let Some(node) = page.node(row) {
            let area = Rect { y, height: 1, ..rows };
            let selected = page.list.cursor() == Some(row);
            draw_node(ctx, seen, page, node, Row { area, columns: &columns, selected }, buffer);
        }
    }
    if page.rows.is_empty() && rows.height > 0 {
        put(
            buffer,
            rows.x + 3,
            rows.y,
            &nothing(page),
            usize::from(rows.width).saturating_sub(4),
            ctx.style(Role::Muted),
        );
    }
    if let Some(side) = parts.side {
        node::draw_side(ctx, side, buffer);
    }
}

/// Where in the list we are, and what it leaves out.
fn about_list(ctx: &RenderContext<'_>, page: &RolloutPage, parts: &Parts) -> String {
    let (top, len) = (page.list.top(), page.rows.len());
    let shown = (len - top.min(len)).min(usize::from(parts.rows().height));
    let all = page.shown().map_or(0, |seen| seen.snapshot.nodes.len());
    let dot = ctx.glyph(Glyph::Dot);
    let mut words = match len {
        0 => format!("0 of {all}"),
        _ => format!("{}-{} of {len}", top + 1, top + shown),
    };
    if !page.filter.is_all() {
        words.push_str(&format!(" {dot} filter {} ({len} of {all}; esc clears)", page.filter.text()));
    }
    if page.sort != Sort::Trouble {
        words.push_str(&format!(" {dot} sorted by {}", page.sort.name()));
    }
    if let Some(frozen) = &page.frozen {
        let live = page.live.as_ref().unwrap_or(frozen);
        words.push_str(&format!(" {dot} FROZEN {} (f: live)", ctx.age(live, frozen.snapshot.at)));
    }
    words
}

fn nothing(page: &RolloutPage) -> String {
    let Some(snapshot) = page.shown().map(|seen| &seen.snapshot) else { return String::new() };
    match (snapshot.daemonset, page.filter.is_all(), &snapshot.phase) {
        (Presence::Loading, ..) | (_, _, Phase::Loading) => "loading …".to_owned(),
        (Presence::Absent, ..) => String::new(),
        (Presence::Present, false, _) => "no node passes the filter: esc clears it".to_owned(),
        (Presence::Present, true, _) => "no node should run this DaemonSet's pods".to_owned(),
    }
}

/// How wide each column is; zero where there is no room for it.
#[derive(Clone, Copy, Debug, Default)]
struct Columns {
    node: usize,
    state: usize,
    why: usize,
    revision: usize,
    image: usize,
    pod: usize,
    restarts: usize,
    age: usize,
    site: usize,
}

impl Columns {
    /// Columns by priority: node and state always, then why, age, revision, image, pod, restarts, the image in words, site.
    fn of(page: &RolloutPage, cells: u16) -> Self {
        let cells = usize::from(cells);
        let mut columns = Self { state: 11, ..Self::default() };
        let most = if cells < 80 { cells.saturating_sub(3 + 12 + 1) } else { cells * 3 / 10 };
        columns.node = page.digest.name_width.clamp(4, most.max(4));
        let mut free = cells.saturating_sub(3 + columns.node + 1 + columns.state + 1);
        let mut take = |column: &mut usize, wanted: usize, keep: usize| {
            if free >= wanted + 1 + keep {
                *column = wanted;
                free -= wanted + 1;
            }
        };
        take(&mut columns.age, 4, 0);
        take(&mut columns.revision, 3, 16);
        take(&mut columns.image, 3, 20);
        take(&mut columns.pod, 5, 22);
        take(&mut columns.restarts, 3, 22);
        if columns.image > 0 {
            let mut words = 0;
            take(&mut words, 7, 34);
            columns.image += words;
        }
        take(&mut columns.site, 14, 44);
        columns.why = if free > 6 { free - 1 } else { 0 };
        columns
    }

    /// Each column with its width and its head, from left to right.
    fn each(&self) -> [(Column, usize, &'static str); 9] {
        [
            (Column::Node, self.node, "NODE"),
            (Column::State, self.state, "STATE"),
            (Column::Why, self.why, "WHY"),
            (Column::Site, self.site, "ZONE"),
            (Column::Revision, self.revision, "REV"),
            (Column::Image, self.image, if self.image > 5 { "IMAGE" } else { "IMG" }),
            (Column::Pod, self.pod, "POD"),
            (Column::Restarts, self.restarts, "RST"),
            (Column::Age, self.age, "AGE"),
        ]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Node,
    State,
    Why,
    Site,
    Revision,
    Image,
    Pod,
    Restarts,
    Age,
}

impl Column {
    fn to_the_right(self) -> bool {
        matches!(self, Self::Revision | Self::Restarts | Self::Age)
    }

    fn sorted_by(self) -> Option<Sort> {
        match self {
            Self::Node => Some(Sort::Name),
            Self::State => Some(Sort::State),
            Self::Revision => Some(Sort::Revision),
            Self::Restarts => Some(Sort::Restarts),
            Self::Age => Some(Sort::Age),
            Self::Why | Self::Site | Self::Image | Self::Pod => None,
        }
    }
}

fn draw_head(ctx: &RenderContext<'_>, page: &RolloutPage, parts: &Parts, columns: &Columns, buffer: &mut Buffer) {
    if parts.list.height < 2 {
        return;
    }
    let mut x = parts.list.x + 3;
    for (column, cells, head) in columns.each().into_iter().filter(|(_, cells, _)| *cells > 0) {
        let style = ctx.style(Role::Column);
        let sorted = column.sorted_by() == Some(page.sort);
        let style = if sorted { style.patch(ctx.style(Role::Title)) } else { style };
        put_cell(buffer, x, parts.list.y, head, cells, column, style);
        x += u16::try_from(cells + 1).unwrap_or(u16::MAX);
    }
}

fn put_cell(buffer: &mut Buffer, x: u16, y: u16, text: &str, cells: usize, column: Column, style: Style) {
    let text = if column == Column::Node { fit_middle(text, cells) } else { fit(text, cells) };
    let indent = if column.to_the_right() { cells - width(&text) } else { 0 };
    put(buffer, x + u16::try_from(indent).unwrap_or(0), y, &text, cells - indent, style);
}

/// Where one node is drawn.
#[derive(Clone, Copy)]
struct Row<'a> {
    area: Rect,
    columns: &'a Columns,
    selected: bool,
}

fn draw_node(
    ctx: &RenderContext<'_>,
    seen: &ShownSnapshot,
    page: &RolloutPage,
    node: &NodeView,
    row: Row<'_>,
    buffer: &mut Buffer,
) {
    let Rect { x, y, .. } = row.area;
    let (glyph, role) = sign(node);
    let style = ctx.style(role);
    put(buffer, x + 1, y, ctx.glyph(glyph), 1, style);
    let mut at = x + 3;
    for (column, cells, _) in row.columns.each().into_iter().filter(|(_, cells, _)| *cells > 0) {
        let (text, role) = cell(ctx, seen, page, node, column, cells);
        put_cell(buffer, at, y, &text, cells, column, ctx.style(role));
        at += u16::try_from(cells + 1).unwrap_or(u16::MAX);
    }
    if row.selected {
        put(buffer, x, y, ctx.glyph(Glyph::Cursor), 1, Style::default());
        buffer.set_style(row.area, ctx.style(Role::Selection));
    }
}

fn cell(
    ctx: &RenderContext<'_>,
    seen: &ShownSnapshot,
    page: &RolloutPage,
    node: &NodeView,
    column: Column,
    cells: usize,
) -> (String, Role) {
    let (_, role) = sign(node);
    match column {
        Column::Node => (short_name(page, node).to_owned(), role),
        Column::State => (state(node), role),
        Column::Why => (Why { node, at: why_at(ctx, seen, node) }.to_string(), role),
        Column::Site => {
            let zone = node.labels.get("topology.kubernetes.io/zone").map(|zone| zone.to_string());
            (zone.unwrap_or_default(), Role::Text)
        }
        Column::Revision => (revision(node), if node.at_target { Role::NewRev } else { Role::OldRev }),
        Column::Image => {
            let (glyph, role) = image_sign(node.image);
            let glyph = ctx.glyph(glyph);
            (if cells > 5 { format!("{glyph} {}", node.image) } else { glyph.to_owned() }, role)
        }
        Column::Pod => (node.pod.as_deref().map(pod_suffix).unwrap_or_default().to_owned(), Role::Text),
        Column::Restarts => match node.pod {
            Some(_) => (node.restarts.to_string(), if node.restarts > 0 { Role::Warn } else { Role::Muted }),
            None => (String::new(), Role::Muted),
        },
        Column::Age => {
            let since = node.since.or(node.pod_created_at);
            (since.map(|since| ctx.age(seen, since)).unwrap_or_default(), Role::Text)
        }
    }
}

/// The instant as of which the words are told that say why a node is where it is.
pub(super) fn why_at(ctx: &RenderContext<'_>, seen: &ShownSnapshot, node: &NodeView) -> Timestamp {
    match (node.state, node.since, node.pod_wait.as_ref().and_then(PodWait::instant)) {
        (NodeState::NodeDown, Some(since), _) => ctx.instant(seen, since),
        (_, _, Some(until)) if until > seen.snapshot.at => ctx.present(seen),
        (_, _, Some(since)) => ctx.instant(seen, since),
        _ => seen.snapshot.at,
    }
}

/// The sign and the look of a node.
pub(super) fn sign(node: &NodeView) -> (Glyph, Role) {
    match (node.state, node.blame) {
        (NodeState::Failed, _) => (Glyph::Failed, Role::Bad),
        (_, Some(Blame::Suspect)) => (Glyph::Suspect, Role::Bad),
        (NodeState::NodeDown, _) => (Glyph::Down, Role::Warn),
        (NodeState::Outdated, _) if node.is_next() => (Glyph::Outdated, Role::Text),
        (NodeState::Outdated, _) if node.cause.is_some() => (Glyph::Outdated, Role::Warn),
        (NodeState::Outdated, _) => (Glyph::Outdated, Role::Held),
        (NodeState::Updated, _) => (Glyph::Updated, Role::Ok),
        (NodeState::Ineligible, _) => (Glyph::Ineligible, Role::Muted),
        _ if node.restarted.is_some() => (Glyph::Moving, Role::Warn),
        _ if node.cause.as_ref().is_some_and(|cause| !cause.kind.is_ordinary_at_start()) => (Glyph::Moving, Role::Warn),
        _ => (Glyph::Moving, Role::Busy),
    }
}

/// The state in words; a node that went down after its update is a suspect first.
pub(super) fn state(node: &NodeView) -> String {
    match (node.state, node.blame) {
        (NodeState::NodeDown, Some(Blame::Suspect)) => "suspect".to_owned(),
        (state, _) => state.to_string(),
    }
}

pub(super) fn image_sign(image: ImageState) -> (Glyph, Role) {
    match image {
        ImageState::Unknown => (Glyph::ImageUnknown, Role::Muted),
        ImageState::Present => (Glyph::ImagePresent, Role::Text),
        ImageState::Pulling { .. } => (Glyph::ImagePulling, Role::Busy),
        ImageState::Failed => (Glyph::ImageFailed, Role::Bad),
    }
}

/// The node's name without the domain that all share.
fn short_name<'a>(page: &RolloutPage, node: &'a NodeView) -> &'a str {
    node.name.strip_suffix(page.digest.domain.as_str()).unwrap_or(&node.name)
}

/// The revision's number, else the beginning of its hash.
pub(super) fn revision(node: &NodeView) -> String {
    match (node.revision_number, &node.revision) {
        (Some(number), _) => number.to_string(),
        (None, Some(hash)) => hash.chars().take(3).collect(),
        (None, None) => String::new(),
    }
}

/// What tells a DaemonSet's pods apart: the last part of the name.
fn pod_suffix(pod: &str) -> &str {
    pod.rsplit('-').next().unwrap_or(pod)
}

/// All that fits where nothing fits: one sentence, and what to do about it.
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
    for (line, y) in wrap(&text, usize::from(area.width)).iter().zip(area.y..area.bottom()) {
        put(buffer, area.x, y, line, usize::from(area.width), Style::default());
    }
}
