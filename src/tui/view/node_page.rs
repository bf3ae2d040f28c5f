//! The page of one node, in place of the nodes.
//!
//! ```text
//! ─ ipc-017 · ipc-agent-7x2kq · agent: exit 1 9s ago, 3 restarts ─────────────────
//!  1 why   2 log   3 previous   4 events   5 describe   6 yaml       following
//!  07:43:38 FATAL cannot bind :9100: address in use
//! ```

mod describe;
mod log;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::{RenderContext, ScreenParts, Shape, node, put, put_lines, put_rule};
use crate::engine::model::container_log::LogState;
use crate::engine::model::facts::Severity;
use crate::engine::model::inspection::{ContainerPhase, Reading};
use crate::engine::model::kubectl_command::KubectlCommand;
use crate::engine::report::node_story::{clock_time, node_story};
use crate::engine::report::snapshot::NodeView;
use crate::engine::report::story::NodeMoment;
use crate::tui::action::ActionId;
use crate::tui::log_pane::{LogLayout, LogTop, find};
use crate::tui::model::{Model, RolloutPage, ShownSnapshot};
use crate::tui::node_page::{NodePage, NodeTab};
use crate::tui::terminal;
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, width, wrap};

/// Draws the page below the header.
pub(super) fn draw(
    ctx: &RenderContext<'_>,
    parts: &ScreenParts,
    page: &RolloutPage,
    open: &NodePage,
    buffer: &mut Buffer,
) {
    // A frozen list does not freeze this page.
    let Some(shown) = &page.live else { return };
    put_rule(ctx, buffer, parts.rule, &about(ctx, shown, open));
    let (tabs, content) = areas(parts);
    let names_node = parts.rule.is_empty();
    if open.tab.run().is_some() {
        draw_tabs(ctx, open, tabs, (names_node, &standing(open, "")), buffer);
        log::draw(ctx, open, layout(open, content), content, buffer);
        return;
    }
    let lines = lines(ctx, page, shown, open, usize::from(content.width));
    let top = open.top().min(lines.len().saturating_sub(1));
    let shown_lines = (lines.len() - top).min(usize::from(content.height));
    let (is_first, is_last) = (top == 0, top + shown_lines >= lines.len());
    let position = match is_first && is_last {
        true => String::new(),
        false => format!("{}-{} of {}", top + 1, top + shown_lines, lines.len()),
    };
    draw_tabs(ctx, open, tabs, (names_node, &standing(open, &position)), buffer);
    // The margin tells that there is more, even if the line of the tabs is too narrow to tell it.
    let more =
        [(!is_first, content.y, Glyph::Ascending), (!is_last, content.bottom().saturating_sub(1), Glyph::Descending)];
    for (_, y, glyph) in more.into_iter().filter(|(is_more, ..)| *is_more && content.height > 0) {
        put(buffer, content.right(), y, ctx.glyph(glyph), 1, ctx.style(ThemeRole::Key));
    }
    let marked: Vec<Line<'_>> =
        lines[top..].iter().take(usize::from(content.height)).map(|line| marked(line, &open.search)).collect();
    put_lines(buffer, content, &marked);
}

/// The areas of the tabs and of their content: across the whole screen, with or without a side pane.
fn areas(parts: &ScreenParts) -> (Rect, Rect) {
    let whole = Rect { width: parts.list.width + parts.side.map_or(0, |side| side.width), ..parts.list };
    let tabs = Rect { height: whole.height.min(1), ..whole };
    let content = Rect { y: tabs.bottom(), height: whole.height - tabs.height, ..whole };
    // A margin on both sides, as in lists.
    let content = Rect { x: content.x + 1, width: content.width.saturating_sub(2), ..content };
    (tabs, content)
}

fn layout(open: &NodePage, content: Rect) -> LogLayout {
    let (cells, height) = (usize::from(content.width), usize::from(content.height));
    LogLayout { cells, height, wraps: open.wraps, timestamps: open.timestamps }
}

/// The layout of the open page's log, which is also the size of the page's content.
pub(crate) fn log_layout(model: &Model) -> LogLayout {
    let nothing = LogLayout { cells: 0, height: 0, wraps: false, timestamps: false };
    match model.node_page() {
        Some(open) if Shape::of(model) > Shape::Sentence => {
            let parts = ScreenParts::of(&RenderContext::new(model), terminal::area(model.size));
            layout(open, areas(&parts).1)
        }
        _ => nothing,
    }
}

/// The lines of the open tab, as texts; empty for a log.
pub(crate) fn node_lines(model: &Model) -> Vec<String> {
    let (Some(page), Some(open)) = (model.rollout(), model.node_page()) else { return Vec::new() };
    let Some(shown) = &page.live else { return Vec::new() };
    if open.tab.run().is_some() {
        return Vec::new();
    }
    let lines = lines(&RenderContext::new(model), page, shown, open, log_layout(model).cells);
    lines.iter().map(ToString::to_string).collect()
}

/// The node, its Pod, and the state of the log's container.
fn about(ctx: &RenderContext<'_>, shown: &ShownSnapshot, open: &NodePage) -> String {
    let dot = ctx.glyph(Glyph::Dot);
    let mut words = open.node.to_string();
    if let Some(pod) = &open.pod {
        words.push_str(&format!(" {dot} {pod}"));
    }
    if let Some(why) = &open.inspection.stale {
        words.push_str(&format!(" {dot} NOT READ AGAIN: {why}"));
    }
    if let Some(container) = open.container() {
        let ended = || {
            let run = container.ended()?;
            let ago = run.finished_at.map(|at| format!(" {} ago", ctx.age(shown, at))).unwrap_or_default();
            Some(format!("{run}{ago}"))
        };
        let state = match &container.state {
            Some(ContainerPhase::Running { since: Some(since) }) => format!("started {} ago", ctx.age(shown, *since)),
            Some(ContainerPhase::Running { since: None }) => "running".to_owned(),
            Some(ContainerPhase::Waiting { reason, .. }) => {
                ended().map_or_else(|| reason.to_string(), |ended| format!("{reason}, {ended}"))
            }
            Some(ContainerPhase::Ended(_)) => ended().unwrap_or_default(),
            None => "not started".to_owned(),
        };
        words.push_str(&format!(" {dot} {}: {state}", container.name));
        if container.restarts > 0 {
            words.push_str(&format!(
                ", {} restart{}",
                container.restarts,
                if container.restarts == 1 { "" } else { "s" }
            ));
        }
    }
    let behind = ctx.model.rollout().map_or("nodes", RolloutPage::behind_the_node);
    words.push_str(&format!(" {dot} esc: {behind}"));
    words
}

/// The tabs, and the state of the open one; `names_node`: with the node, if no rule above them names it.
fn draw_tabs(
    ctx: &RenderContext<'_>,
    open: &NodePage,
    area: Rect,
    (names_node, standing): (bool, &str),
    buffer: &mut Buffer,
) {
    if area.is_empty() {
        return;
    }
    let wide = area.width >= 70;
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    for (nth, (tab, word)) in NodeTab::ALL.into_iter().enumerate() {
        let here = tab == open.tab;
        // Without room for all words, the number of a tab stands for it.
        let text = if here || wide { format!(" {} {word} ", nth + 1) } else { format!(" {} ", nth + 1) };
        used += width(&text) + 1;
        let role = if here { ThemeRole::Selection } else { ThemeRole::Text };
        let style = if here { ctx.style(role).add_modifier(Modifier::BOLD) } else { ctx.style(role) };
        // The open tab is never marked by colour alone: it is in brackets if nothing else marks it.
        spans.push(Span::styled(if here { format!("[{}]", text.trim()) } else { text }, style));
        spans.push(Span::raw(" "));
    }
    buffer.set_line(area.x, area.y, &Line::from(spans), area.width);
    // No other line shows the searched text.
    let names_node = names_node && open.search.is_empty();
    let said = if names_node { open.node.to_string() } else { standing.to_owned() };
    let room = usize::from(area.width).saturating_sub(used + 2);
    let cells = width(&said).min(room);
    if cells == width(&said) || cells > 8 || names_node {
        let x = area.right().saturating_sub(u16::try_from(cells + 1).unwrap_or(u16::MAX));
        let fitting = if names_node { fit_middle(&said, cells) } else { fit(&said, cells) };
        put(buffer, x, area.y, &fitting, cells, ctx.style(ThemeRole::Muted));
    }
}

/// The state of the log, or the visible lines, and the searched text.
fn standing(open: &NodePage, position: &str) -> String {
    let search = if open.search.is_empty() { String::new() } else { format!("find `{}`", open.search) };
    let (Some(_), Some(log)) = (open.tab.run(), &open.log) else {
        let parts = [search.as_str(), position].into_iter().filter(|part| !part.is_empty());
        return parts.collect::<Vec<_>>().join(", ");
    };
    let follows = match (&log.state, log.top) {
        (LogState::Opening, _) => "opening …",
        (LogState::Following, LogTop::Follow) => "following",
        (LogState::Following, LogTop::At(_)) => "not following (f)",
        (LogState::Waiting(_), _) => "waiting",
        (LogState::Ended, _) => "the whole run",
        (LogState::Failed(_) | LogState::Forbidden(_), _) => "",
    };
    if search.is_empty() { follows.to_owned() } else { format!("{search}, {follows}") }
}

/// The lines of a tab other than a log, in a limited number of cells.
fn lines(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    open: &NodePage,
    cells: usize,
) -> Vec<Line<'static>> {
    match open.tab {
        NodeTab::Why => why(ctx, page, shown, open, cells),
        NodeTab::Events => events(ctx, shown, open, cells),
        NodeTab::Describe => describe::lines(ctx, shown, open, cells),
        NodeTab::Yaml => yaml(ctx, open, cells),
        NodeTab::Log | NodeTab::Previous => Vec::new(),
    }
}

fn why(
    ctx: &RenderContext<'_>,
    page: &RolloutPage,
    shown: &ShownSnapshot,
    open: &NodePage,
    cells: usize,
) -> Vec<Line<'static>> {
    let node: Option<&NodeView> = shown.snapshot.nodes.iter().find(|node| node.name == open.node);
    let (mut lines, reasons) = match node {
        Some(node) => node::about(ctx, page, shown, node, (cells, 2_000)),
        None => (vec![Line::from(ctx.span("this node is not part of the rollout any more", ThemeRole::Warn))], 1),
    };
    // The events of the Pod follow the reasons; then other facts about the node, and the events before this Pod.
    let rest = lines.split_off(reasons);
    if node.is_some() {
        // The line above shows the node's name.
        lines.remove(0);
    }
    let story = node_story(&open.inspection);
    if let Some(run) = open.container().and_then(|one| one.ended()) {
        let heading = Line::from(ctx.span("Last words of the container", ThemeRole::Column));
        match &run.message {
            Some(words) => {
                lines.extend([Line::default(), heading]);
                lines.extend(words.lines().flat_map(|text| wrapped(ctx, text, cells, ThemeRole::Bad)));
            }
            // Most containers write the reason only to their log, which is read only on request.
            None if run.exit_code != 0 => {
                lines.extend([Line::default(), heading]);
                let key = ActionId::NodePrevious.action().key();
                let tab = ActionId::NodeLog.action().key();
                let text = match open.container().is_some_and(|one| matches!(one.state, Some(ContainerPhase::Ended(_))))
                {
                    true => format!("{run}, its status has no message: {tab} shows what it wrote"),
                    false => format!("{run}, its status has no message: {key} shows what it wrote in the run before"),
                };
                lines.extend(wrapped(ctx, &text, cells, ThemeRole::Text));
            }
            None => {}
        }
    }
    let (held, command) = held(ctx, open);
    if !held.is_empty() {
        lines.push(Line::default());
        lines.push(Line::from(ctx.span("What the node has of what its pod lacks", ThemeRole::Column)));
        lines.extend(held.iter().flat_map(|text| wrapped(ctx, text, cells, ThemeRole::Text)));
        lines.extend(command.iter().flat_map(|text| wrapped(ctx, text, cells, ThemeRole::Text)));
    }
    if !story.is_empty() {
        lines.push(Line::default());
        lines.push(Line::from(ctx.span("What happened to its pod (UTC)", ThemeRole::Column)));
        for moment in &story {
            let role = if moment.severity == Severity::Warning { ThemeRole::Warn } else { ThemeRole::Text };
            lines.extend(wrapped(ctx, &moment.to_string(), cells, role));
        }
    } else if let Some(why) = open.no_pod() {
        lines.push(Line::default());
        lines.push(Line::from(ctx.span(why, ThemeRole::Muted)));
    }
    if let Reading::Failed(why) = &open.inspection.events {
        lines.extend(wrapped(ctx, &format!("Events cannot be read: {why}"), cells, ThemeRole::Warn));
    }
    if !rest.is_empty() {
        lines.push(Line::default());
    }
    lines.extend(rest);
    let seen: Vec<&NodeMoment> = page.story.of_node(&open.node).collect();
    if !seen.is_empty() {
        lines.push(Line::default());
        lines.push(Line::from(ctx.span("What happened to the node, as far as seen (UTC)", ThemeRole::Column)));
        for NodeMoment { at, change, .. } in seen {
            let role = if change.severity() == Severity::Warning { ThemeRole::Warn } else { ThemeRole::Text };
            lines.extend(wrapped(ctx, &format!("{} {change}", clock_time(*at)), cells, role));
        }
    }
    lines
}

/// The resources that other Pods hold and the Pod lacks; if they cannot be read, also the command that shows them to others.
fn held(ctx: &RenderContext<'_>, open: &NodePage) -> (Vec<String>, Option<String>) {
    match &open.inspection.occupancy {
        Reading::Read(occupancy) => (occupancy.lines(&open.node), None),
        Reading::Failed(why) => {
            let text = format!("which pods hold it cannot be read: {why}; somebody who may do so sees them with:");
            let command = KubectlCommand::DescribeNode { node: open.node.clone() };
            (vec![text], ctx.model.shell_flags().and_then(|cluster| command.line(cluster)))
        }
        Reading::Pending | Reading::Absent => (Vec::new(), None),
    }
}

fn events(ctx: &RenderContext<'_>, shown: &ShownSnapshot, open: &NodePage, cells: usize) -> Vec<Line<'static>> {
    let events = match &open.inspection.events {
        Reading::Read(events) => events,
        Reading::Pending => return vec![Line::from(ctx.span("reading …", ThemeRole::Muted))],
        Reading::Absent => {
            let why = open.no_pod().unwrap_or_else(|| "there are none".to_owned());
            return vec![Line::from(ctx.span(why, ThemeRole::Muted))];
        }
        Reading::Failed(why) => {
            return wrapped(ctx, &format!("Events cannot be read: {why}"), cells, ThemeRole::Warn).collect();
        }
    };
    if events.is_empty() {
        let text = "there are no Events on this pod; API servers keep them for an hour, unless told otherwise";
        return wrapped(ctx, text, cells, ThemeRole::Muted).collect();
    }
    let mut lines = vec![Line::from(
        ctx.span(format!("{:>4} {:>5} {:<18} {}", "AGE", "TIMES", "REASON", "MESSAGE"), ThemeRole::Column),
    )];
    for event in events {
        let role = if event.severity == Severity::Warning { ThemeRole::Warn } else { ThemeRole::Text };
        let age = event.at.map(|at| ctx.age(shown, at)).unwrap_or_else(|| "?".to_owned());
        let head = format!("{age:>4} {:>5} {:<18} ", event.count, fit(&event.reason, 18));
        let indent = width(&head);
        let message = format!("{} ({})", event.message, event.from);
        for (nth, text) in wrap(&message, cells.saturating_sub(indent).max(20)).enumerate() {
            let head = if nth == 0 { head.clone() } else { " ".repeat(indent) };
            lines.push(Line::from(vec![ctx.span(head, role), ctx.span(text, role)]));
        }
    }
    lines
}

fn yaml(ctx: &RenderContext<'_>, open: &NodePage, cells: usize) -> Vec<Line<'static>> {
    if let Some(why) = open.no_pod() {
        return vec![Line::from(ctx.span(why, ThemeRole::Muted))];
    }
    let mut lines = Vec::new();
    for text in open.yaml() {
        if open.wraps {
            lines.extend(wrapped(ctx, text, cells, ThemeRole::Text));
        } else {
            lines.push(Line::from(ctx.span(fit(text, cells).into_owned(), ThemeRole::Text)));
        }
    }
    lines
}

/// `text` in lines of a limited number of cells; later lines are indented a little more than the first.
fn wrapped<'a>(
    ctx: &RenderContext<'a>,
    text: &str,
    cells: usize,
    role: ThemeRole,
) -> impl Iterator<Item = Line<'static>> + use<'a> {
    let indent = (text.len() - text.trim_start_matches(' ').len()).min(cells / 2);
    let style = ctx.style(role);
    let body: Vec<String> = wrap(text.trim_start_matches(' '), cells.saturating_sub(indent + 2).max(10)).collect();
    let body = if body.is_empty() { vec![String::new()] } else { body };
    body.into_iter().enumerate().map(move |(nth, line)| {
        let indent = if nth == 0 { indent } else { indent + 2 };
        Line::from(Span::styled(format!("{}{line}", " ".repeat(indent)), style))
    })
}

/// `line` with the searched text highlighted.
pub(super) fn marked(line: &Line<'static>, search: &str) -> Line<'static> {
    let text = line.to_string();
    let Some(at) = find(&text, search) else { return line.clone() };
    let (before, rest) = text.split_at(at);
    let (hit, after) = rest.split_at(search.len());
    let style = line.spans.last().map(|span| span.style).unwrap_or_default();
    Line::from(vec![
        Span::styled(before.to_owned(), style),
        Span::styled(hit.to_owned(), style.add_modifier(Modifier::REVERSED | Modifier::BOLD)),
        Span::styled(after.to_owned(), style),
    ])
}
