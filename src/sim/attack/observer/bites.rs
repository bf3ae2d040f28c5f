//! P3: how long a pause takes to bite is what was shown when somebody paused.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Deletion;
use crate::engine::model::Str;
use crate::engine::model::record::Record;
use crate::engine::model::time::Timestamp;

/// What is done within the same instant takes a millisecond each.
const INSTANT: Duration = Duration::from_millis(5);

/// When the rollout was paused, and what each console had shown.
#[derive(Debug, Default)]
pub(super) struct Bites {
    /// How long a message may be on its way.
    way: Duration,
    /// How long each console may go on to send deletions after somebody paused, by what it shows now.
    shown: BTreeMap<Str, Duration>,
    /// Since when the rollout is paused, and what was shown then.
    paused: Option<(Timestamp, BTreeMap<Str, Duration>)>,
}

impl Bites {
    /// Over a network whose messages take so long at the most.
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

    /// What is broken by a deletion that the API server accepted.
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
    /// Takes note of how long a console may go on to send deletions after somebody paused elsewhere, by what it shows.
    pub fn bites_within(&mut self, who: &Str, within: Duration) {
        if self.bites.shown.get(who) != Some(&within) {
            self.bites.shown.insert(who.clone(), within);
        }
    }
}
