//! Pods at the new revision that restart. They have to be watched, because in a crash loop a pod is ready between crashes.
//!
//! A container that ends after it has been ready, and is started again, is watched from then on for [`WATCHED`], or for the
//! soak time where that is longer. As long as it is watched, its node is shown on top, does not count as updated, and the
//! rollout does not end. While the pod is ready it is available and not charged to the budget, so one restart holds up nothing.
//! At [`AGAINST`] restarts no serving pod is replaced anywhere until the ten minutes are over; by default the next restart
//! is a failure (`max-restarts`).
//!
//! Restarts before the pod was ever ready do not count: many programs exit and are restarted until what they depend on is
//! there. On a node that the cluster lost, a pod's Ready condition is False although it was ready; its containers' statuses stay as
//! the kubelet last told them (docs/kubernetes.md, *Replacing pods*), so they say whether it was.

use std::time::Duration;

use super::observed_at::ObservedAt;
use crate::engine::model::facts::{ContainerState, PodFact};
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;

/// For how long a pod is watched after a restart. Kubelets forget a container's crashes after it ran for 10 minutes, twice
/// their longest back-off: until then the next crash belongs to the same crash loop.
pub(crate) const WATCHED: Duration = Duration::from_secs(600);

/// What is known of a pod's restarts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restarts {
    /// It was seen ready at some time.
    pub(crate) was_ready: bool,
    /// How often it restarted after that. If it had restarted before we saw it, every restart counts.
    pub(crate) since_ready: u32,
    /// `None`: none of its containers has ended. Boxed, because that is so of most pods.
    times: Option<Box<RestartTimes>>,
}

/// When a pod restarted, as far as that was seen: when we saw it, and what its kubelet says.
#[derive(Clone, Copy, Debug, Default)]
struct RestartTimes {
    /// The last restart after it was ready.
    last: Option<(ObservedAt, Option<Timestamp>)>,
    /// The first restart after it was ready.
    began: Option<(ObservedAt, Option<Timestamp>)>,
    /// The first end of a container. It is counted as a restart only later, once the container is started again.
    first_end: Option<(ObservedAt, Option<Timestamp>)>,
}

impl Restarts {
    /// When it restarted last.
    pub(crate) fn last(&self) -> Option<(ObservedAt, Option<Timestamp>)> {
        self.times.as_ref()?.last
    }

    /// When the first of these restarts was, as far as that was seen.
    pub(crate) fn began(&self) -> Option<(ObservedAt, Option<Timestamp>)> {
        self.times.as_ref()?.began
    }

    /// When a container first ended, as far as that was seen. It is counted as a restart only later, once it is started again.
    pub(crate) fn first_end(&self) -> Option<(ObservedAt, Option<Timestamp>)> {
        self.times.as_ref()?.first_end
    }

    /// The restarts of a pod as it is now. `before`: what was known of its restarts, and what its status was then.
    pub(crate) fn next(before: Option<(&Self, &PodFact)>, fact: &PodFact, observed: ObservedAt) -> Self {
        let total = total(fact);
        // If the pod was so already when we first looked: it ended before it was started last, and before it ceased to be ready.
        let unready_since = fact.ready_since.filter(|_| !fact.ready);
        let end = || (total > 0 || has_ended(fact)).then(|| (observed, started_at(fact).or(unready_since)));
        let Some((known, fact_before)) = before else {
            let last = (total > 0).then(|| (observed, started_at(fact)));
            // One that had restarted before we saw it, or was about to, is taken to have been ready: each of its restarts counts, as the past ones do.
            return Self {
                was_ready: kubelet_says_ready(fact) || total > 0 || has_ended(fact),
                since_ready: total,
                times: end().map(|end| Box::new(RestartTimes { last, began: last, first_end: Some(end) })),
            };
        };
        let more = total.saturating_sub(self::total(fact_before));
        let counts = more > 0 && known.was_ready;
        let last = if counts { Some((observed, started_at(fact))) } else { known.last() };
        let first_end = known.first_end().or_else(end);
        Self {
            was_ready: known.was_ready || kubelet_says_ready(fact),
            since_ready: known.since_ready + if counts { more } else { 0 },
            times: (last.is_some() || first_end.is_some())
                .then(|| Box::new(RestartTimes { last, began: known.began().or(last), first_end })),
        }
    }
}

/// Whether the pod is ready, or was when its kubelet last told its containers' states.
pub(crate) fn kubelet_says_ready(fact: &PodFact) -> bool {
    let mut main = fact.containers.iter().filter(|container| container.role == ContainerRole::Main).peekable();
    fact.ready || main.peek().is_some() && main.all(|container| container.ready)
}

/// Whether a main container has ended: it is counted as a restart only once it is started again.
pub(crate) fn has_ended(fact: &PodFact) -> bool {
    let ended = |state: &ContainerState| matches!(state, ContainerState::Terminated { .. });
    let mut main = fact.containers.iter().filter(|container| container.role == ContainerRole::Main);
    main.any(|container| container.last_end.is_some() || ended(&container.state))
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

#[cfg(test)]
mod tests;
