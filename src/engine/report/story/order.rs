//! Where the beginning of a node's update stands among the events of its rollout.
//!
//! The update begins when the old pod's deletion is accepted, and API servers write that time (`metadata.deletionTimestamp`) in whole seconds, with the
//! fraction cut off. So an update that was let go in the middle of a second seems to begin before what let it go.

use super::{NodeChange, NodeMoment};
use crate::engine::model::facts::Severity;
use crate::engine::model::node::NodeState;
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::time::Timestamp;

const SECOND_MILLIS: i64 = 1_000;

/// The times of the events because of which nodes are updated.
#[derive(Debug)]
pub struct UpdateOrder(Vec<Timestamp>);

impl UpdateOrder {
    /// The order that these events of the rollout give.
    pub fn of(events: &[RolloutEvent]) -> Self {
        // Not what ends an update: bad news, and the end of the rollout.
        let lets_go =
            |event: &&RolloutEvent| event.severity() == Severity::Normal && event.reason() != "RolloutComplete";
        Self(events.iter().filter(lets_go).map(|event| event.at).collect())
    }

    /// When a timeline lists this, and whether it stands behind the events of that time: an update whose beginning is known to the second stands behind
    /// the last event of its second that may have let it go.
    pub fn place(&self, moment: &NodeMoment) -> (Timestamp, bool) {
        let begins = matches!(moment.change, NodeChange::State { to: NodeState::Terminating, .. });
        if !begins {
            return (moment.at, false);
        }
        let in_its_second =
            |event: &&Timestamp| **event >= moment.at && event.millis() - moment.at.millis() < SECOND_MILLIS;
        let is_whole = moment.at.millis() % SECOND_MILLIS == 0;
        let behind = self.0.iter().filter(in_its_second).max().filter(|_| is_whole);
        (behind.copied().unwrap_or(moment.at), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::rollout_event::{EventOutcome, RolloutEventKind, Visibility};

    fn event(millis: i64, kind: RolloutEventKind) -> RolloutEvent {
        RolloutEvent {
            at: Timestamp::from_millis(millis),
            by: None,
            kind,
            outcome: EventOutcome::Done,
            command: None,
            said: None,
            visibility: Visibility::Timeline,
        }
    }

    fn moment(millis: i64, to: NodeState) -> NodeMoment {
        let change = NodeChange::State { from: None, to, after: None, down: None, why: None, recovers: false };
        NodeMoment { at: Timestamp::from_millis(millis), node: "n1".into(), change }
    }

    #[test]
    fn an_update_stands_behind_the_last_event_of_its_second_that_may_have_let_it_go() {
        let halted =
            RolloutEventKind::Halted { number: 1, revision: None, why: "crash loop".into(), nodes: Vec::new() };
        let events = [
            event(4_900, RolloutEventKind::Adopted),
            event(5_300, RolloutEventKind::Adopted),
            event(5_600, RolloutEventKind::Adopted),
            event(5_800, halted),
            event(6_000, RolloutEventKind::Adopted),
        ];
        let order = UpdateOrder::of(&events);
        let place = |millis, to| {
            let (at, behind) = order.place(&moment(millis, to));
            (at.millis(), behind)
        };
        assert_eq!(place(5_000, NodeState::Terminating), (5_600, true));
        assert_eq!(place(5_400, NodeState::Terminating), (5_400, true), "its time is known better");
        assert_eq!(place(8_000, NodeState::Terminating), (8_000, true), "nothing happened in its second");
        assert_eq!(place(5_000, NodeState::Creating), (5_000, false), "it has no cause among the events");
    }
}
