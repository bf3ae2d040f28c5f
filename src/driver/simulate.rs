//! Attacks on the promises in the simulated world, on all cores: what `rolldeck simulate` runs.

use crate::sim::attack::campaign;
use crate::sim::attack::run::{StoryMode, play};
use crate::sim::attack::shrink::shrink;

pub use crate::sim::attack::case::Case;
pub use crate::sim::attack::statistics::Statistics;

/// So many runs from one seed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Simulation {
    /// The first seed; each run has the next.
    pub seed: u64,
    /// How many runs.
    pub runs: u64,
}

impl Simulation {
    /// Runs it; blocks until it is done.
    pub fn run(self) -> Statistics {
        campaign::random(self.seed, self.runs).play(on_all_cores)
    }
}

fn on_all_cores(worker: &(dyn Fn() + Sync)) {
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
}

/// What happens in the run of one case, a line each, and what it breaks.
pub fn story(case: &Case) -> (Vec<String>, Vec<String>) {
    let report = play(case, StoryMode::Kept);
    (report.story, report.violations.iter().map(ToString::to_string).collect())
}

/// The case without all that the broken promise does not take; `None` when it breaks none.
pub fn shrunk(case: &Case) -> Option<Case> {
    shrink(case)
}
