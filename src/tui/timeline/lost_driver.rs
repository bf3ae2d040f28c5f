//! A driver of which nobody has heard for longer than its lease lasts. If it was gone already when this console began to look, no event tells of that.

use std::fmt;

use crate::engine::model::Str;
use crate::engine::model::driver::DriverView;
use crate::engine::model::person_of;
use crate::engine::model::rollout_event::{RolloutEvent, RolloutEventKind};
use crate::engine::model::time::Timestamp;
use crate::engine::report::node_story::clock_time;
use crate::engine::report::snapshot::Snapshot;

/// The last that was heard of a driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LostDriver {
    /// When it renewed its lease last.
    pub(crate) at: Timestamp,
    holder: Str,
    /// The instant is by its own clock: nobody saw it renew.
    by_its_clock: bool,
}

impl LostDriver {
    /// The driver that is lost now, unless an event of the timeline tells it.
    pub(super) fn of(snapshot: &Snapshot) -> Option<Self> {
        let DriverView::Lost { holder, renewal_observed_at, renewed_at } = &snapshot.driver else { return None };
        let at = renewed_at.unwrap_or(*renewal_observed_at);
        let tells = |event: &RolloutEvent| {
            event.at >= at
                && matches!(&event.kind, RolloutEventKind::DriverSilent { holder: silent } if silent == holder)
        };
        let is_told = snapshot.timeline.iter().any(tells);
        (!is_told).then(|| Self { at, holder: holder.clone(), by_its_clock: renewed_at.is_some() })
    }

    /// Who drove.
    pub(super) fn person(&self) -> Str {
        person_of(&self.holder).into()
    }
}

impl fmt::Display for LostDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = if self.by_its_clock { " by its clock" } else { "" };
        write!(f, "driver {} was last heard of at {}{by}; nobody drives", self.holder, clock_time(self.at))
    }
}
