//! Since when a pod is ready, and whether that is long enough: by `minReadySeconds`, by the soak, and by the DaemonSet controller.

use std::time::Duration;

use super::Assessor;
use crate::engine::model::node::NodeIx;
use crate::engine::model::settings::Gates;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::{NOTABLE_MILLIS, UNMEASURED, by_server};
use crate::engine::view::{ObservedAt, PodEntry, PodIx};

/// A pod that a roll back has put on its node shows that its revision works once it has been ready for this long, or for the soak time if
/// that is longer. Most pods that crash by themselves do so sooner.
const PROVES: Duration = Duration::from_secs(10);

/// For how long a pod that a roll back has put on its node has to be ready before it shows that its revision works.
pub(crate) fn proven_after(gates: &Gates) -> Duration {
    PROVES.max(Duration::from_secs(gates.soak_secs.0.into()))
}

/// A ready pod that is not available yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Soaks {
    /// For how many seconds it has to be ready in all.
    pub(crate) secs: u32,
    /// When this time is over, if the pod stays ready.
    pub(crate) ends_at: Timestamp,
    /// Whether the start of its readiness is known: we saw the pod become ready, or its kubelet dates it by a clock that was measured.
    pub(crate) since_known: bool,
}

impl Soaks {
    /// Whether the pod would be available by now if it had to be ready for `secs` only.
    pub(crate) fn is_over_with(self, secs: u32, now: Timestamp) -> bool {
        now + Duration::from_secs(self.secs.saturating_sub(secs).into()) >= self.ends_at
    }
}

impl<'a> Assessor<'a> {
    pub(super) fn oldest_available(&mut self, ix: NodeIx, clock: Option<i64>) -> Option<(PodIx, &'a PodEntry)> {
        let view = self.view;
        let mut oldest: Option<(PodIx, &PodEntry)> = None;
        for (at, pod) in view.pods_on(ix).filter(|(_, pod)| pod.fact.deletion_at.is_none()) {
            let age = |pod: &PodEntry| (pod.fact.created_at, pod.fact.name.clone());
            let at_target = self.is_at_target(pod);
            if oldest.is_none_or(|(_, known)| age(pod) < age(known)) && self.is_available(pod, at_target, clock) {
                oldest = Some((at, pod));
            }
        }
        oldest
    }

    /// Whether a pod has been ready for `minReadySeconds`, and at the target also for the soak time, by a clock that a wrong node clock
    /// cannot turn.
    pub(super) fn is_available(&mut self, pod: &PodEntry, at_target: bool, clock: Option<i64>) -> bool {
        let Some(observed) = pod.ready_observed else { return false };
        let soak = self.soak_secs(at_target).max(self.up_between_crashes(pod, at_target));
        let needed = Duration::from_secs(soak.into());
        let elapsed = self.as_seen(self.ready_for(pod, observed, at_target, clock));
        if self.question.pods_seen_until.is_none() {
            self.wake_after(needed, elapsed);
        }
        let since_known = !is_guessed(observed, at_target, clock);
        self.available_at = (elapsed < needed).then(|| Soaks {
            secs: soak,
            ends_at: self.pods_seen_at() + (needed - elapsed),
            since_known,
        });
        elapsed >= needed
    }

    /// As of when pods are seen: now, or until when they were.
    pub(super) fn pods_seen_at(&self) -> Timestamp {
        let now = self.question.now;
        self.question.pods_seen_until.map_or(now, |until| until.min(now))
    }

    /// How many seconds a restarting pod has to be ready if the rollout put it on its node, it has never been well there, and the target is
    /// another revision by now: the soak time, at least [`PROVES`]. 0 for every other pod. Such a pod is up between two crashes. If it were
    /// taken for a pod that serves, the rollout would take down others up to the whole budget, and this pod would go down beside them.
    fn up_between_crashes(&self, pod: &PodEntry, at_target: bool) -> u32 {
        let inputs = self.question.inputs;
        let put_there = || pod.fact.node.as_ref().is_some_and(|node| inputs.in_progress.contains(node));
        let restarts = || pod.fact.containers.iter().any(|container| container.restarts > 0);
        let soak = u32::try_from(PROVES.as_secs()).unwrap_or(u32::MAX).max(self.question.inputs.gates.soak_secs.0);
        if !at_target && restarts() && put_there() { soak } else { 0 }
    }

    /// Whether an available pod at the target shows, on the way back, that its revision works. A pod that never left the revision shows it
    /// at once. A pod that was put back shows it once it has been ready for the soak time, at least [`PROVES`]: no soak holds a roll back
    /// up.
    pub(super) fn proves_on_the_way_back(&mut self, pod: &PodEntry, put_there: bool, clock: Option<i64>) -> bool {
        let Some(observed) = pod.ready_observed else { return false };
        let needed = proven_after(&self.question.inputs.gates);
        let elapsed = self.as_seen(self.ready_for(pod, observed, true, clock));
        if put_there && self.question.pods_seen_until.is_none() {
            self.wake_after(needed, elapsed);
        }
        !put_there || elapsed >= needed
    }

    /// The part of the time until now during which pods were seen. While pods are not seen, no time makes a pod available, because it may
    /// not be ready any more.
    pub(super) fn as_seen(&self, elapsed: Duration) -> Duration {
        let unseen = self.question.pods_seen_until.map_or(Duration::ZERO, |until| self.question.now.since(until));
        elapsed.saturating_sub(unseen)
    }

    /// How many seconds a pod has to be ready before it counts as available. The soak time applies to a rollout of rolldeck's only, also
    /// before somebody drives it. A rollout of the DaemonSet's own controller is judged by `minReadySeconds` alone.
    pub(super) fn soak_secs(&self, at_target: bool) -> u32 {
        let min_ready = self.view.daemonset().map_or(0, |daemonset| daemonset.min_ready_secs);
        let soaks = at_target && (self.question.inputs.started_at.is_some() || self.question.inputs.before_begin.soaks);
        if soaks { min_ready.max(self.question.inputs.soak_secs) } else { min_ready }
    }

    /// For how long a pod has been ready. If the node's clock has not been measured and the pod is at the target, the time that its kubelet
    /// wrote is shortened by [`UNMEASURED`]: a wrong clock must not make a node count as updated too early. Where the API server dates the last write of
    /// the pod's status, the pod has been ready at least since then.
    pub(super) fn ready_for(
        &self,
        pod: &PodEntry,
        observed: ObservedAt,
        at_target: bool,
        clock: Option<i64>,
    ) -> Duration {
        let said = pod.fact.ready_since.map(|at| by_server(at, clock).max(pod.fact.created_at));
        match observed {
            ObservedAt::Already(at, _) if is_guessed(observed, at_target, clock) => {
                let said = observed.elapsed(said, self.question.now, self.server_now);
                let proven = self.ready_since_the_last_write(pod, observed);
                said.saturating_sub(UNMEASURED).max(self.question.now.since(at)).max(proven)
            }
            observed => observed.elapsed(said, self.question.now, self.server_now),
        }
    }

    /// For how long a ready pod has been ready at least, by the API server's clock alone. That clock has to be known for it; it writes whole seconds.
    fn ready_since_the_last_write(&self, pod: &PodEntry, observed: ObservedAt) -> Duration {
        let written = pod.fact.status_written_at.map(|at| at + Duration::from_secs(1));
        match observed {
            ObservedAt::Already(at, skew) if written.is_some() => {
                // As a rule the clock was measured before the first pod came.
                let Some(skew) = skew.or(self.view.skew_millis()) else { return Duration::ZERO };
                ObservedAt::Already(at, Some(skew)).elapsed(written, self.question.now, self.server_now)
            }
            ObservedAt::Already(..) | ObservedAt::Happen(_) => Duration::ZERO,
        }
    }

    /// Whether a pod has been ready for long enough by the time that its kubelet wrote, even if nobody has measured the kubelet's clock.
    /// Such a pod need not count as available, but it does not count as failed for being unavailable.
    pub(super) fn is_available_by_its_kubelet(&self, pod: &PodEntry, clock: Option<i64>) -> bool {
        let needed = Duration::from_secs(self.soak_secs(true).into());
        let said = pod.fact.ready_since.map(|at| by_server(at, clock).max(pod.fact.created_at));
        pod.ready_observed.is_some_and(|observed| observed.elapsed(said, self.question.now, self.server_now) >= needed)
    }

    /// Until when the controller counts an available pod as unavailable, because a clock that is ahead has dated its
    /// readiness.
    pub(super) fn counted_unavailable_until(&mut self, pod: &PodEntry, clock: Option<i64>) -> Option<Timestamp> {
        let min_ready = self.view.daemonset().map_or(0, |daemonset| daemonset.min_ready_secs);
        let ahead = min_ready > 0 && clock.is_some_and(|millis| millis >= NOTABLE_MILLIS);
        let until = pod.fact.ready_since.filter(|_| ahead)? + Duration::from_secs(min_ready.into());
        let left = until.since(self.server_now);
        self.wake_after(left, Duration::ZERO);
        (!left.is_zero()).then_some(until)
    }
}

/// Whether the start of a pod's readiness is only guessed: the pod is at the target and was ready before we looked, and the clock of its
/// node has not been measured.
fn is_guessed(observed: ObservedAt, at_target: bool, clock: Option<i64>) -> bool {
    matches!(observed, ObservedAt::Already(..)) && at_target && clock.is_none()
}
