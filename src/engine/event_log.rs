//! The rollout events that a console shows as its timeline.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::model::rollout_event::{RolloutEvent, RolloutEventKind};
use super::model::time::Timestamp;

/// How many rollout events are kept for the timeline.
const KEPT: usize = 256;

/// An event without an operator is reported again only after this time.
const REPEAT: Duration = Duration::from_secs(30);

/// The latest rollout events.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    /// The events in order of their times, oldest first.
    ring: VecDeque<RolloutEvent>,
    shown: Arc<[RolloutEvent]>,
    grown: bool,
    /// How many earlier ones are not kept any more.
    dropped: usize,
}

impl EventLog {
    /// Inserts an event by its time; those of the same time in the order in which they were written, as far as that is known.
    pub(crate) fn keep(&mut self, rollout_event: RolloutEvent) {
        let is_later = |known: &&RolloutEvent| match known.at.cmp(&rollout_event.at) {
            Ordering::Equal => was_written_after(known, &rollout_event),
            order => order == Ordering::Greater,
        };
        let later = self.ring.iter().rev().take_while(is_later).count();
        self.ring.insert(self.ring.len() - later, rollout_event);
        if self.ring.len() > KEPT {
            self.ring.pop_front();
            self.dropped += 1;
        }
        self.grown = true;
    }

    /// The kept events as a snapshot carries them; copied only if one was added.
    pub(crate) fn shown(&mut self) -> Arc<[RolloutEvent]> {
        if std::mem::take(&mut self.grown) {
            self.shown = self.ring.iter().cloned().collect();
        }
        self.shown.clone()
    }

    /// How many events there are that are too old to be kept.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    /// The kept events, oldest first.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &RolloutEvent> + Clone {
        self.ring.iter()
    }

    /// Whether an event that `which` picks is kept.
    pub(crate) fn has(&self, which: impl Fn(&RolloutEvent) -> bool) -> bool {
        self.ring.iter().any(which)
    }

    /// Whether the same event was reported lately, without an operator.
    pub(crate) fn reported_lately(&self, what: &RolloutEventKind, now: Timestamp) -> bool {
        let lately = self.ring.iter().rev().take_while(|known| now.since(known.at) < REPEAT);
        lately.into_iter().any(|known| known.by.is_none() && known.kind == *what)
    }
}

/// Whether an Event was written after another one of the same time. One process counts its Events in their names; a list gives them in the order of
/// their names, and a watch in the order in which they arrive at the server.
fn was_written_after(known: &RolloutEvent, new: &RolloutEvent) -> bool {
    match (&known.kind, &new.kind) {
        (
            RolloutEventKind::Reported { identity, event, .. },
            RolloutEventKind::Reported { identity: other, event: earlier, .. },
        ) => identity == other && event > earlier,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::facts::Severity;
    use crate::engine::model::rollout_event::{EventOutcome, Visibility};

    fn reported(event: &str) -> RolloutEvent {
        RolloutEvent {
            at: Timestamp::from_millis(1_000),
            by: None,
            kind: RolloutEventKind::Reported {
                reason: "RolloutAdopted".into(),
                identity: "ada@console-1".into(),
                event: event.into(),
                severity: Severity::Normal,
            },
            outcome: EventOutcome::Done,
            command: None,
            said: None,
            visibility: Visibility::Timeline,
            revision: None,
        }
    }

    #[test]
    fn events_for_which_there_is_no_room_are_counted() {
        let mut log = EventLog::default();
        (0..KEPT + 44).for_each(|nth| log.keep(reported(&format!("agent.{nth}"))));
        assert_eq!((log.shown().len(), log.dropped()), (KEPT, 44));
    }

    /// After a watch is lost, the new listing may return a later event before an earlier one.
    #[test]
    fn events_of_the_same_time_stand_in_the_order_in_which_they_were_written_however_they_arrive() {
        let names = ["agent.0000001001a", "agent.0000001002b", "agent.0000001003c"];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let mut log = EventLog::default();
            order.iter().for_each(|at| log.keep(reported(names[*at])));
            let kept: Vec<RolloutEvent> = log.kept().cloned().collect();
            assert_eq!(kept, names.map(reported), "{order:?}");
        }
    }
}
