//! Whether updated nodes go down clearly more often than old ones of the same site in the same time.
//!
//! ```text
//!              went down   stayed up
//!   updated        2           4        2 of 6 updated
//!   others         1         113        1 of 114 others
//! ```
//!
//! If the update had nothing to do with it, any of the 120 nodes would have been as likely to be among the 3 that went
//! down. The chance that 2 or more of them are then among the 6 updated ones is the one-sided exact test of Fisher, here
//! 0.6 %. It is exact for any counts, and needs no large numbers: a canary of two is judged as well as a hundred nodes.
//!
//! *Clearly* means all of these:
//!
//! - two updated nodes at least: one is judged by how long it stays down and by whether it goes down again;
//! - a chance of at most [`CHANCE`]: many comparisons are made while a rollout lasts, so one in twenty would be too easy;
//! - a share of the updated that is at least [`TIMES`] the share of the others: in a large fleet a difference that is of
//!   no use to anybody can still be no chance.
//!
//! Where no other node of the site is left, nothing can be compared.

use crate::engine::model::comparison::Comparison;

/// The largest chance at which a difference still counts as clear.
const CHANCE: f64 = 0.01;
/// Updated nodes must go down at least this many times as often as others.
const TIMES: u64 = 3;

impl Comparison {
    /// Whether updated nodes go down clearly more often.
    pub fn is_clear(&self) -> bool {
        let (down, updated) = (u64::from(self.updated_down), u64::from(self.updated));
        let (others_down, others) = (u64::from(self.others_down), u64::from(self.others));
        let times = down * others >= TIMES * others_down * updated;
        down >= 2 && others > 0 && times && self.chance() <= CHANCE
    }

    /// The chance that at least as many of the nodes that went down are updated ones, if the update had nothing to do with it: from 0 to 1.
    pub fn chance(&self) -> f64 {
        let (updated, others) = (self.updated.max(self.updated_down), self.others.max(self.others_down));
        let fell = self.updated_down + self.others_down;
        let most = fell.min(updated);
        let all = ways(updated + others, fell);
        (self.updated_down..=most)
            .filter(|among_updated| fell - among_updated <= others)
            .map(|among_updated| (ways(updated, among_updated) + ways(others, fell - among_updated) - all).exp())
            .sum::<f64>()
            .min(1.0)
    }
}

/// The logarithm of the number of ways to choose `chosen` out of `of`.
fn ways(of: u32, chosen: u32) -> f64 {
    let chosen = chosen.min(of - chosen);
    (0..chosen).map(|nth| (f64::from(of - nth) / f64::from(nth + 1)).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare((updated_down, updated): (u32, u32), (others_down, others): (u32, u32)) -> Comparison {
        Comparison { site: "".into(), updated_down, updated, others_down, others, window_secs: 600 }
    }

    #[test]
    fn the_chance_is_that_of_the_exact_test() {
        // 15·114 + 20 of the 280,840 ways to choose 3 of 120.
        let chance = compare((2, 6), (1, 114)).chance();
        assert!((chance - 1_730.0 / 280_840.0).abs() < 1e-9, "{chance}");
        assert!((compare((2, 2), (0, 18)).chance() - 1.0 / 190.0).abs() < 1e-9);
        assert!((compare((0, 6), (3, 114)).chance() - 1.0).abs() < 1e-9);
        assert!(compare((5_000, 10_000), (5_000, 10_000)).chance() > 0.4, "large counts are no trouble");
    }

    #[test]
    fn clearly_more_often_is_neither_one_node_nor_a_coincidence() {
        let clear = [((2, 6), (1, 114)), ((2, 2), (0, 18)), ((3, 6), (0, 24)), ((10, 20), (3, 100))];
        for (updated, others) in clear {
            let comparison = compare(updated, others);
            assert!(comparison.is_clear(), "{comparison}: {}", comparison.chance());
        }
        let unclear = [
            // One is judged by itself.
            ((1, 1), (0, 200)),
            ((1, 6), (1, 114)),
            // Two of many: somebody parked a crane in front of them.
            ((2, 8), (0, 22)),
            ((2, 98), (0, 22)),
            // A whole site.
            ((6, 6), (24, 24)),
            ((5, 6), (20, 24)),
            // Nobody is left to be compared with.
            ((5, 30), (0, 0)),
            // Too many to be chance, and not enough to matter.
            ((300, 3_000), (200, 3_000)),
        ];
        for (updated, others) in unclear {
            let comparison = compare(updated, others);
            assert!(!comparison.is_clear(), "{comparison}: {}", comparison.chance());
        }
        assert!(compare((300, 3_000), (200, 3_000)).chance() < CHANCE);
    }

    #[test]
    fn it_is_said_in_words() {
        assert_eq!(
            compare((2, 6), (1, 114)).to_string(),
            "2 of 6 nodes went down after their update, 1 of 114 before it, in 10m"
        );
        let site = Comparison { site: "hall-a".into(), ..compare((2, 6), (1, 24)) };
        assert_eq!(site.to_string(), "2 of 6 nodes went down after their update, 1 of 24 before it, in 10m (hall-a)");
    }
}
