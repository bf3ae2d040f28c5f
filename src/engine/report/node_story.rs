//! The history of a node's pod, from its status and its Events, oldest first.

use std::fmt;

use crate::engine::model::facts::Severity;
use crate::engine::model::inspection::{ContainerInspection, ContainerPhase, EndedRun, Inspection, PodInspection};
use crate::engine::model::time::{ShortDuration, Timestamp};

/// Something that happened to a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodMoment {
    /// When it happened.
    pub at: Timestamp,
    /// What happened, in words.
    pub text: String,
    /// Whether it is bad news.
    pub severity: Severity,
}

impl fmt::Display for PodMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", clock_time(self.at), self.text)
    }
}

/// The time of day of an instant, in UTC, to the second: `07:43:38`.
pub fn clock_time(at: Timestamp) -> String {
    at.to_rfc3339().chars().skip(11).take(8).collect()
}

/// Events that the status tells more exactly.
const SAID_BY_STATUS: [&str; 4] = ["Scheduled", "Created", "Started", "SuccessfulCreate"];

/// The story of the pod that was read; empty while none was read.
pub fn node_story(inspection: &Inspection) -> Vec<PodMoment> {
    let mut story = Vec::new();
    if let Some(pod) = inspection.pod.read() {
        of_status(pod, &mut story);
    }
    // The Events come newest first.
    for event in inspection.events.read().into_iter().flatten().rev() {
        let Some(at) = event.at else { continue };
        if SAID_BY_STATUS.contains(&&*event.reason) {
            continue;
        }
        let times = match event.first_at {
            Some(first) => format!(" ({} times in {})", event.count, ShortDuration(at.since(first))),
            None => String::new(),
        };
        let text = format!("{}: {}{times}", event.reason, event.message);
        story.push(PodMoment { at, text, severity: event.severity });
    }
    // Moments of the same second keep the order in which they are pushed here, which is the order in which they happen.
    story.sort_by_key(|moment| moment.at.secs());
    story
}

fn of_status(pod: &PodInspection, story: &mut Vec<PodMoment>) {
    let mut say = |at: Option<Timestamp>, text: String, severity: Severity| {
        story.extend(at.map(|at| PodMoment { at, text, severity }));
    };
    let text = |pointer: &str| pod.raw.pointer(pointer).and_then(|value| Timestamp::parse(value.as_str()?).ok());
    say(text("/metadata/creationTimestamp"), format!("pod {} created", pod.name), Severity::Normal);
    let since = |kind: &str| {
        pod.conditions.iter().find(|condition| &*condition.kind == kind && &*condition.status == "True")?.since
    };
    say(since("PodScheduled"), "bound to the node".to_owned(), Severity::Normal);
    for container in &pod.containers {
        let ended = |run: &EndedRun| {
            let after = run.started_at.zip(run.finished_at);
            let after = after.map(|(began, end)| format!(" after {}", ShortDuration(end.since(began))));
            let severity = if run.exit_code == 0 { Severity::Normal } else { Severity::Warning };
            (format!("{} ended: {run}{}", container.name, after.unwrap_or_default()), severity)
        };
        if let Some(last) = &container.last {
            let (text, severity) = ended(last);
            say(last.finished_at, text, severity);
        }
        match &container.state {
            Some(ContainerPhase::Running { since }) => say(*since, started(container), Severity::Normal),
            Some(ContainerPhase::Ended(run)) => {
                let (text, severity) = ended(run);
                say(run.finished_at, text, severity);
            }
            Some(ContainerPhase::Waiting { .. }) | None => {}
        }
    }
    say(since("Ready"), "ready".to_owned(), Severity::Normal);
    say(text("/metadata/deletionTimestamp"), "to be gone by then: it is being deleted".to_owned(), Severity::Normal);
}

fn started(container: &ContainerInspection) -> String {
    match container.restarts {
        0 => format!("{} started", container.name),
        restarts => format!("{} started again (restart {restarts})", container.name),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::engine::model::inspection::{ConditionInspection, PodEvent, Reading};

    fn at(second: u32) -> Timestamp {
        Timestamp::parse(&format!("2026-11-23T07:41:{second:02}Z")).unwrap()
    }

    #[test]
    fn a_crash_loop_is_told_in_its_order() {
        let ended = EndedRun {
            reason: "Error".into(),
            exit_code: 1,
            started_at: Some(at(20)),
            finished_at: Some(at(24)),
            message: None,
        };
        let container = ContainerInspection {
            name: "agent".into(),
            restarts: 2,
            state: Some(ContainerPhase::Running { since: Some(at(40)) }),
            last: Some(ended),
            ..ContainerInspection::default()
        };
        let scheduled = ConditionInspection {
            kind: "PodScheduled".into(),
            status: "True".into(),
            since: Some(at(2)),
            ..ConditionInspection::default()
        };
        let pod = PodInspection {
            name: "agent-x".into(),
            containers: vec![container],
            conditions: vec![scheduled],
            raw: Arc::new(json!({"metadata": {"creationTimestamp": "2026-11-23T07:41:02Z"}})),
            ..PodInspection::default()
        };
        let event = |reason: &str, message: &str, first: Option<u32>, last: u32| PodEvent {
            at: Some(at(last)),
            first_at: first.map(at),
            severity: Severity::Normal,
            reason: reason.into(),
            message: message.into(),
            count: 3,
            from: "kubelet".into(),
        };
        let events = vec![
            event("BackOff", "back-off restarting", Some(26), 36),
            event("Pulled", "Successfully pulled image in 14s", None, 16),
            event("Started", "Started container agent", None, 20),
        ];
        let inspection = Inspection { pod: Reading::Read(pod), events: Reading::Read(events), ..Inspection::default() };
        let story: Vec<String> = node_story(&inspection).iter().map(ToString::to_string).collect();
        assert_eq!(
            story,
            [
                "07:41:02 pod agent-x created",
                "07:41:02 bound to the node",
                "07:41:16 Pulled: Successfully pulled image in 14s",
                "07:41:24 agent ended: exit 1 after 4s",
                "07:41:36 BackOff: back-off restarting (3 times in 10s)",
                "07:41:40 agent started again (restart 2)",
            ]
        );
        assert_eq!(node_story(&Inspection::default()), []);
    }
}
