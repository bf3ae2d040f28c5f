//! Where the update of a node stands among the events of its rollout.
//!
//! The update begins when the old pod's deletion is accepted. API servers write that time (`metadata.deletionTimestamp`) by their own clock and in whole
//! seconds, with the fraction cut off, while a decision of this process is dated by its own clock. So an update can seem to begin up to
//! [`UNKNOWN_MILLIS`] before the decision that let it go. The times stay as they are known; only the order follows from what caused what.

use std::collections::HashMap;

use super::{NodeChange, NodeMoment};
use crate::engine::model::Str;
use crate::engine::model::node::NodeState;
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::time::Timestamp;

const SECOND_MILLIS: i64 = 1_000;

/// How much later than its known time an update may have begun: the fraction of a second that is cut off, and a difference of the clocks that is too small
/// to be measured.
const UNKNOWN_MILLIS: i64 = SECOND_MILLIS + 1_500;

/// The place of an entry: the time by which it is listed, and whether it stands behind the events of that time.
pub type TimelinePlace = (Timestamp, bool);

/// The times of the events because of which nodes are updated, and where each node was placed last.
#[derive(Debug)]
pub struct UpdateOrder {
    lets_go: Vec<Timestamp>,
    last: HashMap<Str, TimelinePlace>,
}

impl UpdateOrder {
    /// The order that these events of the rollout give.
    pub fn of(events: &[RolloutEvent]) -> Self {
        let lets_go = events.iter().filter(|event| event.may_let_nodes_go());
        Self { lets_go: lets_go.map(|event| event.at).collect(), last: HashMap::new() }
    }

    /// Where a timeline lists this. The moments of a node are to be given oldest first: what follows from its update stands behind it.
    pub fn place(&mut self, moment: &NodeMoment) -> TimelinePlace {
        let begins = matches!(moment.change, NodeChange::State { to: NodeState::Terminating, .. });
        let own = if begins { (self.let_go_at(moment).unwrap_or(moment.at), true) } else { (moment.at, false) };
        match self.last.get_mut(&moment.node) {
            Some(last) => {
                *last = own.max(*last);
                *last
            }
            None => {
                self.last.insert(moment.node.clone(), own);
                own
            }
        }
    }

    /// The last event that may have let this update go: one that happened before the update was seen, and no longer after its known time than that time
    /// may be wrong. Nobody saw an update begin that is read off the pods: of that one only the fraction of a second is unknown.
    fn let_go_at(&self, moment: &NodeMoment) -> Option<Timestamp> {
        let at = moment.at.millis();
        let until = match moment.seen_at {
            Some(seen_at) => seen_at.millis().min(at + UNKNOWN_MILLIS),
            None if at % SECOND_MILLIS == 0 => at + SECOND_MILLIS - 1,
            None => return None,
        };
        self.lets_go.iter().filter(|event| (at..=until).contains(&event.millis())).max().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::command::Command;
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
            revision: None,
        }
    }

    fn moment(millis: i64, to: NodeState) -> NodeMoment {
        let change = NodeChange::State {
            from: None,
            to,
            after: None,
            down: None,
            why: None,
            recovers: false,
            again: false,
            in_update: false,
        };
        NodeMoment { at: Timestamp::from_millis(millis), seen_at: None, node: "n1".into(), change }
    }

    fn seen(millis: i64, seen_at: i64) -> NodeMoment {
        NodeMoment { seen_at: Some(Timestamp::from_millis(seen_at)), ..moment(millis, NodeState::Terminating) }
    }

    fn place(events: &[RolloutEvent], moment: &NodeMoment) -> (i64, bool) {
        let (at, behind) = UpdateOrder::of(events).place(moment);
        (at.millis(), behind)
    }

    #[test]
    fn an_update_that_nobody_saw_begin_stands_behind_the_last_event_of_its_second_that_may_have_let_it_go() {
        let halted =
            RolloutEventKind::Halted { number: 1, revision: None, why: "crash loop".into(), nodes: Vec::new() };
        let events = [
            event(4_900, RolloutEventKind::Adopted),
            event(5_300, RolloutEventKind::Adopted),
            event(5_600, RolloutEventKind::Adopted),
            event(5_800, halted),
            event(6_000, RolloutEventKind::Adopted),
        ];
        let place = |millis, to| place(&events, &moment(millis, to));
        assert_eq!(place(5_000, NodeState::Terminating), (5_600, true));
        assert_eq!(place(5_400, NodeState::Terminating), (5_400, true), "its time is known better");
        assert_eq!(place(8_000, NodeState::Terminating), (8_000, true), "nothing happened in its second");
        assert_eq!(place(5_000, NodeState::Creating), (5_000, false), "it has no cause among the events");
    }

    /// The server's clock is a little behind, so the deletion is dated in the second before the step.
    #[test]
    fn an_update_that_was_seen_after_a_decision_stands_behind_it_though_the_server_dates_it_before() {
        let step = [event(5_020, RolloutEventKind::Command(Command::Resume))];
        assert_eq!(place(&step, &seen(4_000, 5_300)), (5_020, true));
        assert_eq!(place(&step, &seen(4_000, 4_700)), (4_000, true), "it was seen before the decision");
        assert_eq!(place(&step, &seen(2_000, 5_300)), (2_000, true), "no clock is that wrong");
    }

    #[test]
    fn a_pause_lets_no_update_go() {
        let pause = event(5_300, RolloutEventKind::Command(Command::Pause { why: None }));
        let resume = event(5_010, RolloutEventKind::Command(Command::Resume));
        assert_eq!(place(&[resume, pause.clone()], &seen(5_000, 5_900)), (5_010, true));
        assert_eq!(place(&[pause], &seen(5_000, 5_900)), (5_000, true));
    }

    #[test]
    fn what_follows_from_an_update_stands_behind_it() {
        let mut order = UpdateOrder::of(&[event(5_600, RolloutEventKind::Adopted)]);
        let mut place = |moment: NodeMoment| {
            let (at, behind) = order.place(&moment);
            (at.millis(), behind)
        };
        assert_eq!(place(seen(5_000, 5_900)), (5_600, true));
        assert_eq!(place(moment(5_000, NodeState::Creating)), (5_600, true), "its old pod is gone in the same second");
        assert_eq!(place(moment(6_000, NodeState::Pulling)), (6_000, false));
        let other = NodeMoment { node: "n2".into(), ..moment(5_000, NodeState::Creating) };
        assert_eq!(place(other), (5_000, false), "another node");
    }
}
