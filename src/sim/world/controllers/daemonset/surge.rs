//! RollingUpdate with `maxSurge`: a new pod beside the old one, which goes when the new one is available.
//!
//! | on a node | then |
//! |---|---|
//! | old pod, unavailable | a new one at once, not counted; where none should run, the old one goes |
//! | old pod, available | a new one, `maxSurge` at a time; where none should run, it goes while more are available than desired |
//! | only pods that have ended | a new one at every sync, with no back-off: upstream's own, seen in its source |
//! | old and new pod | the old one goes once it is not ready or the new one is available; until then it counts as surge |

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::model::Str;
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::quantity::Rounding;
use crate::engine::model::time::Timestamp;

use super::super::super::object::Object;
use super::super::super::scenario::ControllerVariant;
use super::super::eligibility::Verdict;
use super::rolling::is_old;
use super::{DaemonSets, Sync, is_available};

impl DaemonSets {
    /// How many nodes may have two pods; `None` if the DaemonSet does not surge: always up to 1.20, and always under `OnDelete`.
    pub(super) fn surge(&self, sync: &Sync<'_>) -> Option<usize> {
        let strategy = &sync.set.spec.strategy;
        if self.variant == ControllerVariant::V1_20 || strategy.kind == StrategyKind::OnDelete {
            return None;
        }
        let surge = strategy.max_surge.filter(|surge| surge.of(1, Rounding::Up) > 0)?;
        let desired = sync.nodes.iter().filter(|(_, verdict)| *verdict == Verdict::Run).count();
        let desired = u32::try_from(desired).unwrap_or(u32::MAX);
        Some(usize::try_from(surge.of(desired, Rounding::Up)).unwrap_or(usize::MAX))
    }

    /// The nodes that get a new pod beside the old one, and the old pods that are deleted.
    pub(super) fn surge_path(
        &mut self,
        sync: &Sync<'_>,
        max_surge: usize,
        now: Timestamp,
    ) -> (Vec<Str>, Vec<Arc<Object>>) {
        let min_ready = sync.set.spec.min_ready_secs;
        let available = |object: &Arc<Object>| object.pod().is_some_and(|pod| is_available(pod, min_ready, now));
        let eligible = sync.nodes.iter().filter(|(_, verdict)| *verdict == Verdict::Run);
        let eligible: BTreeSet<&Str> = eligible.map(|(node, _)| node).collect();
        let (mut wanting, mut candidates) = (Vec::new(), Vec::new());
        let (mut condemned, mut sunset) = (Vec::new(), Vec::new());
        let (mut surging, mut serving) = (0, 0);
        let mut nodes: Vec<(&Str, &Vec<Arc<Object>>)> = sync.pods.iter().collect();
        self.rng.shuffle(&mut nodes);
        for (node, pods) in nodes {
            let live = || pods.iter().filter(|pod| !pod.meta.is_deleting());
            let old: Vec<_> = live().filter(|pod| is_old(pod, sync)).collect();
            let new: Vec<_> = live().filter(|pod| !is_old(pod, sync)).collect();
            if old.len() > 1 || new.len() > 1 {
                surging += 1;
                continue;
            }
            serving += usize::from(old.first().or(new.first()).is_some_and(|pod| available(pod)));
            match (old.first(), new.first()) {
                (None, _) => {}
                (Some(old), None) => match (available(old), eligible.contains(node)) {
                    (false, false) => condemned.push(Arc::clone(old)),
                    (false, true) => wanting.push(node.clone()),
                    (true, false) => sunset.push(Arc::clone(old)),
                    (true, true) if surging < max_surge => candidates.push(node.clone()),
                    (true, true) => {}
                },
                (Some(_), Some(new)) if !available(new) => surging += 1,
                (Some(old), Some(_)) => condemned.push(Arc::clone(old)),
            }
        }
        sunset.truncate(serving.saturating_sub(eligible.len()));
        condemned.extend(sunset);
        candidates.truncate(max_surge.saturating_sub(surging));
        wanting.extend(candidates);
        (wanting, condemned)
    }
}

/// The running pods of one node that are deleted, oldest first. Two may stay: an old one that is ready and a new one that is not available.
pub(super) fn surplus_of_surge(sync: &Sync<'_>, running: &[&Arc<Object>], now: Timestamp) -> Vec<Arc<Object>> {
    let (mut oldest_new, mut oldest_old, mut condemned) = (None, None, Vec::new());
    if running.len() <= 1 {
        return condemned;
    }
    for pod in running {
        let kept = if is_old(pod, sync) { &mut oldest_old } else { &mut oldest_new };
        match kept {
            None => *kept = Some(*pod),
            Some(_) => condemned.push(Arc::clone(pod)),
        }
    }
    if let (Some(new), Some(old)) = (oldest_new, oldest_old) {
        let min_ready = sync.set.spec.min_ready_secs;
        let ready = old.pod().is_some_and(|pod| pod.ready().is_some());
        if !ready || new.pod().is_some_and(|pod| is_available(pod, min_ready, now)) {
            condemned.push(Arc::clone(old));
        }
    }
    condemned
}

#[cfg(test)]
mod tests;
