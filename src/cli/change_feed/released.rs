//! A release that leaves another update strategy, or another limit, than somebody has set meanwhile.

use super::{ChangeTopic, Telling};
use crate::engine::model::released_strategy::ReleasedStrategy;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind};
use crate::engine::report::snapshot::Snapshot;

impl Telling<'_> {
    /// The release that `last` did not contain, if it does not simply restore the original strategy: the phase says that much.
    pub(super) fn released(&mut self, last: &Snapshot) {
        let news = |event: &&RolloutEvent| match &event.kind {
            RolloutEventKind::Released { strategy } => {
                *strategy != ReleasedStrategy::Original && !last.timeline.contains(event)
            }
            _ => false,
        };
        let news: Vec<String> =
            self.snapshot.timeline.iter().filter(news).map(|event| event.kind.to_string()).collect();
        news.into_iter().for_each(|text| self.say(ChangeTopic::Alarm, text));
    }
}
