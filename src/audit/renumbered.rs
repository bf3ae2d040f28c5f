//! The present numbers of revisions in older lines: a roll back gives its target revision a new number. They are known as
//! far as lines about the same DaemonSet report them.

use std::collections::BTreeMap;

use super::read::LogLine;
use crate::engine::model::command::Command;
use crate::engine::model::rollout_event::{
    EventFacts, EventOutcome, RolloutEvent, RolloutEventKind, TemplateResponse, Visibility, earlier_numbers,
    with_present_numbers,
};

/// Distinguishes DaemonSets of the same name: server, or context if no server is known; namespace, name, uid.
type DaemonSetKey<'a> = [&'a str; 4];

/// The earlier numbers of revisions, by DaemonSet.
#[derive(Debug, Default)]
pub struct Renumbered<'a>(BTreeMap<DaemonSetKey<'a>, BTreeMap<i64, Vec<i64>>>);

fn key(line: &LogLine) -> DaemonSetKey<'_> {
    let text = |field| line.text(field).unwrap_or_default();
    [line.server().or_else(|| line.context()).unwrap_or_default(), text("namespace"), text("name"), text("uid")]
}

impl<'a> Renumbered<'a> {
    /// Collects the numbers from `lines`, oldest first.
    pub fn of(lines: &'a [LogLine]) -> Self {
        let mut logged: BTreeMap<DaemonSetKey<'a>, LoggedRevisions> = BTreeMap::new();
        for line in lines {
            if let Some(event) = event(line) {
                let logged = logged.entry(key(line)).or_default();
                logged.now = None;
                logged.events.push(event);
            } else if let Some(now) = revision_of_its_target(line) {
                logged.entry(key(line)).or_default().now = Some(now);
            }
        }
        let numbers = |logged: LoggedRevisions| earlier_numbers(logged.events.iter(), logged.now, &[]);
        Self(logged.into_iter().map(|(key, logged)| (key, numbers(logged))).collect())
    }

    /// The message of a line, with the present numbers of revisions: `revision 2 (now 4)`.
    pub fn message(&self, line: &LogLine) -> String {
        let said = line.text("message").unwrap_or("?");
        let known = self.0.iter().find(|(known, _)| **known == key(line));
        known.map_or_else(|| said.to_owned(), |(_, known)| with_present_numbers(said, known))
    }
}

/// The lines' facts about one DaemonSet.
#[derive(Debug, Default)]
struct LoggedRevisions {
    events: Vec<RolloutEvent>,
    /// The number of the target revision since the last of these events, if a line names it.
    now: Option<i64>,
}

/// The number of a rollout's target revision at the time when the rollout ended or halted.
fn revision_of_its_target(line: &LogLine) -> Option<i64> {
    let tells = matches!(line.text("event"), Some("complete" | "halted")) && line.text("outcome") == Some("done");
    line.fields()["args"]["revision"].as_i64().filter(|_| tells)
}

impl LogLine {
    /// What the line tells of the template and of the record, by the name of its event and its arguments.
    pub fn facts(&self) -> EventFacts {
        let is_done = self.text("outcome") == Some("done");
        let args = &self.fields()["args"];
        let named =
            |number: Option<i64>| EventFacts { revisions: number.into_iter().collect(), ..EventFacts::default() };
        match self.text("event").filter(|_| is_done) {
            Some("recordDeleted" | "recordRemoved") => EventFacts { record_deleted: true, ..EventFacts::default() },
            Some("setImage") => EventFacts { template_changed: true, ..EventFacts::default() },
            Some("halted") => named(args["revision"].as_i64()),
            Some("complete") => named(args["revision"].as_i64().filter(|_| args["back"] == true)),
            Some("rollingBack") => named(args["to"].as_str().and_then(|to| to.parse().ok())),
            Some(_) => event(self).map(|event| event.facts()).unwrap_or_default(),
            None => EventFacts::default(),
        }
    }
}

/// The rollout event of a line, if it concerns the numbers of revisions.
fn event(line: &LogLine) -> Option<RolloutEvent> {
    let number = |field: &str| line.fields()["args"][field].as_i64();
    let is_done = line.text("outcome") == Some("done");
    let kind = match line.text("event")? {
        "templateChanged" if is_done => {
            RolloutEventKind::TemplateChanged { from: number("from"), to: number("to"), images: Vec::new() }
        }
        "templateChangedByOthers" => RolloutEventKind::TemplateChangedByOthers {
            manager: None,
            how: Default::default(),
            then: TemplateResponse::Noted,
        },
        // The message for the operator contains the revision's earlier number.
        "undo" if is_done => RolloutEventKind::Command(Command::Undo { to: number("to") }),
        _ => return None,
    };
    Some(RolloutEvent {
        at: line.at().unwrap_or_default(),
        by: None,
        kind,
        outcome: EventOutcome::Done,
        command: None,
        said: line.text("message").map(Into::into),
        visibility: Visibility::Timeline,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(name: &str, event: &str, args: &serde_json::Value, message: &str) -> LogLine {
        let text = json!({
            "time": "2026-11-21T14:30:05.123Z", "cluster": {"context": "prod"}, "namespace": "edge", "name": name,
            "event": event, "args": args, "outcome": "done", "message": message,
        })
        .to_string();
        LogLine::parse(text).unwrap()
    }

    #[test]
    fn a_revision_that_got_a_new_number_is_called_by_both() {
        let lines = [
            line("agent", "templateChanged", &json!({"from": 2, "to": 3}), "template changed: revision 2 → 3"),
            line("agent", "halted", &json!({"revision": 3}), "halted at revision 3"),
            line("agent", "templateChanged", &json!({"from": 3, "to": 2}), "template changed: revision 3 → that of 2"),
            line(
                "agent",
                "undo",
                &json!({"to": 2}),
                "roll back: template is that of revision 2; nodes still on it count",
            ),
            line("agent", "complete", &json!({"nodes": 4, "revision": 4}), "complete: 4 nodes at revision 4"),
            line("other", "halted", &json!({"revision": 2}), "halted at revision 2"),
        ];
        let renumbered = Renumbered::of(&lines);
        let said: Vec<String> = lines.iter().map(|line| renumbered.message(line)).collect();
        assert_eq!(said[3], "roll back: template is that of revision 2 (now 4); nodes still on it count");
        assert_eq!(said[4], "complete: 4 nodes at revision 4");
        assert_eq!(
            (&*said[1], &*said[5]),
            ("halted at revision 3", "halted at revision 2"),
            "one of another DaemonSet"
        );
        // Before a line tells which number it got, nothing is known of that.
        let said = Renumbered::of(&lines[..4]).message(&lines[3]);
        assert_eq!(said, "roll back: template is that of revision 2; nodes still on it count");
    }
}
