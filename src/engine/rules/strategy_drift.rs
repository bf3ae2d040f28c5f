//! How often `OnDelete` was set again in a fight over the strategy, and when that is enough.

use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::record::StrategyDrifts;
use crate::engine::model::time::Timestamp;

/// Drifts within this long are one fight.
pub(crate) const FIGHT: Duration = Duration::from_secs(600);

/// `OnDelete` is set again at most this many times in one fight.
pub(crate) const ROUNDS: u32 = 5;

/// A pod that its controller deleted before it was stopped may end, and be followed by the next one, as much later. `terminationGracePeriodSeconds` is
/// 30 by default.
const ENDS_WITHIN: Duration = Duration::from_secs(120);

/// The times of pods are cut to whole seconds.
const WHOLE_SECOND: Duration = Duration::from_secs(1);

impl StrategyDrifts {
    /// Notes that the strategy was set back.
    pub(crate) fn began(&mut self, now: Timestamp) {
        (self.since, self.until) = (Some(now), None);
    }

    /// Notes that `OnDelete` is set again.
    pub(crate) fn ended(&mut self, now: Timestamp) {
        if self.since.is_some() {
            self.until.get_or_insert(now);
        }
    }

    /// Whether a pod that was made at `made` may have taken the place of one that the controller deleted while the strategy was set back. `stopped`: when
    /// an operator stopped the controller, if that is recorded.
    pub(crate) fn may_have_replaced(&self, made: Timestamp, stopped: Option<Timestamp>) -> bool {
        let end = self.until.into_iter().chain(stopped).min();
        self.since.is_some_and(|since| made + WHOLE_SECOND >= since) && end.is_none_or(|end| made <= end + ENDS_WITHIN)
    }

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
