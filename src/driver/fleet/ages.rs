//! The time since when each DaemonSet is in its state, if its record does not say so. It is known only of states whose beginning was seen here.

use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};

use super::ObjectKey;
use crate::driver::handle::{DrivenBy, FleetRow};
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::time::Timestamp;

/// The last seen states, and since when each lasts.
#[derive(Default, Debug)]
pub(super) struct StateAges {
    known: BTreeMap<ObjectKey, SeenState>,
    /// Whether all facts from which states follow were known at that time.
    settled: bool,
}

#[derive(Debug)]
struct SeenState {
    state: Discriminant<FleetState>,
    since: Option<Timestamp>,
    /// Whether it was not known if anybody drives. What turns out then was so before, nobody knows since when.
    driver_unknown: bool,
}

impl StateAges {
    /// Sets `since` of each row whose record does not say it, and of each whose rollout was seen to begin to run. `settled` says whether all facts from which states follow are
    /// known as of `now`. A state that differs between two successive settled views began now. After a view that was not
    /// settled, the beginning is unknown. So it is where only the end of a Lease shows that its holder, who was never seen to renew it, does not drive.
    pub(super) fn date(&mut self, rows: &mut [FleetRow], settled: bool, now: Timestamp) {
        let seen_begin = (settled && self.settled).then_some(now);
        let before = std::mem::take(&mut self.known);
        for row in rows {
            let key = (row.namespace.clone(), row.name.clone());
            let state = discriminant(&row.state);
            let since = match before.get(&key) {
                Some(known) if known.state == state => known.since,
                Some(known) if known.driver_unknown && row.driven_by == DrivenBy::Nobody => None,
                Some(_) | None => seen_begin,
            };
            row.since = match row.state {
                // The driver reports it with its next renewal, up to a few seconds late.
                FleetState::Rolling | FleetState::RollingBack => since.or(row.since),
                _ => row.since.or(since),
            };
            let driver_unknown = matches!(row.driven_by, DrivenBy::Unconfirmed(_) | DrivenBy::Unknown);
            self.known.insert(key, SeenState { state, since: row.since, driver_unknown });
        }
        self.settled = settled;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::handle::FleetRevision;
    use crate::engine::model::facts::DaemonSetCounters;

    fn row(state: FleetState) -> FleetRow {
        FleetRow {
            namespace: "edge".into(),
            name: "agent".into(),
            counters: DaemonSetCounters::default(),
            strategy: String::new(),
            state,
            since: None,
            to: FleetRevision::default(),
            from: None,
            more_revisions: 0,
            template_of_others: false,
            goes_back: false,
            pulls: None,
            prewarm: None,
            driven_by: DrivenBy::Nobody,
            silent_since: None,
            prewarmed_by: None,
            failing: None,
            last_failing: None,
        }
    }

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1000)
    }

    #[test]
    fn only_what_was_seen_to_begin_is_dated() {
        let mut ages = StateAges::default();
        let mut since = |state: FleetState, settled: bool, secs: i64| {
            let mut rows = [row(state)];
            ages.date(&mut rows, settled, at(secs));
            rows[0].since
        };
        assert_eq!(since(FleetState::Rolling, false, 1), None, "still listing");
        assert_eq!(since(FleetState::Held, true, 2), None, "leases came later: it did not begin now");
        assert_eq!(since(FleetState::Held, true, 3), None, "nor was it seen to begin");
        assert_eq!(since(FleetState::Degraded(1), true, 4), Some(at(4)));
        assert_eq!(since(FleetState::Degraded(3), true, 9), Some(at(4)), "more of them: the same state");
        assert_eq!(since(FleetState::Degraded(3), false, 10), Some(at(4)), "the watch is down");
        assert_eq!(since(FleetState::Degraded(3), true, 11), Some(at(4)), "and up again: as far as is known the same");
        assert_eq!(since(FleetState::Degraded(3), false, 12), Some(at(4)));
        assert_eq!(since(FleetState::UpToDate, true, 13), None, "it ended while nobody watched");
        assert_eq!(since(FleetState::Rolling, true, 14), Some(at(14)));
    }

    /// The driver reports the beginning a few seconds late.
    #[test]
    fn a_rollout_that_was_seen_to_begin_to_run_is_dated_by_that() {
        let mut ages = StateAges::default();
        ages.date(&mut [row(FleetState::Paused("by ada".into()))], true, at(1));
        let mut since = |reported: Option<i64>, secs: i64| {
            let mut rows = [FleetRow { since: reported.map(at), ..row(FleetState::Rolling) }];
            ages.date(&mut rows, true, at(secs));
            rows[0].since
        };
        assert_eq!(since(None, 2), Some(at(2)));
        assert_eq!(since(Some(4), 5), Some(at(2)));
        let mut ages = StateAges::default();
        let mut since = |reported: Option<i64>, secs: i64| {
            let mut rows = [FleetRow { since: reported.map(at), ..row(FleetState::Rolling) }];
            ages.date(&mut rows, true, at(secs));
            rows[0].since
        };
        assert_eq!(
            (since(None, 2), since(Some(-60), 3)),
            (None, Some(at(-60))),
            "what began before is known by the report"
        );
        assert_eq!(since(None, 4), Some(at(-60)), "its driver is gone");
    }

    /// The Lease of a driver that ended hours ago runs out some seconds after it was first seen.
    #[test]
    fn what_the_end_of_a_lease_shows_began_nobody_knows_when() {
        for (driver, began) in
            [(DrivenBy::Unconfirmed("ops/7f".into()), None), (DrivenBy::Other("ops/7f".into()), Some(at(20)))]
        {
            let mut ages = StateAges::default();
            ages.date(&mut [FleetRow { driven_by: driver.clone(), ..row(FleetState::Held) }], true, at(1));
            let mut rows = [row(FleetState::Undriven)];
            ages.date(&mut rows, true, at(20));
            assert_eq!(rows[0].since, began, "{driver}");
        }
    }

    #[test]
    fn what_the_record_dates_stays_and_what_appears_has_just_begun() {
        let mut ages = StateAges::default();
        ages.date(&mut [], true, at(1));
        let mut rows = [row(FleetState::Rolling)];
        ages.date(&mut rows, true, at(2));
        assert_eq!(rows[0].since, Some(at(2)));
        let mut rows = [FleetRow { since: Some(at(-60)), ..row(FleetState::Paused("by ada".into())) }];
        ages.date(&mut rows, true, at(3));
        assert_eq!(rows[0].since, Some(at(-60)));
    }
}
