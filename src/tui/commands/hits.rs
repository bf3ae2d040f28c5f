//! Moves from one row that passes the filter to the next.

use super::effects::{Effects, refuse};
use super::navigate;
use crate::tui::filter::ESC_CLEARS_IT;
use crate::tui::list::Move;
use crate::tui::model::{Model, Page};
use crate::tui::status::StatusSeverity;
use crate::tui::view;

/// Selects the next row that passes, or the previous one; the first follows the last.
pub(super) fn next(model: &mut Model, forward: bool) -> Effects {
    let Some((before, len)) = place(model) else {
        return refuse(model, format!("no row passes the filter: {ESC_CLEARS_IT}"));
    };
    let (step, end, last) = match forward {
        true => (Move::Down, Move::Top, len - 1),
        false => (Move::Up, Move::Bottom, 0),
    };
    let movement = if before == last { end } else { step };
    go(model, movement);
    if movement == end && len > 1 {
        let words = if forward { "after the last hit: the first again" } else { "before the first hit: the last" };
        model.say(StatusSeverity::Plain, words);
    }
    Vec::new()
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
            match (&page.timeline, &page.revisions) {
                (Some(timeline), _) => (timeline.list.current(timeline.len())?, timeline.len()),
                (None, Some(revisions)) => match &revisions.text {
                    Some(text) => (text.top, text.len(text.sides(model.size.width))),
                    None => (revisions.list.current(revisions.len())?, revisions.len()),
                },
                (None, None) => match &page.prewarm {
                    Some(prewarm) => (prewarm.list.current(prewarm.len())?, prewarm.len()),
                    None => (page.nodes.current()?, page.nodes.len()),
                },
            }
        }
    };
    (len > 0).then_some((at, len))
}

/// Moves in the list of nodes although the map is open; the map shows the node that is selected in the list.
fn go(model: &mut Model, movement: Move) {
    let height = view::list_height(model);
    let lists_nodes = |page: &&mut crate::tui::model::RolloutPage| {
        page.timeline.is_none() && page.revisions.is_none() && page.prewarm.is_none()
    };
    match model.rollout_mut().filter(lists_nodes) {
        Some(page) => {
            if let Some(shown) = page.shown().cloned() {
                page.nodes.go(movement, height, &shown.snapshot.nodes);
            }
        }
        None => drop(navigate::move_by(model, movement)),
    }
}
