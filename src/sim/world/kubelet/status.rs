//! The status that a kubelet writes for a pod.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::facts::{ConditionStatus, ContainerFact, ContainerState, PodPhase};
use crate::engine::model::template::ContainerRole;
use crate::engine::model::time::Timestamp;

use super::super::object::{Condition, ContainerStatus, LastExit, PodStatus, conditions};
use super::env::Env;
use super::machine::Kubelet;
use super::process::ProcessEnd;
use super::worker::{Container, ContainerRun, Worker};
use super::{KubeletAction, words};

impl Kubelet {
    /// Sends a pod's status if it differs from the last one; a lost status is sent later.
    pub(super) fn publish(&mut self, worker: &mut Worker, env: &mut Env) {
        let is_through = |container: &Container| match container.role {
            ContainerRole::Init => container.is_volume || matches!(container.run, ContainerRun::Ended(_)),
            ContainerRole::Sidecar => container.has_started(env.now),
            ContainerRole::Main => true,
        };
        // A sidecar that ends while the main containers run leaves the pod initialized.
        let main_has_begun = |container: &Container| {
            container.role == ContainerRole::Main
                && matches!(container.run, ContainerRun::Running { .. } | ContainerRun::Ended(_))
        };
        let initialized = worker.containers.iter().all(is_through) || worker.containers.iter().any(main_has_begun);
        if initialized != worker.initialized {
            worker.initialized = initialized;
            worker.initialized_since = self.dated(env.now);
        }
        // As in kubelets before 1.36, the pod has its sandbox at the end of the first pull.
        let pulled = |container: &Container| container.image_id.is_some() || container.run.has_failed();
        let has_sandbox = worker.has_sandbox || worker.containers.iter().any(pulled);
        if has_sandbox != worker.has_sandbox {
            worker.has_sandbox = has_sandbox;
            worker.has_sandbox_since = self.dated(env.now);
        }
        let mains = || worker.containers.iter().filter(|container| container.role == ContainerRole::Main);
        let serve = |container: &&Container| container.role.keeps_running();
        let all_ready = worker.containers.iter().filter(serve).all(|container| container.ready);
        let ready = worker.verdict.is_none() && mains().count() > 0 && all_ready;
        if ready != worker.ready {
            worker.ready = ready;
            worker.ready_since = self.dated(env.now);
        }
        let status = self.status(worker, env.now);
        if worker.published.as_ref() == Some(&status) && !worker.unsent {
            return;
        }
        if !self.gets_through(env) {
            worker.unsent = true;
            self.retry_soon(env);
            return;
        }
        worker.unsent = false;
        worker.published_at = env.now;
        worker.published = Some(status.clone());
        env.actions.push(KubeletAction::PodStatus {
            namespace: worker.seen.namespace.clone(),
            name: worker.seen.name.clone(),
            uid: worker.seen.uid.clone(),
            status: Box::new(status),
        });
    }

    fn status(&self, worker: &Worker, now: Timestamp) -> PodStatus {
        let initialized = worker.initialized;
        let containers = worker.containers.iter().filter(|container| !container.is_volume);
        let containers = containers.map(|container| container_status(container, worker, initialized, now));
        let (reason, message) = match &worker.verdict {
            Some((reason, message)) => (Some(reason.clone()), Some(message.clone())),
            None => (None, None),
        };
        PodStatus {
            phase: phase(worker),
            conditions: pod_conditions(worker, initialized),
            containers: containers.collect(),
            reason,
            message,
            started_at: Some(worker.started_at),
            host_ip: Some(self.ip.clone()),
            pod_ip: worker
                .containers
                .iter()
                .any(|container| container.image_id.is_some() && !container.is_volume)
                .then(|| worker.ip.clone()),
            rest: Arc::default(),
        }
    }
}

fn phase(worker: &Worker) -> PodPhase {
    if let Some(result) = worker.result() {
        return result;
    }
    let ran = |container: &Container| {
        container.role == ContainerRole::Main
            && matches!(
                container.run,
                ContainerRun::Running { .. } | ContainerRun::Crashed { .. } | ContainerRun::Ended(_)
            )
            || container.last_exit.is_some()
    };
    // A pod that has run once stays in phase Running while a container waits for its restart.
    if !worker.containers.is_empty()
        && worker.containers.iter().all(|container| container.role.is_init_container() || ran(container))
    {
        PodPhase::Running
    } else {
        PodPhase::Pending
    }
}

fn pod_conditions(worker: &Worker, initialized: bool) -> Arc<[Condition]> {
    let condition = |kind: &'static str, holds: bool, since: Timestamp, unmet: Option<(&str, &Str)>| Condition {
        kind: kind.into(),
        status: if holds { ConditionStatus::True } else { ConditionStatus::False },
        since,
        heartbeat_at: None,
        reason: unmet.map(|(reason, _)| reason.into()),
        message: unmet.map(|(_, message)| message.clone()),
    };
    let unready: Vec<&str> = worker
        .containers
        .iter()
        .filter(|container| container.role.keeps_running() && !container.ready)
        .map(|container| &*container.name)
        .collect();
    let unready: Str = format!("containers with unready status: [{}]", unready.join(" ")).into();
    let ready = worker.ready;
    let why = (!ready).then_some(("ContainersNotReady", &unready));
    [
        condition(conditions::READY_TO_START, worker.has_sandbox, worker.has_sandbox_since, None),
        condition(conditions::INITIALIZED, initialized, worker.initialized_since, None),
        condition(conditions::READY, ready, worker.ready_since, why),
        condition(conditions::CONTAINERS_READY, ready, worker.ready_since, why),
    ]
    .into()
}

fn container_status(container: &Container, worker: &Worker, initialized: bool, now: Timestamp) -> ContainerStatus {
    let state = state(container, worker, initialized);
    let image_id = container.image_id.clone();
    let last_exit = container.last_exit.filter(|_| container.last_end.is_some());
    let ready = match container.role {
        ContainerRole::Init => matches!(&container.run, ContainerRun::Ended(end) if end.code == 0),
        ContainerRole::Sidecar | ContainerRole::Main => container.ready,
    };
    ContainerStatus {
        fact: ContainerFact {
            name: container.name.clone(),
            role: container.role,
            image_present: image_id.is_some(),
            state,
            last_end: container.last_end.clone(),
            last_exit: last_exit.map(|exit| exit.code),
            last_ran_secs: last_exit.map(LastExit::ran_secs),
            restarts: container.restarts,
            ready,
            started: container.has_started(now),
        },
        image: container.image.clone(),
        image_id,
        last_exit,
    }
}

/// The state that the kubelet reports of a container: its last failure, until its process runs (docs/kubernetes.md, *Images*).
fn as_said(container: &Container) -> &ContainerRun {
    let failure = container.failure.as_ref().filter(|_| container.run.is_under_way());
    failure.unwrap_or(&container.run)
}

fn state(container: &Container, worker: &Worker, initialized: bool) -> ContainerState {
    let waiting = |reason: &str, message: Option<String>| ContainerState::Waiting {
        reason: reason.into(),
        message: message.map(Str::from),
    };
    // A container that mounts an image volume waits as the volume does.
    let held_by = worker.missing_volume(container);
    let held_by = held_by.filter(|volume| as_said(volume).has_failed()).unwrap_or(container);
    let image = &held_by.image;
    match as_said(held_by) {
        // Pulling cannot be told from creating in a status: only the Pulling event reveals it.
        ContainerRun::Waiting | ContainerRun::Pulling | ContainerRun::Starting { .. }
            if initialized || container.role.is_init_container() =>
        {
            waiting("ContainerCreating", None)
        }
        ContainerRun::Waiting | ContainerRun::Pulling | ContainerRun::Starting { .. } => {
            waiting("PodInitializing", None)
        }
        ContainerRun::PullFailed { error, looked: false, .. } => waiting("ErrImagePull", Some(error.to_string())),
        ContainerRun::PullFailed { error, .. } => {
            waiting("ImagePullBackOff", Some(words::back_off_message(image, error)))
        }
        ContainerRun::BadName => waiting("InvalidImageName", Some(words::invalid_name(image))),
        ContainerRun::Running { dated, .. } => ContainerState::Running { since: Some(*dated) },
        ContainerRun::Crashed { back_off, end, .. } if *back_off == Duration::ZERO => terminated(end),
        ContainerRun::Crashed { back_off, .. } => {
            let seen = &worker.seen;
            let pod = format!("{}_{}({})", seen.name, seen.namespace, seen.uid);
            let span = words::go(*back_off);
            let message = format!("back-off {span} restarting failed container={} pod={pod}", container.name);
            waiting("CrashLoopBackOff", Some(message))
        }
        ContainerRun::Ended(end) => terminated(end),
    }
}

fn terminated(end: &ProcessEnd) -> ContainerState {
    ContainerState::Terminated { reason: end.reason.into(), exit_code: end.code, message: None }
}
