//! Marks: nodes that the user wants to find again. They are kept for as long as the DaemonSet is open, and change nothing in the cluster.

use super::effects::{Effects, refuse};
use crate::engine::model::quantity::counted;
use crate::tui::model::Model;
use crate::tui::status::StatusSeverity;

/// Marks the node of the current row, or removes its mark.
pub(super) fn toggle(model: &mut Model) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    let Some(name) = page.current().map(|node| node.name.clone()) else {
        let text = match page.nodes.current_group() {
            Some(_) => "only nodes are marked: enter opens and folds a group",
            None if !page.filter.is_all() => "there is no node to mark: none passes the filter, esc clears it",
            None => "there is no node to mark",
        };
        return refuse(model, text.to_owned());
    };
    if !page.marked.remove(&name) {
        page.marked.insert(name.clone());
    }
    let text = match page.marked.len() {
        0 => "no node is marked any more".to_owned(),
        number => format!(
            "{} marked: /@marked shows them, `:copy marked` copies their names, :unmark takes the marks away",
            counted(number, "node")
        ),
    };
    model.filter_by_new_marks();
    model.say(StatusSeverity::Plain, text);
    Vec::new()
}

/// Removes all marks.
pub(super) fn clear(model: &mut Model) -> Effects {
    let Some(page) = model.rollout_mut() else { return Vec::new() };
    let number = page.marked.len();
    page.marked.clear();
    let text = match number {
        0 => "no node is marked".to_owned(),
        _ => format!("{} not marked any more", counted(number, "node")),
    };
    model.filter_by_new_marks();
    model.say(StatusSeverity::Plain, text);
    Vec::new()
}
