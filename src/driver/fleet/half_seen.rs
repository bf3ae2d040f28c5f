//! Of a DaemonSet and the record on its Lease two watches tell. An adoption writes the record and then the strategy, a release restores the strategy and then
//! drops the record; the second change may be seen before the first.

use std::collections::BTreeMap;

use super::ObjectKey;
use super::leases::{ObservedLease, is_adopted};
use crate::cluster::PartialDaemonSet;
use crate::engine::model::facts::LeaseFact;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::missing_record::missed_at;

/// Since when the second change of an adoption or a release is seen, by Lease.
#[derive(Default, Debug)]
pub(super) struct HalfSeen(BTreeMap<ObjectKey, Timestamp>);

impl HalfSeen {
    /// Takes in that a Lease changed from `before` to `after`; `None`: it is not there.
    pub(super) fn follow_lease(
        &mut self,
        key: &ObjectKey,
        before: Option<&ObservedLease>,
        after: Option<&LeaseFact>,
        now: Timestamp,
    ) {
        if after.is_some_and(|fact| !matches!(fact.record, Ok(None))) {
            self.0.remove(key);
        } else if before.is_some_and(ObservedLease::has_record_that_ends) {
            self.begins(key.clone(), now);
        }
    }

    /// Takes in that a DaemonSet changed from `before` to `after`, and that no record is seen on its `lease`. One that is seen for the first time may have been adopted long ago.
    pub(super) fn follow_daemonset(
        &mut self,
        lease: ObjectKey,
        before: Option<&PartialDaemonSet>,
        after: &PartialDaemonSet,
        now: Timestamp,
    ) {
        let before = before.filter(|before| before.uid == after.uid);
        if is_adopted(after) && before.is_some_and(|before| !is_adopted(before)) {
            self.begins(lease, now);
        }
    }

    /// Takes in that the second change is seen of the DaemonSet whose Lease this is.
    pub(super) fn begins(&mut self, lease: ObjectKey, now: Timestamp) {
        // Those of the past say nothing any more.
        self.0.retain(|_, at| missed_at(*at) > now);
        self.0.insert(lease, now);
    }

    /// Whether the first change may still be shown.
    pub(super) fn has(&self, lease: &ObjectKey, now: Timestamp) -> bool {
        self.0.get(lease).is_some_and(|at| now < missed_at(*at))
    }

    /// When the records of those that were half seen count as missing.
    pub(super) fn missed_at(&self) -> impl Iterator<Item = Timestamp> {
        self.0.values().map(|at| missed_at(*at))
    }
}
