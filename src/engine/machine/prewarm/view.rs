//! How far pre-warming is, for people.

use std::collections::BTreeMap;
use std::time::Duration;

use super::PrewarmJob;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::node::NodeIx;
use crate::engine::model::prewarm::{PrewarmCounts, PrewarmLeftover, PrewarmSite, PrewarmState, PrewarmView};
use crate::engine::model::template::Template;
use crate::engine::rules::clocks::by_server;
use crate::engine::view::WarmPod;

/// Tolerance for clocks of whole seconds, which date events and correct our clock by the API server's. A pull that seems to begin before its request
/// by no more than this counts as begun with the request.
const ROUNDING: Duration = Duration::from_secs(3);

impl Engine {
    /// How far a node is pre-warmed, dated by our own clock.
    pub(crate) fn prewarm_state(&self, node: NodeIx) -> Option<PrewarmState> {
        let job = self.warming.job.as_ref()?;
        match job.states.get(node)?.clone()? {
            PrewarmState::Pulling { since } => {
                // The kubelet dates the beginning by its node's clock.
                let clock = self.view.nodes().get(node)?.fact.as_ref().and_then(|fact| fact.clock_skew_millis);
                let since = self.view.our_time(by_server(since, clock));
                let asked = job.request.by.at;
                let is_rounding = since < asked && asked.since(since) <= ROUNDING && asked <= self.now;
                Some(PrewarmState::Pulling { since: if is_rounding { asked } else { since } })
            }
            state => Some(state),
        }
    }

    /// How far pre-warming is, for people.
    pub(crate) fn prewarm_view(&self) -> Option<PrewarmView> {
        let job = self.warming.job.as_ref()?;
        let mut counts = PrewarmCounts::default();
        let mut sites: BTreeMap<Str, PrewarmSite> = BTreeMap::new();
        for (node, state) in job.states.iter().enumerate() {
            let Some(state) = state else { continue };
            let name = &self.view.entry(node).site;
            let slots = job.slots.sites.get(name);
            let site = sites.entry(name.clone()).or_insert_with(|| PrewarmSite {
                name: name.clone(),
                counts: PrewarmCounts::default(),
                pulling: slots.map_or(0, |slots| slots.used),
                limit: slots.and_then(|slots| slots.limit),
                estimate: None,
                throughput: None,
            });
            counts.add(state);
            site.counts.add(state);
        }
        let failed_elsewhere = self.failed_elsewhere(job, &mut counts);
        let mut sites: Vec<PrewarmSite> = sites.into_values().collect();
        if let [site] = sites.as_mut_slice() {
            // All that failed did in this site.
            site.counts = counts;
        }
        let estimate = self.estimate_prewarming(job, &mut sites);
        Some(PrewarmView {
            estimate,
            throughput: all_of(&sites, |site| site.throughput).into_iter().flatten().reduce(u64::saturating_add),
            images: job.template.as_ref().map(Template::images).unwrap_or_default().into(),
            error: job.template.as_ref().err().cloned(),
            counts,
            failed_elsewhere,
            limit: job.slots.limit,
            pulling: job.slots.used,
            sites,
            refusal: self.warming.writes.refusal().map(|it| (it.node.clone(), it.message.clone())),
            unobtainable: job.unobtainable,
            stuck: self.stuck_sets(job),
            leftover: self.prewarm_leftover(job),
            pulls: self.view.prewarm_pulls().clone(),
            request: job.request.clone(),
        })
    }

    /// Counts the nodes that failed for whoever drives or drove, and that the record does not name, as failed instead of waiting. Returns how many. The
    /// driver itself knows them all.
    fn failed_elsewhere(&self, job: &PrewarmJob, counts: &mut PrewarmCounts) -> u32 {
        let unrecorded = job.request.unrecorded;
        if self.lock.holds() || unrecorded.failed == 0 {
            return 0;
        }
        // Of some the pod that failed is still there.
        let is_seen = |node: NodeIx| !job.request.failures.contains_key(&self.view.entry(node).name);
        let failed =
            job.states.iter().enumerate().filter(|(_, state)| matches!(state, Some(PrewarmState::Failed { .. })));
        let seen = u32::try_from(failed.filter(|(node, _)| is_seen(*node)).count()).unwrap_or(u32::MAX);
        let elsewhere = unrecorded.failed.saturating_sub(seen).min(counts.waiting);
        counts.waiting -= elsewhere;
        counts.failed += elsewhere;
        counts.retrying += unrecorded.retrying.min(elsewhere);
        elsewhere
    }

    /// The pods that are no longer needed. Pods that a StatefulSet would make anew are left out until pre-warming is cancelled, which deletes them
    /// with all others.
    fn prewarm_leftover(&self, job: &PrewarmJob) -> PrewarmLeftover {
        let goes_later = |warm: &&WarmPod| job.request.cancelled.is_none() && self.is_of_a_set(warm);
        let ours = self.view.warm().iter().filter(|warm| self.is_left_over(warm));
        let undriven = self.lock.view(self.now).is_nobody();
        let mut leftover = PrewarmLeftover { undriven, ..PrewarmLeftover::default() };
        for warm in ours.chain(self.view.warm().strays()).filter(|warm| !goes_later(warm)) {
            let pod = &warm.fact.pod;
            if pod.deletion_at.is_some() {
                leftover.ending += 1;
                continue;
            }
            leftover.pods += 1;
            let refusal = self.warming.writes.deletion_refusal(&pod.uid);
            leftover.refusal = leftover.refusal.or_else(|| Some((pod.node.clone()?, refusal?.clone())));
        }
        leftover
    }
}

/// The figures of the sites that pull or wait; `None` where one of them has no figure.
fn all_of<T>(sites: &[PrewarmSite], figure: impl Fn(&PrewarmSite) -> Option<T>) -> Option<Vec<T>> {
    sites.iter().filter(|site| site.counts.pulling + site.counts.waiting > 0).map(figure).collect()
}

impl PrewarmCounts {
    fn add(&mut self, state: &PrewarmState) {
        self.nodes += 1;
        match state {
            PrewarmState::Waiting(_) => self.waiting += 1,
            PrewarmState::Queued | PrewarmState::Silent { .. } | PrewarmState::Pulling { .. } => self.pulling += 1,
            PrewarmState::Present => self.present += 1,
            PrewarmState::Failed { .. } => self.failed += 1,
        }
        self.retrying += u32::from(state.is_retried());
    }
}
