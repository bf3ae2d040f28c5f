//! Since when nodes have been in their states, for the states whose beginning the facts do not tell.
//!
//! The facts tell since when a pod is in trouble, and a node in trouble goes through several states: it starts, it fails, and between two crashes it
//! is ready for a moment. Only a process that watched knows when a node changed between these states. Any other process shows since when the trouble
//! lasts.

use super::Row;
use crate::engine::model::node::{NodeIx, NodeState};
use crate::engine::model::time::Timestamp;
use crate::engine::view::PodIx;

/// The states in which nodes were last seen, by node index.
#[derive(Clone, Debug, Default)]
pub(super) struct InStateSince {
    known: Vec<Option<InState>>,
    /// Whether everything was watched when the states were last assessed: a node that is in another state now has come into it since then.
    watched: bool,
}

#[derive(Clone, Copy, Debug)]
struct InState {
    state: NodeState,
    pod: Option<PodIx>,
    /// By the API server's clock.
    since: Option<Timestamp>,
    /// Whether this process saw the node come into this state.
    seen: bool,
}

impl InStateSince {
    /// Takes in the row of a node as it was assessed at `now`, by the API server's clock.
    pub(super) fn follow(&mut self, node: NodeIx, row: Option<&Row>, now: Timestamp) {
        if self.known.len() <= node {
            self.known.resize(node + 1, None);
        }
        let before = self.known[node];
        self.known[node] = row.map(|row| {
            let (state, pod) = (row.state, row.pod);
            let in_state = |since, seen| InState { state, pod, since, seen };
            match before {
                Some(known) if (known.state, known.pod) == (state, pod) => match known.seen {
                    true => known,
                    // An Event may tell later that it began earlier.
                    false => in_state(known.since.into_iter().chain(row.since).min(), false),
                },
                // The facts tell it, unless they tell of a trouble that began in an earlier state.
                Some(known) if self.watched => {
                    let said = row.since.filter(|said| state != NodeState::Failed && Some(*said) >= known.since);
                    in_state(Some(said.map_or(now, |said| said.min(now))), true)
                }
                Some(_) | None => in_state(row.since, false),
            }
        });
    }

    /// Whether everything was watched when the states were last assessed.
    pub(super) fn seen(&mut self, watched: bool) {
        self.watched = watched;
    }

    /// Since when a node has been in the state of its row.
    pub(super) fn since(&self, row: &Row) -> Option<Timestamp> {
        let known = self.known.get(row.node).copied().flatten();
        match row.state {
            NodeState::Failed | NodeState::Starting | NodeState::PullFailed => {
                known.filter(|known| known.state == row.state).map_or(row.since, |known| known.since)
            }
            // The facts tell when they began.
            NodeState::NodeDown
            | NodeState::Terminating
            | NodeState::Creating
            | NodeState::Pulling
            | NodeState::Soaking
            | NodeState::Updated
            | NodeState::Unknown
            | NodeState::Ineligible
            | NodeState::Outdated => row.since,
        }
    }
}
