//! How long a pull takes over a link that several share. Where the link is what bounds them, it takes longer the more of them run at once; where
//! something else does, it takes as long as ever. Which of the two holds is not known, so the range has both.

use std::time::Duration;

use super::estimates::each_of_few;
use crate::engine::model::estimate::{MEASURED_OF_SITE, TimeRange};
use crate::engine::model::time::Timestamp;

/// The most pulls of a site that are compared: the last ones.
const COMPARED: usize = 256;

/// From when to when a pull ran, or has run so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PullSpan {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

impl PullSpan {
    /// For how long two pulls ran at the same time.
    fn together(self, other: Self) -> Duration {
        self.until.min(other.until).since(self.from.max(other.from))
    }
}

/// How long a pull of a site takes where `at_once` run at once over its link, by the last of those that `finished`; `beside` are the other pulls that
/// used the link. `None` where none is finished.
pub(crate) fn each_over_the_link(finished: &[PullSpan], beside: &[PullSpan], at_once: usize) -> Option<TimeRange> {
    let mut last: Vec<PullSpan> = finished.to_vec();
    last.sort_unstable_by_key(|span| std::cmp::Reverse(span.until));
    last.truncate(COMPARED);
    let millis = |span: Duration| span.as_millis().max(1);
    let (mut quick, mut slow) = (Vec::new(), Vec::new());
    for span in last.iter().take(MEASURED_OF_SITE) {
        let took = span.until.since(span.from);
        // This is its own duration for each pull that ran all the while, itself included.
        let shared: Duration = last.iter().chain(beside).map(|other| span.together(*other)).sum();
        let by_link = millis(took) * millis(took) * at_once as u128 / millis(shared);
        let by_link = Duration::from_millis(u64::try_from(by_link).unwrap_or(u64::MAX));
        quick.push(took.min(by_link));
        slow.push(took.max(by_link));
    }
    (!last.is_empty()).then(|| TimeRange { least: each_of_few(&mut quick).least, most: each_of_few(&mut slow).most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(of: &[(i64, i64)]) -> Vec<PullSpan> {
        let at = |secs: i64| Timestamp::from_millis(1_800_000_000_000 + secs * 1_000);
        of.iter().map(|(from, until)| PullSpan { from: at(*from), until: at(*until) }).collect()
    }

    fn each(finished: &[(i64, i64)], beside: &[(i64, i64)], at_once: usize) -> Option<(u64, u64)> {
        let range = each_over_the_link(&spans(finished), &spans(beside), at_once)?;
        Some((range.least.as_secs(), range.most.as_secs()))
    }

    #[test]
    fn more_at_once_than_were_measured_may_take_longer_and_fewer_less() {
        let two_at_once = [(0, 10), (0, 10), (10, 20), (10, 20)];
        assert_eq!(each(&two_at_once, &[], 2), Some((10, 10)), "as many as were measured");
        assert_eq!(each(&two_at_once, &[], 8), Some((10, 40)), "four times as many share the link");
        assert_eq!(each(&two_at_once, &[], 1), Some((5, 10)), "it has the link for itself");
        assert_eq!(each(&[(0, 10), (0, 10)], &[(0, 20), (0, 20)], 4), Some((10, 10)), "others were pulling, too");
        assert_eq!(each(&[], &[(0, 20)], 4), None, "nothing is finished");
    }

    /// Of a link that has become slower the first pulls tell nothing.
    #[test]
    fn the_last_ones_count() {
        let mut pulls: Vec<(i64, i64)> = (0..100).map(|nth| (nth * 10, nth * 10 + 10)).collect();
        pulls.extend((0..24).map(|nth| (1_000 + nth * 60, 1_060 + nth * 60)));
        assert_eq!(each(&pulls, &[], 1), Some((60, 60)));
    }
}
