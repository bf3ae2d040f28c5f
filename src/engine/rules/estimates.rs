//! Estimates how long several nodes will take for something they do after each other, from how long finished nodes took.
//!
//! The range is that of the quartiles: the rest is as quick as the quicker quarter, or as slow as the slower one.

use std::time::Duration;

use super::pulls::{percentile, usual};
use crate::engine::model::estimate::{TimeRange, TimeSpread};
use crate::engine::model::pull::PeerScope;
use crate::engine::model::time::Timestamp;

/// Fewer finished nodes give no estimate.
pub(crate) const ENOUGH: usize = 3;

/// How long a node takes, by the finished ones; `None` where they are too few. The order of `took` is changed.
pub(crate) fn each(took: &mut [Duration]) -> Option<TimeRange> {
    if took.len() < ENOUGH {
        return None;
    }
    let (least, most) = usual(took, PeerScope::Fleet)?.quartiles;
    Some(TimeRange { least, most })
}

/// How long a node takes, even if fewer than [`ENOUGH`] are finished: then from the shortest to the longest. The order of `took` is changed.
pub(crate) fn each_of_few(took: &mut [Duration]) -> TimeRange {
    let ends = (took.iter().min().copied(), took.iter().max().copied());
    let few = TimeRange { least: ends.0.unwrap_or_default(), most: ends.1.unwrap_or_default() };
    each(took).unwrap_or(few)
}

/// How long the finished nodes took; `None` where they are too few. The order of `took` is changed.
pub(crate) fn spread(took: &mut [Duration]) -> Option<TimeSpread> {
    if took.len() < ENOUGH {
        return None;
    }
    took.sort_unstable();
    let nodes = u32::try_from(took.len()).unwrap_or(u32::MAX);
    Some(TimeSpread { p50: percentile(took, 50)?, p95: percentile(took, 95)?, nodes })
}

/// How long until all are done: the nodes under way, each for the time in `under_way` so far, and `waiting` more, `at_once` at a time.
///
/// `None` where nothing is left, or where nothing may go.
pub(crate) fn until_done(each: TimeRange, under_way: &[Duration], waiting: usize, at_once: usize) -> Option<TimeRange> {
    if (under_way.is_empty() && waiting == 0) || (at_once == 0 && waiting > 0) {
        return None;
    }
    let of = |each: Duration| last_ends(each, under_way, waiting, at_once);
    Some(TimeRange { least: of(each.least), most: of(each.most) })
}

/// How long `left` nodes take at the rate at which the last ones ended, until `now`; `ends` is in order. Ends before a pause longer than `gap` do not
/// count, as the rollout may have stood still. `None` where fewer than [`ENOUGH`] remain, where they ended in no time at all, and during such a
/// pause.
pub(crate) fn at_rate(ends: &[Timestamp], now: Timestamp, gap: Duration, left: usize) -> Option<Duration> {
    if ends.last().is_none_or(|last| now.since(*last) > gap) {
        return None;
    }
    let follows = |pair: &&[Timestamp]| pair[1].since(pair[0]) <= gap;
    let counted = ends.windows(2).rev().take_while(follows).count();
    let began = *ends.get(ends.len().checked_sub(counted + 1)?)?;
    let elapsed = now.since(began);
    let enough = counted >= ENOUGH && !elapsed.is_zero();
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    enough.then(|| elapsed.saturating_mul(left) / u32::try_from(counted).unwrap_or(u32::MAX))
}

/// When the last node ends if each takes as long: a free place is given to the next node.
fn last_ends(each: Duration, under_way: &[Duration], waiting: usize, at_once: usize) -> Duration {
    let mut busy: Vec<Duration> = under_way.iter().map(|elapsed| each.saturating_sub(*elapsed)).collect();
    busy.sort_unstable();
    let Some(last) = waiting.checked_sub(1) else { return busy.last().copied().unwrap_or_default() };
    // Nodes under way beyond the limit have to end before anything else begins.
    let surplus = busy.len().saturating_sub(at_once);
    let free = busy.split_off(surplus);
    let idle = at_once - free.len();
    let (round, place) = (last / at_once, last % at_once);
    let begins = place.checked_sub(idle).map_or(Duration::ZERO, |place| free[place]);
    let rounds = u32::try_from(round + 1).unwrap_or(u32::MAX);
    begins.saturating_add(each.saturating_mul(rounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn half_and_19_of_20() {
        assert_eq!(spread(&mut [secs(1), secs(2)]), None, "two tell nothing");
        let of = |many: u64| spread(&mut (1..=many).rev().map(secs).collect::<Vec<_>>()).unwrap();
        let got = [3, 4, 20, 21, 100].map(|many| (of(many).p50.as_secs(), of(many).p95.as_secs(), of(many).nodes));
        assert_eq!(got, [(2, 3, 3), (2, 4, 4), (10, 19, 20), (11, 20, 21), (50, 95, 100)]);
        assert_eq!(of(20).to_string(), "p50 10s p95 19s");
        for many in 3..=100 {
            let usual = usual(&mut (1..=many).map(secs).collect::<Vec<_>>(), PeerScope::Fleet).unwrap();
            assert_eq!(usual.median, of(many).p50, "one median of {many} pulls, whoever tells it");
        }
        let quick = spread(&mut [Duration::from_millis(300); 3]).unwrap();
        assert_eq!(quick.to_string(), "p50 1s p95 1s", "not 0s");
    }

    fn range(least: u64, most: u64) -> TimeRange {
        TimeRange { least: secs(least), most: secs(most) }
    }

    #[test]
    fn two_nodes_are_no_measure() {
        assert_eq!(each(&mut [secs(60), secs(60)]), None);
        assert_eq!(each(&mut [secs(90), secs(30), secs(60), secs(120), secs(10)]), Some(range(30, 90)));
    }

    #[test]
    fn what_is_left_takes_as_long_as_it_did_lately() {
        let at = |secs: i64| Timestamp::from_millis(1_800_000_000_000 + secs * 1_000);
        let of = |ends: &[i64], now: i64, left: usize| {
            let ends: Vec<Timestamp> = ends.iter().map(|secs| at(*secs)).collect();
            at_rate(&ends, at(now), secs(60), left).map(|time| time.as_secs())
        };
        assert_eq!(of(&[0, 30, 60], 90, 10), None, "two after the first tell nothing");
        assert_eq!(of(&[0, 30, 60, 90], 90, 10), Some(300), "three in 90 s");
        assert_eq!(of(&[0, 30, 60, 90], 150, 10), Some(500), "nothing has ended since");
        assert_eq!(of(&[0, 30, 60, 90], 180, 10), None, "it may have been held since");
        assert_eq!(of(&[0, 30, 60, 90, 1_000, 1_010, 1_020, 1_030], 1_030, 10), Some(100), "it was held in between");
        assert_eq!(of(&[0, 0, 0, 0], 0, 10), None, "in no time");
        assert_eq!(of(&[], 5, 10), None);
    }

    #[test]
    fn what_is_left_goes_in_rounds() {
        for (under_way, waiting, at_once, want, why) in [
            (vec![], 10, 2, Some((300, 600)), "five rounds"),
            (vec![], 9, 2, Some((300, 600)), "the last round is not full"),
            (vec![], 1, 2, Some((60, 120)), "one round"),
            (vec![60, 0], 1, 2, Some((60, 180)), "the first is free at once, or in a minute"),
            (vec![30], 0, 2, Some((30, 90)), "only what is under way"),
            (vec![500], 0, 2, Some((0, 0)), "overdue"),
            (vec![], 0, 2, None, "nothing is left"),
            (vec![], 5, 0, None, "nothing may go"),
            (vec![0, 0, 0], 1, 1, Some((120, 240)), "more are under way than may be"),
        ] {
            let under_way: Vec<Duration> = under_way.into_iter().map(secs).collect();
            let computed = until_done(range(60, 120), &under_way, waiting, at_once);
            assert_eq!(computed, want.map(|(least, most)| range(least, most)), "{why}");
        }
    }
}
