//! The history of a node's pod, from its status and its Events, oldest first.

use std::fmt;

use crate::engine::model::facts::Severity;
use crate::engine::model::inspection::{
    ContainerInspection, ContainerPhase, EndedRun, Inspection, PodEvent, PodInspection,
};
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
    // The Events come newest first, those of one second in the order in which they were written.
    let events: Vec<(Timestamp, &PodEvent)> =
        inspection.events.read().into_iter().flatten().rev().filter_map(|event| Some((event.at?, event))).collect();
    let mut story = Vec::new();
    if let Some(pod) = inspection.pod.read() {
        let mut told = Vec::new();
        of_status(pod, &mut told);
        story.extend(told.into_iter().map(|(order, moment)| {
            let reasons: Vec<&str> = events
                .iter()
                .filter(|(at, _)| at.secs() == moment.at.secs())
                .map(|(_, event)| &*event.reason)
                .collect();
            (2 * order.among(&reasons), moment)
        }));
    }
    let mut in_second = 0;
    for (nth, &(at, event)) in events.iter().enumerate() {
        let same = nth.checked_sub(1).is_some_and(|before| events[before].0.secs() == at.secs());
        in_second = if same { in_second + 1 } else { 0 };
        if SAID_BY_STATUS.contains(&&*event.reason) {
            continue;
        }
        let times = match event.first_at {
            Some(first) => format!(" ({} times in {})", event.count, ShortDuration(at.since(first))),
            None => String::new(),
        };
        let text = format!("{}: {}{times}", event.reason, event.message);
        story.push((2 * in_second + 1, PodMoment { at, text, severity: event.severity }));
    }
    // Statuses and Events tell whole seconds: within one, the place among its Events decides.
    story.sort_by_key(|(place, moment)| (moment.at.secs(), *place));
    story.into_iter().map(|(_, moment)| moment).collect()
}

/// Where a moment that the status tells belongs among the Events of its second.
#[derive(Clone, Copy)]
enum Order {
    /// Before all of them: the kubelet reports nothing of a pod that is not bound.
    First,
    /// After the Event that tells the same, or those that lead to it.
    Started,
    /// Before its kubelet backs off or begins the next run.
    Ended { after_its_start: bool },
    /// After all of them.
    Last,
}

impl Order {
    /// Before which of the Events, whose `reasons` are given in their order.
    fn among(self, reasons: &[&str]) -> usize {
        let all = reasons.len();
        let last = |of: &[&str]| reasons.iter().rposition(|reason| of.contains(reason)).map(|nth| nth + 1);
        let first = |of: &[&str]| reasons.iter().position(|reason| of.contains(reason));
        match self {
            Self::First => 0,
            Self::Started => last(&["Started"]).or_else(|| last(&["Pulling", "Pulled", "Created"])).unwrap_or(0),
            Self::Ended { after_its_start: true } => first(&["BackOff"]).unwrap_or(all),
            Self::Ended { after_its_start: false } => {
                first(&["BackOff", "Pulling", "Pulled", "Created", "Started"]).unwrap_or(all)
            }
            Self::Last => all,
        }
    }
}

/// What the status tells, in the order in which it happens.
fn of_status(pod: &PodInspection, story: &mut Vec<(Order, PodMoment)>) {
    let mut say = |order: Order, at: Option<Timestamp>, text: String, severity: Severity| {
        story.extend(at.map(|at| (order, PodMoment { at, text, severity })));
    };
    // Whether the run began in the second in which it ended.
    let end = |run: &EndedRun| Order::Ended {
        after_its_start: run.started_at.map(Timestamp::secs) == run.finished_at.map(Timestamp::secs),
    };
    let text = |pointer: &str| pod.raw.pointer(pointer).and_then(|value| Timestamp::parse(value.as_str()?).ok());
    say(Order::First, text("/metadata/creationTimestamp"), format!("pod {} created", pod.name), Severity::Normal);
    let since = |kind: &str| {
        pod.conditions.iter().find(|condition| &*condition.kind == kind && &*condition.status == "True")?.since
    };
    say(Order::First, since("PodScheduled"), "bound to the node".to_owned(), Severity::Normal);
    for container in &pod.containers {
        let ended = |run: &EndedRun| {
            let after = run.started_at.zip(run.finished_at);
            let after = after.map(|(began, end)| format!(" after {}", ShortDuration(end.since(began))));
            let severity = if run.exit_code == 0 { Severity::Normal } else { Severity::Warning };
            (format!("{} ended: {run}{}", container.name, after.unwrap_or_default()), severity)
        };
        if let Some(last) = &container.last {
            let (text, severity) = ended(last);
            say(end(last), last.finished_at, text, severity);
        }
        match &container.state {
            Some(ContainerPhase::Running { since }) => {
                say(Order::Started, *since, started(container), Severity::Normal);
            }
            Some(ContainerPhase::Ended(run)) => {
                let (text, severity) = ended(run);
                say(end(run), run.finished_at, text, severity);
            }
            Some(ContainerPhase::Waiting { .. }) | None => {}
        }
    }
    say(Order::Last, since("Ready"), "ready".to_owned(), Severity::Normal);
    say(
        Order::Last,
        text("/metadata/deletionTimestamp"),
        "to be gone by then: it is being deleted".to_owned(),
        Severity::Normal,
    );
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
    use crate::engine::model::inspection::{ConditionInspection, Reading};

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

    /// Statuses and Events tell whole seconds; a small image is pulled, started and ready within one, and a crash follows its start.
    #[test]
    fn what_happens_within_a_second_is_told_in_its_order() {
        let condition = |kind: &str| ConditionInspection {
            kind: kind.into(),
            status: "True".into(),
            since: Some(at(2)),
            ..ConditionInspection::default()
        };
        let run = |from, to| EndedRun {
            reason: "Error".into(),
            exit_code: 1,
            started_at: Some(at(from)),
            finished_at: Some(at(to)),
            message: None,
        };
        let pod = |container: ContainerInspection| PodInspection {
            name: "agent-x".into(),
            containers: vec![ContainerInspection { name: "agent".into(), ..container }],
            conditions: vec![condition("PodScheduled"), condition("Ready")],
            raw: Arc::new(json!({"metadata": {"creationTimestamp": "2026-11-23T07:41:02Z"}})),
            ..PodInspection::default()
        };
        let event = |reason: &str| PodEvent {
            at: Some(at(2)),
            first_at: None,
            severity: Severity::Normal,
            reason: reason.into(),
            message: "…".into(),
            count: 1,
            from: "kubelet".into(),
        };
        let told = |container: ContainerInspection, oldest_first: &[&str]| -> Vec<String> {
            let events = oldest_first.iter().rev().map(|reason| event(reason)).collect();
            let (pod, events) = (Reading::Read(pod(container)), Reading::Read(events));
            let story = node_story(&Inspection { pod, events, ..Inspection::default() });
            story.into_iter().map(|moment| moment.text).collect()
        };
        let runs = ContainerInspection {
            state: Some(ContainerPhase::Running { since: Some(at(2)) }),
            ..ContainerInspection::default()
        };
        let events = ["Scheduled", "Pulling", "Pulled", "Created", "Started", "Unhealthy"];
        assert_eq!(
            told(runs.clone(), &events),
            [
                "pod agent-x created",
                "bound to the node",
                "Pulling: …",
                "Pulled: …",
                "agent started",
                "Unhealthy: …",
                "ready",
            ]
        );
        let crashed = ContainerInspection { last: Some(run(2, 2)), ..ContainerInspection::default() };
        let story = told(crashed, &["Pulled", "Created", "Started", "BackOff"]);
        assert_eq!(story[2..5], ["Pulled: …", "agent ended: exit 1 after 0s", "BackOff: …"]);
        let again = ContainerInspection { last: Some(run(1, 2)), restarts: 1, ..runs };
        let story = told(again, &["Pulled", "Created", "Started"]);
        assert_eq!(story[2..5], ["agent ended: exit 1 after 1s", "Pulled: …", "agent started again (restart 1)"]);
    }
}
