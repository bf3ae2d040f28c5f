//! Nodes that should no longer run the pod when the rollout ends, but still have an old pod that serves.

use super::Generator;
use crate::engine::model::Str;
use crate::engine::model::facts::Taint;
use crate::engine::model::template::TaintEffect;
use crate::sim::world::scenario::ClusterFault;

impl Generator {
    /// Some nodes get the taint `NoSchedule` early in the rollout, for long: until the calm, or for good.
    pub(super) fn tainted_for_long(&mut self, nodes: &[Str]) {
        let at = self.secs(1..12);
        let key = Str::from("reserved");
        for _ in 0..self.rng.usize(1..=2) {
            let node = self.pick(nodes);
            let taint = Taint { key: key.clone(), value: "".into(), effect: TaintEffect::NoSchedule };
            let when = at + self.secs(0..3);
            self.add(when, ClusterFault::Taint { node: node.clone(), taint });
            match self.rng.u32(0..3) {
                0 => {}
                1 => self.add(self.calm, ClusterFault::Untaint { node, key: key.clone() }),
                _ => {
                    let until = self.secs(30..self.calm.as_secs().max(31)).min(self.calm);
                    self.add(until, ClusterFault::Untaint { node, key: key.clone() });
                }
            }
        }
    }
}
