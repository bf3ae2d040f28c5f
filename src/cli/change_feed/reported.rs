//! Commands that other processes carried out, as their Events report them. The record says what is asked for, and not by whom.

use std::collections::{BTreeSet, VecDeque};

use super::{ChangeTopic, Telling};
use crate::engine::model::Str;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind};
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// How many told Events are remembered: more than a timeline keeps.
const REMEMBERED: usize = 512;

/// The reason of an Event about a pause. The phase says by whom and why the rollout is paused.
const PAUSED: &str = "RolloutPaused";

/// Which of these commands are told already.
#[derive(Debug, Default)]
pub(super) struct ReportedCommands {
    /// The time of the first snapshot. Earlier commands are part of the state that was told then.
    since: Option<Timestamp>,
    /// The names of the Events that are told. A rollout that is opened again reads them anew.
    told: VecDeque<Str>,
    /// What this process was called: each time that it opens the rollout it has another name, and it has told its own commands itself.
    ours: BTreeSet<Str>,
}

impl ReportedCommands {
    /// The sentences about commands that were not told yet, oldest first.
    pub(super) fn news(&mut self, snapshot: &Snapshot) -> Vec<String> {
        let since = *self.since.get_or_insert(snapshot.at);
        if !self.ours.contains(&snapshot.identity) {
            self.ours.insert(snapshot.identity.clone());
        }
        let mut news = Vec::new();
        let is_told = |event: &&RolloutEvent| {
            let asked_for = event.reports_a_command() && !event.is_by_a_driver_itself();
            event.at > since && asked_for && event.reason() != PAUSED
        };
        for event in snapshot.timeline.iter().filter(is_told) {
            let RolloutEventKind::Reported { event: name, identity, .. } = &event.kind else { continue };
            if !self.ours.contains(identity) && !self.told.contains(name) {
                news.extend(sentence(event));
                self.told.push_back(name.clone());
                self.told.drain(..self.told.len().saturating_sub(REMEMBERED));
            }
        }
        news
    }
}

/// `reported by ben@bastion: step to partition 4: …`. Anybody who may create Events can claim that.
fn sentence(event: &RolloutEvent) -> Option<String> {
    Some(format!("reported by {}: {}", event.reporter_in_words()?, event.said.as_deref()?))
}

impl Telling<'_> {
    pub(super) fn reported(&mut self, news: Vec<String>) {
        news.into_iter().for_each(|text| self.say(ChangeTopic::Command, text));
    }
}
