//! Which evictions count, for the record: the pods that were evicted are gone, so that nobody who begins to look later could know of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Engine;
use crate::engine::assess::rows::Row;
use crate::engine::model::Str;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::PodPhase;
use crate::engine::model::record::{EVICTED_LIMIT, EvictedBefore, Intent};
use crate::engine::view::restarts::watched_for;

impl Engine {
    /// Whoever drives brings the record of evictions up to date. A node stays in it as long as its pod is watched for them, or has failed of them. As long as
    /// nothing is heard of its pod, it stays for the time for which a pod is watched.
    pub(crate) fn keep_evictions(&mut self, intent: &Intent) {
        // Where pods are not seen as they are now, those that the record names may be there.
        if !self.lock.holds() || self.health(Watched::Pods) != WatchHealth::Live || self.catches_up() {
            return;
        }
        let rows = self.assessment.rows().filter(|row| row.restarted.is_some() || row.failure);
        let seen: BTreeMap<Str, EvictedBefore> = rows.filter_map(|row| self.evicted_before(row)).collect();
        let unheard = self.progress.evicted.iter().filter(|(node, _)| !seen.contains_key(*node));
        let unheard = unheard.filter(|(node, before)| self.may_still_count(node, before, intent));
        let unheard: Vec<(Str, EvictedBefore)> = unheard.map(|(node, before)| (node.clone(), before.clone())).collect();
        let mut evicted: Vec<(Str, EvictedBefore)> = seen.into_iter().chain(unheard).collect();
        evicted.sort_by_key(|(_, before)| Reverse(before.times));
        self.progress.evicted = evicted.into_iter().take(EVICTED_LIMIT).collect();
    }

    /// Whether the evictions on a node may count for the pod that comes to it, or for one of which nothing is heard: its kubelet is silent, or the last pod has
    /// ended and the next one is not there.
    fn may_still_count(&self, node: &str, before: &EvictedBefore, intent: &Intent) -> bool {
        let Some(ix) = self.view.node(node) else { return false };
        let Some(fact) = self.view.entry(ix).fact.as_ref() else { return false };
        let is_young = self.now.since(self.view.our_time(before.last_at)) < watched_for(intent.soak_secs());
        let has_none = || {
            let mut pods = self.view.pods_on(ix);
            !pods.any(|(_, pod)| pod.fact.deletion_at.is_none() && pod.fact.phase != PodPhase::Failed)
        };
        is_young && (fact.is_silent() || has_none())
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
