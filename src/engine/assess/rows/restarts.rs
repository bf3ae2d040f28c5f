//! Pods at the new revision that restarted and are still watched for that.

use std::time::Duration;

use super::Assessor;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::node::{CrashLoopView, NodeState, RestartsView, RunEnd};
use crate::engine::rules::clocks::by_server;
use crate::engine::rules::diagnose::why_it_restarts;
use crate::engine::rules::node_restarts::restarted_with_its_node;
use crate::engine::view::PodEntry;
use crate::engine::view::restarts::watched_for;

/// For how long a pod that restarted several times has to be ready until its crash loop is taken to be over.
const STAYS_READY: Duration = Duration::from_secs(60);

/// The state of a node with regard to restarts: a node whose pod is still watched for them does not count as updated.
pub(crate) fn watched_state(state: NodeState, restarted: Option<RestartsView>) -> NodeState {
    if state == NodeState::Updated && restarted.is_some() { NodeState::Soaking } else { state }
}

impl Assessor<'_> {
    /// The restarts of a pod that is still watched for them. `put_there`: the rollout put the pod there, as far as the pod's revision
    /// tells.
    pub(super) fn restarted(
        &mut self,
        pod: Option<&PodEntry>,
        put_there: bool,
        clock: Option<i64>,
    ) -> Option<RestartsView> {
        let began = self.question.inputs.started_at?;
        let pod = pod.filter(|pod| pod.restarts.since_ready > 0)?;
        // A pod that the rollout did not create is not watched.
        if !put_there && pod.fact.created_at <= began {
            return None;
        }
        let (observed, said) = pod.restarts.last()?;
        let said = said.map(|at| by_server(at, clock));
        let needed = watched_for(self.question.inputs.soak_secs);
        let elapsed = self.as_seen(observed.elapsed(said, self.question.now, self.server_now));
        if self.question.pods_seen_until.is_none() {
            self.wake_after(needed, elapsed);
        }
        let exit = pod.fact.containers.iter().filter(|container| container.restarts > 0);
        let exit = exit.filter_map(|container| container.last_exit).next_back();
        let with_its_node = restarted_with_its_node(&pod.fact);
        let (times, evictions) = (pod.restarts.since_ready, pod.restarts.evictions());
        let end = match exit {
            _ if times == evictions => Some(RunEnd::Evicted),
            _ if with_its_node => Some(RunEnd::WithItsNode),
            exit => exit.map(RunEnd::Exit),
        };
        let few = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
        (elapsed < needed).then(|| {
            let until = self.pods_seen_at() + (needed - elapsed);
            RestartsView { times: few(times), evictions: few(evictions), end, until }
        })
    }

    /// The crash loop of a pod at the target on a node that is up. A pod that restarted is taken to be in one until it is available; after several
    /// restarts, until it has stayed ready for [`STAYS_READY`]. A pod that comes after evicted ones is judged as if it had restarted.
    pub(super) fn crash_loop(
        &mut self,
        pod: &PodEntry,
        available: bool,
        restarted: Option<RestartsView>,
        clock: Option<i64>,
    ) -> Option<CrashLoopView> {
        let is_evicted = pod.restarts.evictions() > 0;
        let cause = why_it_restarts(&pod.fact).or_else(|| is_evicted.then_some(CauseKind::Evicted))?;
        if !pod.restarts.was_ready && !is_evicted {
            let created_at = self.our_time(pod.fact.created_at);
            return (!pod.fact.ready).then_some(CrashLoopView { cause, since: created_at });
        }
        let restarted = restarted?;
        if available {
            let ready_for = self.ready_for(pod, pod.ready_observed?, true, clock);
            self.wake_after(STAYS_READY, ready_for);
            if !restarted.speaks_against_revision() || ready_for >= STAYS_READY {
                return None;
            }
        }
        let (observed, said) = pod.restarts.first_end()?;
        let said = said.map(|at| by_server(at, clock));
        let elapsed = observed.elapsed(said, self.question.now, self.server_now);
        // An observer who has just begun to look saw only the last end.
        let told = self.view.backs_off_since(&pod.fact).map(|at| by_server(at, clock).max(pod.fact.created_at));
        let seen = self.question.now - elapsed;
        Some(CrashLoopView { cause, since: told.map_or(seen, |told| self.our_time(told).min(seen)) })
    }
}
