//! The time before the first snapshot, as the pods that exist now tell it.
//!
//! A pod that the rollout made tells when it was made and since when it is ready. That is the last time it became ready: it may have been ready
//! before, while its node served. So it tells neither when a node was first updated nor how many nodes were unavailable at once. The soak time, after
//! which a node with a ready pod counts as updated, is in the record, which goes when the rollout ends. The moments given here have to be the same
//! before and after that.

use std::time::Duration;

use super::{NodeChange, NodeMoment, ProgressFigures, ProgressPoint, moment};
use crate::engine::model::Str;
use crate::engine::model::node::NodeState;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{NodeView, Snapshot};

const SECOND: Duration = Duration::from_secs(1);

/// When the rollout began: as recorded, else when the target's revision was made. The first revision was never rolled out.
fn began(snapshot: &Snapshot) -> Option<Timestamp> {
    let is_first = snapshot.revisions.len() < 2;
    snapshot.target_began().or_else(|| snapshot.to.as_ref().filter(|_| !is_first)?.created_at)
}

/// The moments before `snapshot`, oldest first, and the progress over that time.
pub(super) fn reconstruct(
    snapshot: &Snapshot,
    deleted_at: impl Fn(&str) -> Option<Timestamp>,
) -> (Vec<NodeMoment>, Vec<ProgressPoint>) {
    let Some(began) = began(snapshot) else { return Default::default() };
    let mut moments = Vec::new();
    // For each node with the new pod: since when the pod is ready.
    let mut ready: Vec<Timestamp> = Vec::new();
    for node in snapshot.nodes.iter().filter(|node| node.eligible) {
        let is_updated = node.state == NodeState::Updated;
        // The cluster gives whole seconds, so a later time may seem earlier by a fraction of a second.
        let Some(made) = node.pod_created_at.filter(|made| node.at_target && *made + SECOND > began) else {
            ready.extend(node.since.filter(|_| is_updated).map(|since| since.clamp(began, snapshot.at.max(began))));
            continue;
        };
        let made = made.max(began);
        let known = deleted_at(&node.name).filter(|at| (began..made + SECOND).contains(at));
        let made = known.map_or(made, |at| made.max(at));
        let mut say = |at, change| moments.push(moment(at, &node.name, change));
        let state = |from, to, why| NodeChange::State {
            from,
            to,
            after: None,
            down: None,
            why,
            recovers: false,
            again: false,
            in_update: false,
        };
        if let Some(at) = known {
            say(at, state(Some(NodeState::Outdated), NodeState::Terminating, None));
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
                // The pod does not tell when it failed; a halt because of it does. Of a container that restarts it tells since when, and the node counts as
                // failed only after too many restarts.
                let halt = snapshot.halt.as_ref().filter(|halt| halt.failed().contains(&node.name));
                let halted_at = halt.map(|halt| halt.at.max(made));
                let since = match halted_at {
                    Some(at) if node.restarts > 0 => at,
                    Some(at) => since.min(at),
                    None => since,
                };
                say(since, state(None, node.state, cause(node)));
            }
            NodeState::NodeDown | NodeState::PullFailed => say(since, state(None, node.state, cause(node))),
            NodeState::Terminating
            | NodeState::Creating
            | NodeState::Pulling
            | NodeState::Starting
            | NodeState::Outdated
            | NodeState::Unknown
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
