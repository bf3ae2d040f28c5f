//! An older copy of the Lease that somebody has put back, such as from a backup or a file.
//!
//! Each write of ours replaces the version that its writer read, and adds its identifier to the record. The newest identifier of a Lease therefore
//! never becomes one that was followed by others already, and the number of changes of its holder never falls. Where that happens, what operators have
//! asked for since is lost: a pause or lower limits among them. Nobody has asked to go on without it.

use super::lock::{KnownLease, Lock};
use crate::engine::model::Str;
use crate::engine::model::facts::LeaseFact;

/// Why a rollout pauses whose record was put back.
pub(crate) const OLDER_COPY: &str = "somebody put an older copy of the Lease back, and what was asked for since is lost: \
     look at the image, the plan, the limits and the selector before you resume";

impl Lock {
    /// Notes whether `fact`, which is newer than what is known, is a copy of an earlier state. Where this process does not drive, and somebody has written
    /// the record since, they have dealt with it.
    pub(super) fn note_whether_put_back(&mut self, fact: &LeaseFact) {
        let KnownLease::Present(known) = &self.known else { return };
        let is_dealt_with = !self.holds() && write_ids(known).last() != write_ids(fact).last();
        self.put_back = is_older_copy(known, fact) || (self.put_back && !is_dealt_with);
    }

    /// Whether an older copy was put back since the last call.
    pub(crate) fn take_put_back(&mut self) -> bool {
        std::mem::take(&mut self.put_back)
    }
}

fn is_older_copy(known: &LeaseFact, seen: &LeaseFact) -> bool {
    let (known_ids, seen_ids) = (write_ids(known), write_ids(seen));
    let newest = seen_ids.last();
    let was_followed = known_ids.iter().rev().skip(1).any(|id| Some(id) == newest);
    was_followed || (known.uid == seen.uid && seen.transitions < known.transitions)
}

fn write_ids(fact: &LeaseFact) -> &[Str] {
    fact.record.as_ref().ok().and_then(Option::as_ref).map_or(&[], |record| &record.write_ids)
}
