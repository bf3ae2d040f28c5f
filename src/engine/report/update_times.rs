//! The durations of pulls and starts on the nodes that have finished them.

use std::time::Duration;

use crate::engine::assess::rows::Row;
use crate::engine::machine::Engine;
use crate::engine::model::estimate::{TimeSpread, UpdateTimes};
use crate::engine::model::facts::{ContainerFact, ContainerState};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::by_server;
use crate::engine::rules::estimates::spread;
use crate::engine::view::PullOfPod;

impl Engine {
    /// The durations in the rollout to the present target; empty before a rollout is recorded. A record may cover several rollouts, and what a
    /// node has from an earlier one is not pulled again.
    pub(super) fn update_times(&self) -> UpdateTimes {
        let Some(started_at) = self.progress.started_at else { return UpdateTimes::default() };
        let began = self.progress.marks.began().map_or(started_at, |began| began.max(started_at));
        let began = self.view.our_time(began);
        let mut starts: Vec<Duration> = self.assessment.rows().filter_map(|row| self.start_took(row, began)).collect();
        let pulls = self.view.pull_summary().images.iter().filter_map(|image| self.pulls_took(&image.image, began));
        UpdateTimes { pull: pulls.max_by_key(|took| (took.p50, took.p95)), start: spread(&mut starts) }
    }

    /// How long the pulls of an image took that ended after `began`, as far as the rollout's pods made them: a pod for pre-warming takes no node down.
    fn pulls_took(&self, image: &str, began: Timestamp) -> Option<TimeSpread> {
        let ended = |node: &str, at: Timestamp| {
            let fact = self.view.node(node).and_then(|node| self.view.entry(node).fact.as_ref());
            self.view.our_time(by_server(at, fact.and_then(|fact| fact.clock_skew_millis)))
        };
        let is_own = |pull: &&PullOfPod| self.view.has_pod(&pull.pod);
        let pulls = self.view.finished_pulls(image).filter(|pull| ended(&pull.node, pull.ended) > began);
        let mut took: Vec<Duration> = pulls.filter(is_own).map(|pull| pull.pull.took).collect();
        spread(&mut took)
    }

    /// How long a pod that this rollout made took from the start of its last container until it was ready, by its kubelet's clock.
    /// `None` if its status does not tell: after a restart of a container it has only the last start, and after a loss of readiness
    /// only the time when the pod was ready again.
    fn start_took(&self, row: &Row, began: Timestamp) -> Option<Duration> {
        let pod = self.view.pod(row.pod?)?;
        let fact = &pod.fact;
        let of_this_rollout = row.in_fleet && row.at_target && self.view.our_time(fact.created_at) > began;
        if !of_this_rollout || !fact.ready || pod.served.is_some() {
            return None;
        }
        let started = |container: &ContainerFact| match &container.state {
            ContainerState::Running { since } if container.restarts == 0 => *since,
            _ => None,
        };
        let runs = |container: &&ContainerFact| container.role.keeps_running();
        let mut last = None;
        for container in fact.containers.iter().filter(runs) {
            last = last.max(Some(started(container)?));
        }
        let ready_since = fact.ready_since?;
        last.filter(|started| *started <= ready_since).map(|started| ready_since.since(started))
    }
}
