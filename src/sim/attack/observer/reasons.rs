//! P8: a node or rollout that waits says what it waits for, and a step that is offered to an operator moves nodes.

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::hold::Hold;
use crate::engine::model::node::NodeState;
use crate::engine::model::time::Timestamp;
use crate::engine::report::remedies::Remedy;
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};

impl Observer {
    /// Looks for a node or a rollout that waits without saying what for.
    pub fn check_reasons(&mut self, by: &Str, snapshot: &Snapshot, now: Timestamp) {
        for node in snapshot.nodes.iter().filter(|node| waits(node)) {
            let failed = node.state == NodeState::Failed && node.cause.is_some();
            let held = node.hold.is_some() || node.at_target || failed || node.state.is_moving();
            let why = Why { node, at: snapshot.at }.to_string();
            if !held || why.is_empty() {
                self.report_violation("P8", now, format!("{by}: {} is {} and does not say why", node.name, node.state));
                return;
            }
        }
        if let Some(what) = rollout_in_silence(snapshot) {
            self.report_violation("P8", now, format!("{by}: {what}"));
        }
    }
}

/// Whether a node is not yet updated although it may have the pod.
fn waits(node: &NodeView) -> bool {
    !matches!(node.state, NodeState::Updated | NodeState::Ineligible)
}

/// The hold of the first waiting node, if the rollout counts as running but every node that is not updated is held and none is next.
///
/// Holds of the whole rollout do not count, because the screen says them elsewhere: a stale view, an unsent write, the preparation, and a
/// pause that is not saved yet. A node held by the partition is not named.
fn all_held_by(snapshot: &Snapshot) -> Option<&Hold> {
    let stands = |hold: &Hold| {
        let moves = matches!(hold, Hold::Next | Hold::Waits(_));
        let whole = matches!(hold, Hold::ViewStale | Hold::NotSent | Hold::Preparing | Hold::Paused);
        !moves && !whole
    };
    let waiting = snapshot.nodes.iter().filter(|node| waits(node));
    let all = waiting.clone().all(|node| node.hold.as_ref().is_some_and(stands) && !node.state.is_moving());
    let in_the_way = |hold: &&Hold| !matches!(hold, Hold::Partition { .. });
    let first = waiting.filter_map(|node| node.hold.as_ref()).find(in_the_way);
    first.filter(|_| all && snapshot.phase == Phase::Running)
}

fn rollout_in_silence(snapshot: &Snapshot) -> Option<String> {
    let guidance = snapshot.guidance();
    if matches!(snapshot.phase, Phase::Preparing | Phase::Releasing(_)) && snapshot.blocked.is_none() {
        return Some(format!("it is {} and does not say what it waits for", snapshot.phase));
    }
    if snapshot.phase == Phase::Held && guidance.is_none() {
        return Some("it is held and does not say why".to_owned());
    }
    if let Some(hold) = all_held_by(snapshot).filter(|_| guidance.is_none() && snapshot.alarms.is_empty()) {
        return Some(format!("nothing moves, all nodes wait ({hold}), and it does not say why"));
    }
    let idle = |remedy: &&Remedy| matches!(remedy, Remedy::Step(ahead) if ahead.frees == Some(0));
    let offered = guidance.as_ref().and_then(|guidance| guidance.remedies.iter().find(idle));
    offered.map(|remedy| format!("it offers a step that moves nothing: {remedy:?}"))
}
