//! A deploy, and nothing more: the DaemonSet controller does the rest.

use super::super::meter::Meter;
use super::{RolloutOperator, deploy};
use crate::sim::world::World;
use crate::sim::world::scenario::RolloutPlan;

#[derive(Debug)]
pub(in crate::sim::compare) struct ControllerAlone {
    /// The rollout to deploy; `None` once it is deployed.
    rollout: Option<RolloutPlan>,
}

impl ControllerAlone {
    pub(in crate::sim::compare) fn new(rollout: RolloutPlan) -> Self {
        Self { rollout: Some(rollout) }
    }
}

impl RolloutOperator for ControllerAlone {
    fn act(&mut self, world: &mut World, _progress: &Meter) {
        if let Some(rollout) = self.rollout.take() {
            deploy(&rollout, world);
        }
    }
}
