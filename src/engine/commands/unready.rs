//! The lines of a preview about nodes that are down already: their names, and when those whose turn it is are updated.

use crate::engine::assess::plan::{costs_nothing, is_charged};
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::first_names::first_names;
use crate::engine::model::node::Blame;
use crate::engine::model::record::Direction;

impl Engine {
    /// Those of `nodes` that go although the budget is used up, because they are down and count against it already.
    pub(super) fn down_already<'a>(&self, nodes: &'a [Str], strict: bool) -> Vec<&'a Str> {
        let row = |name: &&Str| self.view.node(name).and_then(|node| self.assessment.row(node));
        nodes.iter().filter(|name| row(name).is_some_and(|row| costs_nothing(row, strict))).collect()
    }

    /// `ipc-3 is not available by itself: it goes before the others.`, for those of `nodes` that are about to
    /// go. The order is that of `assess/plan.rs`.
    pub(super) fn unready_in_words(&self, nodes: &[Str]) -> Option<String> {
        let by_itself = |row: &Row| !row.available && row.blame.is_some_and(|blame| blame != Blame::Rollout);
        let row = |name: &&Str| self.view.node(name).and_then(|node| self.assessment.row(node));
        let unready: Vec<&Str> = nodes.iter().filter(|name| row(name).is_some_and(by_itself)).collect();
        if unready.is_empty() || unready.len() == nodes.len() {
            return None;
        }
        let named = first_names(unready.iter().map(|name| &***name));
        let (are, they) = if unready.len() == 1 { ("is", "it goes") } else { ("are", "they go") };
        let proven = self.assessment.rows().any(Row::is_settled) || self.intent().direction() == Direction::Back;
        let when = match proven {
            true => "before the others",
            false => "once a node that serves is updated and well, and then before the others",
        };
        Some(format!("{named} {are} not available as it is: {they} {when}."))
    }

    /// ` (ipc-1, ipc-2, …)`: nodes of the fleet that are down and count against the budget; empty if there are none.
    pub(super) fn down_in_words(&self, strict: bool) -> String {
        let charged = |row: &&Row| row.in_fleet && is_charged(row, strict);
        let mut down: Vec<&Row> = self.assessment.rows().filter(charged).collect();
        down.sort_by_key(|row| self.natural_ranks().get(row.node));
        match down.is_empty() {
            true => String::new(),
            false => format!(" ({})", first_names(down.iter().map(|row| &*self.view.nodes[row.node].name))),
        }
    }
}
