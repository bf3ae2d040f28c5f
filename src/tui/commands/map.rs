//! The map of the nodes: opening it, moving on it, choosing by which label nodes are told apart.

use super::effects::{Effects, refuse};
use crate::engine::model::site::SiteLabel;
use crate::engine::report::snapshot::{Phase, Snapshot};
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::list::Move;
use crate::tui::message::ConsoleEffect;
use crate::tui::model::{Model, RolloutPage, RolloutScreen};
use crate::tui::node_map::{MapMove, block_labels};
use crate::tui::status::StatusSeverity;
use crate::tui::view::Measures;

/// Switches between the map and the list of nodes.
pub(super) fn toggle(model: &mut Model) -> Effects {
    if let Some(page) = model.rollout_mut() {
        page.map.is_open = !page.lists_nodes() || !page.map.is_open;
        (page.screen, page.node_page) = (RolloutScreen::Nodes, None);
        if page.map.is_open && !select_in_group(page) {
            keep_cursor(page);
        }
    }
    Vec::new()
}

/// Selects the first node of the group if the current row is a heading, because the map has no headings. Tells whether it was one.
pub(super) fn select_in_group(page: &mut RolloutPage) -> bool {
    let first = page.nodes.current_group().and_then(|group| group.nodes.first().copied());
    let name = first.and_then(|index| page.shown_nodes().get(index as usize)).map(|node| node.name.clone());
    let Some(name) = name else { return false };
    page.nodes.select_node(&name);
    page.arrange();
    true
}

/// Selects the node of the current row. The list's cursor is on the first row, whichever it is, until a row is selected; on the map the same would move
/// the cursor to another place because a node changed its state.
fn keep_cursor(page: &mut RolloutPage) {
    if let Some(name) = page.current().map(|node| node.name.clone()) {
        page.nodes.select_node(&name);
    }
}

/// Makes the values of this label the blocks of the map and the sites of the table; without a label, the values of the
/// rollout's site label.
pub(super) fn site(model: &mut Model, key: &str) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    if !key.is_empty()
        && let Err(why) = key.parse::<SiteLabel>()
    {
        return refuse(model, why);
    }
    let Some(shown) = page.shown().filter(|shown| shown.snapshot.phase != Phase::Loading) else {
        // Which labels the nodes have is not known yet.
        let label = Some(key).filter(|key| !key.is_empty()).map(str::to_owned);
        let by = label.as_deref().unwrap_or("the site label of the rollout");
        let text = format!("still loading: map and table tell sites apart by {by} as soon as nodes are known");
        let before = page.map.before_unchecked.take().unwrap_or_else(|| page.map.label().map(str::to_owned));
        let unchecked = label.is_some().then_some(before);
        let effects = choose(model, label, text);
        if let Some(page) = model.rollout_mut() {
            page.map.before_unchecked = unchecked;
        }
        return effects;
    };
    let usual = shown.snapshot.site_label.key().to_owned();
    if key.is_empty() || key == usual {
        let text = format!("map and table tell sites apart by {usual}, the site label of the rollout");
        return choose(model, None, text);
    }
    if let Some(why) = names_no_site(&shown.snapshot, key) {
        return refuse(model, why);
    }
    choose(model, Some(key.to_owned()), format!("map and table tell sites apart by {key}; budgets go by {usual}"))
}

/// Why no node is told apart by this label, with the labels that would do; `None` if some are.
fn names_no_site(snapshot: &Snapshot, key: &str) -> Option<String> {
    // As in the engine: a label without a value names no site.
    let values = || snapshot.nodes.iter().filter_map(|node| node.labels.get(key));
    let why = match (values().next().is_some(), values().any(|value| !value.is_empty())) {
        (_, true) => return None,
        (true, false) => format!("the label `{key}` has no value on any node"),
        (false, false) => format!("no node has the label `{key}`"),
    };
    let known = block_labels(&snapshot.nodes);
    let hint = match known.is_empty() {
        true => "no label tells the nodes apart".to_owned(),
        false => {
            format!("labels that tell them apart: {}", known.iter().take(5).cloned().collect::<Vec<_>>().join(", "))
        }
    };
    Some(format!("{why}; {hint}"))
}

/// Judges a label that was chosen while nodes were still loading, once they are known: one that names no site is given up, and that is said.
pub(crate) fn check_site(model: &mut Model, target: &DaemonSetRef) -> Effects {
    let Some(page) = model.rollouts.iter_mut().find(|page| page.target == *target) else { return Vec::new() };
    let Some(snapshot) = page.snapshot().filter(|snapshot| snapshot.phase != Phase::Loading).cloned() else {
        return Vec::new();
    };
    let Some(before) = page.map.before_unchecked.take() else { return Vec::new() };
    let label = page.map.label().filter(|label| *label != snapshot.site_label.key()).map(str::to_owned);
    let Some(why) = label.and_then(|label| names_no_site(&snapshot, &label)) else { return Vec::new() };
    page.choose_site(before.clone());
    match &before {
        Some(label) => model.chosen_sites.insert(target.clone(), label.clone()),
        None => model.chosen_sites.remove(target),
    };
    model.say(StatusSeverity::Refused, why);
    vec![ConsoleEffect::RememberSite { target: target.clone(), label: before }]
}

/// Uses the label for the rollout on screen, and has the choice remembered.
fn choose(model: &mut Model, label: Option<String>, text: String) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    page.choose_site(label.clone());
    page.map.before_unchecked = None;
    let target = page.target.clone();
    match &label {
        Some(label) => model.chosen_sites.insert(target.clone(), label.clone()),
        None => model.chosen_sites.remove(&target),
    };
    model.say(StatusSeverity::Plain, text);
    vec![ConsoleEffect::RememberSite { target, label }]
}

/// Whether the map is shown, so that keys move on it.
pub(super) fn is_seen(model: &Model) -> bool {
    model.rollout().is_some_and(|page| page.map.is_open && page.lists_nodes())
}

/// Moves up or down, by pages, or to the first or the last cell.
pub(super) fn move_by(model: &mut Model, movement: Move) -> Effects {
    go(
        model,
        match movement {
            Move::Up => MapMove::Up,
            Move::Down => MapMove::Down,
            Move::HalfUp | Move::PageUp => MapMove::PageUp,
            Move::HalfDown | Move::PageDown => MapMove::PageDown,
            Move::Top => MapMove::First,
            Move::Bottom => MapMove::Last,
        },
    )
}

/// Moves to another cell, and selects the worst node in it.
pub(super) fn go(model: &mut Model, movement: MapMove) -> Effects {
    let area = Measures::of(model).map;
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    let (layout, height) = (page.map.layout(area), area.height);
    let from = page.current().map(|node| node.name.clone());
    let next = page.map.step(&layout, from.as_deref(), movement, height.max(1), page.shown_nodes());
    if let Some(name) = next {
        page.nodes.select_node(&name);
        // The list shows a node of a folded group as soon as the node is selected.
        page.arrange();
    }
    Vec::new()
}
