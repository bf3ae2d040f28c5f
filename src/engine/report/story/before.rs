//! What the pods that are there now tell of the time before.
//!
//! A pod that the rollout made says when it was made and since when it is available. In between its node was unavailable, and
//! from when its old pod was deleted, where that is known.

use std::time::Duration;

use super::{NodeChange, NodeMoment, ProgressPoint};
use crate::engine::model::Str;
use crate::engine::model::node::NodeState;
use crate::engine::model::record::Direction;
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
    // By how much each instant changes the nodes that are updated and those that are unavailable.
    let mut steps: Vec<(Timestamp, i64, i64)> = Vec::new();
    let mut updated = 0;
    let soak = match snapshot.direction {
        Direction::Forward if snapshot.started_at.is_some() => Duration::from(snapshot.settings.gates.soak_secs),
        Direction::Forward | Direction::Back => Duration::ZERO,
    };
    for node in snapshot.nodes.iter().filter(|node| node.eligible) {
        let available = node.state == NodeState::Updated;
        // The cluster tells whole seconds, so what is later may seem to be earlier by a part of one.
        let Some(made) = node.pod_created_at.filter(|made| node.at_target && *made + SECOND > began) else {
            updated += i64::from(available);
            if let (Some(since), Some(_)) = (node.since, node.blame) {
                steps.push((since.max(began), 0, 1));
            }
            continue;
        };
        let made = made.max(began);
        let known = taken(&node.name).filter(|taken| (began..made + SECOND).contains(taken));
        let (down, made) = known.map_or((made, made), |taken| (taken, made.max(taken)));
        let mut say = |at, from, to, why| {
            let change = NodeChange::State { from, to, after: None, down: None, why, recovers: false };
            moments.push(NodeMoment { at, node: node.name.clone(), change });
        };
        if known.is_some() {
            say(down, Some(NodeState::Outdated), NodeState::Terminating, None);
        }
        say(made, None, NodeState::Creating, None);
        steps.push((down, 0, 1));
        let Some(since) = node.since.filter(|since| *since + SECOND >= made && *since <= snapshot.at) else { continue };
        // A pod that is ready soaks before its node is updated.
        let since = match node.state {
            NodeState::Updated => (since.max(made) + soak).min(snapshot.at),
            _ => since.max(made),
        };
        match node.state {
            NodeState::Updated => {
                let change = NodeChange::State {
                    from: None,
                    to: NodeState::Updated,
                    after: None,
                    // When its old pod went is not known from the new one; there may have been none.
                    down: known.is_some().then(|| since.since(down)),
                    why: None,
                    recovers: false,
                };
                moments.push(NodeMoment { at: since, node: node.name.clone(), change });
                steps.push((since, 1, -1));
            }
            NodeState::Failed => {
                // The pod does not tell when it failed; a halt because of it does.
                let halt = snapshot.halt.as_ref().filter(|halt| halt.failed().contains(&node.name));
                let since = halt.map_or(since, |halt| since.min(halt.at.max(made)));
                say(since, None, node.state, cause(node));
            }
            NodeState::NodeDown | NodeState::PullFailed => say(since, None, node.state, cause(node)),
            NodeState::Terminating
            | NodeState::Creating
            | NodeState::Pulling
            | NodeState::Starting
            | NodeState::Soaking
            | NodeState::Outdated
            | NodeState::Ineligible => {}
        }
    }
    moments.sort_by(|a, b| (a.at, &a.node).cmp(&(b.at, &b.node)));
    (moments, points(snapshot, began, updated, steps))
}

fn cause(node: &NodeView) -> Option<Str> {
    node.cause.as_ref().map(|cause| cause.to_string().into())
}

fn points(
    snapshot: &Snapshot,
    began: Timestamp,
    mut updated: i64,
    mut steps: Vec<(Timestamp, i64, i64)>,
) -> Vec<ProgressPoint> {
    steps.sort_unstable();
    let nodes = snapshot.counts.nodes;
    let count = |count: i64| u32::try_from(count).unwrap_or(0).min(nodes);
    let mut unavailable = 0;
    let mut points = vec![ProgressPoint { at: began, updated: count(updated), unavailable: 0, nodes }];
    for (at, more_updated, more_unavailable) in steps {
        updated += more_updated;
        unavailable += more_unavailable;
        let point = ProgressPoint { at, updated: count(updated), unavailable: count(unavailable), nodes };
        match points.last_mut() {
            Some(last) if last.at == at => *last = point,
            _ => points.push(point),
        }
    }
    points
}
