//! How often `OnDelete` was set again in a fight over the strategy, and when that is enough.

use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::record::StrategyDrifts;
use crate::engine::model::time::Timestamp;

/// Drifts within this long are one fight.
pub(crate) const FIGHT: Duration = Duration::from_secs(600);

/// `OnDelete` is set again at most this many times in one fight.
pub(crate) const ROUNDS: u32 = 5;

impl StrategyDrifts {
    /// How often `OnDelete` was set again in the fight that is on at `now`.
    pub(crate) fn rounds(&self, now: Timestamp) -> u32 {
        let lately = self.lately.iter().filter(|at| now.since(**at) < FIGHT);
        u32::try_from(lately.count()).unwrap_or(u32::MAX)
    }

    pub(crate) fn may_enforce(&self, now: Timestamp) -> bool {
        self.rounds(now) < ROUNDS
    }

    pub(crate) fn enforced(&mut self, by: Option<Str>, now: Timestamp) {
        self.lately.retain(|at| now.since(*at) < FIGHT);
        self.lately.push(now);
        self.by = by;
    }

    /// When the oldest of them is no longer counted.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        self.lately.iter().map(|at| *at + FIGHT)
    }
}
