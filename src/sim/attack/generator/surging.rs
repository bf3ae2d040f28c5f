//! DaemonSets that surge: their controller takes no node down, and whoever adopts one names a budget.

use super::Generator;
use crate::engine::model::command::Command;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Tuning};
use crate::sim::world::scenario::{ControllerVariant, DaemonSetPlan};

impl Generator {
    /// Has the DaemonSet surge, now and then; where its controller can.
    pub(super) fn surge(&mut self, plan: &mut DaemonSetPlan, variant: ControllerVariant) {
        if variant == ControllerVariant::V1_20 || plan.strategy == StrategyKind::OnDelete || !self.one_in(8) {
            return;
        }
        plan.max_unavailable = IntOrPercent::Int(0);
        plan.max_surge = if self.one_in(3) {
            IntOrPercent::Percent(self.rng.u8(1..50))
        } else {
            IntOrPercent::Int(self.rng.u32(1..3))
        };
        self.surges = true;
    }

    /// The command as somebody gives it who knows that it surges; one in four does not.
    pub(super) fn with_budget(&mut self, command: Command) -> Command {
        if !self.surges || self.one_in(4) {
            return command;
        }
        let max_unavailable = Some(Limit::At(IntOrPercent::Int(self.rng.u32(1..4))));
        command.under(Tuning { max_unavailable, ..Tuning::default() })
    }
}
