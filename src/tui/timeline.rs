//! The timeline of a rollout, shown in place of the nodes, newest first: who did what, and what happened on which node.

mod lifted;
mod lost_driver;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use self::lifted::LiftedPause;
pub(crate) use self::lifted::LiftedPauses;
use self::lost_driver::LostDriver;
use super::filter::{FieldKind, Filter, FilterField, FilterRow};
use super::list::{List, Move};
use crate::engine::model::Str;
use crate::engine::model::facts::Severity;
use crate::engine::model::labels::Labels;
use crate::engine::model::rollout_event::{RolloutEvent, with_present_numbers};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;
use crate::engine::report::story::order::{TimelinePlace, UpdateOrder};
use crate::engine::report::story::{ControllerMoment, NodeMoment, Story};

/// The timeline of one rollout, while it is shown.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) list: List<Moment>,
    pub(crate) filter: Filter,
    /// Whether every step of every node is shown, instead of only troubles and recoveries.
    pub(crate) all_steps: bool,
    /// The entries oldest first: by time, but what follows from a decision stands behind it.
    entries: Vec<TimelineEntry>,
    /// The inputs from which `entries` were made.
    inputs: TimelineInputs,
    /// The entries that pass the filter, newest first, as indices.
    rows: Vec<usize>,
}

/// What the entries are made from, as far as it tells whether they have to be made anew.
#[derive(Clone, PartialEq, Debug, Default)]
struct TimelineInputs {
    /// The times of the events.
    events: Vec<Timestamp>,
    /// How many moments the story has had so far.
    moments: u64,
    /// The numbers that revisions had before, by their present number.
    earlier_numbers: BTreeMap<i64, Vec<i64>>,
    /// How many pauses were lifted.
    lifted: usize,
    lost: Option<LostDriver>,
}

/// The identity of an entry for as long as it is shown.
pub(crate) type Moment = (Timestamp, String);

/// One thing that happened.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum TimelineEntry {
    /// On the rollout; with the event in words that use the revisions' present numbers.
    Rollout(RolloutEvent, String),
    /// On the rollout, by the DaemonSet's own controller.
    Controller(ControllerMoment),
    /// On the rollout, by somebody whom no Event names.
    Lifted(LiftedPause),
    /// On the rollout: its driver is gone.
    LostDriver(LostDriver),
    /// On a node.
    Node(NodeMoment),
}

impl TimelineEntry {
    pub(crate) fn at(&self) -> Timestamp {
        match self {
            Self::Rollout(event, _) => event.at,
            Self::Controller(moment) => moment.at,
            Self::Lifted(pause) => pause.at,
            Self::LostDriver(lost) => lost.at,
            Self::Node(moment) => moment.at,
        }
    }

    /// The person who did it, or the node; in brackets, as in `rolldeck log`, the process in which the rollout acted by itself.
    pub(crate) fn subject(&self) -> Str {
        match self {
            Self::Rollout(event, _) => who(event),
            Self::Controller(_) => "controller".into(),
            Self::Lifted(_) => "?".into(),
            Self::LostDriver(lost) => lost.person(),
            Self::Node(moment) => moment.node.clone(),
        }
    }

    pub(crate) fn severity(&self) -> Severity {
        match self {
            Self::Rollout(event, _) => event.severity(),
            Self::Controller(moment) => moment.change.severity(),
            Self::Lifted(_) => Severity::Normal,
            Self::LostDriver(_) => Severity::Warning,
            Self::Node(moment) => moment.change.severity(),
        }
    }

    /// An Event's reason; empty if there is no Event.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Rollout(event, _) => event.reason(),
            Self::Controller(_) | Self::Lifted(_) | Self::LostDriver(_) | Self::Node(_) => "",
        }
    }
}

/// The fields of [`Timeline::fields`].
impl FilterRow for TimelineEntry {
    fn searched(&self) -> Cow<'_, str> {
        Cow::Owned(format!("{}\n{self}\n{}", self.subject(), self.reason()))
    }

    fn words(&self, field: usize) -> String {
        match field {
            0 => self.subject().to_string(),
            1 => self.to_string(),
            _ => self.reason().to_owned(),
        }
    }

    fn shown(&self, _: usize) -> Option<String> {
        None
    }

    fn number(&self, _: usize) -> Option<f64> {
        None
    }

    fn labels(&self) -> Option<&Labels> {
        None
    }
}

/// The description of the entry, without person and time.
impl fmt::Display for TimelineEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rollout(_, words) => f.write_str(words),
            Self::Controller(moment) => moment.change.fmt(f),
            Self::Lifted(pause) => pause.fmt(f),
            Self::LostDriver(lost) => lost.fmt(f),
            Self::Node(moment) => moment.change.fmt(f),
        }
    }
}

impl Timeline {
    pub(crate) fn of(snapshot: &Snapshot, story: &Story, pauses: &LiftedPauses) -> Self {
        let mut timeline = Self::default();
        timeline.see(snapshot, story, pauses);
        timeline
    }

    /// Takes in what a new snapshot tells.
    pub(crate) fn see(&mut self, snapshot: &Snapshot, story: &Story, pauses: &LiftedPauses) {
        let inputs = TimelineInputs {
            events: snapshot.timeline.iter().map(|event| event.at).collect(),
            moments: story.moments_so_far(),
            earlier_numbers: snapshot.all_earlier_numbers(),
            lifted: pauses.lifted.len(),
            lost: LostDriver::of(snapshot),
        };
        if self.inputs != inputs || self.entries.is_empty() {
            let TimelineInputs { earlier_numbers: earlier, lost, .. } = inputs.clone();
            self.inputs = inputs;
            // As in `rolldeck status`: a roll back gives a revision another number.
            let in_words = |event: &RolloutEvent| with_present_numbers(&event.to_string(), &earlier);
            let events = snapshot.timeline.iter().map(|event| TimelineEntry::Rollout(event.clone(), in_words(event)));
            let controllers = story.of_controller().iter().cloned().map(TimelineEntry::Controller);
            let nodes = story.moments().cloned().map(TimelineEntry::Node);
            let mut order = UpdateOrder::of(&snapshot.timeline);
            // At the same instant nodes come first: an action on the whole rollout follows from them. What follows from an action comes after it.
            let untold = pauses.lifted.iter().filter(|pause| !pause.is_told(&snapshot.timeline));
            let lifted = untold.cloned().map(TimelineEntry::Lifted);
            let lost = lost.map(TimelineEntry::LostDriver);
            let entries = nodes.chain(controllers).chain(lifted).chain(events).chain(lost);
            let mut placed: Vec<(TimelinePlace, TimelineEntry)> = entries
                .map(|entry| match &entry {
                    TimelineEntry::Node(moment) => (order.place(moment), entry),
                    _ => ((entry.at(), false), entry),
                })
                .collect();
            placed.sort_by_key(|(place, _)| *place);
            self.entries = placed.into_iter().map(|(_, entry)| entry).collect();
            self.arrange();
        }
    }

    /// Recomputes `rows`: the entries that are shown, newest first.
    pub(crate) fn arrange(&mut self) {
        let passes = |index: &usize| {
            let entry = &self.entries[*index];
            self.is_shown(entry) && self.filter.passes(entry)
        };
        self.rows = (0..self.entries.len()).rev().filter(passes).collect();
    }

    /// The fields of entries that a filter can name.
    pub(crate) fn fields() -> Vec<FilterField> {
        let text = |name: &str, alias: &str| FilterField {
            name: name.to_owned(),
            aliases: vec![alias.to_owned()],
            kind: FieldKind::Text,
        };
        vec![text("who", "node"), text("what", "happened"), text("reason", "event")]
    }

    /// All entries, whether they pass the filter or not.
    pub(crate) fn all_rows(&self) -> impl Iterator<Item = &TimelineEntry> {
        self.entries.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of entries, whether they pass the filter or not.
    pub(crate) fn all(&self) -> usize {
        self.entries.iter().filter(|entry| self.is_shown(entry)).count()
    }

    /// Whether steps of nodes are left out.
    pub(crate) fn leaves_out(&self) -> bool {
        self.entries.iter().any(|entry| !self.is_shown(entry))
    }

    fn is_shown(&self, entry: &TimelineEntry) -> bool {
        match entry {
            TimelineEntry::Rollout(..)
            | TimelineEntry::Controller(_)
            | TimelineEntry::Lifted(_)
            | TimelineEntry::LostDriver(_) => true,
            // A user who searches for a node wants all of its entries.
            TimelineEntry::Node(moment) => self.all_steps || !self.filter.is_all() || moment.change.is_of_note(),
        }
    }

    pub(crate) fn row(&self, row: usize) -> Option<&TimelineEntry> {
        self.entries.get(*self.rows.get(row)?)
    }

    /// The selected entry, or else the newest.
    pub(crate) fn selected(&self) -> Option<&TimelineEntry> {
        self.row(self.list.cursor().unwrap_or(0))
    }

    pub(crate) fn go(&mut self, movement: Move, height: usize) {
        let mut list = std::mem::take(&mut self.list);
        list.go(movement, self.len(), height, |row| self.moment(row));
        self.list = list;
    }

    /// Finds the selected entry again after others were added.
    pub(crate) fn follow(&mut self, height: usize) {
        let mut list = std::mem::take(&mut self.list);
        // The time tells most entries apart; texts are made only for entries of the same time.
        let is_it = |row: &usize, (at, words): &Moment| {
            self.row(*row).is_some_and(|entry| entry.at() == *at && identity(entry) == *words)
        };
        let position = |moment: &Moment| (0..self.len()).find(|row| is_it(row, moment));
        list.follow(self.len(), height, position, |row| self.moment(row));
        self.list = list;
    }

    fn moment(&self, row: usize) -> Moment {
        self.row(row).map(|entry| (entry.at(), identity(entry))).unwrap_or_default()
    }
}

/// The words are part of the identity, because two nodes may do the same at the same time.
fn identity(entry: &TimelineEntry) -> String {
    format!("{} {entry}", entry.subject())
}

/// The person who did it. An action that is known only from an Event begins with `reported`.
fn who(rollout_event: &RolloutEvent) -> Str {
    match (&rollout_event.by, rollout_event.reporter_in_words()) {
        (Some(by), _) => by.clone(),
        (None, Some(claimed)) => claimed.into(),
        (None, None) => "rolldeck".into(),
    }
}
