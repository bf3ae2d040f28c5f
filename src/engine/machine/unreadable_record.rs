//! A record that cannot be read, while a process that may be able to read it renews the Lease beside it. `commands/unreadable_record.rs` says what an
//! operator may do about such a record.

use super::Engine;
use crate::engine::model::driver::DriverView;
use crate::engine::model::person_of;
use crate::engine::model::time::Timestamp;

impl Engine {
    /// Why the record is not replaced, if somebody renews the Lease beside it.
    pub(crate) fn record_of_a_living_holder(&self, now: Timestamp) -> Option<String> {
        let DriverView::Other { holder, .. } = self.lock.view(now) else { return None };
        let holder = person_of(&holder).to_owned();
        Some(format!(
            "the rollout's record cannot be read here, but {holder} has just renewed the lease and may be able to read it, with a newer rolldeck: look \
             there first. Where it has stopped, its lease runs out within {} s; then ask again",
            self.lock.runs_out_at().since(now).as_secs() + 1
        ))
    }
}
