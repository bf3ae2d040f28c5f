//! The table of nodes of `status --nodes`, and the additional columns of `-o wide`.

use super::{add_columns, age};
use crate::engine::model::node::NodeState;
use crate::engine::model::node_details::NodeDetail;
use crate::engine::model::site::site_name;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Snapshot};
use crate::engine::report::trouble::is_in_trouble;

const NODE_HEAD: [&str; 8] = ["NODE", "STATE", "REV", "IMAGE", "POD", "RESTARTS", "POD-AGE", "WHY"];

/// The nodes in the console's order. Nodes that need a look come first: failures of the rollout, old pods that are not
/// ready, nodes that are down. The others are in the engine's order.
fn sorted(snapshot: &Snapshot) -> Vec<&NodeView> {
    let mut nodes: Vec<&NodeView> = snapshot.nodes.iter().collect();
    nodes.sort_by_key(|node| needs_a_look(node));
    nodes
}

/// The urgency of a look at the node; the smallest value is the most urgent.
fn needs_a_look(node: &NodeView) -> u8 {
    match node.state {
        _ if is_in_trouble(node) => 0,
        NodeState::Outdated | NodeState::Ineligible if node.cause.is_some() => 1,
        NodeState::NodeDown => 2,
        NodeState::Terminating
        | NodeState::Creating
        | NodeState::Pulling
        | NodeState::PullFailed
        | NodeState::Starting
        | NodeState::Soaking
        | NodeState::Outdated
        | NodeState::Updated
        | NodeState::Failed
        | NodeState::Unknown
        | NodeState::Ineligible => 3,
    }
}

pub(super) fn node_table(snapshot: &Snapshot) -> Vec<Vec<String>> {
    let cells = sorted(snapshot).into_iter().map(|node| node_cells(node, snapshot.at).to_vec());
    std::iter::once(NODE_HEAD.map(str::to_owned).to_vec()).chain(cells).collect()
}

/// Gives the cell of a column for a node at an instant.
type NodeCells = Box<dyn Fn(&NodeView, Timestamp) -> String>;

/// The columns that `-o wide` adds, each with its head.
fn wide_node_columns() -> Vec<(&'static str, NodeCells)> {
    let mut columns: Vec<(&'static str, NodeCells)> =
        vec![("SITE", Box::new(|node, _| site_name(&node.site).to_owned()))];
    columns.extend(NodeDetail::ALL.map(|detail| {
        let cell = move |node: &NodeView, _: Timestamp| {
            let known = node.details.get(detail).filter(|text| !text.is_empty());
            known.map_or_else(|| "?".to_owned(), ToString::to_string)
        };
        (detail.about().wide, Box::new(cell) as NodeCells)
    }));
    columns.push(("FOR", Box::new(|node, at| age(node.shown_since(), at))));
    columns
}

/// The same with the columns of `-o wide`.
pub(super) fn wide_node_table(snapshot: &Snapshot) -> Vec<Vec<String>> {
    let columns = wide_node_columns();
    let head = std::iter::once(columns.iter().map(|(head, _)| (*head).to_owned()).collect());
    let nodes = sorted(snapshot).into_iter();
    let cells = nodes.map(|node| columns.iter().map(|(_, cell)| cell(node, snapshot.at)).collect());
    let mut table = node_table(snapshot);
    add_columns(&mut table, head.chain(cells));
    table
}

/// A node's cells, in the order of [`NODE_HEAD`].
fn node_cells(node: &NodeView, at: Timestamp) -> [String; NODE_HEAD.len()] {
    let number = node.revision_number().map(|number| number.to_string());
    [
        node.name.to_string(),
        node.state_words(),
        number.or_else(|| node.revision_hash().map(ToString::to_string)).unwrap_or_else(|| "?".to_owned()),
        node.image.to_string(),
        node.pod.as_deref().unwrap_or("-").to_owned(),
        node.restarts.to_string(),
        age(node.pod_created_at, at),
        Why { node, at }.to_string(),
    ]
}
