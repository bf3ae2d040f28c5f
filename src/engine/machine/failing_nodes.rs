//! How many nodes fail, and why. The driver writes this into the Lease for processes that watch no pods.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Engine;
use crate::engine::assess::rows::Row;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::failing_nodes::{FAILING_CAUSES, FailingCause, FailingNodes};
use crate::engine::model::node::{Blame, NodeState};

impl Engine {
    /// The nodes that fail now, while we hold the lease of a rollout. `None` as well where pods or nodes are not seen, as the number is not known
    /// then.
    pub(super) fn failing_nodes(&self) -> Option<FailingNodes> {
        let seen = [Watched::Pods, Watched::Nodes].into_iter().all(|watched| self.health(watched) == WatchHealth::Live);
        let intent = self.recorded_intent().filter(|_| seen && self.lock.holds() && !self.catches_up())?;
        let mut told = FailingNodes { by: self.config.identity.clone(), ..FailingNodes::default() };
        let mut causes: BTreeMap<String, u32> = BTreeMap::new();
        for row in self.assessment.rows().filter(|row| self.is_failing(row)) {
            told.nodes += 1;
            told.accepted += u32::from(self.is_accepted(&self.name(row), &intent));
            let cause = row.cause.as_ref().map(|cause| cause.kind.to_string());
            // Between two crashes the container runs, and the row has no cause.
            let restarts = || (row.restarts > 0).then(|| "restarts".to_owned());
            let down = || row.is_down.then(|| NodeState::NodeDown.to_string());
            if let Some(cause) = cause.or_else(down).or_else(restarts) {
                *causes.entry(cause).or_default() += 1;
            }
        }
        let mut causes: Vec<FailingCause> =
            causes.into_iter().map(|(cause, nodes)| FailingCause { cause: cause.into(), nodes }).collect();
        causes.sort_by_key(|cause| Reverse(cause.nodes));
        causes.truncate(FAILING_CAUSES);
        Some(FailingNodes { causes, ..told })
    }

    /// Whether the page of the rollout lists the node as failed or struggling. The same rule is in `report/trouble.rs`; `driver/fleet/agreement.rs`
    /// compares the two.
    fn is_failing(&self, row: &Row) -> bool {
        if row.state == NodeState::Failed || self.has_failed(row) {
            return true;
        }
        let (ours, cause) = (row.blame == Some(Blame::Rollout), row.cause.as_ref().map(|cause| cause.kind));
        let keeps_restarting = row.state == NodeState::Starting && row.at_target && row.restarts > 0;
        let pod = row.pod.and_then(|pod| self.view.pod(pod));
        let lost_readiness = row.state == NodeState::Starting && pod.is_some_and(|pod| pod.served.is_some());
        match row.state {
            NodeState::Soaking if row.restarted.is_some() && cause.is_none() => true,
            _ if !ours => false,
            NodeState::NodeDown | NodeState::Ineligible => false,
            NodeState::Outdated => cause.is_some(),
            NodeState::Starting | NodeState::Soaking if cause.is_none_or(CauseKind::is_ordinary_at_start) => {
                keeps_restarting || lost_readiness && cause.is_some()
            }
            _ => cause.is_some(),
        }
    }
}
