//! Consoles that are far from the API server, and pauses that the driver sees late.

use std::time::Duration;

use super::Generator;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::event::Watched;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Budgets, Limit, Tuning};
use crate::sim::attack::case::{Act, Trigger};
use crate::sim::attack::network::NetworkProfile;

impl Generator {
    /// The API server answers after 0.2 to 2 s; in some cases the line also fills up.
    pub(super) fn far_away(&mut self, network: NetworkProfile) -> NetworkProfile {
        let distance = self.rng.u64(100..=980);
        let swells = if self.one_in(2) { self.rng.u32(1..20) } else { 0 };
        NetworkProfile { distance, swells, max_delay: network.max_delay.min(100), ..network }
    }

    /// Somebody pauses while there is much to do, and the driver's watch of the record is late.
    pub(super) fn late_pause(&mut self, nodes: usize) -> Vec<(Duration, Act)> {
        let at = self.secs(6..self.calm.as_secs() / 2);
        let (by, lasts) = (self.secs(3..8), self.secs(20..60));
        let all_at_once = Limit::At(IntOrPercent::Int(u32::try_from(nodes).unwrap_or(1)));
        let budgets = Budgets { max_unavailable: all_at_once, ..Budgets::default() };
        let all = Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        let asks = [Command::Tune(Tuning::from(budgets)), self.new_image(), all];
        let pause = Box::new(Act::OneShot(Command::Pause { why: None }));
        let pause = Act::Upon { trigger: Trigger::Deletion, after: self.rng.u32(0..3), act: pause };
        let late = Act::DelayWatch { who: 0, watched: Watched::Lease, by, lasts };
        let asks = asks.into_iter().map(|command| (at, Act::Ask(0, command)));
        asks.chain([(at + self.secs(0..2), late), (at, pause)]).collect()
    }
}
