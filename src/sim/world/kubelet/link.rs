//! A site's link, whose capacity all present pulls share equally.
//!
//! The link keeps its books by processor sharing: `served` counts the bytes that one pull has got since the link exists. A pull that begins now ends
//! when `served` has grown by its size, whichever pulls begin and end meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;

use super::super::scenario::Site;

/// Fractions of a byte, so that rounding stays negligible.
const SCALE: u128 = 1024;

#[derive(Debug)]
pub(super) struct Link {
    pub(super) site: Str,
    bytes_per_sec: u64,
    floor_per_pull: u64,
    served: u128,
    served_at: Timestamp,
    /// The node of each pull, by the value of `served` at which the pull ends, and the number of the pull.
    pulls: BTreeMap<(u128, u64), usize>,
}

impl Link {
    pub(super) fn new(site: &Site, now: Timestamp) -> Self {
        Self {
            site: site.name.clone(),
            bytes_per_sec: site.bytes_per_sec.max(1),
            floor_per_pull: site.floor_per_pull.max(1),
            served: 0,
            served_at: now,
            pulls: BTreeMap::new(),
        }
    }

    /// The chance that a request over this link gets lost: zero while each pull gets its floor, and greater the less each pull gets.
    pub(super) fn loss(&self) -> f64 {
        let wanted = self.floor_per_pull.saturating_mul(self.pulls.len() as u64);
        #[expect(clippy::cast_precision_loss, reason = "a ratio of rates")]
        if wanted <= self.bytes_per_sec { 0.0 } else { 1.0 - self.bytes_per_sec as f64 / wanted as f64 }
    }

    /// How many pulls share it.
    pub(super) fn pulling(&self) -> usize {
        self.pulls.len()
    }

    pub(super) fn set_capacity(&mut self, bytes_per_sec: u64, now: Timestamp) {
        self.serve_until(now);
        self.bytes_per_sec = bytes_per_sec.max(1);
    }

    /// Begins a pull; the result identifies it for [`Self::give_up`].
    pub(super) fn begin(&mut self, serial: u64, node: usize, bytes: u64, now: Timestamp) -> u128 {
        self.serve_until(now);
        let ends = self.served + u128::from(bytes) * SCALE;
        self.pulls.insert((ends, serial), node);
        ends
    }

    /// Gives a pull up.
    pub(super) fn give_up(&mut self, ends: u128, serial: u64, now: Timestamp) {
        self.serve_until(now);
        self.pulls.remove(&(ends, serial));
    }

    /// When the next pull ends.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let ((ends, _), _) = self.pulls.first_key_value()?;
        let left = ends.saturating_sub(self.served);
        let millis = (left * 1000 * self.pulls.len() as u128).div_ceil(u128::from(self.bytes_per_sec) * SCALE);
        Some(self.served_at + Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)))
    }

    /// Ends the pull that is due at `at`: its node and serial.
    pub(super) fn finish(&mut self, at: Timestamp) -> Option<(usize, u64)> {
        self.serve_until(at);
        let ((_, serial), node) = self.pulls.pop_first()?;
        Some((node, serial))
    }

    fn serve_until(&mut self, now: Timestamp) {
        let millis = now.since(self.served_at).as_millis();
        if !self.pulls.is_empty() {
            self.served += millis * u128::from(self.bytes_per_sec) * SCALE / (1000 * self.pulls.len() as u128);
        }
        self.served_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(0);

    fn link(bytes_per_sec: u64) -> Link {
        Link::new(&Site { name: "hall".into(), bytes_per_sec, floor_per_pull: 250 }, START)
    }

    fn at(secs: u64) -> Timestamp {
        START + Duration::from_secs(secs)
    }

    #[test]
    fn pulls_share_what_there_is() {
        let mut link = link(1000);
        link.begin(1, 1, 10_000, START);
        assert_eq!(link.next_at(), Some(at(10)), "alone");
        link.begin(2, 2, 10_000, at(5));
        assert_eq!(link.next_at(), Some(at(15)), "half of it is left, at half the rate");
        assert_eq!(link.finish(at(15)), Some((1, 1)));
        assert_eq!(link.next_at(), Some(at(20)), "alone again");
    }

    #[test]
    fn giving_up_leaves_more_to_others() {
        let mut link = link(1000);
        let ends = link.begin(1, 1, 10_000, START);
        link.begin(2, 2, 10_000, START);
        link.give_up(ends, 1, at(10));
        assert_eq!(link.next_at(), Some(at(15)));
        link.set_capacity(500, at(10));
        assert_eq!(link.next_at(), Some(at(20)));
    }

    #[test]
    fn requests_get_lost_when_pulls_starve() {
        let mut link = link(1000);
        for pull in 0..4 {
            link.begin(pull, 0, 10_000, START);
        }
        assert!(link.loss() < 1e-9, "{}", link.loss());
        for pull in 4..8 {
            link.begin(pull, 0, 10_000, START);
        }
        assert!((link.loss() - 0.5).abs() < 1e-9, "{}", link.loss());
    }
}
