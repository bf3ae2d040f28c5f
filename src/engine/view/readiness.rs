//! When nodes went down and came back.

use super::{NodeEntry, ObservedAt, View};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::{ConditionStatus, NodeFact};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::by_server;

/// When a node went down and came back. Down: condition `Ready` is not `True` (its kubelet says so, or has not been heard), or
/// the node object is gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Readiness {
    /// Whether it is down; `None` before it was seen.
    down: Option<bool>,
    /// `None`: it was never seen down. Boxed, because that is so of most nodes.
    falls: Option<Box<Falls>>,
}

/// When a node went down and came back, as far as that was seen.
#[derive(Clone, Debug, Default)]
struct Falls {
    /// When it went down last, and the cluster's time for that.
    fell: Option<(ObservedAt, Option<Timestamp>)>,
    /// When it was seen to come back after that, by our clock.
    back_at: Option<Timestamp>,
    /// Whether it was silent at any time since it went down last: its condition was `Unknown`, or its node object was gone. Otherwise its kubelet itself said that the
    /// node is not ready, so that machine and kubelet were running.
    was_silent: bool,
    /// When it was seen to go down, by our clock: the last [`FALLS`] times, oldest first.
    seen: Vec<Timestamp>,
}

/// This many falls of a node are remembered, which is enough to recognise a node that flaps.
const FALLS: usize = 6;

impl Readiness {
    pub(super) fn node_is(&mut self, fact: &NodeFact, observed: ObservedAt, now: Timestamp) {
        let down = fact.ready != ConditionStatus::True;
        let silent = fact.is_silent();
        match self.down.replace(down) {
            Some(was) if was == down => self.is_silent(silent),
            Some(true) => self.falls.get_or_insert_default().back_at = Some(now),
            // A node that joins starts without being Ready: that is not going down.
            None if !down || matches!(observed, ObservedAt::Happen(_)) => {}
            _ => {
                // A time from the kubelet is by the node's clock, one from the controller by the server's.
                let clock = fact.clock_skew_millis.filter(|_| fact.ready == ConditionStatus::False);
                let said = fact.ready_since.map(|at| by_server(at, clock));
                let falls = self.falls.get_or_insert_default();
                if matches!(observed, ObservedAt::Happen(_)) {
                    if falls.seen.len() == FALLS {
                        falls.seen.remove(0);
                    }
                    falls.seen.push(now);
                }
                (falls.fell, falls.back_at, falls.was_silent) = (Some((observed, said)), None, silent);
            }
        }
    }

    fn is_silent(&mut self, silent: bool) {
        if let Some(falls) = self.falls.as_mut().filter(|_| silent) {
            falls.was_silent = true;
        }
    }

    pub(super) fn node_is_gone(&mut self, observed: ObservedAt) {
        if self.down.replace(true) == Some(false) {
            let falls = self.falls.get_or_insert_default();
            (falls.fell, falls.back_at, falls.was_silent) = (Some((observed, None)), None, true);
        }
        self.is_silent(true);
    }
}

impl NodeEntry {
    /// When it went down last, as far as known, by our clock.
    pub(crate) fn fell_at(&self, now: Timestamp, server_now: Timestamp) -> Option<Timestamp> {
        let (observed, said) = self.readiness.falls.as_ref()?.fell?;
        Some(now - observed.elapsed(said, now, server_now))
    }

    /// How often it was seen to go down between these two times, by our clock; at most [`FALLS`].
    pub(crate) fn falls_between(&self, from: Timestamp, to: Timestamp) -> usize {
        let seen = self.readiness.falls.iter().flat_map(|falls| &falls.seen);
        seen.filter(|at| (from..to).contains(at)).count()
    }

    /// Whether it has gone down, and its kubelet itself said so as long as it was down.
    pub(crate) fn its_kubelet_told(&self) -> bool {
        self.readiness.falls.as_ref().is_some_and(|falls| falls.fell.is_some() && !falls.was_silent)
    }

    /// When it was seen to come back after that.
    pub(crate) fn back_at(&self) -> Option<Timestamp> {
        self.readiness.falls.as_ref()?.back_at
    }
}

impl View {
    /// How facts of this kind are known now: while the watch is live we see them happen. Otherwise a list shows how they are, or
    /// a watch that was down or lagged tells what was missed.
    pub(super) fn observation_kind(&self, watched: Watched, now: Timestamp) -> ObservedAt {
        let live =
            matches!(self.health(watched), WatchHealth::Live) && self.watches.catches_up_until(watched, now).is_none();
        if live { ObservedAt::Happen(now) } else { ObservedAt::Already(now, self.skew_millis) }
    }

    /// Nodes are watched from the first time that their watch is open.
    pub(super) fn nodes_are_seen(&mut self, watched: Watched, health: &WatchHealth, now: Timestamp) {
        if watched == Watched::Nodes && *health == WatchHealth::Live && self.nodes_seen_since == Timestamp::default() {
            self.nodes_seen_since = now;
        }
    }
}
