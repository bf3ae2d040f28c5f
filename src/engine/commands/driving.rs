//! The lines of a preview about a process that begins to drive a rollout, or stops driving it.

use super::allowance::counted_are;
use crate::engine::assess::plan::Limits;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::first_names::first_names;
use crate::engine::model::record::{Direction, Intent};
use crate::engine::model::time::Timestamp;

impl Engine {
    /// What happens once this process drives: who drives until then, and how many of `nodes` are in line. `moves`: a driver begins with nodes, because
    /// the rollout is neither paused nor halted nor released.
    pub(super) fn driving_in_words(
        &self,
        intent: &Intent,
        nodes: &[Str],
        limits: &Limits,
        moves: bool,
        now: Timestamp,
    ) -> Vec<String> {
        let mut lines = match (self.lock.living_other(now), self.lock.holder()) {
            (Some(holder), _) => {
                vec![format!("Asks {holder} to hand over; if it is gone, its lease runs out first.")]
            }
            (None, Some(holder)) if *holder != self.config().identity => {
                vec![format!("{holder} is gone: its lease has run out.")]
            }
            (None, _) => Vec::new(),
        };
        if let Some(back) = self.roll_back_in_words(intent, nodes, limits) {
            lines.extend(back);
        } else if moves && intent.direction() == Direction::Forward {
            lines.push(self.what_moves_then(nodes, limits, intent));
        } else if !nodes.is_empty() {
            lines.push(format!("{} in line, {}.", counted_are(nodes.len()), self.pace_in_words(limits, nodes)));
        }
        lines.extend(self.unready_in_words(nodes));
        lines
    }

    /// What happens to the nodes once this process drives no longer.
    pub(super) fn stopping_in_words(&self, now: Timestamp) -> Vec<String> {
        if let Some(why) = self.drives_no_longer_because(now) {
            return vec![format!("This process does not drive any more: {why}. To confirm this changes nothing.")];
        }
        let warms = self.recorded_prewarm().is_some_and(|asked| asked.paused.is_none() && asked.cancelled.is_none());
        if self.strategy() == StrategyKind::RollingUpdate && !self.is_recorded() {
            let stops = warms.then(|| "Pre-warming stops until somebody drives again.".to_owned());
            let goes_on = "Its own controller replaces pods, as before; a pause stops that.".to_owned();
            return stops.into_iter().chain([goes_on]).collect();
        }
        let what = if warms { "replaced, and none is pre-warmed," } else { "replaced" };
        let mut lines = vec![format!("Nothing more is {what} until somebody drives again.")];
        lines.extend(self.moving_in_words());
        lines.extend(self.left_in_words());
        if self.is_adopted() {
            let template = match self.goal_of_the_roll_back(&self.intent()) {
                Some(to) => format!("the template of {}", self.called_with_images(to)),
                None => "the new template".to_owned(),
            };
            lines.push(format!(
                "It stays adopted (OnDelete): its controller only makes pods that are missing, with {template}."
            ));
        }
        lines
    }

    /// The nodes whose pods are being replaced: they go on without a driver, and nobody judges whether they fail.
    fn moving_in_words(&self) -> Option<String> {
        let mut moving: Vec<_> =
            self.assessment.rows().filter(|row| row.in_fleet && row.committed && row.state.is_moving()).collect();
        moving.sort_by_key(|row| self.natural_ranks().get(row.node));
        let named = first_names(moving.iter().map(|row| &*self.view.entry(row.node).name));
        let (are, they) = if moving.len() == 1 { ("is", "It goes") } else { ("are", "They go") };
        let (done, halts) = match self.intent().direction() {
            Direction::Forward => ("updated", ", and nothing halts the rollout until somebody drives"),
            Direction::Back => ("rolled back", ""),
        };
        (!moving.is_empty()).then(|| format!("{named} {are} being {done} now. {they} on without a driver{halts}."))
    }

    /// The nodes that keep what they run.
    fn left_in_words(&self) -> Option<String> {
        match self.count_rows(|row| row.old && !row.committed) {
            0 => None,
            1 => Some("1 node keeps the revision that it runs.".to_owned()),
            left => Some(format!("{left} nodes keep the revision that they run.")),
        }
    }
}
