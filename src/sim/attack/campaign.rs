//! Plays many cases on the caller's threads. `rolldeck simulate` and the tests both use this loop.
//!
//! This module starts no threads. The caller gets a worker and calls it on each of its threads; the worker returns when no case is left.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::case::Case;
use super::run::{TraceMode, run_case};
use super::statistics::Statistics;

/// The condition under which a campaign ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// All cases have been played.
    AllRan,
    /// All cases have been played, or one has broken a promise.
    OneIsBroken,
}

/// Cases to be played.
#[derive(Clone, Copy, Debug)]
pub struct Campaign<C> {
    count: u64,
    case: C,
    until: Until,
}

/// The random cases of `count` seeds from `first` on.
pub fn random(first: u64, count: u64) -> Campaign<impl Fn(u64) -> Case + Sync> {
    Campaign::new(count, move |nth| Case::random(first.wrapping_add(nth)))
}

impl<C: Fn(u64) -> Case + Sync> Campaign<C> {
    /// The cases `case(0)` to `case(count - 1)`.
    pub fn new(count: u64, case: C) -> Self {
        Self { count, case, until: Until::AllRan }
    }

    /// The same campaign with another end.
    #[must_use]
    pub fn until(self, until: Until) -> Self {
        Self { until, ..self }
    }

    /// Plays the cases. `on_threads` calls the worker on each of its threads and returns when all calls have returned.
    ///
    /// The statistics do not depend on the number of threads, except for [`Until::OneIsBroken`]: cases that are being
    /// played when one breaks a promise are played to their end.
    pub fn run(&self, on_threads: impl FnOnce(&(dyn Fn() + Sync))) -> Statistics {
        let progress = Mutex::new(CampaignProgress::default());
        // `next` is a closure, because a lock taken in the head of the loop would be held until the case is played.
        let next = || self.next(&mut lock(&progress));
        on_threads(&|| {
            while let Some(nth) = next() {
                let report = run_case(&(self.case)(nth), TraceMode::Dropped);
                lock(&progress).statistics.add(&report);
            }
        });
        let mut statistics = progress.into_inner().unwrap_or_else(PoisonError::into_inner).statistics;
        statistics.broken.sort();
        statistics
    }

    /// The number of the case to be played next; `None` when the campaign has ended.
    fn next(&self, progress: &mut CampaignProgress) -> Option<u64> {
        let ended = self.until == Until::OneIsBroken && !progress.statistics.broken.is_empty();
        let nth = progress.begun;
        (!ended && nth < self.count).then(|| {
            progress.begun += 1;
            nth
        })
    }
}

/// The progress of a campaign.
#[derive(Default)]
struct CampaignProgress {
    begun: u64,
    statistics: Statistics,
}

/// Locks the progress, even after a worker panicked: reports are added whole, so a panic leaves no report half added.
fn lock(progress: &Mutex<CampaignProgress>) -> MutexGuard<'_, CampaignProgress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::attack::run::run;

    #[test]
    fn each_seed_is_played_once_however_many_workers_there_are() {
        let mut expected = Statistics::default();
        for seed in [5, 6] {
            expected.add(&run(seed));
        }
        let statistics = random(5, 2).run(|worker| {
            worker();
            worker();
        });
        assert_eq!(statistics, expected);
    }
}
