//! Begins a rollout, and drops exceptions for single nodes from the record once they no longer apply.

use std::collections::BTreeMap;

use crate::engine::assess::inputs::BeforeBegin;
use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::PodFact;
use crate::engine::model::node::{NodeIx, NodeState};
use crate::engine::model::record::{EXCEPTIONS_LIMIT, Progress};
use crate::engine::model::time::Timestamp;

/// Where a rollout that begins leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leads {
    /// To another revision than the rollout before it, or it is the first under its record.
    Elsewhere,
    /// To the target that the rollout had already. Somebody else's template lay between, and no pod was updated to that.
    ToTheSameTarget,
}

impl Engine {
    /// Starts a rollout: earlier halts do not count any more. What was seen of nodes at the target stays known if that target is led to again. The
    /// first rollout under a record also notes which nodes are down before it. A later rollout under the same record keeps that list, and nodes that an
    /// earlier rollout took down stay blamed on the rollout. After one that is complete nothing is left of it: pods that were there by then are none
    /// that this one puts on their nodes.
    pub(super) fn begin(&mut self, leads: Leads, now: Timestamp) {
        let led_to = self.intent().target;
        let Progress {
            // Reset by every rollout.
            acknowledged_failures,
            halt,
            completed,
            target,
            // Reset by a rollout that leads elsewhere.
            suspects,
            others_down,
            marks,
            // Begins anew after a rollout that is complete. Otherwise it is set below, and only by the first rollout under the record, as the others.
            started_at,
            origin: _,
            left_out_since: _,
            down_before: _,
            // About the DaemonSet, its controller and the driver, or about pods that are being replaced: kept.
            adopted: _,
            drifted: _,
            drifts: _,
            in_progress: _,
            evicted: _,
            refused: _,
            refused_write: _,
            tried: _,
            idle_since: _,
            driver: _,
            driver_stopped: _,
            original_strategy: _,
        } = &mut self.progress;
        acknowledged_failures.clear();
        *halt = None;
        *target = led_to;
        if completed.take().is_some() {
            *started_at = Some(self.view.server_time(now));
        }
        if leads == Leads::Elsewhere {
            suspects.clear();
            others_down.clear();
            marks.begin(self.view.server_time(now));
        }
        if self.progress.started_at.is_some() {
            return;
        }
        let standing = self.standing_from(self.origin_of_a_beginning(self.intent().direction()));
        self.progress.started_at = Some(self.view.server_time(now));
        self.progress.origin = standing.origin.clone();
        let down = self.assessment.rows().filter(|row| row.in_fleet && !row.available);
        let (ours, others): (Vec<_>, Vec<_>) =
            down.partition(|row| row.state != NodeState::NodeDown && self.was_left_behind(&standing, row));
        let mut before: Vec<_> = others
            .into_iter()
            .filter(|row| {
                row.state == NodeState::NodeDown
                    || row.state == NodeState::Outdated && !self.was_taken_down(&standing, row)
            })
            .collect();
        // Nodes that look as if the rollout had taken them down come first: if they were not named, nothing would tell them from nodes that
        // it did take down.
        before.sort_by_key(|row| !self.looks_like_ours(row));
        self.progress.left_out_since =
            (before.len() > EXCEPTIONS_LIMIT).then(|| self.began_for_sure(self.view.server_time(now)));
        let before: BTreeMap<_, _> =
            before.into_iter().take(EXCEPTIONS_LIMIT).map(|row| (self.name(row), row.since.unwrap_or(now))).collect();
        let ours: Vec<Str> = ours.into_iter().take(EXCEPTIONS_LIMIT).map(|row| self.name(row)).collect();
        self.progress.down_before = before;
        self.progress.in_progress.extend(ours);
    }

    /// Whether a rollout that is not recorded took the node down. Such a node is not noted as down before this rollout.
    fn was_taken_down(&self, standing: &BeforeBegin, row: &Row) -> bool {
        self.pod_of(row).is_some_and(|pod| standing.took_down(pod, (row.cause.as_deref(), self.skew_of(row.node))))
    }

    /// Whether the rollout of the revision where this one comes from took the node down and is not over there. Nothing but its name in the record tells
    /// such a node from one that was down before.
    fn was_left_behind(&self, standing: &BeforeBegin, row: &Row) -> bool {
        let deadline = self.intent().gates.progress_deadline_secs.into();
        let server_now = self.view.server_time(self.now);
        self.pod_of(row).is_some_and(|pod| standing.left_behind(pod, row.never_served, deadline, server_now))
    }

    fn pod_of(&self, row: &Row) -> Option<&PodFact> {
        row.pod.and_then(|pod| self.view.pod(pod)).map(|pod| &pod.fact)
    }

    fn skew_of(&self, node: NodeIx) -> Option<i64> {
        self.view.entry(node).fact.as_ref().and_then(|fact| fact.clock_skew_millis)
    }

    /// Drops names of nodes to which an exception does not apply any more.
    pub(super) fn keep_exceptions(&mut self) {
        let Progress {
            // Exceptions that end with an observation of their node. If none of them names a node, nothing is to be done.
            down_before,
            acknowledged_failures,
            in_progress,
            // Fields that end for another reason, or not before the next rollout.
            started_at: _,
            target: _,
            origin: _,
            adopted: _,
            drifted: _,
            drifts: _,
            left_out_since: _,
            refused: _,
            refused_write: _,
            tried: _,
            idle_since: _,
            halt: _,
            suspects: _,
            others_down: _,
            evicted: _,
            marks: _,
            driver: _,
            driver_stopped: _,
            completed: _,
            original_strategy: _,
        } = &self.progress;
        if down_before.is_empty() && acknowledged_failures.is_empty() && in_progress.is_empty() {
            return;
        }
        let there: std::collections::BTreeSet<Str> =
            self.assessment.rows().filter(|row| row.available && row.at_target).map(|row| self.name(row)).collect();
        let view = &self.view;
        let sees_nodes = self.health(Watched::Nodes) == WatchHealth::Live && !self.catches_up();
        let exists = |name: &Str| {
            let ix = view.node(name);
            ix.is_some_and(|ix| view.entry(ix).fact.is_some() || view.pods_on(ix).next().is_some())
        };
        let now = self.now;
        let may_be_back = |name: &Str| {
            let until = view.node(name).and_then(|ix| view.entry(ix).may_be_back_until());
            until.is_some_and(|until| now < until)
        };
        // A node that is gone loses its entry: if a node of the same name joins later, it gets a pod of the present template.
        self.progress
            .in_progress
            .retain(|name| !there.contains(name) && (!sees_nodes || exists(name) || may_be_back(name)));
        let well: std::collections::BTreeSet<Str> =
            self.assessment.rows().filter(|row| row.available).map(|row| self.name(row)).collect();
        self.progress.down_before.retain(|name, _| !well.contains(name) && (!sees_nodes || exists(name)));
        // A pod in a crash loop is up for a while between its crashes. Such a while does not end the failure that was accepted.
        let stays_up = |row: &&Row| row.available && (!row.at_target || row.is_settled());
        let over: std::collections::BTreeSet<Str> =
            self.assessment.rows().filter(stays_up).map(|row| self.name(row)).collect();
        self.progress.acknowledged_failures.retain(|name| !over.contains(name) && (!sees_nodes || exists(name)));
    }
}
