//! Gates that operators set.

use std::time::Duration;

use super::Generator;
use crate::engine::model::command::Command;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{PrewarmAhead, Setting};
use crate::sim::attack::case::Act;

/// The values that are drawn for settings that are varied last, one row each. A new row at the end changes no earlier draw.
const DRAWN: &[(Setting, &[&str])] = &[];

impl Generator {
    /// Varies the settings of [`DRAWN`], in some of the commands that set all gates.
    pub(super) fn vary_by_table(&mut self, acts: &mut [(Duration, Act)]) {
        for (setting, values) in DRAWN {
            for (_, act) in acts.iter_mut() {
                let Act::Ask(_, Command::Tune(tuning) | Command::Tuned { tuning, .. }) = act else { continue };
                if tuning.max_restarts.is_some() && self.one_in(2) {
                    let change = setting.read(self.pick(values)).unwrap_or_default();
                    *tuning = std::mem::take(tuning).and(change);
                }
            }
        }
    }

    /// Varies the number of allowed restarts, in some of the commands that set all gates.
    pub(super) fn vary_max_restarts(&mut self, acts: &mut [(Duration, Act)]) {
        for (_, act) in acts {
            let Act::Ask(_, Command::Tune(tuning) | Command::Tuned { tuning, .. }) = act else { continue };
            if tuning.max_restarts.is_some() && self.one_in(2) {
                tuning.max_restarts = Some(self.rng.u32(0..6));
            }
        }
    }

    /// Varies the plan and the nodes that are pre-warmed ahead of it, in some of the commands that set all gates.
    pub(super) fn vary_plan(&mut self, acts: &mut [(Duration, Act)]) {
        for (_, act) in acts {
            let Act::Ask(_, Command::Tune(tuning) | Command::Tuned { tuning, .. }) = act else { continue };
            if tuning.max_restarts.is_none() {
                continue;
            }
            if self.one_in(3) {
                tuning.prewarm = Some(if self.one_in(2) { PrewarmAhead::Step } else { PrewarmAhead::All });
            }
            if self.one_in(4) {
                let steps = [IntOrPercent::Int(self.rng.u32(1..4)), IntOrPercent::Percent(self.rng.u8(20..90))];
                tuning.steps = Some(steps.into_iter().chain([IntOrPercent::Percent(100)]).collect());
            }
        }
    }
}
