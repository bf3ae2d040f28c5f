//! How many nodes fail, and why. The driver writes this into the Lease for processes that watch no pods.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::lost_readiness;
use super::snapshot::keeps_restarting;
use super::trouble::{Symptoms, TroubleKind};
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::failing_nodes::{FAILING_CAUSES, FailingCause, FailingNodes};
use crate::engine::model::node::NodeState;

impl Engine {
    /// The nodes that fail now, while we hold the lease of a rollout. `None` as well where pods or nodes are not seen, as the number is not known
    /// then.
    pub(crate) fn failing_nodes(&self) -> Option<FailingNodes> {
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

    /// Whether the page of the rollout lists the node as failed or struggling.
    fn is_failing(&self, row: &Row) -> bool {
        let counts_as_failed = row.state == NodeState::Failed || self.has_failed(row);
        let pod = row.pod.and_then(|pod| self.view.pod(pod));
        let symptoms = Symptoms {
            state: row.state,
            blame: row.blame,
            cause: row.cause.as_ref().map(|cause| cause.kind),
            counts_as_failed,
            restarted: row.restarted.is_some(),
            keeps_restarting: keeps_restarting(row.state, row.at_target, row.restarts),
            lost_readiness: lost_readiness(row.state, pod),
            committed: row.committed,
        };
        TroubleKind::with(&symptoms).is_some_and(|trouble| trouble.is_failure(counts_as_failed))
    }
}
