//! Pauses that were lifted while this console watched. A command that lifts a pause writes an Event; if the Event was not
//! written, or may not be read, only the record shows that the pause is gone, without naming who lifted it.

use std::fmt;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::person_of;
use crate::engine::model::presence::Presence;
use crate::engine::model::record::Paused;
use crate::engine::model::rollout_event::RolloutEvent;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Phase, Snapshot};

/// The most pauses that are kept.
const MOST: usize = 50;
/// The largest difference between the times of an Event and of the record that shows its effect: clocks differ, and Events come late.
const APART: Duration = Duration::from_secs(60);

/// A pause that was in force in one snapshot, and not in the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LiftedPause {
    /// The instant at which this was seen.
    pub(crate) at: Timestamp,
    by: Str,
    why: Option<Str>,
}

impl LiftedPause {
    /// Whether an event explains the end of the pause: a command or the end of the rollout.
    pub(super) fn is_told(&self, events: &[RolloutEvent]) -> bool {
        let is_near = |event: &RolloutEvent| event.at.since(self.at) < APART && self.at.since(event.at) < APART;
        events.iter().any(|event| event.ends_a_pause() && is_near(event))
    }
}

impl fmt::Display for LiftedPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the pause by {}", person_of(&self.by))?;
        if let Some(why) = &self.why {
            write!(f, " ({why})")?;
        }
        f.write_str(" is lifted; no Event tells by whom")
    }
}

/// The pauses that were lifted, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LiftedPauses {
    /// The pause that is in force.
    paused: Option<Paused>,
    pub(super) lifted: Vec<LiftedPause>,
}

impl LiftedPauses {
    /// Takes in what a new snapshot tells.
    pub(crate) fn observe(&mut self, snapshot: &Snapshot) {
        if snapshot.phase == Phase::Loading || snapshot.daemonset != Presence::Present {
            return;
        }
        let before = std::mem::replace(&mut self.paused, snapshot.paused.clone());
        if let Some(Paused { by, why, .. }) = before.filter(|_| snapshot.paused.is_none()) {
            self.lifted.push(LiftedPause { at: snapshot.at, by, why });
            let surplus = self.lifted.len().saturating_sub(MOST);
            self.lifted.drain(..surplus);
        }
    }
}
