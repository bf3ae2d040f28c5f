//! P3: after a pause, deletions of a console arrive for no longer than the console had shown when the rollout was paused.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Deletion;
use crate::engine::model::Str;
use crate::engine::model::record::Record;
use crate::engine::model::time::Timestamp;

/// An allowance for steps of the same instant, each of which takes a millisecond.
const INSTANT: Duration = Duration::from_millis(5);

/// The time of the pause, and how long each console said that its deletions may go on.
#[derive(Debug, Default)]
pub(super) struct PauseDelay {
    /// The longest time that a message may be on its way.
    way: Duration,
    /// How long each console may go on sending deletions after a pause, as it shows now.
    shown: BTreeMap<Str, Duration>,
    /// Since when the rollout is paused, and the value of `shown` at that time.
    paused: Option<(Timestamp, BTreeMap<Str, Duration>)>,
}

impl PauseDelay {
    /// For a network whose messages take at most `way`.
    pub(super) fn over(way: Duration) -> Self {
        Self { way, ..Self::default() }
    }

    pub(super) fn record_is(&mut self, record: Option<&Record>, at: Timestamp) {
        match record.is_some_and(|record| record.intent.paused.is_some()) {
            true if self.paused.is_none() => self.paused = Some((at, self.shown.clone())),
            true => {}
            false => self.paused = None,
        }
    }

    /// The promise that an accepted deletion breaks, if any.
    pub(super) fn check(&self, deletion: &Deletion, at: Timestamp) -> Option<(&'static str, String)> {
        let (paused_at, shown) = self.paused.as_ref()?;
        let within = shown.get(&deletion.by)?;
        let after = at.since(*paused_at);
        (after > *within + self.way + INSTANT).then(|| {
            let Deletion { by, node, .. } = deletion;
            let said = format!("{by} deleted a pod on {node} {after:?} after a pause");
            ("P3", format!("{said}, and had shown that it sends none after {within:?}"))
        })
    }
}

impl super::Observer {
    /// Notes for how long a console may go on sending deletions after a pause by another process, as it shows.
    pub fn note_pause_delay(&mut self, who: &Str, within: Duration) {
        if self.pause_delay.shown.get(who) != Some(&within) {
            self.pause_delay.shown.insert(who.clone(), within);
        }
    }
}
