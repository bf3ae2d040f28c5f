//! Pre-warming by StatefulSets: which nodes are left to them, and which StatefulSets are stuck.

use super::PrewarmJob;
use crate::engine::machine::Engine;
use crate::engine::model::node::NodeIx;
use crate::engine::model::prewarm::{PrewarmMethod, PrewarmState, PrewarmWait, StuckSet, StuckWhy};
use crate::engine::view::{WarmState, cannot_run};

/// The reason in the status of a pod that fits on no node.
const UNSCHEDULABLE: &str = "Unschedulable";

impl Engine {
    /// The StatefulSets that are stuck at a node and do not proceed to the next one.
    pub(crate) fn stuck_sets(&self, job: &PrewarmJob) -> Vec<StuckSet> {
        if job.request.method != PrewarmMethod::StatefulSet || job.request.cancelled.is_some() {
            return Vec::new();
        }
        let mut stuck = Vec::new();
        for warm in self.view.warm().iter().filter(|warm| warm.fact.images == job.key) {
            let pod = &warm.fact.pod;
            let (Some(set), false) = (&warm.fact.set, pod.ready || pod.deletion_at.is_some()) else { continue };
            let state = self.view.warm_state(warm);
            let row = pod.node.as_ref().and_then(|node| self.view.node(node)).and_then(|ix| self.assessment.row(ix));
            let why = match state {
                WarmState::Failed(cause) => Some(StuckWhy::Failed(cause)),
                _ if row.is_some_and(|row| row.is_down) => Some(StuckWhy::NodeDown),
                WarmState::Present => cannot_run(pod).map(StuckWhy::NotRunning),
                WarmState::Pulling { .. } if !pod.bound && pod.reason.as_deref() == Some(UNSCHEDULABLE) => {
                    Some(StuckWhy::Unschedulable(pod.message.clone().unwrap_or_default()))
                }
                WarmState::Pulling { .. } | WarmState::Terminating { .. } => None,
            };
            let node = pod.node.clone();
            let there = |why| StuckSet { name: set.clone(), pod: Some(pod.name.clone()), node, why };
            stuck.extend(why.map(there));
        }
        for set in self.warming.sets.known().into_iter().flatten().filter(|set| set.images == job.key) {
            let waits =
                self.view.warm().iter().any(|warm| warm.fact.set.as_ref() == Some(&set.name) && !warm.fact.pod.ready);
            if let Some(said) = set.refused.as_ref().filter(|_| !waits) {
                let why = StuckWhy::Refused(said.clone());
                stuck.push(StuckSet { name: set.name.clone(), pod: None, node: None, why });
            }
        }
        let refused = self.warming.sets.refusal().map(|(name, said)| StuckSet {
            name: name.clone(),
            pod: None,
            node: None,
            why: StuckWhy::Refused(said.clone()),
        });
        stuck.extend(refused);
        stuck.sort_by(|a, b| (&a.name, &a.pod).cmp(&(&b.name, &b.pod)));
        stuck
    }
}

impl PrewarmJob {
    /// Leaves the waiting nodes in `line` to StatefulSets, which make their pods by themselves, unless pre-warming is stopped.
    pub(super) fn leave_to_sets(&mut self, line: Vec<NodeIx>, stopped: Option<&PrewarmWait>) {
        for node in line {
            self.states[node] = Some(PrewarmState::Waiting(stopped.cloned().unwrap_or(PrewarmWait::InLine)));
            if stopped.is_none() {
                self.for_sets.push(node);
            }
        }
    }

    /// How many StatefulSets pull at once.
    pub(crate) fn sets_at_once(&self) -> u32 {
        self.slots.limit.max(1)
    }
}
