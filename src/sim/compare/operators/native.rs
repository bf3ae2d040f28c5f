//! A deploy, and nothing more: the DaemonSet controller does the rest.

use super::super::meter::Meter;
use super::{Operator, deploy};
use crate::sim::world::World;
use crate::sim::world::scenario::RolloutPlan;

#[derive(Debug)]
pub(in crate::sim::compare) struct Native {
    /// What is to be deployed; `None` once it is.
    rollout: Option<RolloutPlan>,
}

impl Native {
    pub(in crate::sim::compare) fn new(rollout: RolloutPlan) -> Self {
        Self { rollout: Some(rollout) }
    }
}

impl Operator for Native {
    fn act(&mut self, world: &mut World, _progress: &Meter) {
        if let Some(rollout) = self.rollout.take() {
            deploy(&rollout, world);
        }
    }
}
