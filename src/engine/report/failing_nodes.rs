//! How many nodes fail, and why. The driver writes this into the Lease for processes that watch no pods.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::snapshot::{Phase, keeps_restarting};
use super::trouble::{Symptoms, TroubleKind};
use crate::engine::assess::rows::{Row, lost_readiness};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::failing_nodes::{FAILING_CAUSES, FailingCause, FailingNodes, OTHER_REVISIONS};
use crate::engine::model::node::{NodeState, RestartsView};
use crate::engine::model::record::Intent;
use crate::engine::model::time::Timestamp;

impl Engine {
    /// The nodes that fail now, while we hold the lease of a rollout. `None` as well where pods or nodes are not seen, as the number is not known
    /// then.
    pub(crate) fn failing_nodes(&self) -> Option<FailingNodes> {
        let seen = [Watched::Pods, Watched::Nodes].into_iter().all(|watched| self.health(watched) == WatchHealth::Live);
        let intent = self.recorded_intent().filter(|_| seen && self.lock.holds() && !self.catches_up())?;
        let mut told = FailingNodes {
            by: self.config.identity.clone(),
            at: Some(self.view.server_time(self.now)),
            revision: intent.target.clone(),
            runs_since: self.runs_since(&intent),
            other_revisions: self.other_revisions(&intent),
            lacks_images: self.phase(true, &intent, self.now) == Phase::Held && self.stands_for_lack_of_images(),
            ..FailingNodes::default()
        };
        let mut causes: BTreeMap<String, u32> = BTreeMap::new();
        for row in self.assessment.rows().filter(|row| self.is_failing(row)) {
            told.nodes += 1;
            told.accepted += u32::from(self.is_accepted(&self.name(row), &intent));
            if let Some(cause) = steady_cause(row) {
                *causes.entry(cause).or_default() += 1;
            }
        }
        let mut causes: Vec<FailingCause> =
            causes.into_iter().map(|(cause, nodes)| FailingCause { cause: cause.into(), nodes }).collect();
        causes.sort_by_key(|cause| Reverse(cause.nodes));
        causes.truncate(FAILING_CAUSES);
        Some(FailingNodes { causes, ..told })
    }

    /// The revisions that pods run besides the target of this intent and the revision from which its rollout began.
    fn other_revisions(&self, intent: &Intent) -> Vec<Str> {
        let named = [intent.target.as_ref(), self.progress.origin.as_ref()];
        let pods = self.assessment.rows().filter_map(|row| self.view.pod(row.pod?)?.fact.revision.as_ref());
        let others: BTreeSet<&Str> = pods.filter(|revision| !named.contains(&Some(*revision))).collect();
        others.into_iter().take(OTHER_REVISIONS).cloned().collect()
    }

    /// Since when the rollout to the target of this intent runs, by the API server's clock: as the last report in the Lease says, if it is ours
    /// or so young that nobody else can have driven in between; otherwise since now. `None` if it does not run.
    fn runs_since(&self, intent: &Intent) -> Option<Timestamp> {
        let runs = matches!(self.phase(true, intent, self.now), Phase::Preparing | Phase::Running);
        let at = Some(self.view.server_time(self.now)).filter(|_| runs)?;
        let joins = |told: &FailingNodes| {
            let is_young = told.at.is_some_and(|told| at.since(told) < self.config.timing.lease);
            told.revision == intent.target && (told.by == self.config.identity || is_young)
        };
        let before = self.lock.reported_failing().filter(joins).and_then(|told| told.runs_since);
        Some(before.unwrap_or(at))
    }

    /// Whether the page of the rollout lists the node as failed or struggling, and not with a pod of an earlier target, which is still to be replaced.
    fn is_failing(&self, row: &Row) -> bool {
        if row.state == NodeState::Outdated {
            return false;
        }
        let counts_as_failed = row.state == NodeState::Failed || self.has_failed(row);
        let pod = row.pod.and_then(|pod| self.view.pod(pod));
        let symptoms = Symptoms {
            state: row.state,
            blame: row.blame,
            cause: row.cause.as_ref().map(|cause| cause.kind),
            counts_as_failed,
            restarted: row.restarted.as_deref().copied().map(RestartsView::kind),
            crash_loop: row.crash_loop.map(|crash_loop| crash_loop.cause),
            keeps_restarting: keeps_restarting(row.state, row.at_target, row.restarts),
            lost_readiness: lost_readiness(row.state, pod),
            committed: row.committed,
            in_update: self.suspects.judgement().verdicts.get(&row.node).is_some_and(|verdict| verdict.is_in_update()),
        };
        TroubleKind::with(&symptoms).is_some_and(|trouble| trouble.is_failure(counts_as_failed))
    }
}

/// Why the node fails, in words that stay the same while its containers crash and are started again. Between two crashes they run, and the row has
/// no cause, or an ordinary one of a pod that starts.
fn steady_cause(row: &Row) -> Option<String> {
    let cause = row.cause.as_ref().map(|cause| cause.kind);
    let cause = cause.filter(|cause| row.restarts == 0 || !cause.is_ordinary_at_start());
    let never_ready = matches!(row.state, NodeState::Starting | NodeState::Failed);
    match cause {
        Some(cause) => Some(cause.to_string()),
        None if row.is_down => Some(NodeState::NodeDown.to_string()),
        // A pod that is ready at each of its starts is known by its second crash.
        None if row.restarts > 1 || (row.restarts > 0 && never_ready) => Some(CauseKind::CrashLoop.to_string()),
        None if row.restarts > 0 => Some("restarts".to_owned()),
        None => None,
    }
}
