//! The DaemonSet's status: counters over all nodes, looking at the oldest pod of each.

use std::time::Duration;

use crate::engine::model::facts::DaemonSetCounters;
use crate::engine::model::time::Timestamp;

use super::super::super::kind::Kind;
use super::super::super::object::{Body, DaemonSetStatus};
use super::super::super::store::Store;
use super::super::super::write::WrittenPart;
use super::super::eligibility::Verdict;
use super::{BY, DaemonSets, Observed, Sync, is_available};

impl DaemonSets {
    /// Writes the status if it changed. The pods are those that the sync began with.
    pub(super) fn write_status(&mut self, sync: &Sync<'_>, observed: Observed, store: &mut Store, now: Timestamp) {
        let counters = count(sync, now);
        let generation = match observed {
            Observed::Generation => sync.object.meta.generation,
            Observed::NotYet => sync.set.status.observed_generation,
        };
        let status = DaemonSetStatus {
            observed_generation: generation,
            counters,
            unavailable: counters.desired.saturating_sub(counters.available),
            collision_count: sync.set.status.collision_count,
        };
        if status != sync.set.status {
            let at = (Kind::DaemonSet, &*sync.object.meta.namespace, &*sync.object.meta.name);
            let _ = store.modify(at, WrittenPart::Status, now, BY, |object| {
                if let Body::DaemonSet(set) = &mut object.body {
                    set.status = status;
                }
            });
        }
        let min_ready = sync.set.spec.min_ready_secs;
        if min_ready > 0 && counters.ready != counters.available {
            self.enqueue_at(&sync.object.meta.uid, now + Duration::from_secs(min_ready.into()));
        }
    }
}

fn count(sync: &Sync<'_>, now: Timestamp) -> DaemonSetCounters {
    let mut counters = DaemonSetCounters::default();
    for (node, verdict) in &sync.nodes {
        let first = sync.pods.get(node).and_then(|pods| pods.first());
        if *verdict != Verdict::Run {
            counters.misscheduled += u32::from(first.is_some());
            continue;
        }
        counters.desired += 1;
        let Some((object, pod)) = first.and_then(|object| Some((object, object.pod()?))) else { continue };
        counters.current += 1;
        counters.updated += u32::from(object.meta.revision_hash() == Some(&sync.history.hash));
        if pod.ready().is_some() {
            counters.ready += 1;
            counters.available += u32::from(is_available(pod, sync.set.spec.min_ready_secs, now));
        }
    }
    counters
}
