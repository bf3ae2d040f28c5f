//! P4: a container that no template names fails with every revision, so no rollout may roll back by itself because of it.

use std::time::Duration;

use super::Observer;
use super::record::COMMAND_TAKES;
use crate::engine::model::Str;
use crate::engine::model::facts::ContainerFact;
use crate::engine::model::time::Timestamp;
use crate::sim::world::policy::INJECTED;

/// The time from the arrival of its images within which a container of a working template is ready.
const READY_IN: Duration = Duration::from_secs(10);

impl Observer {
    /// Checks a roll back from `target` that begins now.
    pub(super) fn check_went_back(&mut self, target: Option<&Str>, at: Timestamp) {
        let asked = self.undo_requested.is_some_and(|(asked_at, _)| asked_at + COMMAND_TAKES >= at);
        if !asked && let Some(node) = self.only_injected_fails(target, at) {
            self.report_violation("P4", at, format!("goes back by itself, and what fails on {node} is in no template"));
        }
    }

    /// A node that fails because of a container that was added to its pod; `None` if there is no such node, or if anything else may have
    /// halted the rollout.
    fn only_injected_fails(&self, target: Option<&Str>, at: Timestamp) -> Option<Str> {
        let ever_down = self.gone_at.is_some() || self.downs.values().any(|downs| !downs.is_empty());
        let misses_one = self.nodes.keys().any(|name| {
            self.may_run_on(name, at) && !self.pods.values().any(|pod| pod.fact.node.as_ref() == Some(name))
        });
        if ever_down || misses_one {
            return None;
        }
        let mut found = None;
        for pod in self.pods.values().filter(|pod| pod.fact.revision.as_ref() == target) {
            let is_added = |container: &&ContainerFact| &*container.name == INJECTED;
            let containers = &pod.fact.containers;
            let is_well = |container: &ContainerFact| container.ready && container.restarts == 0;
            let named_are_well = containers.iter().filter(|container| !is_added(container)).all(is_well);
            let started = pod.images_since.is_some_and(|since| since + READY_IN + self.slack < at);
            if pod.fact.deletion_at.is_some() || !named_are_well || !started {
                return None;
            }
            let fails = containers.iter().find(is_added).is_some_and(|added| added.restarts > 0);
            found = pod.fact.node.clone().filter(|_| fails).or(found);
        }
        found
    }
}
