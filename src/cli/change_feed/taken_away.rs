//! Pods that somebody else deletes during a rollout, as the timeline reports them.

use super::{ChangeTopic, Telling};
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::report::snapshot::Snapshot;

impl Telling<'_> {
    /// The deletions that `last` did not contain. Without these lines a node that was not let go would begin its update for no visible reason.
    pub(super) fn taken_away(&mut self, last: &Snapshot) {
        let news = |event: &&RolloutEvent| event.is_taken_away() && !last.timeline.contains(event);
        let news: Vec<String> = self.snapshot.timeline.iter().filter(news).map(ToString::to_string).collect();
        news.into_iter().for_each(|text| self.say(ChangeTopic::Alarm, text));
    }
}
