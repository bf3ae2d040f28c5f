//! Refusals of the API server, and a controller that stands still: new pods are refused for long, pods may not be deleted, or the
//! DaemonSet controller does nothing.

use std::time::Duration;

use super::Generator;
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Step};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Budgets, Limit, Tuning};
use crate::sim::attack::case::{Act, DAEMON_SET};
use crate::sim::world::scenario::ClusterFault;

/// Messages with which API servers refuse a pod.
const REFUSALS: [&str; 4] = [
    "exceeded quota: edge, requested: pods=1, used: pods=8, limited: pods=8",
    "ValidatingAdmissionPolicy 'no-pods' with binding 'no-pods' denied request: not today",
    "violates PodSecurity \"restricted:latest\": privileged (container \"agent\" must not set privileged=true)",
    "error looking up service account edge/agent: serviceaccount \"agent\" not found",
];

impl Generator {
    /// Adds some of these faults, seldom, and returns the acts of operators meanwhile.
    pub(super) fn refusals(&mut self, nodes: &[Str]) -> Vec<(Duration, Act)> {
        let mut acts = Vec::new();
        if self.one_in(12) {
            acts.extend(self.refused_replacements());
        }
        if self.one_in(16) {
            acts.extend(self.idle_controller());
        }
        if self.one_in(12) {
            acts.extend(self.undeletable_pods(nodes));
        }
        acts
    }

    /// New pods are refused for long soon after a rollout began, and an operator allows more nodes.
    fn refused_replacements(&mut self) -> [(Duration, Act); 2] {
        let at = self.secs(4..40);
        let until = (at + self.secs(60..300)).min(self.calm);
        let namespace: Str = DAEMON_SET.0.into();
        let why = self.pick(&REFUSALS).into();
        let refuse = ClusterFault::RefusePods { namespace: namespace.clone(), why };
        self.add_until(at, until, refuse, ClusterFault::AdmitPods { namespace });
        self.all_of_them(at)
    }

    fn idle_controller(&mut self) -> [(Duration, Act); 2] {
        let at = self.secs(4..60);
        let until = (at + self.secs(30..300)).min(self.calm);
        self.add_until(at, until, ClusterFault::StopController, ClusterFault::StartController);
        self.all_of_them(at)
    }

    /// The pods of one node, of two, or of several may not be deleted.
    fn undeletable_pods(&mut self, nodes: &[Str]) -> [(Duration, Act); 2] {
        let at = self.secs(0..20);
        let until = (at + self.secs(120..400)).min(self.calm);
        let count = self.pick(&[1, 1, 1, 2, 5]);
        for _ in 0..count {
            let (namespace, node): (Str, Str) = (DAEMON_SET.0.into(), self.pick(nodes));
            let why = "ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: not today".into();
            let refuse = ClusterFault::RefuseDeletion { namespace: namespace.clone(), node: node.clone(), why };
            self.add_until(at, until, refuse, ClusterFault::AdmitDeletion { namespace, node });
        }
        self.all_of_them(at)
    }

    /// An operator allows all nodes around `at`, with a budget of one or two nodes.
    fn all_of_them(&mut self, at: Duration) -> [(Duration, Act); 2] {
        let budgets =
            Budgets { max_unavailable: Limit::At(IntOrPercent::Int(self.rng.u32(1..3))), ..Budgets::default() };
        let threshold = Some(IntOrPercent::Int(self.rng.u32(1..4)));
        let tuning = Tuning { failure_threshold: threshold, ..Tuning::from(budgets) };
        let asked_at = at.saturating_sub(self.secs(0..4)) + self.secs(0..4);
        let more_at = asked_at + self.secs(5..60);
        let all = || Command::Step(Step::Updated(IntOrPercent::Percent(100)));
        [(asked_at, Act::Ask(0, all().under(tuning))), (more_at, Act::Ask(0, all()))]
    }
}
