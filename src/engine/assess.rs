//! Assesses the facts: a row per node, limits and budget, and a plan that gives every node a hold or lets it go.

pub(super) mod freshness;
pub(super) mod hold_of_node;
pub(super) mod images_on_nodes;
pub(super) mod inputs;
mod order;
pub(super) mod plan;
pub(super) mod rows;
