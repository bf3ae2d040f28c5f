//! Pods at the new revision that restart. They have to be watched, because in a crash loop a pod is ready between crashes.
//!
//! A container that ends after it has been ready, and is started again, is watched from then on for [`WATCHED`], or for the
//! soak time where that is longer. As long as it is watched, its node is shown on top, does not count as updated, and the
//! rollout does not end. While the pod is ready it is available and not charged to the budget, so one restart holds up nothing.
//! At [`AGAINST`] restarts no serving pod is replaced anywhere until the ten minutes are over; by default the next restart
//! is a failure (`max-restarts`).
//!
//! Restarts before the pod was ever ready do not count: many programs exit and are restarted until what they depend on is
//! there.

use std::time::Duration;

use super::assess::Assessor;
use super::clocks::by_server;
use super::machine::Engine;
use super::model::Str;
use super::model::facts::{ContainerState, PodFact};
use super::model::node::{NodeState, RestartsView};
use super::model::time::Timestamp;
use super::view::{ObservedAt, PodEntry};

/// For how long a pod is watched after a restart. Kubelets forget a container's crashes after it ran for 10 minutes, twice
/// their longest back-off: until then the next crash belongs to the same crash loop.
pub(crate) const WATCHED: Duration = Duration::from_secs(600);

/// What is known of a pod's restarts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Restarts {
    /// It was seen ready at some time.
    was_ready: bool,
    /// How often it restarted after that. Where it had restarted before we saw it: each time.
    since_ready: u32,
    /// When it restarted last.
    last: Option<(ObservedAt, Option<Timestamp>)>,
}

impl Restarts {
    /// The restarts of a pod as it is now, given what was known `before`.
    pub(crate) fn next(before: Option<&PodEntry>, fact: &PodFact, seen: ObservedAt) -> Self {
        let total = total(fact);
        let Some(before) = before else {
            let last = (total > 0).then(|| (seen, started_at(fact)));
            return Self { was_ready: fact.ready, since_ready: total, last };
        };
        let known = before.restarts;
        let more = total.saturating_sub(self::total(&before.fact));
        let counts = more > 0 && known.was_ready;
        Self {
            was_ready: known.was_ready || fact.ready,
            since_ready: known.since_ready + if counts { more } else { 0 },
            last: if counts { Some((seen, started_at(fact))) } else { known.last },
        }
    }
}

/// How often a pod's containers were restarted.
pub(crate) fn total(fact: &PodFact) -> u32 {
    fact.containers.iter().map(|container| container.restarts).sum()
}

/// When the container that was restarted last was started, by its node's clock.
fn started_at(fact: &PodFact) -> Option<Timestamp> {
    let restarted = fact.containers.iter().filter(|container| container.restarts > 0);
    let since = restarted.filter_map(|container| match &container.state {
        ContainerState::Running { since } => *since,
        ContainerState::Waiting { .. } | ContainerState::Terminated { .. } => None,
    });
    since.max()
}

impl Assessor<'_> {
    /// The restarts of a pod that is still watched for them; `put_there`: by the rollout, as far as its revision tells.
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
        let (seen, said) = pod.restarts.last?;
        let said = said.map(|at| by_server(at, clock));
        let needed = WATCHED.max(Duration::from_secs(self.question.intent.gates.soak_secs.into()));
        let elapsed = seen.elapsed(said, self.question.now, self.server_now);
        self.wake_after(needed, elapsed);
        let exit = pod.fact.containers.iter().filter(|container| container.restarts > 0);
        let exit = exit.filter_map(|container| container.last_exit).next_back();
        (elapsed < needed).then_some(RestartsView { times: pod.restarts.since_ready, exit })
    }
}

/// The state of a node whose pod is watched: it does not count as updated.
pub(crate) fn watched_state(state: NodeState, restarted: Option<RestartsView>) -> NodeState {
    if state == NodeState::Updated && restarted.is_some() { NodeState::Soaking } else { state }
}

impl Engine {
    /// What speaks against the next step: `n1 restarted 2× since its update (and 3 more): nothing that serves is taken …`.
    pub(crate) fn restarts_in_words(&self) -> Vec<String> {
        let mut watched: Vec<(RestartsView, Str)> =
            self.assessment.rows().filter_map(|row| Some((row.restarted?, self.name(row)))).collect();
        watched.sort_by(|a, b| b.0.times.cmp(&a.0.times).then_with(|| a.1.cmp(&b.1)));
        let Some((restarted, name)) = watched.first() else { return Vec::new() };
        let more = match watched.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let then = if restarted.speaks_against_revision() {
            "nothing that serves is taken until it has stayed up for 10m"
        } else {
            "it is watched"
        };
        vec![format!("{name} restarted {}× since its update{more}: {then}.", restarted.times)]
    }
}

#[cfg(test)]
mod tests;
