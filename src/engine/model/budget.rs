//! The two budgets in nodes: how many are down, on whose account, and how many may be.

use serde::Serialize;

use super::quantity::IntOrPercent;

/// The budget, term by term. `charged` = the terms that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetView {
    /// How many nodes may be down at once.
    pub max_unavailable: u32,
    /// How that was written.
    #[serde(skip)]
    pub max_unavailable_setting: Option<IntOrPercent>,
    /// Unavailable because of the rollout: being replaced, or not available at the new revision.
    pub rollout: u32,
    /// Of `rollout`: had been ready at the new revision, and restarted. They were not down when the next ones were taken down.
    pub restarted: u32,
    /// Unavailable because their node went down after it got the new pod.
    pub suspect: u32,
    /// Unavailable because their node is down, still at the old revision.
    pub node: u32,
    /// Unavailable since before the rollout began, or an old pod that fails on a healthy node.
    pub pre_existing: u32,
    /// What counts against `max_unavailable`.
    pub charged: u32,
    /// Whether all terms count (`strict`).
    pub strict: bool,
    /// Who replaces the pods, and so whose doing `rollout` is.
    pub replaced_by: Replacer,
    /// Nodes that hold a pull slot.
    pub pulling: u32,
    /// How many may.
    pub max_pulling: u32,
}

/// Who replaces the pods of a DaemonSet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Replacer {
    /// Whoever drives the rollout that rolldeck recorded.
    #[default]
    Rolldeck,
    /// The DaemonSet's own controller: rolldeck only looks on, or has stopped it and replaced no pod yet.
    Controller,
}
