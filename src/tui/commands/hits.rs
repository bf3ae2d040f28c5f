//! Moves from one row that passes the filter to the next.

use super::effects::{Effects, refuse};
use super::{map, navigate};
use crate::engine::model::Str;
use crate::tui::filter::ESC_CLEARS_IT;
use crate::tui::list::Move;
use crate::tui::model::{Model, Page, RolloutScreen};
use crate::tui::status::StatusSeverity;
use crate::tui::view;

/// Said where the first hit follows the last, until the next hit.
const FIRST_AGAIN: &str = "after the last hit: the first again";
/// Said where the last hit precedes the first.
const LAST_AGAIN: &str = "before the first hit: the last";

/// Selects the next row that passes, or the previous one; the first follows the last.
pub(super) fn next(model: &mut Model, forward: bool) -> Effects {
    let Some((before, len)) = place(model) else {
        return refuse(model, format!("no row passes the filter: {ESC_CLEARS_IT}"));
    };
    model.status.take_if(|status| [FIRST_AGAIN, LAST_AGAIN].contains(&&*status.text));
    if map::is_seen(model) {
        if next_on_map(model, forward) && len > 1 {
            say_where_it_begins_again(model, forward);
        }
        return Vec::new();
    }
    let (step, end, last) = match forward {
        true => (Move::Down, Move::Top, len - 1),
        false => (Move::Up, Move::Bottom, 0),
    };
    let movement = if before == last { end } else { step };
    go(model, movement);
    if movement == end && len > 1 {
        say_where_it_begins_again(model, forward);
    }
    Vec::new()
}

fn say_where_it_begins_again(model: &mut Model, forward: bool) {
    let words = if forward { FIRST_AGAIN } else { LAST_AGAIN };
    model.say(StatusSeverity::Plain, words);
}

/// Selects the node that passes next in the order of the map. Tells whether the first followed the last, or the other way round.
fn next_on_map(model: &mut Model, forward: bool) -> bool {
    let Some(page) = model.rollout_mut() else { return false };
    let current = page.current().map(|node| node.name.clone());
    let nodes = page.shown_nodes();
    let passing = page.nodes.indices().filter_map(|index| Some(&nodes.get(index as usize)?.name));
    let places = page.map.places();
    let mut hits: Vec<((u32, u32), Str)> =
        passing.filter_map(|name| Some((*places.get(name)?, name.clone()))).collect();
    hits.sort_unstable();
    let at = current.as_ref().and_then(|current| hits.iter().position(|(_, name)| name == current));
    let (next, is_over) = match (at, forward) {
        (None, _) => (hits.first(), false),
        (Some(at), true) => (hits.get(at + 1).or_else(|| hits.first()), at + 1 == hits.len()),
        (Some(at), false) => (at.checked_sub(1).and_then(|at| hits.get(at)).or_else(|| hits.last()), at == 0),
    };
    if let Some((_, name)) = next.cloned() {
        page.nodes.select_node(&name);
        page.arrange();
    }
    is_over
}

/// The place of the current row among those that pass, and their number; `None` if no row passes.
fn place(model: &Model) -> Option<(usize, usize)> {
    let (at, len) = match &model.page {
        Page::Fleet => {
            let page = model.fleet.as_ref()?;
            (page.list.current(page.rows.len())?, page.rows.len())
        }
        Page::Rollout(_) => {
            let page = model.rollout()?;
            match &page.screen {
                RolloutScreen::Nodes => (page.nodes.current()?, page.nodes.len()),
                RolloutScreen::Timeline(timeline) => (timeline.list.current(timeline.len())?, timeline.len()),
                RolloutScreen::Revisions(revisions) => match &revisions.text {
                    Some(text) => (text.top, text.len(text.sides(model.size.width))),
                    None => (revisions.list.current(revisions.len())?, revisions.len()),
                },
                RolloutScreen::Prewarm(prewarm) => (prewarm.list.current(prewarm.len())?, prewarm.len()),
            }
        }
    };
    (len > 0).then_some((at, len))
}

/// Moves in the list of nodes although the map is open; the map shows the node that is selected in the list.
fn go(model: &mut Model, movement: Move) {
    let height = view::list_height(model);
    match model.rollout_mut().filter(|page| matches!(page.screen, RolloutScreen::Nodes)) {
        Some(page) => {
            if let Some(shown) = page.shown().cloned() {
                page.nodes.go(movement, height, &shown.snapshot.nodes);
            }
        }
        None => drop(navigate::move_by(model, movement)),
    }
}
