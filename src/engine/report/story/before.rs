//! What the pods that are there now tell of the time before.
//!
//! A pod that the rollout made says when it was made, and since when it is ready. That is when it became ready last: between the two it
//! may have been ready before, and its node served. So neither when a node was updated first nor how many nodes were unavailable at once is
//! told by it. How long a pod that is ready soaks before its node counts as updated is in the record of a rollout, which goes with its end:
//! what is told here has to be the same before and after.

use std::time::Duration;

use super::{NodeChange, NodeMoment, ProgressFigures, ProgressPoint};
use crate::engine::model::Str;
use crate::engine::model::node::NodeState;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Snapshot};

const SECOND: Duration = Duration::from_secs(1);

/// When the rollout began: as it is recorded, else when the target's revision was. The first revision was never rolled out.
fn began(snapshot: &Snapshot) -> Option<Timestamp> {
    let is_first = snapshot.revisions.len() < 2;
    snapshot.target_began().or_else(|| snapshot.to.as_ref().filter(|_| !is_first)?.created_at)
}

/// What happened before `snapshot`, oldest first, and how far the rollout was when.
pub(super) fn reconstruct(
    snapshot: &Snapshot,
    taken: impl Fn(&str) -> Option<Timestamp>,
) -> (Vec<NodeMoment>, Vec<ProgressPoint>) {
    let Some(began) = began(snapshot) else { return Default::default() };
    let mut moments = Vec::new();
    // Since when a node has the new pod, ready.
    let mut ready: Vec<Timestamp> = Vec::new();
    for node in snapshot.nodes.iter().filter(|node| node.eligible) {
        let is_updated = node.state == NodeState::Updated;
        // The cluster tells whole seconds, so what is later may seem to be earlier by a part of one.
        let Some(made) = node.pod_created_at.filter(|made| node.at_target && *made + SECOND > began) else {
            ready.extend(node.since.filter(|_| is_updated).map(|since| since.clamp(began, snapshot.at.max(began))));
            continue;
        };
        let made = made.max(began);
        let known = taken(&node.name).filter(|taken| (began..made + SECOND).contains(taken));
        let made = known.map_or(made, |taken| made.max(taken));
        let mut say = |at, change| moments.push(NodeMoment { at, node: node.name.clone(), change });
        let state = |from, to, why| NodeChange::State { from, to, after: None, down: None, why, recovers: false };
        if let Some(taken) = known {
            say(taken, state(Some(NodeState::Outdated), NodeState::Terminating, None));
        }
        say(made, state(None, NodeState::Creating, None));
        let Some(since) = node.since.filter(|since| *since + SECOND >= made && *since <= snapshot.at) else { continue };
        let since = since.max(made);
        match node.state {
            NodeState::Updated | NodeState::Soaking => {
                say(since, NodeChange::ReadySince);
                ready.extend(Some(since).filter(|_| is_updated));
            }
            NodeState::Failed => {
                // The pod does not tell when it failed; a halt because of it does.
                let halt = snapshot.halt.as_ref().filter(|halt| halt.failed().contains(&node.name));
                let since = halt.map_or(since, |halt| since.min(halt.at.max(made)));
                say(since, state(None, node.state, cause(node)));
            }
            NodeState::NodeDown | NodeState::PullFailed => say(since, state(None, node.state, cause(node))),
            NodeState::Terminating
            | NodeState::Creating
            | NodeState::Pulling
            | NodeState::Starting
            | NodeState::Outdated
            | NodeState::Ineligible => {}
        }
    }
    moments.sort_by(|a, b| (a.at, &a.node).cmp(&(b.at, &b.node)));
    (moments, points(snapshot, began, ready))
}

fn cause(node: &NodeView) -> Option<Str> {
    node.cause.as_ref().map(|cause| cause.to_string().into())
}

fn points(snapshot: &Snapshot, began: Timestamp, mut ready: Vec<Timestamp>) -> Vec<ProgressPoint> {
    ready.sort_unstable();
    let point = |at, ready_at_least| ProgressPoint {
        at,
        figures: ProgressFigures::ReadOff { ready_at_least },
        nodes: snapshot.counts.nodes,
    };
    let mut points = vec![point(began, 0)];
    for (at, count) in ready.into_iter().zip(1..) {
        match points.last_mut() {
            Some(last) if last.at == at => *last = point(at, count),
            _ => points.push(point(at, count)),
        }
    }
    points
}
