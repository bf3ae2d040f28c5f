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
        let mut logged: BTreeMap<DaemonSetKey<'a>, Vec<RolloutEvent>> = BTreeMap::new();
        for line in lines {
            if let Some(event) = event(line) {
                logged.entry(key(line)).or_default().push(event);
            }
        }
        Self(logged.into_iter().map(|(key, events)| (key, earlier_numbers(events.iter(), &[]))).collect())
    }

    /// The message of a line, with the present numbers of revisions: `revision 2 (now 4)`.
    pub fn message(&self, line: &LogLine) -> String {
        let said = line.text("message").unwrap_or("?");
        let known = self.0.iter().find(|(known, _)| **known == key(line));
        known.map_or_else(|| said.to_owned(), |(_, known)| with_present_numbers(said, known))
    }
}

impl LogLine {
    /// What the line tells of the template and of the record, by the name of its event and its arguments.
    pub fn facts(&self) -> EventFacts {
        let is_done = self.text("outcome") == Some("done");
        match self.text("event").filter(|_| is_done) {
            Some("recordDeleted" | "recordRemoved") => EventFacts { record_deleted: true, ..EventFacts::default() },
            Some(_) => event(self).map(|event| event.facts()).unwrap_or_default(),
            None => EventFacts::default(),
        }
    }
}

/// The rollout event of a line, if it concerns revisions and their numbers.
fn event(line: &LogLine) -> Option<RolloutEvent> {
    let args = &line.fields()["args"];
    let number = |field: &str| args[field].as_i64();
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
        "halted" if is_done => RolloutEventKind::Halted {
            number: 0,
            revision: number("revision"),
            why: Default::default(),
            nodes: Vec::new(),
        },
        "complete" if is_done => {
            RolloutEventKind::Complete { nodes: 0, back: args["back"] == true, revision: number("revision") }
        }
        "rollingBack" if is_done => {
            RolloutEventKind::RollingBack { to: args["to"].as_str().unwrap_or_default().into() }
        }
        // The message for the operator contains the revision's earlier number.
        // The message tells of a template of somebody else that it goes on with, or replaces.
        "resume" if is_done => RolloutEventKind::Command(Command::Resume),
        "setImage" if is_done => RolloutEventKind::Command(Command::SetImage(BTreeMap::new())),
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
        revision: line.text("revision").map(Into::into),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(name: &str, event: &str, revision: &str, args: &serde_json::Value, message: &str) -> LogLine {
        let text = json!({
            "time": "2026-11-21T14:30:05.123Z", "cluster": {"context": "prod"}, "namespace": "edge", "name": name,
            "event": event, "args": args, "revision": revision, "outcome": "done", "message": message,
        })
        .to_string();
        LogLine::parse(text).unwrap()
    }

    #[test]
    fn a_revision_that_got_a_new_number_is_called_by_both() {
        let lines = [
            line("agent", "templateChanged", "c", &json!({"from": 2, "to": 3}), "template changed: revision 2 → 3"),
            line("agent", "halted", "c", &json!({"revision": 3}), "halted at revision 3"),
            line(
                "agent",
                "templateChanged",
                "b",
                &json!({"from": 3, "to": 2}),
                "template changed: revision 3 → that of 2",
            ),
            line(
                "agent",
                "undo",
                "b",
                &json!({"to": 2}),
                "roll back: template is that of revision 2; nodes that still run it count",
            ),
            line("agent", "complete", "b", &json!({"nodes": 4, "revision": 4}), "complete: 4 nodes at revision 4"),
            line("other", "halted", "b", &json!({"revision": 2}), "halted at revision 2"),
        ];
        let renumbered = Renumbered::of(&lines);
        let said: Vec<String> = lines.iter().map(|line| renumbered.message(line)).collect();
        assert_eq!(said[3], "roll back: template is that of revision 2 (now 4); nodes that still run it count");
        assert_eq!(said[4], "complete: 4 nodes at revision 4");
        assert_eq!(
            (&*said[1], &*said[5]),
            ("halted at revision 3", "halted at revision 2"),
            "one of another DaemonSet"
        );
        // Before a line tells which number it got, nothing is known of that.
        let said = Renumbered::of(&lines[..4]).message(&lines[3]);
        assert_eq!(said, "roll back: template is that of revision 2; nodes that still run it count");
    }
}
