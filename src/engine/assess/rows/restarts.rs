//! Pods at the new revision that restarted and are still watched for that.

use std::time::Duration;

use super::Assessor;
use crate::engine::model::node::{NodeState, RestartsView};
use crate::engine::rules::clocks::by_server;
use crate::engine::view::PodEntry;
use crate::engine::view::restarts::WATCHED;

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
        let began = self.question.progress.started_at?;
        let pod = pod.filter(|pod| pod.restarts.since_ready > 0)?;
        // A pod that the rollout did not create is not watched.
        if !put_there && self.our_time(pod.fact.created_at) <= began {
            return None;
        }
        let (observed, said) = pod.restarts.last?;
        let said = said.map(|at| by_server(at, clock));
        let needed = WATCHED.max(Duration::from_secs(self.question.intent.soak_secs().into()));
        let elapsed = self.as_seen(observed.elapsed(said, self.question.now, self.server_now));
        if self.question.pods_seen_until.is_none() {
            self.wake_after(needed, elapsed);
        }
        let exit = pod.fact.containers.iter().filter(|container| container.restarts > 0);
        let exit = exit.filter_map(|container| container.last_exit).next_back();
        (elapsed < needed).then_some(RestartsView { times: pod.restarts.since_ready, exit })
    }
}
