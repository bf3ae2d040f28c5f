//! How a pod ends: SIGTERM, its grace, SIGKILL, a last status, and the final delete.

use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;

use super::super::object::EventType;
use super::KubeletAction;
use super::env::{Env, WakeReason};
use super::machine::Kubelet;
use super::worker::{ContainerRun, Ending, Worker};

/// The time from the end of the last process to the final delete, in which volumes and sandbox are removed.
const CLEAN_UP: (u64, u64) = (100, 400);

impl Kubelet {
    /// Advances the ending of a pod that is to end; returns whether the pod is to end.
    pub(super) fn end_if_due(&mut self, worker: &mut Worker, env: &mut Env) -> bool {
        let Some(deletion) = worker.seen.deletion else { return false };
        let uid = worker.seen.uid.clone();
        match worker.ending {
            Ending::No => self.ask_to_end(worker, Duration::from_secs(deletion.grace_secs.into()), env),
            Ending::Asked { ends_at } => {
                // A second delete may have shortened the grace.
                let ends_at = ends_at.min(deletion.at.max(env.now));
                worker.ending = Ending::Asked { ends_at };
                if env.now >= ends_at {
                    end_processes(worker, env.now);
                    let until = env.now + env.millis(CLEAN_UP.0, CLEAN_UP.1);
                    worker.ending = Ending::CleaningUp { until };
                    env.wake_at(until, self.index, WakeReason::Pod(uid));
                } else {
                    env.wake_at(ends_at, self.index, WakeReason::Pod(uid));
                }
            }
            Ending::CleaningUp { until } if env.now >= until => worker.ending = Ending::Over,
            Ending::CleaningUp { .. } => {}
            Ending::Over => {}
        }
        if worker.ending == Ending::Over && worker.removal_sent_at.is_none() {
            self.remove(worker, env);
        }
        true
    }

    fn ask_to_end(&mut self, worker: &mut Worker, grace: Duration, env: &mut Env) {
        let uid: Str = worker.seen.uid.clone();
        self.cancel_pulls(&uid, env);
        // Sidecars are told to end after the main containers, one after the other.
        let (mut mains, mut sidecars) = (Duration::ZERO, Duration::ZERO);
        for index in 0..worker.containers.len() {
            let container = &worker.containers[index];
            if matches!(container.run, ContainerRun::Running { .. }) {
                let message = format!("Stopping container {}", container.name);
                let needs = env.image(&container.image).map_or(Duration::ZERO, |known| known.image.stops_in);
                match container.role {
                    ContainerRole::Init | ContainerRole::Main => mains = mains.max(needs),
                    ContainerRole::Sidecar => sidecars += needs,
                }
                self.note_of(worker, index, EventType::Normal, "Killing", message, env);
            }
        }
        let needs = env.about(mains + sidecars).min(grace) + env.millis(5, 30);
        let ends_at = env.now + needs;
        worker.ending = Ending::Asked { ends_at };
        env.wake_at(ends_at, self.index, WakeReason::Pod(uid));
    }

    /// Sends the final delete; a lost one is tried again.
    fn remove(&mut self, worker: &mut Worker, env: &mut Env) {
        if !self.gets_through(env) {
            self.retry_soon(env);
            return;
        }
        worker.removal_sent_at = Some(env.now);
        env.actions.push(KubeletAction::RemovePod {
            namespace: worker.seen.namespace.clone(),
            name: worker.seen.name.clone(),
            uid: worker.seen.uid.clone(),
        });
    }
}

fn end_processes(worker: &mut Worker, now: Timestamp) {
    for container in &mut worker.containers {
        if let ContainerRun::Running { .. } = container.run {
            container.stop(now);
        }
        container.ready = false;
    }
}
