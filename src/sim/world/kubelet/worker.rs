//! A kubelet's knowledge of one pod: the states of its containers, and how far its ending is.

use std::time::Duration;

use serde_json::Value;

use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, PodPhase};
use crate::engine::model::template::{ContainerRole, ImageUse, VOLUME};
use crate::engine::model::time::Timestamp;

use super::super::object::{LastExit, PodStatus};
use super::super::scenario::RegistryImage;
use super::process::{ContainerCommand, ProcessEnd, RestartPolicy};
use super::{AssignedPod, BACK_OFF, BACK_OFF_RESET};

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) seen: AssignedPod,
    pub(super) ip: Str,
    pub(super) started_at: Timestamp,
    pub(super) containers: Vec<Container>,
    pub(super) restart_policy: RestartPolicy,
    /// Reason and message of the kubelet's own decision to end the pod.
    pub(super) verdict: Option<(Str, Str)>,
    pub(super) ending: Ending,
    pub(super) ready: bool,
    pub(super) ready_since: Timestamp,
    pub(super) initialized: bool,
    pub(super) initialized_since: Timestamp,
    pub(super) has_sandbox: bool,
    pub(super) has_sandbox_since: Timestamp,
    /// The last status that was sent.
    pub(super) published: Option<PodStatus>,
    pub(super) published_at: Timestamp,
    /// Whether the last status got lost.
    pub(super) unsent: bool,
    pub(super) removal_sent_at: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct Container {
    pub(super) name: Str,
    pub(super) image: Str,
    pub(super) role: ContainerRole,
    /// Whether it is an image volume. Its role is that of an init container.
    pub(super) is_volume: bool,
    /// The image volumes that the container mounts, named as in [`NeededImage::user`].
    mounts: Vec<Str>,
    /// Whether it has a startup probe, which succeeds once its image is ready. Without one it has started as soon as it runs.
    has_startup_probe: bool,
    /// The command that it runs instead of its image's own process.
    pub(super) command: Option<ContainerCommand>,
    pub(super) run: ContainerRun,
    /// Its last failure, kept until its process runs: the kubelet goes on reporting it while it tries again.
    pub(super) failure: Option<ContainerRun>,
    pub(super) ready: bool,
    pub(super) restarts: u32,
    pub(super) last_exit: Option<LastExit>,
    /// The reason of the process's last end.
    pub(super) last_end: Option<Str>,
    /// Whether the registry is asked for the image at each start (`imagePullPolicy` Always).
    pub(super) always: bool,
    /// The runtime's id of the image that was there when the container last started.
    pub(super) image_id: Option<Str>,
    crash_back_off: Duration,
    /// Whether it was started before: only restarts count.
    started_before: bool,
}

/// The state of a container.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ContainerRun {
    /// It waits for its turn.
    Waiting,
    /// It waits for its image.
    Pulling,
    /// Its pull failed; it waits for the next one.
    PullFailed { until: Timestamp, look_at: Timestamp, error: Str, looked: bool },
    /// Its image's name is not valid: it waits for ever.
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

    /// Whether it is on the way to a running process.
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self, Self::Waiting | Self::Pulling | Self::Starting { .. })
    }
}

impl Worker {
    /// `now` is the true time, `dated` the same instant by the kubelet's clock.
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
                has_startup_probe: written.is_some_and(|written| written["startupProbe"].is_object()),
                command: written.and_then(|written| ContainerCommand::of(written)),
                mounts: written.map(|written| mounts(written)).unwrap_or_default(),
                ..Container::new(&container.name, &container.image, container.role, container.pulls_again)
            }
        }));
        // The kubelet refuses pods of a DaemonSet too, although they tolerate the taint.
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

    /// Takes in the pod's new state. Containers whose images changed start anew.
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

    /// The pod's readiness counts from now on and has to be sent.
    pub(super) fn touch(&mut self, dated: Timestamp) {
        self.ready_since = dated;
        self.unsent = true;
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.unsent || (self.ending == Ending::Over && self.removal_sent_at.is_none())
    }

    /// The phase in which the pod has ended for good; `None` while it has not.
    pub(super) fn result(&self) -> Option<PodPhase> {
        if self.verdict.is_some() {
            return Some(PodPhase::Failed);
        }
        // The phase does not matter for a pod that is being deleted: it is gone before that.
        let mains = self.containers.iter().filter(|container| container.role == ContainerRole::Main);
        let codes = mains.map(|container| match &container.run {
            ContainerRun::Ended(end) if self.ending == Ending::No => Some(end.code),
            _ => None,
        });
        let codes: Vec<i32> = codes.collect::<Option<_>>()?;
        let well = if codes.iter().all(|code| *code == 0) { PodPhase::Succeeded } else { PodPhase::Failed };
        (!codes.is_empty()).then_some(well)
    }

    /// Whether the containers after this one go on although it has not started, or is not running any more: an init container after it was begun in the
    /// present sandbox, or a main container runs or is about to.
    pub(super) fn goes_on_behind(&self, index: usize) -> bool {
        self.containers[index + 1..].iter().any(|container| match container.run {
            ContainerRun::Starting { .. } | ContainerRun::Running { .. } => true,
            ContainerRun::Crashed { .. } | ContainerRun::Ended(_) => container.role.is_init_container(),
            ContainerRun::Waiting | ContainerRun::Pulling | ContainerRun::PullFailed { .. } | ContainerRun::BadName => {
                false
            }
        })
    }

    /// Ends the sidecars of a pod whose main containers have ended for good.
    pub(super) fn end_sidecars_if_over(&mut self, now: Timestamp) {
        if self.result().is_none() {
            return;
        }
        for container in self.containers.iter_mut().filter(|container| container.role == ContainerRole::Sidecar) {
            container.stop(now);
        }
    }

    /// The image volume that a container waits for.
    pub(super) fn missing_volume(&self, container: &Container) -> Option<&Container> {
        let volumes =
            self.containers.iter().filter(|volume| volume.is_volume && container.mounts.contains(&volume.name));
        volumes.into_iter().find(|volume| !matches!(volume.run, ContainerRun::Ended(_)))
    }

    /// The images that may not be removed while the pod is there.
    pub(super) fn images_in_use(&self) -> impl Iterator<Item = &Str> {
        let stays = self.result().is_none();
        self.containers
            .iter()
            .filter(move |container| stays && container.image_id.is_some())
            .map(|container| &container.image)
    }

    /// Takes in that the machine stops.
    pub(super) fn lose_power(&mut self) {
        self.ready = false;
        for container in &mut self.containers {
            container.ready = false;
        }
    }

    /// Takes in that the machine is back: containers that are not over start anew.
    pub(super) fn restart_all(&mut self, dated: Timestamp) {
        self.ready_since = dated;
        self.unsent = true;
        for container in &mut self.containers {
            if let ContainerRun::Running { dated: started_at, .. } = container.run {
                container.last_end = Some("Unknown".into());
                container.last_exit = Some(LastExit { code: 255, started_at, finished_at: dated });
            } else if let (ContainerRole::Init, ContainerRun::Ended(end)) = (container.role, &container.run) {
                // It is run again in the new sandbox.
                container.last_end = Some(end.reason.into());
                container.last_exit = Some(LastExit { code: end.code, started_at: dated, finished_at: dated });
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
            has_startup_probe: false,
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

    /// Whether its startup probe has succeeded.
    pub(super) fn has_started(&self, now: Timestamp) -> bool {
        match self.run {
            ContainerRun::Running { ready_at, .. } => !self.has_startup_probe || now >= ready_at,
            _ => false,
        }
    }

    /// Takes in that its kubelet has ended it, and does not start it again.
    pub(super) fn stop(&mut self, now: Timestamp) {
        if let ContainerRun::Running { since, dated: started_at, .. } = self.run {
            let finished_at = started_at + now.since(since);
            self.last_exit = Some(LastExit { code: 0, started_at, finished_at });
        }
        if !matches!(self.run, ContainerRun::Ended(_)) {
            self.run = ContainerRun::Ended(ProcessEnd::COMPLETED);
        }
        self.ready = false;
    }

    pub(super) fn try_again(&mut self, failed: ContainerRun) -> ContainerRun {
        self.failure = Some(failed);
        ContainerRun::Waiting
    }

    pub(super) fn start(
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

    /// Takes in that the process has ended by itself.
    pub(super) fn end(
        &mut self,
        end: ProcessEnd,
        (since, started_at): (Timestamp, Timestamp),
        policy: RestartPolicy,
        now: Timestamp,
    ) -> ContainerRun {
        self.ready = false;
        if !policy.restarts(self.role, &end) {
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

/// How far the ending of a pod is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// The pod is not to end.
    No,
    /// Its processes have been asked to end.
    Asked {
        /// When all of them will have ended.
        ends_at: Timestamp,
    },
    /// Its processes have ended; mounts and network are being removed.
    CleaningUp {
        /// When the clean-up is done.
        until: Timestamp,
    },
    /// Nothing is left of the pod but its object.
    Over,
}
