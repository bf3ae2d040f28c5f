//! The observer's state of nodes, pods and the DaemonSet, updated with every change.

use std::collections::BTreeSet;
use std::time::Duration;

use super::causes::failure_for;
use super::{Observer, ROUNDED};
use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, ContainerFact, ContainerState, PodFact, PodPhase, StrategyKind};
use crate::engine::model::labels::Labels;
use crate::engine::model::record::Intent;
use crate::engine::model::site::SiteLabel;
use crate::engine::model::template::{ContainerRole, TaintEffect};
use crate::engine::model::time::Timestamp;
use crate::sim::attack::faults::FaultKind;
use crate::sim::world::object::Object;
use crate::sim::world::policy::INJECTED;

/// A node that rolldeck has taken down.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Down {
    /// Since when it serves again.
    pub(super) serves_since: Option<Timestamp>,
    /// When it last stopped serving after it had served again.
    pub(super) fell_at: Option<Timestamp>,
}

/// A pod and the parts of its past that matter.
#[derive(Debug)]
pub(super) struct ObservedPod {
    pub(super) fact: PodFact,
    /// When the pod was made, or when its label was put back.
    pub(super) there_since: Timestamp,
    /// When the pod last changed in a way that a screen shows.
    pub(super) changed_at: Timestamp,
    /// Since when its status shows a failure.
    pub(super) failing_since: Option<Timestamp>,
    /// Whether the registry has refused one of its images: the pod then loads no link, even while its kubelet tries again.
    pub(super) refused: bool,
    /// Since when it is ready.
    pub(super) ready_since: Option<Timestamp>,
    /// When the pod was first seen; `None` once it has been ready.
    pub(super) never_ready_since: Option<Timestamp>,
    /// Since when the node has all its images.
    pub(super) images_since: Option<Timestamp>,
    /// Restarts after it had been ready.
    pub(super) restarted: Restarted,
}

#[derive(Debug)]
pub(super) struct ObservedNode {
    pub(super) ready: bool,
    pub(super) ready_since: Timestamp,
    pub(super) labels: Labels,
    pub(super) labels_since: Timestamp,
    /// Whether somebody tainted the node; `tainted_since` is when that last changed.
    pub(super) tainted: bool,
    pub(super) tainted_since: Timestamp,
    /// Whether one of these taints is `NoExecute`, which also removes running pods.
    pub(super) evicts: bool,
    /// When the node or its pods last changed in a way that a screen shows.
    pub(super) changed_at: Timestamp,
}

impl ObservedNode {
    /// The site of the node: the value of its label, empty if it has no such label.
    pub(super) fn site(&self, label: &SiteLabel) -> Str {
        self.labels.get(label.key()).cloned().unwrap_or_default()
    }
}

/// A container that runs for this time after a restart is not in a crash loop.
pub(super) const STEADY: Duration = Duration::from_secs(600);

/// The restarts of a pod's containers after the pod had been ready.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Restarted {
    pub(super) times: u32,
    pub(super) last: Timestamp,
    pub(super) total: u32,
    ready_since: Option<Timestamp>,
    /// Since when it has been ready at some time, after its node was restarted last.
    back_since: Option<Timestamp>,
    /// How many of these are evictions of the pods before it, and when the first of those was.
    pub(super) evictions: Option<(u32, Timestamp)>,
}

impl Restarted {
    /// The restarts after a change of the pod, and how it was before. A restart counts only if the pod had been ready for longer than news takes to
    /// travel. One with the pod's node, which starts each container again, counts only if it was back from the one before, and that was lately.
    fn next(before: Option<(Self, &PodFact)>, fact: &PodFact, at: Timestamp, slack: Duration) -> Self {
        let total = fact.containers.iter().map(|container| container.restarts).sum();
        let (mut now, known) = match before {
            Some((restarted, known)) => (restarted, known),
            None => (Self { total, ..Self::default() }, fact),
        };
        let long_ago = |since: Option<Timestamp>| since.is_some_and(|since| since + slack + ROUNDED < at);
        let was_ready = long_ago(now.ready_since);
        let mut by_itself = 0;
        let mut with_its_node = false;
        for container in &fact.containers {
            let known = known.containers.iter().find(|known| known.name == container.name);
            let more = container.restarts.saturating_sub(known.map_or(0, |known| known.restarts));
            match container.last_end.as_deref() {
                Some("Unknown") => with_its_node |= more > 0,
                // One that is through is run again only with its node.
                Some("Completed") if container.role == ContainerRole::Init => {}
                _ => by_itself += more,
            }
        }
        if by_itself > 0 && (was_ready || now.times > 0) {
            now.times += by_itself;
            now.last = at;
        }
        if with_its_node && was_ready && long_ago(now.back_since) {
            let lately = at.since(now.last) + slack + ROUNDED + ROUNDED < STEADY;
            now.times = if lately { now.times + 1 } else { now.times.max(1) };
            (now.last, now.back_since) = (at, None);
        }
        now.total = total;
        // Once the pod was ready for so long that every console can know it, `ready_since` stays.
        now.ready_since = now.ready_since.or(fact.ready.then_some(at)).filter(|_| fact.ready || was_ready);
        now.back_since = now.back_since.or(fact.ready.then_some(at));
        now
    }

    /// With what the next pod begins, where this one was evicted at `at`. An eviction counts only if the pod had been ready for longer than news takes
    /// to travel, and with those before it only if they were lately.
    fn after_eviction(self, at: Timestamp, slack: Duration) -> Self {
        let was_ready = self.ready_since.is_some_and(|since| since + slack + ROUNDED < at);
        let lately = at.since(self.last) + slack + ROUNDED + ROUNDED < STEADY;
        let known = self.evictions.filter(|_| lately);
        let evictions = match was_ready {
            true => Some(known.map_or((1, at), |(times, first)| (times + 1, first))),
            false => self.evictions,
        };
        let last = if was_ready { at } else { self.last };
        Self { times: evictions.map_or(0, |(times, _)| times), last, evictions, ..Self::default() }
    }
}

/// Whether its kubelet ended the pod for what its node is short of, or did not admit it.
fn is_evicted(fact: &PodFact) -> bool {
    fact.phase == PodPhase::Failed && fact.reason.as_deref() == Some("Evicted")
}

impl Observer {
    pub(super) fn node_is(&mut self, object: &Object, at: Timestamp) {
        let Some(fact) = object.node_fact() else { return };
        let ready = fact.ready == ConditionStatus::True;
        let changed = self.conditions.insert(fact.name.clone(), fact.ready) != Some(fact.ready);
        self.node_goes(&fact.name, fact.ready, changed, at);
        let by_people = || fact.taints.iter().filter(|taint| !taint.key.starts_with("node.kubernetes.io/"));
        let tainted = by_people().any(|taint| taint.effect != TaintEffect::PreferNoSchedule);
        let evicts = by_people().any(|taint| taint.effect == TaintEffect::NoExecute);
        let seen = self.nodes.entry(fact.name).or_insert_with(|| ObservedNode {
            ready,
            ready_since: Timestamp::default(),
            labels: fact.labels.clone(),
            labels_since: Timestamp::default(),
            tainted,
            tainted_since: Timestamp::default(),
            evicts,
            changed_at: at,
        });
        if seen.ready != ready {
            (seen.ready, seen.ready_since, seen.changed_at) = (ready, at, at);
        }
        if seen.labels != fact.labels {
            (seen.labels, seen.labels_since) = (fact.labels, at);
        }
        seen.evicts = evicts;
        if seen.tainted != tainted {
            (seen.tainted, seen.tainted_since, seen.changed_at) = (tainted, at, at);
        }
    }

    pub(super) fn pod_is(&mut self, object: &Object, at: Timestamp) {
        let Some(fact) = object.pod_fact() else { return };
        self.absent.pod_was_created(fact.created_at);
        if let Some(node) = &fact.node {
            let made = self.last_made.entry(node.clone()).or_insert(fact.created_at);
            *made = fact.created_at.max(*made);
        }
        let known = self.pods.remove(&fact.uid);
        let before = known.as_ref().map(|known| (known.restarted, &known.fact));
        let mut restarted = Restarted::next(before, &fact, at, self.slack);
        let place = fact.node.clone().zip(fact.revision.clone());
        if let Some((known, place)) = known.as_ref().zip(place.as_ref())
            && is_evicted(&fact)
            && !is_evicted(&known.fact)
        {
            self.evicted.insert(place.clone(), known.restarted.after_eviction(at, self.slack));
        }
        if known.is_none()
            && let Some(earlier) = place.and_then(|place| self.evicted.remove(&place))
        {
            let Restarted { times, last, evictions, .. } = earlier;
            restarted = Restarted { times, last, evictions, ..restarted };
        }
        let there_since = known.as_ref().map_or(at, |known| known.there_since);
        let trouble = trouble_of(&fact);
        let was = known.as_ref().and_then(|known| trouble_of(&known.fact));
        if trouble != was
            && let Some(kind) = trouble
        {
            self.faults.count(kind);
        }
        let failing = fact.deletion_at.is_none() && trouble.is_some();
        let failing_since = failing.then(|| known.as_ref().and_then(|known| known.failing_since).unwrap_or(at));
        let refused = is_refused(&fact) || known.as_ref().is_some_and(|known| known.refused);
        let ready_since = fact.ready.then(|| known.as_ref().and_then(|known| known.ready_since).unwrap_or(at));
        let never = known.as_ref().map_or(Some(at), |known| known.never_ready_since);
        let shows = |fact: &PodFact| {
            let fails = fact.containers.iter().any(fails_to_pull);
            (fact.node.clone(), fact.ready, fact.deletion_at.is_some(), fact.revision.clone(), fails)
        };
        let changed = known.as_ref().is_none_or(|known| shows(&known.fact) != shows(&fact));
        let has_images = has_images(&fact);
        let images_since = has_images.then(|| known.as_ref().and_then(|known| known.images_since).unwrap_or(at));
        let changed_at = if changed { at } else { known.map_or(at, |known| known.changed_at) };
        if let Some(node) = fact.node.clone() {
            if changed && let Some(seen) = self.nodes.get_mut(&node) {
                seen.changed_at = at;
            }
            if fact.deletion_at.is_none() {
                self.serves(&node, fact.ready, at);
                if has_images {
                    self.pulling.remove(&node);
                }
            }
        }
        let never_ready_since = never.filter(|_| !fact.ready);
        let pod = ObservedPod {
            fact,
            there_since,
            changed_at,
            failing_since,
            refused,
            ready_since,
            never_ready_since,
            images_since,
            restarted,
        };
        self.pods.insert(pod.fact.uid.clone(), pod);
    }

    /// Takes in whether the pod of a node in `taken_down` is ready.
    pub(super) fn serves(&mut self, node: &Str, ready: bool, at: Timestamp) {
        let Some(down) = self.taken_down.get(node).copied() else { return };
        let now = match (down.serves_since, ready) {
            (None, true) => Down { serves_since: Some(at), ..down },
            // The node has served for long enough, so the deletion did not cause this failure.
            (Some(since), false) if at.since(since) + ROUNDED >= self.must_serve_for(node) => {
                self.taken_down.remove(node);
                return;
            }
            (Some(_), false) => Down { serves_since: None, fell_at: Some(at) },
            _ => return,
        };
        self.taken_down.insert(node.clone(), now);
    }

    /// How long a node must serve again before it no longer counts as taken down.
    pub(super) fn must_serve_for(&self, node: &Str) -> Duration {
        if self.wrong_clocks.contains(node) {
            return Duration::ZERO;
        }
        let min_ready = self.daemon_set.as_ref().map_or(0, |fact| fact.min_ready_secs);
        let target = self.records.now().and_then(|record| record.as_ref()?.intent.target.as_ref());
        let at_target = target.is_some()
            && self.pods.values().any(|pod| {
                let fact = &pod.fact;
                fact.node.as_ref() == Some(node) && fact.deletion_at.is_none() && fact.revision.as_ref() == target
            });
        let soak = self.records.values().flatten().map(|record| record.intent.soak_secs()).min().unwrap_or(0);
        Duration::from_secs(if at_target { min_ready.max(soak) } else { min_ready }.into())
    }

    pub(super) fn pod_gone(&mut self, uid: &Str, at: Timestamp) {
        let gone = self.pods.remove(uid);
        if let Some(pod) = &gone {
            while self.gone_pods.front().is_some_and(|(gone_at, _)| *gone_at + self.slack < at) {
                self.gone_pods.pop_front();
            }
            self.gone_pods.push_back((at, pod.fact.name.clone()));
        }
        if let Some(seen) = gone.and_then(|pod| self.nodes.get_mut(&pod.fact.node?)) {
            seen.changed_at = at;
        }
    }

    pub(super) fn daemon_set_is(&mut self, object: &Object, at: Timestamp) {
        let Some(fact) = object.daemon_set_fact() else { return };
        if self.daemon_set.as_ref().is_none_or(|known| known.template != fact.template) {
            self.absent.template_changed(at);
        }
        self.own_budget.is(at, fact.strategy.max_unavailable);
        let rolling = fact.strategy.kind == StrategyKind::RollingUpdate;
        self.is_being_deleted = fact.deleting;
        self.rolling_since = if rolling { Some(self.rolling_since.unwrap_or(at)) } else { None };
        if self.daemon_set.as_ref().is_some_and(|known| known.template != fact.template) {
            self.template_since = at;
        }
        self.daemon_set = Some(fact);
    }

    /// The number of nodes with a pod that is not of the target's revision and not being deleted.
    pub(super) fn old_count(&self) -> usize {
        let target = self.records.now().and_then(|record| record.as_ref()?.intent.target.as_ref());
        let Some(target) = target else { return self.nodes.len() };
        let facts = self.pods.values().map(|pod| &pod.fact);
        let old = facts.filter(|pod| pod.deletion_at.is_none() && pod.revision.as_ref() != Some(target));
        old.filter_map(|pod| pod.node.as_ref()).collect::<BTreeSet<_>>().len()
    }

    pub(super) fn count(&mut self, now: Timestamp) {
        let old = self.old_count();
        self.old_pods.is(now, old);
        let fleet = self.nodes.values().filter(|node| !node.tainted || self.tolerates()).count();
        self.fleet.is(now, u32::try_from(fleet).unwrap_or(u32::MAX));
        let desired = self.daemon_set.as_ref().map_or(0, |fact| fact.counters.desired);
        self.desired.is(now, desired.max(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)));
    }

    /// Whether the DaemonSet's template has any toleration.
    pub(super) fn tolerates(&self) -> bool {
        self.daemon_set.as_ref().is_some_and(|fact| !fact.template.tolerations().is_empty())
    }
}

/// Whether the pod's status says that the images of all its containers have come, not counting a container that admission added.
pub(super) fn has_images(pod: &PodFact) -> bool {
    let mut own = pod.containers.iter().filter(|container| *container.name != *INJECTED).peekable();
    own.peek().is_some() && own.all(|container| container.image_present)
}

/// Whether the pod's status says that the registry does not have an image, or denies it.
fn is_refused(pod: &PodFact) -> bool {
    pod.containers.iter().any(|container| match &container.state {
        ContainerState::Waiting { message: Some(message), .. } => {
            [": not found", "pull access denied"].iter().any(|verdict| message.contains(verdict))
        }
        _ => false,
    })
}

/// The failure of a pod that a person must repair (an image), or that begins again and again (a crash loop).
pub(super) fn trouble_of(pod: &PodFact) -> Option<FaultKind> {
    pod.containers.iter().find_map(|container| match &container.state {
        ContainerState::Waiting { reason, .. } => failure_for(reason),
        ContainerState::Running { .. } | ContainerState::Terminated { .. } => None,
    })
}

/// Whether the pod is at the target of every intent in force. A pod at a target that was just given up does not count.
pub(super) fn at_target(pod: &ObservedPod, forward: &[&Intent]) -> bool {
    pod.fact.deletion_at.is_none() && forward.iter().all(|intent| pod.fact.revision == intent.target)
}

/// Whether the status of a container says that its image cannot be pulled or used.
pub(super) fn fails_to_pull(container: &ContainerFact) -> bool {
    match &container.state {
        ContainerState::Waiting { reason, .. } => reason.contains("Image") || reason.contains("Registry"),
        ContainerState::Running { .. } | ContainerState::Terminated { .. } => false,
    }
}
