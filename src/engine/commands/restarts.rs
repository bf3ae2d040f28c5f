//! Restarts since the update that speak against the next step.

use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::node::{NodeState, RestartsView};

impl Engine {
    /// The reason against the next step: `n1 restarted 2× since its update (and 3 more): no serving pod is replaced …`.
    pub(super) fn restarts_in_words(&self) -> Vec<String> {
        // A node that has failed counts toward the threshold instead. Once an operator has accepted its failure, it holds nothing up.
        let holds = |row: &Row| row.state != NodeState::Failed;
        let mut watched: Vec<(bool, RestartsView, Str)> =
            self.assessment.rows().filter_map(|row| Some((holds(row), row.restarted?, self.name(row)))).collect();
        watched.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.times.cmp(&a.1.times)).then_with(|| a.2.cmp(&b.2)));
        let Some((holds, restarted, name)) = watched.first() else { return Vec::new() };
        let more = match watched.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let then = match (holds, restarted.speaks_against_revision()) {
            (true, true) => "no serving pod is replaced until it has stayed up for 10m",
            (true, false) => "it is watched",
            (false, _) => "it has failed, and holds nothing up once that is accepted",
        };
        vec![format!("{name} restarted {}× since its update{more}: {then}.", restarted.times)]
    }
}
