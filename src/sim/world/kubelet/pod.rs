//! A pod on its node: its containers, one after the other where they must be, from waiting to running and back.
//!
//! ```text
//!   Waiting ──image present──→ Starting ──→ Running ──end──→ Crashed ──back-off──→ Waiting
//!      └──absent──→ Pulling ──→ (Done) Starting            └──→ Ended, where `restartPolicy` is not Always
//!                     └──→ PullFailed ──back-off──→ Waiting
//! ```
//!
//! An image volume is kept as a container that comes before all others and has nothing to run: it is over once its image is there.

use std::time::Duration;

use serde_json::Value;

use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, PodPhase};
use crate::engine::model::image::ImageRef;
use crate::engine::model::template::{ContainerRole, ImageUse, VOLUME};
use crate::engine::model::time::Timestamp;

use super::super::object::{EventType, LastExit, PodStatus};
use super::super::scenario::RegistryImage;
use super::ending::Ending;
use super::env::{Env, WakeReason};
use super::machine::{Kubelet, Probes};
use super::notes::Note;
use super::process::{ContainerCommand, ProcessEnd, RestartPolicy};
use super::pull::Pulled;
use super::{AssignedPod, BACK_OFF, BACK_OFF_RESET, words};

/// From ErrImagePull to the next look at the pod, which then says ImagePullBackOff.
const SECOND_LOOK: (u64, u64) = (1_000, 2_500);

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) seen: AssignedPod,
    pub(super) ip: Str,
    pub(super) started_at: Timestamp,
    pub(super) containers: Vec<Container>,
    restart_policy: RestartPolicy,
    /// Why the kubelet ended it by itself: reason and message.
    pub(super) verdict: Option<(Str, Str)>,
    pub(super) ending: Ending,
    pub(super) ready: bool,
    pub(super) ready_since: Timestamp,
    pub(super) initialized: bool,
    pub(super) initialized_since: Timestamp,
    pub(super) has_sandbox: bool,
    pub(super) has_sandbox_since: Timestamp,
    /// What was sent last.
    pub(super) published: Option<PodStatus>,
    pub(super) published_at: Timestamp,
    /// The last status did not get through.
    pub(super) unsent: bool,
    pub(super) removal_sent_at: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct Container {
    pub(super) name: Str,
    pub(super) image: Str,
    pub(super) role: ContainerRole,
    /// It is an image volume. Its role is that of an init container.
    pub(super) is_volume: bool,
    /// The image volumes that it mounts, called as [`NeededImage::user`] calls them.
    mounts: Vec<Str>,
    /// What it runs in the place of its image's own process.
    command: Option<ContainerCommand>,
    pub(super) run: ContainerRun,
    /// How it failed last, kept until its process runs: the kubelet goes on saying so while it tries again.
    pub(super) failure: Option<ContainerRun>,
    pub(super) ready: bool,
    pub(super) restarts: u32,
    pub(super) last_exit: Option<LastExit>,
    /// The reason of its last end.
    pub(super) last_end: Option<Str>,
    /// The image is asked for at the registry each time (`imagePullPolicy` Always).
    always: bool,
    /// What the runtime calls its image, which was there when it last started.
    pub(super) image_id: Option<Str>,
    crash_back_off: Duration,
    /// Restarting counts, starting does not.
    started_before: bool,
}

/// What a container does.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ContainerRun {
    /// For its turn.
    Waiting,
    /// For its image.
    Pulling,
    /// After a pull that failed.
    PullFailed { until: Timestamp, look_at: Timestamp, error: Str, looked: bool },
    /// For ever: its image's name is not valid.
    BadName,
    /// Its process is about to run.
    Starting { at: Timestamp },
    /// Its process runs.
    Running { since: Timestamp, dated: Timestamp, ready_at: Timestamp, ends: Option<(Timestamp, ProcessEnd)> },
    /// Its process ended by itself.
    Crashed { until: Timestamp, back_off: Duration, end: ProcessEnd },
    /// It ended, and will not run again.
    Ended(ProcessEnd),
}

impl ContainerRun {
    /// Whether its image could not be pulled.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self, Self::PullFailed { .. } | Self::BadName)
    }

    /// Whether its process is on its way.
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self, Self::Waiting | Self::Pulling | Self::Starting { .. })
    }
}

impl Worker {
    /// `now` is the true time, `dated` what the kubelet's clock makes of it.
    pub(super) fn new(
        seen: AssignedPod,
        ip: Str,
        disk_full: ConditionStatus,
        (now, dated): (Timestamp, Timestamp),
    ) -> Self {
        let spec = &seen.template.json()["spec"];
        let written = |key: &str| spec[key].as_array().into_iter().flatten();
        let written: Vec<&Value> = written("initContainers").chain(written("containers")).collect();
        let volumes = seen.template.needed_images().iter().filter(|needed| needed.usage == ImageUse::Volume);
        let volumes = volumes.map(|volume| Container {
            is_volume: true,
            ..Container::new(&volume.user, &volume.image, ContainerRole::Init, volume.pulls_again)
        });
        let containers = volumes.chain(seen.template.containers().iter().map(|container| {
            let written = written.iter().find(|written| written["name"] == *container.name);
            Container {
                command: written.and_then(|written| ContainerCommand::of(written)),
                mounts: written.map(|written| mounts(written)).unwrap_or_default(),
                ..Container::new(&container.name, &container.image, container.role, container.pulls_again)
            }
        }));
        // Pods of a DaemonSet tolerate the taint, and are refused all the same.
        let refused = disk_full == ConditionStatus::True;
        let verdict = refused.then(|| ("Evicted".into(), "The node had condition: [DiskPressure]. ".into()));
        Self {
            containers: if refused { Vec::new() } else { containers.collect() },
            restart_policy: RestartPolicy::of(spec),
            seen,
            ip,
            started_at: dated,
            verdict,
            ending: Ending::No,
            ready: false,
            ready_since: dated,
            initialized: false,
            initialized_since: dated,
            has_sandbox: false,
            has_sandbox_since: dated,
            published: None,
            published_at: now,
            unsent: false,
            removal_sent_at: None,
        }
    }

    /// Takes in how the pod is now. Images of its containers may have changed; such containers start anew.
    pub(super) fn see(&mut self, seen: AssignedPod) {
        if self.seen.template != seen.template {
            for container in &mut self.containers {
                let new = seen.template.containers().iter().find(|candidate| candidate.name == container.name);
                if let Some(new) = new.filter(|new| new.image != container.image) {
                    container.image = new.image.clone();
                    container.run = ContainerRun::Waiting;
                    container.failure = None;
                    container.ready = false;
                    container.always = new.pulls_again;
                    container.image_id = None;
                }
            }
        }
        self.seen = seen;
    }

    /// Its readiness counts from now on, and is to be sent.
    pub(super) fn touch(&mut self, dated: Timestamp) {
        self.ready_since = dated;
        self.unsent = true;
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.unsent || (self.ending == Ending::Over && self.removal_sent_at.is_none())
    }

    /// Whether it has ended for good, well or not; `None` while it has not.
    pub(super) fn result(&self) -> Option<PodPhase> {
        if self.verdict.is_some() {
            return Some(PodPhase::Failed);
        }
        // One that is to end is gone before its phase matters.
        let mains = self.containers.iter().filter(|container| container.role == ContainerRole::Main);
        let codes = mains.map(|container| match &container.run {
            ContainerRun::Ended(end) if self.ending == Ending::No => Some(end.code),
            _ => None,
        });
        let codes: Vec<i32> = codes.collect::<Option<_>>()?;
        let well = if codes.iter().all(|code| *code == 0) { PodPhase::Succeeded } else { PodPhase::Failed };
        (!codes.is_empty()).then_some(well)
    }

    /// The image volume that a container waits for.
    pub(super) fn missing_volume(&self, container: &Container) -> Option<&Container> {
        let volumes =
            self.containers.iter().filter(|volume| volume.is_volume && container.mounts.contains(&volume.name));
        volumes.into_iter().find(|volume| !matches!(volume.run, ContainerRun::Ended(_)))
    }

    /// Images that cannot go while it is there.
    pub(super) fn images_in_use(&self) -> impl Iterator<Item = &Str> {
        let stays = self.result().is_none();
        self.containers
            .iter()
            .filter(move |container| stays && container.image_id.is_some())
            .map(|container| &container.image)
    }

    /// The machine stops under it.
    pub(super) fn lose_power(&mut self) {
        self.ready = false;
        for container in &mut self.containers {
            container.ready = false;
        }
    }

    /// The machine is back: what is not over starts anew.
    pub(super) fn restart_all(&mut self, dated: Timestamp) {
        self.ready_since = dated;
        self.unsent = true;
        for container in &mut self.containers {
            if let ContainerRun::Running { dated: started_at, .. } = container.run {
                container.last_end = Some("Unknown".into());
                container.last_exit = Some(LastExit { code: 255, started_at, finished_at: dated });
            }
            let is_over = container.role == ContainerRole::Main && matches!(container.run, ContainerRun::Ended(_));
            if !is_over
                && !matches!(container.run, ContainerRun::BadName)
                && self.verdict.is_none()
                && self.ending != Ending::Over
            {
                container.run = ContainerRun::Waiting;
            }
            container.failure = None;
            container.crash_back_off = Duration::ZERO;
        }
    }
}

/// The volumes that a container mounts, as [`NeededImage::user`] calls those that are images.
fn mounts(container: &Value) -> Vec<Str> {
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    mounts.map(|mount| format!("{VOLUME}{}", mount["name"].as_str().unwrap_or_default()).into()).collect()
}

impl Container {
    fn new(name: &Str, image: &Str, role: ContainerRole, always: bool) -> Self {
        Self {
            name: name.clone(),
            image: image.clone(),
            role,
            is_volume: false,
            mounts: Vec::new(),
            command: None,
            run: ContainerRun::Waiting,
            failure: None,
            ready: false,
            restarts: 0,
            last_exit: None,
            last_end: None,
            always,
            image_id: None,
            crash_back_off: Duration::ZERO,
            started_before: false,
        }
    }

    fn try_again(&mut self, failed: ContainerRun) -> ContainerRun {
        self.failure = Some(failed);
        ContainerRun::Waiting
    }

    fn start(
        &mut self,
        (now, dated): (Timestamp, Timestamp),
        image: Option<&RegistryImage>,
        id: Option<Str>,
    ) -> ContainerRun {
        if self.started_before {
            self.restarts += 1;
        }
        self.started_before = true;
        self.failure = None;
        self.image_id = id;
        let (ready_in, ends) = match (&self.command, image) {
            (None, Some(image)) => {
                (image.ready_in, image.crashes_after.map(|after| (now + after, ProcessEnd::CRASHED)))
            }
            (Some(_), Some(RegistryImage { distroless: true, .. })) => {
                (Duration::ZERO, Some((now, ProcessEnd::NOT_STARTED)))
            }
            (Some(ContainerCommand { goes_on: false, .. }), _) => (Duration::ZERO, Some((now, ProcessEnd::COMPLETED))),
            (Some(ContainerCommand { goes_on: true, .. }), _) | (None, None) => (Duration::ZERO, None),
        };
        ContainerRun::Running { since: now, dated, ready_at: now + ready_in, ends }
    }

    /// Its process has ended by itself.
    fn end(
        &mut self,
        end: ProcessEnd,
        (since, started_at): (Timestamp, Timestamp),
        policy: RestartPolicy,
        now: Timestamp,
    ) -> ContainerRun {
        self.ready = false;
        if !policy.restarts(&end) {
            return ContainerRun::Ended(end);
        }
        self.last_end = Some(end.reason.into());
        self.last_exit = Some(LastExit { code: end.code, started_at, finished_at: started_at + now.since(since) });
        if now.since(since) >= BACK_OFF_RESET {
            self.crash_back_off = Duration::ZERO;
        }
        // The first restart comes at once; then 10 s, 20 s, … 300 s.
        let back_off = self.crash_back_off;
        self.crash_back_off = if back_off.is_zero() { BACK_OFF.0 } else { (back_off * 2).min(BACK_OFF.1) };
        ContainerRun::Crashed { until: now + back_off.max(Duration::from_secs(1)), back_off, end }
    }
}

impl Kubelet {
    /// Moves a pod as far as it goes at this moment, and publishes what changed.
    pub(super) fn look_at(&mut self, uid: &Str, env: &mut Env) {
        let Some(mut worker) = self.pods.remove(uid) else { return };
        if !self.end_if_due(&mut worker, env) && worker.verdict.is_none() {
            self.run_containers(&mut worker, env);
        }
        self.publish(&mut worker, env);
        self.pods.insert(uid.clone(), worker);
    }

    fn run_containers(&mut self, worker: &mut Worker, env: &mut Env) {
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
            let done = matches!(container.run, ContainerRun::Ended(_));
            if container.role == ContainerRole::Init && !done {
                break;
            }
            // One thing at a time: a pod's worker waits for its pull before it looks at the next container.
            if container.run == ContainerRun::Pulling {
                break;
            }
        }
    }

    /// Moves one container as far as it goes at this moment.
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

    /// A container's turn has come: its image is there, or has to come.
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

    /// The image of a container is there.
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
        let run = container.start(now, env.image(&container.image).map(|known| &known.image), id);
        let ContainerRun::Running { ready_at, ends, .. } = &run else { return run };
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

    /// A pull that a container waited for has ended.
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

    /// The kubelet ends a pod by itself, for want of disk.
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
            ContainerRole::Init => format!("spec.initContainers{{{}}}", container.name),
            ContainerRole::Main => format!("spec.containers{{{}}}", container.name),
        });
        self.note(Note { severity, reason, message, field_path, pod: &worker.seen }, env);
    }
}
