//! The durations of pulls and starts on the nodes that have finished them.

use std::time::Duration;

use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::estimate::UpdateTimes;
use crate::engine::model::facts::{ContainerFact, ContainerState};
use crate::engine::model::template::ContainerRole;
use crate::engine::rules::estimates::spread;

impl Engine {
    /// The durations so far; empty before a rollout is recorded.
    pub(super) fn update_times(&self) -> UpdateTimes {
        if self.progress.started_at.is_none() {
            return UpdateTimes::default();
        }
        let mut starts: Vec<Duration> = self.assessment.rows().filter_map(|row| self.start_took(row)).collect();
        let pulls = self.view.pull_summary().images.iter().filter_map(|image| image.took);
        UpdateTimes { pull: pulls.max_by_key(|took| (took.p50, took.p95)), start: spread(&mut starts) }
    }

    /// How long a pod that this rollout made took from the start of its last container until it was ready, by its kubelet's clock.
    /// `None` if its status does not tell: after a restart of a container it has only the last start, and after a loss of readiness
    /// only the time when the pod was ready again.
    fn start_took(&self, row: &Row) -> Option<Duration> {
        let pod = self.view.pod(row.pod?)?;
        let fact = &pod.fact;
        let of_this_rollout =
            row.in_fleet && row.at_target && Some(self.view.our_time(fact.created_at)) > self.progress.started_at;
        if !of_this_rollout || !fact.ready || pod.served.is_some() {
            return None;
        }
        let started = |container: &ContainerFact| match &container.state {
            ContainerState::Running { since } if container.restarts == 0 => *since,
            _ => None,
        };
        let runs = |container: &&ContainerFact| container.role == ContainerRole::Main;
        let mut last = None;
        for container in fact.containers.iter().filter(runs) {
            last = last.max(Some(started(container)?));
        }
        let ready_since = fact.ready_since?;
        last.filter(|started| *started <= ready_since).map(|started| ready_since.since(started))
    }
}
