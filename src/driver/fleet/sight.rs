//! The time as of which the objects of a watch of the list are known: while the watch is not live, they are as they were when it was.

use std::time::Duration;

use crate::engine::model::event::WatchHealth;
use crate::engine::model::time::Timestamp;

/// After a watch that was down is open again, the changes that were missed arrive one by one, and all but the last show an outdated
/// state. This long they are waited for, as for the watches of one rollout.
const CATCHES_UP: Duration = Duration::from_secs(2);

/// The health of a watch, and the time as of which its objects are known.
#[derive(Default, Debug)]
pub(super) struct Sight {
    health: WatchHealth,
    /// When the objects were last known to be the present ones, before the watch broke; `None` if it never did after it had been live.
    known_until: Option<Timestamp>,
    /// When a watch that broke and is live again has shown what it missed.
    caught_up_at: Option<Timestamp>,
}

impl Sight {
    /// A watch that is live from its beginning.
    #[cfg(test)]
    pub(super) fn live() -> Self {
        Self { health: WatchHealth::Live, ..Self::default() }
    }

    /// The health of the watch, as it reported it last.
    pub(super) fn health(&self) -> &WatchHealth {
        &self.health
    }

    /// Takes in the health that the watch reports at `now`.
    pub(super) fn observe(&mut self, health: WatchHealth, now: Timestamp) {
        match &health {
            WatchHealth::Live if self.health == WatchHealth::Live => {}
            WatchHealth::Live => self.caught_up_at = self.known_until.map(|_| now + CATCHES_UP),
            // A watch that breaks before it has caught up knows no more than before.
            _ if !self.is_current(now) => {}
            WatchHealth::Down { since, .. } | WatchHealth::Lagging { since, .. } => self.known_until = Some(*since),
            WatchHealth::Loading | WatchHealth::Forbidden { .. } => self.known_until = Some(now),
        }
        self.health = health;
    }

    /// Whether the objects are known as of now.
    pub(super) fn is_current(&self, now: Timestamp) -> bool {
        self.health == WatchHealth::Live && self.caught_up_at.is_none_or(|at| at <= now)
    }

    /// The time as of which the objects are known. Those that a watch has shown before its first listing is complete are known as of now.
    pub(super) fn seen_at(&self, now: Timestamp) -> Timestamp {
        self.known_until.filter(|_| !self.is_current(now)).unwrap_or(now)
    }

    /// When time alone makes the objects known as of now.
    pub(super) fn changes_at(&self) -> Option<Timestamp> {
        self.caught_up_at.filter(|_| self.health == WatchHealth::Live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_watch_has_shown_is_known_as_of_the_time_when_it_was_heard_last() {
        let at = |secs: u64| Timestamp::default() + Duration::from_secs(secs);
        let down = |since: u64| WatchHealth::Down { since: at(since), why: "no answer".into() };
        let forbidden = || WatchHealth::Forbidden { why: "no".into() };
        let mut sight = Sight::default();
        for (now, reported, (is_current, seen_at), why) in [
            (1, None, (false, 1), "the first listing is not complete"),
            (2, Some(down(2)), (false, 2), "nothing was known before"),
            (3, Some(WatchHealth::Live), (true, 3), "the first listing misses nothing"),
            (60, None, (true, 60), "it is live"),
            (70, Some(down(62)), (false, 62), "it was heard at 62"),
            (90, Some(down(62)), (false, 62), "it is tried again"),
            (100, Some(WatchHealth::Live), (false, 62), "what was missed is yet to come"),
            (101, Some(down(100)), (false, 62), "it broke before it had caught up"),
            (110, Some(WatchHealth::Live), (false, 62), "it is open once more"),
            (111, Some(WatchHealth::Live), (false, 62), "that it is live is said again"),
            (112, None, (true, 112), "it has caught up"),
            (120, Some(forbidden()), (false, 120), "it is not permitted any more"),
            (150, Some(down(149)), (false, 120), "a failure says nothing new"),
        ] {
            if let Some(health) = reported {
                sight.observe(health, at(now));
            }
            assert_eq!((sight.is_current(at(now)), sight.seen_at(at(now))), (is_current, at(seen_at)), "{now}: {why}");
            assert!(sight.changes_at().is_none_or(|next| next == at(102) || next == at(112)), "{now}: {why}");
        }
    }
}
