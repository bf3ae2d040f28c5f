//! Which evictions count, for the record: the pods that were evicted are gone, so that nobody who begins to look later could know of them.

use std::cmp::Reverse;

use super::Engine;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::record::{EVICTED_LIMIT, EvictedBefore};

impl Engine {
    /// Whoever drives brings the record of evictions up to date. A node stays in it as long as its pod is watched for them, or has failed of them.
    pub(crate) fn keep_evictions(&mut self) {
        // Where no pods are listed yet, those that the record names may be there.
        if !self.lock.holds() || self.health(Watched::Pods) == WatchHealth::Loading {
            return;
        }
        let rows = self.assessment.rows().filter(|row| row.restarted.is_some() || row.failure);
        let mut evicted: Vec<(Str, EvictedBefore)> = rows.filter_map(|row| self.evicted_before(row)).collect();
        evicted.sort_by_key(|(_, before)| Reverse(before.times));
        self.progress.evicted = evicted.into_iter().take(EVICTED_LIMIT).collect();
    }

    fn evicted_before(&self, row: &Row) -> Option<(Str, EvictedBefore)> {
        let pod = self.view.pod(row.pod?)?;
        let times = Some(pod.restarts.evictions()).filter(|times| *times > 0)?;
        let (node, uid) = (self.name(row), &pod.fact.uid);
        let known = self.progress.evicted.get(&node).filter(|known| known.pod == *uid && known.times == times);
        if let Some(known) = known {
            return Some((node, known.clone()));
        }
        let span = pod.restarts.evicted_between()?;
        let (since, last_at) = (self.view.server_time(span.0), self.view.server_time(span.1));
        Some((node, EvictedBefore::new(uid.clone(), times, (since, last_at), pod.restarts.evicted_because())))
    }
}
