//! Gates that operators set.

use std::time::Duration;

use super::Generator;
use crate::engine::model::command::Command;
use crate::sim::attack::case::Act;

impl Generator {
    /// Varies how many restarts are allowed, in some of the commands that set all gates.
    pub(super) fn vary_max_restarts(&mut self, acts: &mut [(Duration, Act)]) {
        for (_, act) in acts {
            let Act::Ask(_, Command::Tune(tuning) | Command::Tuned { tuning, .. }) = act else { continue };
            if tuning.max_restarts.is_some() && self.one_in(2) {
                tuning.max_restarts = Some(self.rng.u32(0..6));
            }
        }
    }
}
