//! `status` of pods.

use std::sync::Arc;

use crate::engine::model::facts::{ContainerFact, ContainerState, PodPhase};
use crate::engine::model::template::{ContainerRole, Template};
use crate::engine::model::time::Timestamp;
use crate::sim::world::object::{ContainerStatus, LastExit, PodStatus};

use super::super::json::ObjectWriter;
use super::super::status::Answer;
use super::conditions;
use super::fields::FieldReader;

/// Reads `status` of a pod. Its template tells which of the init containers are sidecars.
pub(super) fn parse(mut status: FieldReader, template: &Template) -> Answer<PodStatus> {
    let phase = match status.text("phase")?.as_deref() {
        None | Some("" | "Pending") => PodPhase::Pending,
        Some("Running") => PodPhase::Running,
        Some("Succeeded") => PodPhase::Succeeded,
        Some("Failed") => PodPhase::Failed,
        Some(_) => PodPhase::Unknown,
    };
    let mut containers = Vec::new();
    for container in status.list("initContainerStatuses")? {
        let mut container = parse_container(container, ContainerRole::Init)?;
        let mut sidecars = template.containers().iter().filter(|known| known.role == ContainerRole::Sidecar);
        if sidecars.any(|known| known.name == container.fact.name) {
            container.fact.role = ContainerRole::Sidecar;
        }
        containers.push(container);
    }
    for container in status.list("containerStatuses")? {
        containers.push(parse_container(container, ContainerRole::Main)?);
    }
    // Both lists always repeat `hostIP` and `podIP`.
    status.take("hostIPs");
    status.take("podIPs");
    Ok(PodStatus {
        phase,
        conditions: conditions::parse(&mut status)?,
        containers: containers.into(),
        reason: status.text("reason")?,
        message: status.text("message")?,
        started_at: status.time("startTime")?,
        host_ip: status.text("hostIP")?,
        pod_ip: status.text("podIP")?,
        rest: Arc::new(status.rest()),
    })
}

/// Writes `status` of a pod.
pub(super) fn render(o: &mut ObjectWriter<'_>, status: &PodStatus) {
    o.put("phase", phase(status.phase));
    conditions::render(o, &status.conditions);
    o.put_some("reason", status.reason.as_deref());
    o.put_some("message", status.message.as_deref());
    o.put_some("startTime", status.started_at.map(Timestamp::to_rfc3339));
    if let Some(ip) = &status.host_ip {
        o.put("hostIP", &**ip);
        o.objects("hostIPs", [ip], |ip, o| o.put("ip", &**ip));
    }
    if let Some(ip) = &status.pod_ip {
        o.put("podIP", &**ip);
        o.objects("podIPs", [ip], |ip, o| o.put("ip", &**ip));
    }
    let (init, main): (Vec<&ContainerStatus>, Vec<&ContainerStatus>) =
        status.containers.iter().partition(|container| container.fact.role.is_init_container());
    o.objects("initContainerStatuses", init, render_container);
    o.objects("containerStatuses", main, render_container);
    o.spread(&status.rest);
}

fn parse_container(mut container: FieldReader, role: ContainerRole) -> Answer<ContainerStatus> {
    let mut state = container.object("state")?;
    let state = if state.map.contains_key("running") {
        ContainerState::Running { since: state.object("running")?.time("startedAt")? }
    } else if state.map.contains_key("terminated") {
        let mut ended = state.object("terminated")?;
        ContainerState::Terminated {
            reason: ended.text("reason")?.unwrap_or_default(),
            exit_code: ended.integer("exitCode")?.and_then(|code| i32::try_from(code).ok()).unwrap_or_default(),
            message: ended.text("message")?,
        }
    } else {
        let mut waiting = state.object("waiting")?;
        ContainerState::Waiting {
            reason: waiting.text("reason")?.unwrap_or_else(|| "ContainerCreating".into()),
            message: waiting.text("message")?,
        }
    };
    let mut last = container.object("lastState")?;
    let (mut last_end, mut last_exit) = (None, None);
    if last.map.contains_key("terminated") {
        let mut ended = last.object("terminated")?;
        last_end = ended.text("reason")?;
        last_exit = Some(LastExit {
            code: ended.integer("exitCode")?.and_then(|code| i32::try_from(code).ok()).unwrap_or_default(),
            started_at: ended.time("startedAt")?.unwrap_or_default(),
            finished_at: ended.time("finishedAt")?.unwrap_or_default(),
        });
    }
    let image_id = container.text("imageID")?.filter(|id| !id.is_empty());
    Ok(ContainerStatus {
        fact: ContainerFact {
            name: container.text("name")?.unwrap_or_default(),
            role,
            image_present: image_id.is_some(),
            state,
            last_end,
            last_exit: last_exit.map(|exit: LastExit| exit.code),
            last_ran_secs: last_exit.map(|exit| exit.ran_secs()),
            restarts: container.count("restartCount")?.unwrap_or_default(),
            ready: container.flag("ready")?,
            started: container.flag("started")?,
        },
        image: container.text("image")?.unwrap_or_default(),
        image_id,
        last_exit,
    })
}

fn render_container(container: &ContainerStatus, o: &mut ObjectWriter<'_>) {
    // This pattern names all fields, so that a new field does not compile until it is written here; `parse_container` must read it too.
    let ContainerStatus { fact, image, image_id, last_exit } = container;
    let ContainerFact {
        name,
        // Expressed by the list that the container is in, and for a sidecar by the pod's template.
        role: _,
        // Expressed by the presence of `imageID`.
        image_present: _,
        state,
        last_end,
        // Written as the exit code of the status's `last_exit`.
        last_exit: _,
        // It is the time between both ends of `last_exit`.
        last_ran_secs: _,
        restarts,
        ready,
        started,
    } = fact;
    o.put("name", &**name);
    o.object("state", |o| match state {
        ContainerState::Waiting { reason, message } => o.object("waiting", |o| {
            o.put("reason", &**reason);
            o.put_some("message", message.as_deref());
        }),
        ContainerState::Running { since } => {
            o.object("running", |o| o.put_some("startedAt", since.map(Timestamp::to_rfc3339)));
        }
        ContainerState::Terminated { reason, exit_code, message } => o.object("terminated", |o| {
            o.put("exitCode", exit_code);
            o.put("reason", &**reason);
            o.put_some("message", message.as_deref());
        }),
    });
    o.object("lastState", |o| {
        if last_end.is_some() || last_exit.is_some() {
            o.object("terminated", |o| {
                o.put("exitCode", &last_exit.map_or(0, |exit| exit.code));
                o.put_some("reason", last_end.as_deref());
                o.put_some("startedAt", last_exit.map(|exit| exit.started_at.to_rfc3339()));
                o.put_some("finishedAt", last_exit.map(|exit| exit.finished_at.to_rfc3339()));
            });
        }
    });
    o.put("ready", ready);
    o.put("restartCount", restarts);
    o.put("image", &**image);
    o.put("imageID", image_id.as_deref().unwrap_or_default());
    o.put("started", started);
}

/// A pod phase's name.
pub(in crate::sim::api) fn phase(phase: PodPhase) -> &'static str {
    match phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
        PodPhase::Unknown => "Unknown",
    }
}
