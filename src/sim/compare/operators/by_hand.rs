//! An operator at a terminal, and a DaemonSet with `OnDelete`: the operator deletes the pods of a few nodes, waits until their successors are ready,
//! and deletes the next. Nodes are taken by name, so most of a batch is at one site.

use std::sync::Arc;

use super::super::meter::{Meter, has_images};
use super::{RolloutOperator, deploy};
use crate::engine::model::Str;
use crate::sim::world::World;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;
use crate::sim::world::scenario::RolloutPlan;
use crate::sim::world::store::DeleteOptions;
use crate::sim::world::write::WriteOptions;

const BY: WriteOptions<'static> = WriteOptions::named("kubectl");

#[derive(Debug)]
pub(in crate::sim::compare) struct ByHand {
    rollout: RolloutPlan,
    batch: usize,
    stage: BatchStage,
}

#[derive(Debug)]
enum BatchStage {
    /// The new images are not set yet.
    Begins,
    /// These nodes' pods are deleted, the next ones are not.
    Waits(Vec<Str>),
}

impl ByHand {
    pub(in crate::sim::compare) fn new(rollout: RolloutPlan, batch: usize) -> Self {
        Self { rollout, batch, stage: BatchStage::Begins }
    }
}

impl RolloutOperator for ByHand {
    fn act(&mut self, world: &mut World, progress: &Meter) {
        match &self.stage {
            BatchStage::Begins => deploy(&self.rollout, world),
            BatchStage::Waits(nodes) if nodes.iter().any(|node| !progress.is_updated(node)) => return,
            BatchStage::Waits(_) => {}
        }
        let (namespace, name) = &self.rollout.daemon_set;
        let is_old = |pod: &Arc<Object>| pod.pod().is_some_and(|pod| !has_images(pod, &self.rollout));
        let old = world.pods_of(namespace, name).into_iter().filter(|(_, pods)| pods.iter().all(is_old));
        let batch: Vec<(Str, Vec<Arc<Object>>)> = old.take(self.batch).collect();
        for pod in batch.iter().flat_map(|(_, pods)| pods) {
            // No policy refuses deletions here.
            let _ = world.delete((Kind::Pod, namespace, &pod.meta.name), &DeleteOptions::default(), BY);
        }
        self.stage = BatchStage::Waits(batch.into_iter().map(|(node, _)| node).collect());
    }
}
