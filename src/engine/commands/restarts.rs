//! What restarts since the update say against the next step.

use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::node::RestartsView;

impl Engine {
    /// What speaks against the next step: `n1 restarted 2× since its update (and 3 more): no serving pod is replaced …`.
    pub(super) fn restarts_in_words(&self) -> Vec<String> {
        let mut watched: Vec<(RestartsView, Str)> =
            self.assessment.rows().filter_map(|row| Some((row.restarted?, self.name(row)))).collect();
        watched.sort_by(|a, b| b.0.times.cmp(&a.0.times).then_with(|| a.1.cmp(&b.1)));
        let Some((restarted, name)) = watched.first() else { return Vec::new() };
        let more = match watched.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let then = if restarted.speaks_against_revision() {
            "no serving pod is replaced until it has stayed up for 10m"
        } else {
            "it is watched"
        };
        vec![format!("{name} restarted {}× since its update{more}: {then}.", restarted.times)]
    }
}
