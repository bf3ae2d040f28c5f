//! The figures of one run of the founding scenario, as a table for the simulated cluster and for the real control plane.

use std::time::Duration;

use super::ledger::Unserved;

/// How many nodes there are.
pub(crate) const NODES: usize = 20;
/// The minute at which v2 is rolled back.
pub(crate) const MINUTES: usize = 10;

/// The figures of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Figures {
    /// The name of the driver: who rolled out.
    pub(crate) driver: &'static str,
    /// The most nodes that were lost at one instant, and the most that were out of sight.
    pub(crate) worst: Unserved,
    /// How many nodes lost the pod that they had.
    pub(crate) replaced: usize,
    /// The time from the beginning of the rollout until it stopped; `None`: it never stopped.
    pub(crate) stopped_after: Option<Duration>,
    /// How many nodes served at the beginning and at each full minute.
    pub(crate) serving: Vec<usize>,
    /// The time from the roll back until every node served the old image again.
    pub(crate) back_after: Duration,
}

impl Figures {
    fn rows(&self) -> [(&'static str, String); 6] {
        let of_all = |nodes: usize| format!("{nodes} of {NODES}");
        let secs = |span: Duration| format!("{:.0} s", span.as_secs_f64());
        [
            ("lost to the rollout at once, at most", of_all(self.worst.lost)),
            ("out of sight at once, pod untouched", of_all(self.worst.out_of_sight)),
            ("nodes whose pod was replaced", of_all(self.replaced)),
            ("stopped after", self.stopped_after.map_or_else(|| "never".to_owned(), secs)),
            ("serving after ten minutes", of_all(self.serving.last().copied().unwrap_or_default())),
            ("all serve v1 again after undo within", secs(self.back_after)),
        ]
    }
}

/// A table with one column for each run.
pub(crate) fn table(runs: &[Figures]) -> String {
    let line = |title: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>12}")).collect();
        format!("{title:36}{cells}\n")
    };
    let mut text = line("", runs.iter().map(|run| run.driver.to_owned()).collect());
    let titles = runs.first().map(Figures::rows).into_iter().flatten().map(|(title, _)| title);
    for (nth, title) in titles.enumerate() {
        text += &line(title, runs.iter().map(|run| run.rows()[nth].1.clone()).collect());
    }
    text += "serving, minute by minute\n";
    for run in runs {
        let minutes: String = run.serving.iter().map(|nodes| format!("{nodes:>4}")).collect();
        text += &format!("  {:12}{minutes}\n", run.driver);
    }
    text
}
