//! One line of the audit log: a rollout event with its author, place and cluster, without secrets.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::origin::{AuditedCluster, Origin, Place};
use crate::engine::model::Str;
use crate::engine::model::command::Command;
use crate::engine::model::config::Role;
use crate::engine::model::facts::Severity;
use crate::engine::model::person_of;
use crate::engine::model::printable::{json as printable_json, printable};
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::model::time::Timestamp;
use crate::scrub::Secrets;

/// One line, before it is scrubbed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    time: Timestamp,
    identity: &'a str,
    from: &'a Place,
    cluster: &'a AuditedCluster,
    version: &'static str,
    namespace: &'a str,
    name: &'a str,
    /// The DaemonSet's uid: several clusters may share the name of a context or the address of a server. Absent if the DaemonSet did not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<&'a str>,
    /// The person; absent if the rollout did it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    event: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
    /// The hash of the revision that the event is about; absent if it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<&'a str>,
    outcome: EventOutcome,
    /// Whether the event is bad news; absent if it is not.
    #[serde(skip_serializing_if = "is_normal")]
    severity: Severity,
    /// The id of a command. Together with `identity` it connects the line with outcome `asked` to the one that ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<u64>,
    /// Why the command was refused or not carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Whether the event is an intermediate step, which no timeline shows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    detail: bool,
    message: String,
}

fn is_normal(severity: &Severity) -> bool {
    *severity == Severity::Normal
}

/// The rollout and the process that log entries are about.
#[derive(Clone, Debug)]
pub(crate) struct EntrySubject {
    pub(crate) origin: Arc<Origin>,
    pub(crate) secrets: Secrets,
    pub(crate) namespace: Str,
    pub(crate) name: Str,
    pub(crate) identity: Str,
    /// Whether the process drives, or carries out one command.
    pub(crate) role: Role,
}

/// The text of a Kubernetes Event about a rollout event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EventText {
    /// The actor and the action.
    pub(crate) message: String,
    /// The machine and user of this process, or the other process that did it; empty if neither is known.
    pub(crate) from: String,
}

impl EntrySubject {
    /// The line of the log, with its line feed. `uid` is the DaemonSet's.
    pub(crate) fn line(&self, rollout_event: &RolloutEvent, uid: Option<&Str>) -> Vec<u8> {
        let (event, mut args) = event_and_args(&rollout_event.kind);
        scrub_value(&mut args, &self.secrets);
        let error = rollout_event.said.as_deref().filter(|_| is_error(rollout_event.outcome));
        let entry = Entry {
            time: rollout_event.at,
            identity: &self.identity,
            from: &self.origin.from,
            cluster: &self.origin.cluster,
            version: env!("CARGO_PKG_VERSION"),
            namespace: &self.namespace,
            name: &self.name,
            uid: uid.map(|uid| &**uid),
            by: rollout_event.by.as_deref(),
            event,
            args,
            revision: rollout_event.revision.as_deref(),
            outcome: rollout_event.outcome,
            severity: rollout_event.severity(),
            command: rollout_event.command.map(|id| id.0),
            error: error.map(|error| self.secrets.scrub(error).into_owned()),
            detail: rollout_event.visibility == Visibility::Log,
            message: self.secrets.scrub(&rollout_event.to_string()).into_owned(),
        };
        let mut line = printable_json(&entry).unwrap_or_default();
        line.push('\n');
        line.into_bytes()
    }

    /// The text of the Kubernetes Event on the DaemonSet.
    pub(crate) fn event_text(&self, rollout_event: &RolloutEvent) -> EventText {
        let message = self.secrets.scrub(&rollout_event.to_string()).into_owned();
        let origin = self.origin.words();
        let (message, from) = match &rollout_event.by {
            Some(by) if origin.is_empty() => (format!("{by}: {message}"), String::new()),
            Some(by) => (format!("{by}: {message}"), format!(" ({origin})")),
            // A one-shot command carries out its own writes and drives nothing.
            None => {
                let did = if self.role == Role::Driver { "driven by" } else { "by" };
                (message, format!(" ({did} {})", person_of(&self.identity)))
            }
        };
        let shown = |text: &str| printable(text).into_owned();
        EventText { message: shown(&message), from: shown(&self.secrets.scrub(&from)) }
    }
}

/// Whether a text with this outcome is the reason why the command was not carried out.
fn is_error(outcome: EventOutcome) -> bool {
    match outcome {
        EventOutcome::Requested | EventOutcome::Sent | EventOutcome::Done => false,
        EventOutcome::Refused
        | EventOutcome::Failed
        | EventOutcome::Conflict
        | EventOutcome::NotFound
        | EventOutcome::Unauthorized
        | EventOutcome::Forbidden
        | EventOutcome::Invalid
        | EventOutcome::Throttled
        | EventOutcome::NotSent
        | EventOutcome::LostAnswer => true,
    }
}

/// The name of the event and its arguments: an object, or null.
fn event_and_args(kind: &RolloutEventKind) -> (String, Value) {
    // A command with settings is logged as that command, with the settings as arguments.
    if let RolloutEventKind::Command(Command::Tuned { tuning, command }) = kind {
        let (event, args) = event_and_args(&RolloutEventKind::Command(Command::clone(command)));
        let mut args = if let Value::Object(args) = args { args } else { Default::default() };
        args.insert("tuning".to_owned(), serde_json::to_value(tuning).unwrap_or_default());
        return (event, Value::Object(args));
    }
    // Serde writes a variant without fields as its name, any other as an object whose one key is the name.
    match serde_json::to_value(kind).unwrap_or_default() {
        Value::String(name) => (name, Value::Null),
        Value::Object(fields) => {
            let Some((name, value)) = fields.into_iter().next() else { return Default::default() };
            let args = match kind {
                RolloutEventKind::Command(command) => match argument_name(command) {
                    Some(argument) => json!({ argument: value }),
                    None => value,
                },
                _ => value,
            };
            (name, args)
        }
        _ => Default::default(),
    }
}

/// The name of a command's unnamed value; `None` if it has no value, or its fields have names.
fn argument_name(command: &Command) -> Option<&'static str> {
    match command {
        Command::SetImage(_) => Some("images"),
        Command::Step(_) => Some("to"),
        Command::Select(_) => Some("selector"),
        Command::Release(_) => Some("early"),
        Command::Drive(_) => Some("takeover"),
        Command::Prewarm(_) => Some("prewarm"),
        Command::Adopt
        | Command::Pause { .. }
        | Command::Resume
        | Command::Undo { .. }
        | Command::Tune(_)
        | Command::Tuned { .. }
        | Command::StopDriving
        | Command::EndDriving { .. }
        | Command::GiveUpDriving { .. } => None,
    }
}

fn scrub_value(value: &mut Value, secrets: &Secrets) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(scrubbed) = secrets.scrub(text) {
                *text = scrubbed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| scrub_value(item, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|field| scrub_value(field, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::quantity::IntOrPercent;
    use crate::engine::model::settings::{Limit, Tuning};

    #[test]
    fn a_command_with_settings_is_called_by_its_own_name() {
        let images = [("agent".to_owned(), "agent:v2".parse().unwrap())].into();
        let tuning = Tuning { max_pulling: Some(Limit::At(IntOrPercent::Int(4))), ..Tuning::default() };
        let (event, args) = event_and_args(&RolloutEventKind::Command(Command::SetImage(images).under(tuning)));
        assert_eq!((&*event, &args["images"]["agent"]), ("setImage", &json!("agent:v2")));
        assert!(args["tuning"]["maxPulling"].to_string().contains('4'), "{args}");
    }
}
