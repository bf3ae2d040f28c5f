//! When a pod at the target counts as failed: in trouble past its grace, restarted too often, or not available in time.

use std::time::Duration;

use super::{Assessor, counted_restarts};
use crate::engine::model::Str;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::facts::{ContainerFact, says_more_than_the_code};
use crate::engine::model::node::{FAILS_AT, RestartKind};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::clocks::by_server;
use crate::engine::rules::node_restarts::restarted_with_its_node;
use crate::engine::view::{NodeEntry, PodEntry};

impl Assessor<'_> {
    /// Why the pod at the target counts as failed, if it does.
    pub(super) fn failure_of(
        &mut self,
        pod: &PodEntry,
        available: bool,
        clock: Option<i64>,
        entry: &NodeEntry,
    ) -> Option<Cause> {
        let gates = &self.question.inputs.gates;
        if let Some(trouble) = &pod.trouble
            && let Some(grace) = trouble.cause.kind.grace()
        {
            let elapsed = self.as_seen(self.question.now.since(self.troubled_since(pod, trouble, clock)));
            self.wake_while_seen(grace, elapsed);
            if elapsed >= grace || self.question.inputs.has_failed(&entry.name) {
                return Some(trouble.cause.clone());
            }
        }
        let deadline = Duration::from(gates.progress_deadline_secs);
        let ready_for = pod.ready_observed.map(|observed| self.ready_for(pod, observed, true, clock));
        let evictions = pod.restarts.evictions();
        let times = counted_restarts(pod) + evictions;
        if times > gates.max_restarts && ready_for.is_none_or(|ready_for| ready_for < deadline) {
            // Only the last end is known.
            let ended = match (times == evictions, restarted_with_its_node(&pod.fact)) {
                (true, _) => pod.restarts.evicted_because().map(|said| format!("; {said}")).unwrap_or_default(),
                (false, true) => "; its node restarted last".to_owned(),
                (false, false) => last_end(pod).map(|ended| format!("; {ended}")).unwrap_or_default(),
            };
            let words =
                format!("{}{FAILS_AT}{}){ended}", RestartKind::of(times, evictions).counted(times), gates.max_restarts);
            let known =
                pod.trouble.as_ref().map(|trouble| &trouble.cause).filter(|known| known.kind.says_why_it_restarts());
            let kind = match known {
                _ if times == evictions => CauseKind::Evicted,
                Some(known) => known.kind,
                None => CauseKind::CrashLoop,
            };
            let container = known.map_or_else(|| ended_last(pod), |known| known.container.clone());
            return Some(Cause { kind, container, message: Some(words.into()) });
        }
        if available || self.is_available_by_its_kubelet(pod, clock) {
            return None;
        }
        let elapsed = self.as_seen(self.expected_for(pod, entry.back_at(), clock));
        self.wake_while_seen(deadline, elapsed);
        (elapsed >= deadline).then(|| {
            let message = pod.trouble.as_ref().map(|trouble| match &trouble.cause.message {
                Some(message) => Str::from(format!("{}: {message}", trouble.cause.kind)),
                None => Str::from(trouble.cause.kind.to_string()),
            });
            let container = pod.trouble.as_ref().and_then(|trouble| trouble.cause.container.clone());
            Cause { kind: CauseKind::Deadline, container, message }
        })
    }

    /// As [`Self::wake_after`]. While pods are not seen, no time passes for a pod: it may have become available by now.
    fn wake_while_seen(&mut self, after: Duration, elapsed: Duration) {
        if self.question.pods_seen_until.is_none() {
            self.wake_after(after, elapsed);
        }
    }

    /// For how long a pod that is not available has had the chance to become available: since it was created, or the first of those was that its kubelet
    /// ended before they were ready, since it was last available, or since its node came back, whichever is latest. A pod that was available once gets the whole deadline again;
    /// otherwise every short unreadiness of an older pod would be a failure.
    fn expected_for(&self, pod: &PodEntry, back_at: Option<Timestamp>, clock: Option<i64>) -> Duration {
        let (now, server_now) = (self.question.now, self.server_now);
        let (observed, created_at) = pod.restarts.tried_since().unwrap_or((pod.first_observed, pod.fact.created_at));
        let made = observed.elapsed(Some(created_at), now, server_now);
        let needed = Duration::from_secs(self.soak_secs(true).into());
        let served = pod.served.as_ref().filter(|served| served.lasted >= needed).map(|served| {
            let said = served.said.map(|at| by_server(at, clock));
            served.ended.elapsed(said, now, server_now)
        });
        let back = back_at.map(|at| now.since(at));
        [served, back].into_iter().flatten().fold(made, Duration::min)
    }
}

/// How a container of the pod ended last: `agent ended with exit 137 (OOMKilled)`. A container that ended with an error is preferred.
fn last_end(pod: &PodEntry) -> Option<String> {
    let (exit, container) = ended_container(pod)?;
    let reason = container.last_end.as_deref().filter(|reason| says_more_than_the_code(reason));
    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    Some(format!("{} ended with exit {exit}{reason}", container.name))
}

/// The container that [`last_end`] reports.
fn ended_last(pod: &PodEntry) -> Option<Str> {
    ended_container(pod).map(|(_, container)| container.name.clone())
}

fn ended_container(pod: &PodEntry) -> Option<(i32, &ContainerFact)> {
    let ended = pod.fact.containers.iter().filter_map(|container| Some((container.last_exit?, container)));
    ended.max_by_key(|(exit, _)| *exit != 0)
}
