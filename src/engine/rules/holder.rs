//! Whether the holder of a Lease is alive, by our own clock. Only changes that we see count. The times written in the Lease do not, because they are
//! by its holder's clock.

use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::config::LEASE;
use crate::engine::model::facts::LeaseFact;
use crate::engine::model::time::Timestamp;

/// When the holder of a Lease was last known to be alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HolderLiveness {
    /// When the Lease last changed hands or was renewed; when it was first seen, if it never was since.
    pub changed_at: Timestamp,
    /// The holder took or renewed it before our eyes, so it was alive then.
    pub alive: bool,
}

impl HolderLiveness {
    /// The liveness for a Lease that was not known before. `made` says that it was missing before, so that its holder made it just now.
    pub fn first(now: Timestamp, made: bool) -> Self {
        Self { changed_at: now, alive: made }
    }

    /// The liveness after the Lease changed from `known` to `fact`. An edit of its record by another process is no renewal.
    #[must_use]
    pub fn next(self, known: &LeaseFact, fact: &LeaseFact, now: Timestamp) -> Self {
        if lock_of(known) == lock_of(fact) { self } else { Self { changed_at: now, alive: true } }
    }

    /// When the Lease runs out unless it is renewed: after the duration that it names, and never before `least`.
    pub fn runs_out_at(self, duration_secs: u32, least: Duration) -> Timestamp {
        self.changed_at + least.max(Duration::from_secs(duration_secs.into()))
    }
}

/// From when on the holder of a Lease is silent: it should have renewed the Lease by its own clock, and was not seen doing so. `None` if it was seen
/// alive, or nobody holds the Lease. A silent holder may still be alive: a process that looks only once cannot tell.
pub fn silent_from(fact: &LeaseFact, liveness: HolderLiveness) -> Option<Timestamp> {
    let renewed_at = fact.renewed_at.filter(|_| !liveness.alive && fact.holder.is_some())?;
    Some(renewed_at + LEASE)
}

/// A Lease as last seen, with the liveness of its holder: for an observer that sees the Lease for the first time later, by the same clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenHolder {
    lock: (Str, Option<Str>, Option<Timestamp>, u32),
    liveness: HolderLiveness,
}

impl SeenHolder {
    /// The present state of this Lease.
    pub fn new(fact: &LeaseFact, liveness: HolderLiveness) -> Self {
        Self { lock: lock_of(fact), liveness }
    }

    /// The liveness of the holder if the Lease is now `fact`; `None` if it was renewed or changed hands since, as nobody saw when.
    pub fn liveness(&self, fact: &LeaseFact) -> Option<HolderLiveness> {
        (self.lock == lock_of(fact)).then_some(self.liveness)
    }
}

/// The fields that change when a Lease is taken, renewed or given back. An edit of its record by another process leaves them unchanged.
fn lock_of(fact: &LeaseFact) -> (Str, Option<Str>, Option<Timestamp>, u32) {
    (fact.uid.clone(), fact.holder.clone(), fact.renewed_at, fact.transitions)
}
