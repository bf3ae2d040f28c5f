//! The result of the step that `drive --until held` waits for, once no node is on its way and no further node may be updated.

use crate::cli::error::{CliError, CliErrorKind};
use crate::engine::model::first_names::first_names;
use crate::engine::model::node::NodeState;
use crate::engine::report::snapshot::{Alarm, NodeView, Snapshot};

/// Why the step is not done, although nothing moves any more. A script goes on after exit code 0 with the next step, for which this one is the canary.
/// `before`: how many nodes had the new revision when this process began to drive.
pub(super) fn not_done(snapshot: &Snapshot, before: u32) -> Option<CliError> {
    let failed: Vec<NodeView> = snapshot.nodes.iter().filter(|node| has_failed(node)).cloned().collect();
    if !failed.is_empty() {
        let nodes = if failed.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", failed.len()) };
        let names = first_names(failed.iter().map(|node| &*node.name));
        let error = CliError::new(
            CliErrorKind::Halted,
            format!("driving ends, and its step is not done: {nodes} failed at the new revision ({names})"),
        );
        return Some(
            error.hinted("`status --nodes` says why; `undo` goes back, and a next step would go on past them"),
        );
    }
    let may_go = |node: &&NodeView| node.selected && node.eligible && !node.committed;
    let counts = snapshot.counts;
    let left = snapshot.nodes.iter().any(|node| may_go(&node)) && snapshot.plan.allowed > counts.committed;
    // That failures were accepted lets the rollout go on past them, and makes none of these nodes an updated one.
    let all_failed = counts.committed > 0 && counts.updated == 0;
    ((left && counts.committed <= before) || all_failed).then(|| {
        let why = snapshot.guidance().map(|guidance| format!(": {}", guidance.waits)).unwrap_or_default();
        CliError::new(CliErrorKind::Incomplete, format!("driving ends, and no node of its step was updated{why}"))
    })
}

/// Why nothing goes on, and nothing will by itself: all of the budget is used by nodes that do not come back.
pub(super) fn stands_still(snapshot: &Snapshot) -> Option<CliError> {
    let alarm = snapshot.alarms.iter().find(|alarm| matches!(alarm, Alarm::BudgetUsedUp { .. }))?;
    Some(CliError::new(CliErrorKind::Incomplete, format!("driving ends, as no node can be updated: {alarm}")))
}

/// Whether a node of the new revision has failed, and no operator has accepted that.
fn has_failed(node: &NodeView) -> bool {
    let suspected = node.suspect.is_some_and(|suspect| suspect.has_failed());
    let failed = node.state == NodeState::Failed || suspected;
    failed && node.at_target && !node.accepted
}
