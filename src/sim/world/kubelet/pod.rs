//! A pod on its node: its containers, one after the other where they must be, from waiting to running and back.
//!
//! ```text
//!   Waiting ──image present──→ Starting ──→ Running ──end──→ Crashed ──back-off──→ Waiting
//!      └──absent──→ Pulling ──→ (Done) Starting            └──→ Ended, where `restartPolicy` is not Always
//!                     └──→ PullFailed ──back-off──→ Waiting
//! ```
//!
//! A sidecar lets the next container begin once it has started, and is restarted after each end until the pod is over.
//!
//! An image volume is kept as a container before all others that runs nothing: it is over once its image is there.

use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::image::ImageRef;
use crate::engine::model::template::ContainerRole;

use super::super::object::EventType;
use super::env::{Env, WakeReason};
use super::machine::{Kubelet, Probes};
use super::notes::Note;
use super::process::ProcessEnd;
use super::pull::Pulled;
use super::words;
use super::worker::{ContainerRun, Ending, Worker};

/// The time from ErrImagePull until the kubelet looks at the pod again, and then reports ImagePullBackOff.
const SECOND_LOOK: (u64, u64) = (1_000, 2_500);

impl Kubelet {
    /// Advances a pod as far as possible at this moment, and publishes its status if it changed.
    pub(super) fn look_at(&mut self, uid: &Str, env: &mut Env) {
        let Some(mut worker) = self.pods.remove(uid) else { return };
        if !self.end_if_due(&mut worker, env) && worker.verdict.is_none() {
            self.run_containers(&mut worker, env);
        }
        self.publish(&mut worker, env);
        self.pods.insert(uid.clone(), worker);
    }

    fn run_containers(&mut self, worker: &mut Worker, env: &mut Env) {
        worker.end_sidecars_if_over(env.now);
        self.run_in_order(worker, env);
        worker.end_sidecars_if_over(env.now);
    }

    fn run_in_order(&mut self, worker: &mut Worker, env: &mut Env) {
        for index in 0..worker.containers.len() {
            let is_held = worker.missing_volume(&worker.containers[index]).is_some();
            if !is_held {
                self.drive(worker, index, env);
            }
            let container = &worker.containers[index];
            // Containers that do not mount a volume whose pull failed are started.
            if container.is_volume && container.run != ContainerRun::Pulling {
                continue;
            }
            let lets_the_next_begin = match container.role {
                ContainerRole::Init => matches!(container.run, ContainerRun::Ended(_)),
                ContainerRole::Sidecar => container.has_started(env.now) || worker.goes_on_behind(index),
                ContainerRole::Main => true,
            };
            if !lets_the_next_begin {
                break;
            }
            // A pod's worker does one thing at a time: it waits for a pull before it looks at the next container.
            if container.run == ContainerRun::Pulling {
                break;
            }
        }
    }

    /// Advances one container as far as possible at this moment.
    fn drive(&mut self, worker: &mut Worker, index: usize, env: &mut Env) {
        loop {
            let now = env.now;
            let container = &mut worker.containers[index];
            let next = match container.run.clone() {
                ContainerRun::Waiting => Some(self.prepare(worker, index, env)),
                run @ ContainerRun::PullFailed { until, .. } if now >= until => Some(container.try_again(run)),
                ContainerRun::PullFailed { until, look_at, error, looked: false } if now >= look_at => {
                    self.back_off_noted(worker, index, env);
                    env.wake_at(until, self.index, WakeReason::Pod(worker.seen.uid.clone()));
                    Some(ContainerRun::PullFailed { until, look_at, error, looked: true })
                }
                ContainerRun::Starting { at } if now >= at => Some(self.started(worker, index, env)),
                ContainerRun::Running { since, dated, ends: Some((at, end)), .. } if now >= at => {
                    let policy = worker.restart_policy;
                    let run = container.end(end, (since, dated), policy, now);
                    self.end_noted(worker, index, &run, env);
                    Some(run)
                }
                ContainerRun::Running { ready_at, .. } if container.role == ContainerRole::Init && now >= ready_at => {
                    Some(ContainerRun::Ended(ProcessEnd::COMPLETED))
                }
                run @ ContainerRun::Crashed { until, .. } if now >= until => Some(container.try_again(run)),
                ContainerRun::Running { ready_at, .. } => {
                    container.ready = now >= ready_at && self.probes == Probes::Pass;
                    None
                }
                _ => None,
            };
            let Some(next) = next else { return };
            let settled = matches!(next, ContainerRun::Pulling | ContainerRun::BadName);
            let container = &mut worker.containers[index];
            if container.is_volume && matches!(next, ContainerRun::Ended(_)) {
                container.image_id = self.images.id(&container.image).cloned();
            }
            container.run = next;
            if settled {
                return;
            }
        }
    }

    /// Begins a container whose turn has come: its image is there, or has to be pulled.
    fn prepare(&mut self, worker: &Worker, index: usize, env: &mut Env) -> ContainerRun {
        let container = &worker.containers[index];
        let uid = &worker.seen.uid;
        if container.image.parse::<ImageRef>().is_err() {
            let message = words::invalid_name(&container.image);
            self.note_of(worker, index, EventType::Warning, "InspectFailed", message, env);
            return ContainerRun::BadName;
        }
        if !container.always && self.has(&container.image) {
            if container.image_id.is_none() {
                let message = words::present(&container.image);
                self.note_of(worker, index, EventType::Normal, "Pulled", message, env);
            }
            return self.has_image(worker, index, env);
        }
        let message = words::pulling(&container.image);
        self.note_of(worker, index, EventType::Normal, "Pulling", message, env);
        let image = container.image.clone();
        self.want_image(uid, index, &image, env);
        ContainerRun::Pulling
    }

    /// Goes on with a container whose image is there.
    fn has_image(&self, worker: &Worker, index: usize, env: &mut Env) -> ContainerRun {
        if worker.containers[index].is_volume {
            return ContainerRun::Ended(ProcessEnd::COMPLETED);
        }
        let starts_in =
            env.image(&worker.containers[index].image).map_or(Duration::ZERO, |known| known.image.starts_in);
        let at = env.now + env.about(starts_in);
        env.wake_at(at, self.index, WakeReason::Pod(worker.seen.uid.clone()));
        ContainerRun::Starting { at }
    }

    fn started(&mut self, worker: &mut Worker, index: usize, env: &mut Env) -> ContainerRun {
        self.note_of(worker, index, EventType::Normal, "Created", "Container created".into(), env);
        let now = (env.now, self.dated(env.now));
        let container = &mut worker.containers[index];
        let id = self.images.id(&container.image).cloned();
        let image = env.image(&container.image).map(|known| &known.image);
        let not_ready_for = image.filter(|_| container.command.is_none()).and_then(|image| image.node_not_ready_for);
        let run = container.start(now, image, id);
        let ContainerRun::Running { ready_at, ends, .. } = &run else { return run };
        if let Some(lasts) = not_ready_for {
            self.node_is_not_ready_for(lasts, env);
        }
        match (&container.command, ends) {
            (Some(command), Some((_, end))) if *end == ProcessEnd::NOT_STARTED => {
                let message = words::not_started(&container.name, &command.program);
                self.note_of(worker, index, EventType::Warning, "Failed", message, env);
            }
            _ => self.note_of(worker, index, EventType::Normal, "Started", "Container started".into(), env),
        }
        env.wake_at(*ready_at, self.index, WakeReason::Pod(worker.seen.uid.clone()));
        if let Some((at, _)) = ends {
            env.wake_at(*at, self.index, WakeReason::Pod(worker.seen.uid.clone()));
        }
        run
    }

    /// Takes in the end of a pull that a container waited for.
    pub(super) fn pulled(&mut self, uid: &Str, index: usize, pulled: &Pulled, env: &mut Env) {
        let Some(mut worker) = self.pods.remove(uid) else { return };
        if worker.containers.get(index).is_some_and(|container| container.run == ContainerRun::Pulling) {
            worker.containers[index].run = match pulled {
                Pulled::Done => {
                    let container = &mut worker.containers[index];
                    container.image_id = self.images.id(&container.image).cloned();
                    self.has_image(&worker, index, env)
                }
                Pulled::Failed { error, back_off } => {
                    let look_at = env.now + env.millis(SECOND_LOOK.0, SECOND_LOOK.1);
                    env.wake_at(look_at, self.index, WakeReason::Pod(uid.clone()));
                    let until = env.now + *back_off + env.millis(0, 2_000);
                    ContainerRun::PullFailed { until, look_at, error: error.clone(), looked: false }
                }
            };
        }
        self.pods.insert(uid.clone(), worker);
        self.look_at(uid, env);
    }

    fn back_off_noted(&mut self, worker: &Worker, index: usize, env: &mut Env) {
        let message = words::back_off_pulling(&worker.containers[index].image);
        self.note_of(worker, index, EventType::Normal, "BackOff", message, env);
        self.note_of(worker, index, EventType::Warning, "Failed", "Error: ImagePullBackOff".into(), env);
    }

    fn end_noted(&mut self, worker: &Worker, index: usize, run: &ContainerRun, env: &mut Env) {
        let ContainerRun::Crashed { until, back_off, .. } = run else { return };
        env.wake_at(*until, self.index, WakeReason::Pod(worker.seen.uid.clone()));
        if !back_off.is_zero() {
            let (seen, name) = (&worker.seen, &worker.containers[index].name);
            let pod = format!("{}_{}({})", seen.name, seen.namespace, seen.uid);
            let message = format!("Back-off restarting failed container {name} in pod {pod}");
            self.note_of(worker, index, EventType::Warning, "BackOff", message, env);
        }
    }

    /// Evicts a pod: the kubelet ends it by itself because the disk is full.
    pub(super) fn evict(&mut self, uid: &Str, env: &mut Env) {
        let Some(mut worker) = self.pods.remove(uid) else { return };
        if worker.verdict.is_none() && worker.ending == Ending::No {
            self.cancel_pulls(uid, env);
            let message: Str = "The node was low on resource: ephemeral-storage. ".into();
            let note = Note {
                severity: EventType::Warning,
                reason: "Evicted",
                message: message.to_string(),
                field_path: None,
                pod: &worker.seen,
            };
            self.note(note, env);
            worker.verdict = Some(("Evicted".into(), message));
            for container in &mut worker.containers {
                container.run = ContainerRun::Ended(ProcessEnd::KILLED);
                container.ready = false;
            }
        }
        self.pods.insert(uid.clone(), worker);
        self.look_at(uid, env);
    }

    pub(super) fn note_container(
        &mut self,
        uid: &Str,
        index: usize,
        severity: EventType,
        reason: &'static str,
        message: String,
        env: &mut Env,
    ) {
        let Some(worker) = self.pods.remove(uid) else { return };
        self.note_of(&worker, index, severity, reason, message, env);
        self.pods.insert(uid.clone(), worker);
    }

    pub(super) fn note_of(
        &mut self,
        worker: &Worker,
        index: usize,
        severity: EventType,
        reason: &'static str,
        message: String,
        env: &mut Env,
    ) {
        let container = worker.containers.get(index).filter(|container| !container.is_volume);
        let field_path = container.map(|container| match container.role {
            ContainerRole::Init | ContainerRole::Sidecar => format!("spec.initContainers{{{}}}", container.name),
            ContainerRole::Main => format!("spec.containers{{{}}}", container.name),
        });
        self.note(Note { severity, reason, message, field_path, pod: &worker.seen }, env);
    }
}
