//! Restarts since the update that speak against the next step.

use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::node::{NodeState, RestartKind, RestartsView};
use crate::engine::model::time::ShortDuration;
use crate::engine::view::restarts::watched_for;

impl Engine {
    /// The reason against the next step: `n1 restarted 2× since its update (and 3 more): no serving pod is replaced …`.
    pub(super) fn restarts_in_words(&self) -> Vec<String> {
        // A node that has failed counts toward the threshold instead. Once an operator has accepted its failure, it holds nothing up.
        let holds = |row: &Row| row.state != NodeState::Failed;
        let intent = self.intent();
        let mut watched: Vec<(bool, RestartsView, Str)> = self
            .assessment
            .rows()
            .filter_map(|row| Some((holds(row), *row.restarted.as_deref()?, self.name(row))))
            .collect();
        let is_accepted = |holds: bool, name: &Str| !holds && self.is_accepted(name, &intent);
        // A failure that nobody has accepted is named before one that an operator has.
        watched.sort_by(|(a_holds, a, a_name), (b_holds, b, b_name)| {
            let accepted = is_accepted(*a_holds, a_name).cmp(&is_accepted(*b_holds, b_name));
            b_holds.cmp(a_holds).then(accepted).then(b.times.cmp(&a.times)).then_with(|| a_name.cmp(b_name))
        });
        let Some((holds, restarted, name)) = watched.first() else { return Vec::new() };
        let more = match watched.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let watched = ShortDuration(watched_for(intent.soak_secs()));
        let then = match (holds, restarted.speaks_against_revision()) {
            (true, true) => format!("no serving pod is replaced until it has stayed up for {watched}"),
            (true, false) => format!("it counts as updated once it has stayed up for {watched}"),
            (false, _) if is_accepted(*holds, name) => {
                "it has failed, which an operator accepted, and holds nothing up".to_owned()
            }
            (false, _) => "it has failed, and holds nothing up once that is accepted".to_owned(),
        };
        let times = restarted.times;
        let what = match restarted.kind() {
            RestartKind::Restarts => format!("{name} restarted {times}×"),
            RestartKind::Evictions => format!("the pods of {name} were evicted {times}×"),
            RestartKind::Both => format!("{name} restarted or was evicted {times}×"),
        };
        vec![format!("{what} since its update{more}: {then}.")]
    }
}
