//! The timeline of a rollout, shown in place of the nodes: newest first.

use std::sync::Arc;

use super::filter::Filter;
use super::list::{List, Move};
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::time::Timestamp;
use crate::engine::model::{Str, person_of};

/// The timeline of one rollout, while it is shown.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) list: List<Moment>,
    pub(crate) filter: Filter,
    rollout_events: Arc<[RolloutEvent]>,
    /// Those that pass the filter, newest first, as indices.
    rows: Vec<usize>,
}

/// What tells one rollout event from another for as long as it is shown.
pub(crate) type Moment = (Timestamp, String);

impl Timeline {
    pub(crate) fn of(rollout_events: Arc<[RolloutEvent]>) -> Self {
        let mut timeline = Self { rollout_events, ..Self::default() };
        timeline.arrange();
        timeline
    }

    /// Takes in what a new snapshot tells.
    pub(crate) fn see(&mut self, rollout_events: &Arc<[RolloutEvent]>) {
        if !Arc::ptr_eq(&self.rollout_events, rollout_events) {
            self.rollout_events = rollout_events.clone();
            self.arrange();
        }
    }

    /// Recomputes `rows`: the events that pass the filter, newest first.
    pub(crate) fn arrange(&mut self) {
        let words =
            |rollout_event: &RolloutEvent| format!("{} {rollout_event} {}", who(rollout_event), rollout_event.reason());
        let passes = |index: &usize| self.filter.passes(None, || words(&self.rollout_events[*index]));
        self.rows = (0..self.rollout_events.len()).rev().filter(passes).collect();
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many there are, whether they pass the filter or not.
    pub(crate) fn all(&self) -> usize {
        self.rollout_events.len()
    }

    pub(crate) fn row(&self, row: usize) -> Option<&RolloutEvent> {
        self.rollout_events.get(*self.rows.get(row)?)
    }

    /// The one that is selected, or else the newest.
    pub(crate) fn selected(&self) -> Option<&RolloutEvent> {
        self.row(self.list.cursor().unwrap_or(0))
    }

    pub(crate) fn go(&mut self, movement: Move, height: usize) {
        let mut list = std::mem::take(&mut self.list);
        list.go(movement, self.len(), height, |row| self.moment(row));
        self.list = list;
    }

    /// Finds the selected one again after others came.
    pub(crate) fn follow(&mut self, height: usize) {
        let mut list = std::mem::take(&mut self.list);
        // The time tells most of them apart; their words are made only for those of the same time.
        let is_it = |row: &usize, (at, words): &Moment| {
            self.row(*row).is_some_and(|event| event.at == *at && event.to_string() == *words)
        };
        let position = |moment: &Moment| (0..self.len()).find(|row| is_it(row, moment));
        list.follow(self.len(), height, position, |row| self.moment(row));
        self.list = list;
    }

    fn moment(&self, row: usize) -> Moment {
        self.row(row).map(|rollout_event| (rollout_event.at, rollout_event.to_string())).unwrap_or_default()
    }
}

/// Who did it; in parentheses where only an Event claims it.
pub(crate) fn who(rollout_event: &RolloutEvent) -> Str {
    match (&rollout_event.by, rollout_event.reported_by()) {
        (Some(by), _) => by.clone(),
        (None, Some(claimed)) => format!("({})", person_of(claimed)).into(),
        (None, None) => "by itself".into(),
    }
}
