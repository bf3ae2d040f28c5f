//! The rollout events that a console shows as its timeline.

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
}

impl EventLog {
    /// Inserts an event by its time.
    pub(crate) fn keep(&mut self, rollout_event: RolloutEvent) {
        let later = self.ring.iter().rev().take_while(|known| known.at > rollout_event.at).count();
        self.ring.insert(self.ring.len() - later, rollout_event);
        if self.ring.len() > KEPT {
            self.ring.pop_front();
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

    /// The kept events, oldest first.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &RolloutEvent> {
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
