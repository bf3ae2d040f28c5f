//! The page of a node: opens it, and moves through its tabs and its log.

use super::effects::{Effects, refuse};
use crate::engine::model::container_log::LogSource;
use crate::engine::model::kubectl_command::{KubectlCommand, PodReading};
use crate::tui::list::Move;
use crate::tui::log_pane::{LogPane, LogTop, contains};
use crate::tui::message::ConsoleEffect;
use crate::tui::model::{Model, RolloutPage};
use crate::tui::node_page::{NodePage, NodeTab};
use crate::tui::status::StatusSeverity;
use crate::tui::view;

/// Shows this tab of the node whose page is open, or else of the current row.
pub(super) fn open(model: &mut Model, tab: NodeTab) -> Effects {
    if let Some(open) = model.node_page_mut() {
        open.tab = tab;
        return read_log(model);
    }
    let serial = model.next_serial();
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    let Some(node) = page.current() else {
        let why = match page.nodes.current_group() {
            Some(_) => "this is a group of nodes: enter opens and folds it",
            None => "there is no node to show",
        };
        return refuse(model, why.to_owned());
    };
    let (name, pod) = (node.name.clone(), node.pod.clone());
    let target = page.target.clone();
    page.node_page = Some(NodePage::new(name.clone(), pod.clone(), tab, serial));
    vec![ConsoleEffect::Inspect { serial, namespace: target.namespace, node: name, pod }]
}

/// Goes to the next tab, or to the one before.
pub(super) fn turn(model: &mut Model, forward: bool) -> Effects {
    let tab = model.node_page().map(|page| page.tab.next(forward));
    tab.map(|tab| open(model, tab)).unwrap_or_default()
}

/// Asks for the log that the open tab shows, unless the log is being read already.
pub(crate) fn read_log(model: &mut Model) -> Effects {
    let Some(RolloutPage { target, node_page: Some(page), .. }) = model.rollout() else { return Vec::new() };
    let wanted = page.wanted_log(&target.namespace);
    let known = page.log.as_ref().map(|log| &log.source);
    let Some(source) = wanted.filter(|wanted| Some(wanted) != known) else { return Vec::new() };
    let serial = model.next_serial();
    if let Some(page) = model.node_page_mut() {
        page.log = Some(LogPane::new(serial, source.clone()));
    }
    vec![ConsoleEffect::ReadLog { serial, source }]
}

/// Reads the node's present Pod, if it is another one than before.
pub(crate) fn follow_pod(model: &mut Model) -> Effects {
    let Some(RolloutPage { target, node_page: Some(open), live: Some(shown), .. }) = model.rollout() else {
        return Vec::new();
    };
    let (namespace, node) = (target.namespace.clone(), open.node.clone());
    // While a node has no Pod, the page goes on showing its last one.
    let pod = shown.snapshot.nodes.iter().find(|one| one.name == node).and_then(|one| one.pod.clone());
    let Some(pod) = pod.filter(|pod| open.pod.as_ref() != Some(pod)) else { return Vec::new() };
    let serial = model.next_serial();
    if let Some(page) = model.node_page_mut() {
        page.turn_to(Some(pod.clone()), serial);
    }
    vec![ConsoleEffect::Inspect { serial, namespace, node, pod: Some(pod) }]
}

/// Shows the log of the next container.
pub(super) fn next_container(model: &mut Model) -> Effects {
    let Some(page) = model.node_page_mut() else { return Vec::new() };
    match page.next_container() {
        Some(_) => {
            if page.tab.run().is_none() {
                page.tab = NodeTab::Log;
            }
            read_log(model)
        }
        None => refuse(model, "there is no other container".to_owned()),
    }
}

pub(super) fn wrap(model: &mut Model) -> Effects {
    if let Some(page) = model.node_page_mut() {
        page.wraps = !page.wraps;
    }
    Vec::new()
}

pub(super) fn timestamps(model: &mut Model) -> Effects {
    if let Some(page) = model.node_page_mut() {
        page.timestamps = !page.timestamps;
    }
    Vec::new()
}

/// Stops following a log at its present line, or follows it again.
pub(super) fn follow(model: &mut Model) -> Effects {
    let layout = view::log_layout(model);
    if let Some(log) = model.node_page_mut().and_then(|page| page.log.as_mut()) {
        log.top = match log.top {
            LogTop::Follow => LogTop::At(log.forgotten() + log.first_shown(layout) as u64),
            LogTop::At(_) => LogTop::Follow,
        };
    }
    Vec::new()
}

/// Shows the next line that contains the searched text.
pub(super) fn find(model: &mut Model, forward: bool) -> Effects {
    let (layout, lines) = (view::log_layout(model), view::node_lines(model));
    let Some(page) = model.node_page_mut() else { return Vec::new() };
    if page.search.is_empty() {
        return refuse(model, "nothing is searched for: / asks for a text".to_owned());
    }
    let search = page.search.clone();
    let found = match (page.tab.run(), &mut page.log) {
        (Some(_), Some(log)) => log.find(&search, forward, layout),
        _ => find_line(page, &lines, forward),
    };
    if !found {
        model.say(StatusSeverity::Plain, format!("`{search}` is not in what is shown here"));
    }
    Vec::new()
}

fn find_line(page: &mut NodePage, lines: &[String], forward: bool) -> bool {
    let (at, len) = (page.top(), lines.len());
    let hit = |nth: &usize| contains(&lines[*nth], &page.search);
    let found = match forward {
        true => (at + 1..len).find(hit).or_else(|| (0..len.min(at + 1)).find(hit)),
        false => (0..at.min(len)).rev().find(hit).or_else(|| (at.min(len)..len).rev().find(hit)),
    };
    if let Some(found) = found {
        page.set_top(found);
    }
    found.is_some()
}

/// Scrolls the open tab.
pub(super) fn move_by(model: &mut Model, movement: Move) {
    let (layout, lines) = (view::log_layout(model), view::node_lines(model).len());
    let Some(page) = model.node_page_mut() else { return };
    if page.tab.run().is_some() {
        if let Some(log) = &mut page.log {
            log.go(movement, layout);
        }
        return;
    }
    let (height, at) = (layout.height.max(1), page.top());
    let last = lines.saturating_sub(height);
    let to = match movement {
        Move::Up => at.saturating_sub(1),
        Move::Down => at + 1,
        Move::HalfUp => at.saturating_sub((height / 2).max(1)),
        Move::HalfDown => at + (height / 2).max(1),
        Move::PageUp => at.saturating_sub(height),
        Move::PageDown => at + height,
        Move::Top => 0,
        Move::Bottom => last,
    };
    page.set_top(to.min(last));
}

/// Shows the command that prints the content of the open tab.
pub(super) fn command(model: &mut Model) -> Effects {
    let namespace = model.rollout().map(|page| page.target.namespace.clone()).unwrap_or_default();
    let cluster = model.cluster_flags.clone();
    let command = model.node_page().and_then(|page| {
        let pod = page.inspection.pod.read()?.name.clone();
        let read = |reads| KubectlCommand::Pod { reads, namespace: namespace.clone(), pod: pod.clone() };
        Some(match (page.tab, page.tab.run()) {
            (_, Some(run)) => {
                let container = page.container()?.name.clone();
                KubectlCommand::Log(LogSource { namespace: namespace.clone(), pod: pod.clone(), container, run })
            }
            (NodeTab::Events, None) => read(PodReading::Events),
            (NodeTab::Yaml, None) => read(PodReading::Yaml),
            (NodeTab::Why | NodeTab::Describe | NodeTab::Log | NodeTab::Previous, None) => {
                read(PodReading::Description)
            }
        })
    });
    match command.map(|command| cluster.and_then(|cluster| command.line(&cluster))) {
        Some(Some(command)) => model.say(StatusSeverity::Plain, command),
        Some(None) => model.say(StatusSeverity::Refused, "a name in the command cannot be pasted safely"),
        None => model.say(StatusSeverity::Refused, "the pod is not read yet"),
    }
    Vec::new()
}
