//! RollingUpdate: the old pods that are deleted next. As in every version of Kubernetes, unavailable old pods are deleted whatever the budget;
//! rolldeck exists to prevent that.
//!
//! | old pod is | up to 1.20 | 1.21 until kubernetes#123233 | current |
//! |---|---|---|---|
//! | unavailable | deleted, whatever the budget | deleted, whatever the budget, and not counted | deleted, whatever the budget, and counted |
//! | available | deleted while the budget lasts | as before | as before |
//!
//! Up to 1.20 a node that should not have a pod (not ready, and the taint is not tolerated) is not counted at all; later versions count it as long as
//! it has one.

use std::sync::Arc;

use crate::engine::model::Str;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity::{IntOrPercent, Rounding};
use crate::engine::model::time::Timestamp;

use super::super::super::object::Object;
use super::super::super::scenario::ControllerVariant;
use super::super::super::store::Store;
use super::super::eligibility::Verdict;
use super::{DaemonSets, Sync, is_available};

impl DaemonSets {
    /// One step of the update strategy.
    pub(super) fn update(&mut self, sync: &Sync<'_>, store: &mut Store, now: Timestamp) {
        if sync.set.spec.strategy.kind == StrategyKind::OnDelete {
            return;
        }
        if let Some(max_surge) = self.surge(sync) {
            let (wanting, condemned) = self.surge_path(sync, max_surge, now);
            return self.carry_out(sync, &wanting, &condemned, store, now);
        }
        let wanted = sync.nodes.iter().filter(|(_, verdict)| *verdict == Verdict::Run);
        let eligible: Vec<Str> = wanted.map(|(node, _)| node.clone()).collect();
        let desired = u32::try_from(eligible.len()).unwrap_or(u32::MAX);
        let limit = sync.set.spec.strategy.max_unavailable.unwrap_or(IntOrPercent::Int(1));
        let mut max_unavailable = usize::try_from(limit.of(desired, Rounding::Up)).unwrap_or(usize::MAX);
        if max_unavailable == 0 && desired > 0 {
            max_unavailable = 1;
        }
        let condemned = match self.variant {
            ControllerVariant::V1_20 => self.old_path(sync, &eligible, max_unavailable, now),
            ControllerVariant::V1_21Bug | ControllerVariant::Current => {
                self.new_path(sync, &eligible, max_unavailable, now)
            }
        };
        self.carry_out(sync, &[], &condemned, store, now);
    }

    /// Up to 1.20: all unavailable old pods, and available ones while the budget lasts.
    fn old_path(
        &mut self,
        sync: &Sync<'_>,
        eligible: &[Str],
        max_unavailable: usize,
        now: Timestamp,
    ) -> Vec<Arc<Object>> {
        let min_ready = sync.set.spec.min_ready_secs;
        let serves = |object: &Arc<Object>| {
            !object.meta.is_deleting() && object.pod().is_some_and(|pod| is_available(pod, min_ready, now))
        };
        let down = |node: &&Str| !sync.pods.get(*node).is_some_and(|pods| pods.iter().any(serves));
        let mut unavailable = eligible.iter().filter(down).count();
        let mut condemned = Vec::new();
        let mut available = Vec::new();
        for object in sync.pods.values().flatten().filter(|pod| !pod.meta.is_deleting() && is_old(pod, sync)) {
            if object.pod().is_some_and(|pod| is_available(pod, min_ready, now)) {
                available.push(Arc::clone(object));
            } else {
                condemned.push(Arc::clone(object));
            }
        }
        self.rng.shuffle(&mut available);
        for object in available {
            if unavailable >= max_unavailable {
                break;
            }
            unavailable += 1;
            condemned.push(object);
        }
        condemned
    }

    /// Since 1.21: decides node by node, in no particular order.
    fn new_path(
        &mut self,
        sync: &Sync<'_>,
        eligible: &[Str],
        max_unavailable: usize,
        now: Timestamp,
    ) -> Vec<Arc<Object>> {
        let min_ready = sync.set.spec.min_ready_secs;
        let available = |object: &Arc<Object>| object.pod().is_some_and(|pod| is_available(pod, min_ready, now));
        let bare = eligible.iter().filter(|node| !sync.pods.contains_key(*node));
        let mut unavailable = bare.count();
        let mut condemned = Vec::new();
        let mut candidates = Vec::new();
        let mut nodes: Vec<&Vec<Arc<Object>>> = sync.pods.values().collect();
        self.rng.shuffle(&mut nodes);
        for pods in nodes {
            let live = || pods.iter().filter(|pod| !pod.meta.is_deleting());
            let old: Vec<_> = live().filter(|pod| is_old(pod, sync)).collect();
            let new: Vec<_> = live().filter(|pod| !is_old(pod, sync)).collect();
            match (old.as_slice(), new.as_slice()) {
                ([], [new]) => unavailable += usize::from(!available(new)),
                ([old], []) if !available(old) => {
                    condemned.push(Arc::clone(old));
                    unavailable += usize::from(self.variant == ControllerVariant::Current);
                }
                ([old], []) => {
                    if unavailable < max_unavailable {
                        candidates.push(Arc::clone(old));
                    }
                }
                // Several old or several new pods, pods of both kinds, or only terminating ones.
                _ => unavailable += 1,
            }
        }
        candidates.truncate(max_unavailable.saturating_sub(unavailable));
        condemned.extend(candidates);
        condemned
    }
}

pub(super) fn is_old(pod: &Arc<Object>, sync: &Sync<'_>) -> bool {
    pod.meta.revision_hash() != Some(&sync.history.hash)
}
