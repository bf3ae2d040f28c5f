//! The combined results of many runs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::faults::Faults;
use super::observer::SitePulls;
use super::run::Report;
use crate::engine::model::cause::CauseKind;

/// The combined results of many runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Statistics {
    /// How many runs there were.
    pub runs: u64,
    /// How many pods were replaced in these runs.
    pub deletions: u64,
    /// The faults of these runs, by kind.
    pub faults: Faults,
    /// For each cause of trouble, the number of runs in which a console showed it on some node.
    pub causes: BTreeMap<CauseKind, u64>,
    /// The largest number of nodes that a rollout had taken down at once.
    pub worst_down: usize,
    /// How many pulls were judged by the limit of a site.
    pub site_pulls: SitePulls,
    /// How long the runs took, in their worlds' time.
    pub took: Duration,
    /// The runs that broke a promise: the seed, and the violations in words.
    pub broken: Vec<(u64, Vec<String>)>,
}

impl Statistics {
    /// Adds the result of one run.
    pub fn add(&mut self, report: &Report) {
        self.runs += 1;
        self.deletions += report.deletions;
        self.faults.add(&report.faults);
        for cause in &report.causes {
            *self.causes.entry(*cause).or_default() += 1;
        }
        self.worst_down = self.worst_down.max(report.worst_down);
        self.site_pulls.add(report.site_pulls);
        self.took += report.took;
        if !report.violations.is_empty() {
            self.broken.push((report.seed, report.violations.iter().map(ToString::to_string).collect()));
        }
    }
}

impl fmt::Display for Statistics {
    /// Writes lines with the size of the runs, the faults by kind, and the broken promises.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.took.as_secs() / 86_400;
        writeln!(
            f,
            "{} rollouts in {days} days of cluster time: {} pods replaced, at most {} nodes down at once, {} faults",
            self.runs,
            self.deletions,
            self.worst_down,
            self.faults.total()
        )?;
        for (kind, count) in self.faults.by_kind() {
            writeln!(f, "{count:>12}  {kind}")?;
        }
        let causes: Vec<String> = self.causes.iter().map(|(kind, runs)| format!("{kind} in {runs}")).collect();
        writeln!(f, "causes shown: {}", causes.join(", "))?;
        writeln!(f, "{}", self.site_pulls)?;
        for (seed, what) in &self.broken {
            writeln!(f, "seed {seed} broke a promise; `rolldeck simulate --seed {seed} --shrink --trace` shows how")?;
            for violation in what.iter().take(3) {
                writeln!(f, "    {violation}")?;
            }
        }
        write!(f, "{} of {} broke a promise", self.broken.len(), self.runs)
    }
}
