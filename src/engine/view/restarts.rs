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
//!
//! A pod that its kubelet evicts is not started again: its controller makes another one, whose restarts begin at zero. See [`earlier_pods`].
//!
//! A restart of the node ends and starts every container of its pods and says nothing of the revision: it counts as one restart, and only if the one before was
//! less than [`WATCHED`] ago, so that machines that are switched off every night do not add up to a crash loop, and a
//! revision that brings its machines down does.
//!
//! On a node that the cluster lost, a pod's Ready condition is False although it was ready; its containers' statuses stay as
//! the kubelet last told them (docs/kubernetes.md, *Replacing pods*), so they say whether it was.

use std::time::Duration;

use self::earlier_pods::EarlierPods;
use super::observed_at::ObservedAt;
use crate::engine::model::facts::{ContainerFact, ContainerState, PodFact};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::node_restarts::{ended_by_themselves, ended_with_its_node, is_run_again};

mod earlier_pods;

/// For how long a pod is watched after a restart. Kubelets forget a container's crashes after it ran for 10 minutes, twice
/// their longest back-off: until then the next crash belongs to the same crash loop.
pub(crate) const WATCHED: Duration = Duration::from_secs(600);

/// For how long a pod is watched after a restart where this soak time is set, in seconds.
pub(crate) fn watched_for(soak_secs: u32) -> Duration {
    WATCHED.max(Duration::from_secs(soak_secs.into()))
}

/// What is known of a pod's restarts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restarts {
    /// It was seen ready at some time.
    pub(crate) was_ready: bool,
    /// How often it restarted after that, of the restarts that count. If it had restarted before we saw it, those before are among them, and so are the
    /// evictions of the pods before it.
    pub(crate) since_ready: u32,
    /// `None`: none of its containers has ended, and no earlier pod concerns it. Boxed, because that is so of most pods.
    ended: Option<Box<Ended>>,
}

/// What is known of a pod whose containers ended. A time is when we saw it, and what its kubelet says.
#[derive(Clone, Debug, Default)]
struct Ended {
    /// How many of all its restarts do not count: its node was restarted, and not its containers by themselves.
    with_its_node: u32,
    /// Its node was restarted, and it has not been ready since.
    is_away: bool,
    /// The last restart after it was ready.
    last: Option<(ObservedAt, Option<Timestamp>)>,
    /// The first restart after it was ready.
    began: Option<(ObservedAt, Option<Timestamp>)>,
    /// The first end of a container. It is counted as a restart only later, once the container is started again.
    first_end: Option<(ObservedAt, Option<Timestamp>)>,
    /// The pods before it.
    earlier: EarlierPods,
}

impl Restarts {
    /// How many of the restarts of this pod itself count: all but those with its node.
    pub(crate) fn counted(&self, fact: &PodFact) -> u32 {
        total(fact).saturating_sub(self.ended.as_ref().map_or(0, |ended| ended.with_its_node))
    }

    fn ended(&self) -> Ended {
        self.ended.as_deref().cloned().unwrap_or_default()
    }

    /// When it restarted last.
    pub(crate) fn last(&self) -> Option<(ObservedAt, Option<Timestamp>)> {
        self.ended.as_ref()?.last
    }

    /// When the first of these restarts was, as far as that was seen.
    pub(crate) fn began(&self) -> Option<(ObservedAt, Option<Timestamp>)> {
        self.ended.as_ref()?.began
    }

    /// When a container first ended, as far as that was seen. It is counted as a restart only later, once it is started again.
    pub(crate) fn first_end(&self) -> Option<(ObservedAt, Option<Timestamp>)> {
        self.ended.as_ref()?.first_end
    }

    /// The restarts of a pod as it is now. `before`: what was known of its restarts, and what its status was then.
    pub(crate) fn next(before: Option<(&Self, &PodFact)>, fact: &PodFact, observed: ObservedAt) -> Self {
        let total = total(fact);
        // If the pod was so already when we first looked: it ended before it was started last, and before it ceased to be ready.
        let unready_since = fact.ready_since.filter(|_| !fact.ready);
        let end = || has_ended_by_itself(fact).then(|| (observed, started_at(fact).or(unready_since)));
        let is_back = kubelet_says_ready(fact);
        let Some((known, fact_before)) = before else {
            let last = (total > 0).then(|| (observed, started_at(fact)));
            let (counted, first_end) = (counted_of_unseen(fact), end());
            // One that had restarted before we saw it, or was about to, is taken to have been ready: the past restarts count as the next ones do.
            return Self {
                was_ready: is_back || total > 0 || has_ended(fact),
                since_ready: counted,
                ended: Ended {
                    with_its_node: total - counted,
                    is_away: false,
                    last,
                    began: last,
                    first_end,
                    earlier: EarlierPods::default(),
                }
                .boxed(),
            };
        };
        let more = NewRestarts::between(fact_before, fact);
        let counted = more.by_itself + known.counted_with_its_node(more.with_its_node, observed);
        // An init container that is run again is no restart by itself: the main ones follow.
        let counts = more.by_itself + more.with_its_node > 0 && known.was_ready;
        let last = if counts { Some((observed, started_at(fact))) } else { known.last() };
        let first_end = known.first_end().or_else(end);
        Self {
            was_ready: known.was_ready || is_back,
            since_ready: known.since_ready + if counts { counted } else { 0 },
            ended: Ended {
                // A kubelet that lost its containers may count anew.
                with_its_node: known.ended().with_its_node.min(total - more.all) + (more.all - counted),
                is_away: !is_back && (known.ended().is_away || more.with_its_node > 0),
                last,
                began: known.began().or(last),
                first_end,
                earlier: known.ended().earlier,
            }
            .boxed(),
        }
    }

    /// How many of `restarts` with its node count. A restart of the node ends each container of the pod once, and these are started one after the other:
    /// until the pod is ready again, they are one restart. It counts if another one was less than [`WATCHED`] ago, since a revision may bring its node
    /// down; by itself it only makes the pod watched.
    fn counted_with_its_node(&self, restarts: u32, observed: ObservedAt) -> u32 {
        match self.last() {
            _ if restarts == 0 => 0,
            // More of them of one container: the node was restarted again before the pod was ready.
            _ if self.ended().is_away => restarts - 1,
            Some((last, _)) if observed.seen_at().since(last.seen_at()) < WATCHED => restarts,
            _ => restarts.min(1).saturating_sub(self.since_ready),
        }
    }
}

impl Ended {
    fn boxed(self) -> Option<Box<Self>> {
        let Self { with_its_node, is_away, last, began: _, first_end, earlier } = &self;
        let is_known = *with_its_node > 0 || *is_away || last.is_some() || first_end.is_some() || earlier.are_known();
        is_known.then(|| Box::new(self))
    }
}

/// How often a pod's containers were restarted between two states of it.
#[derive(Clone, Copy, Debug, Default)]
struct NewRestarts {
    /// In all, as kubelets count.
    all: u32,
    /// After they ended by themselves.
    by_itself: u32,
    /// After their node was restarted, which ends each container once: the most of one container.
    with_its_node: u32,
}

impl NewRestarts {
    fn between(before: &PodFact, fact: &PodFact) -> Self {
        let of = |container: &ContainerFact| {
            let mut known = before.containers.iter();
            let known = known.find(|known| (known.role, &known.name) == (container.role, &container.name));
            container.restarts.saturating_sub(known.map_or(0, |known| known.restarts))
        };
        let all = total(fact).saturating_sub(total(before));
        let mut new = Self { all, ..Self::default() };
        for container in &fact.containers {
            let more = of(container);
            if ended_with_its_node(container) {
                new.with_its_node = new.with_its_node.max(more);
            } else if !is_run_again(container, fact) {
                new.by_itself += more;
            }
        }
        // A container that is not there any more takes its restarts out of the sum.
        new.by_itself = new.by_itself.min(all);
        new.with_its_node = new.with_its_node.min(all - new.by_itself);
        new
    }
}

/// How many of the restarts count of a pod that we have not seen before. Only its containers' last ends are known: the restarts of one that ended
/// with its node last are taken to be such ones, and to be one if it ran for [`WATCHED`] before.
fn counted_of_unseen(fact: &PodFact) -> u32 {
    let (mut by_itself, mut with_its_node) = (0, 0);
    for container in &fact.containers {
        if ended_with_its_node(container) {
            let ran_long = container.last_ran_secs.is_some_and(|secs| u64::from(secs) >= WATCHED.as_secs());
            let counted = if ran_long { container.restarts.min(1) } else { container.restarts };
            with_its_node = counted.max(with_its_node);
        } else if !is_run_again(container, fact) {
            by_itself += container.restarts;
        }
    }
    by_itself + with_its_node
}

/// Whether the pod is ready, or was when its kubelet last told its containers' states.
pub(crate) fn kubelet_says_ready(fact: &PodFact) -> bool {
    let mut main = fact.containers.iter().filter(|container| container.role.keeps_running()).peekable();
    fact.ready || main.peek().is_some() && main.all(|container| container.ready)
}

/// Whether a main container or a sidecar has ended: it is counted as a restart only once it is started again.
pub(crate) fn has_ended(fact: &PodFact) -> bool {
    let ended = |state: &ContainerState| matches!(state, ContainerState::Terminated { .. });
    let mut main = fact.containers.iter().filter(|container| container.role.keeps_running());
    main.any(|container| container.last_end.is_some() || ended(&container.state))
}

/// Whether a main container or a sidecar has ended by itself, or another one was started again after it did.
fn has_ended_by_itself(fact: &PodFact) -> bool {
    let ended = |state: &ContainerState| matches!(state, ContainerState::Terminated { .. });
    ended_by_themselves(fact).any(|container| {
        let main = container.role.keeps_running();
        container.restarts > 0 || main && (container.last_end.is_some() || ended(&container.state))
    })
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
