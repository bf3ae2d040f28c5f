//! The operators who roll out: one per method.

pub(super) mod by_hand;
pub(super) mod controller_alone;
pub(super) mod rolldeck;
pub(super) mod stateful_set;

use super::meter::Meter;
use crate::engine::model::time::Timestamp;
use crate::sim::world::World;
use crate::sim::world::scenario::{ClusterFault, RolloutPlan};

/// An operator who rolls out.
pub(super) trait RolloutOperator {
    /// Acts at the world's present time. `progress` is up to date.
    fn act(&mut self, world: &mut World, progress: &Meter);

    /// When the operator acts next, even if nothing changes until then.
    fn next_at(&self) -> Option<Timestamp> {
        None
    }

    /// The reason of each halt.
    fn halts(self: Box<Self>) -> Vec<String> {
        Vec::new()
    }
}

/// Gives the DaemonSet its new images, as a pipeline does.
pub(super) fn deploy(rollout: &RolloutPlan, world: &mut World) {
    let (namespace, name) = &rollout.daemon_set;
    let daemon_set = format!("{namespace}/{name}").into();
    world.inject(&ClusterFault::SetImages { daemon_set, images: rollout.images.clone() }.into());
}
