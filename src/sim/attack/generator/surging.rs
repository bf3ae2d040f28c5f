//! DaemonSets that surge: their controller takes no node down, so an operator who adopts one has to name a budget.

use super::Generator;
use crate::engine::model::command::Command;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Limit, Tuning};
use crate::sim::world::scenario::{ControllerVariant, DaemonSetPlan};

impl Generator {
    /// Makes the DaemonSet surge in some cases, if its controller supports it.
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

    /// Adds a budget to a command for a DaemonSet that surges; in one case of four the operator forgets it.
    pub(super) fn with_budget(&mut self, command: Command) -> Command {
        if !self.surges || self.one_in(4) {
            return command;
        }
        let max_unavailable = Some(Limit::At(IntOrPercent::Int(self.rng.u32(1..4))));
        command.under(Tuning { max_unavailable, ..Tuning::default() })
    }
}
