//! `diagnose`: the findings, one per cause.

use std::borrow::Cow;

use serde::Serialize;

use super::TypeMetaJson;
use crate::cli::suggested_commands::{CommandPlace, SuggestedCommand, command_of, suggested_commands};
use crate::engine::model::Str;
use crate::engine::model::facts::Severity;
use crate::engine::model::shell::shell_words;
use crate::engine::model::time::Timestamp;
use crate::engine::report::diagnosis::{Diagnosis, Finding, FindingEvidence, FindingKind, OfferedCommand};
use crate::engine::report::snapshot::Snapshot;

/// The diagnosis of one rollout.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiagnosisJson<'a> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    at: Timestamp,
    context: &'a str,
    namespace: &'a str,
    name: &'a str,
    nodes: u32,
    at_goal: u32,
    updated: u32,
    /// The obstacle of the whole rollout, in words; absent if the rollout moves or is over. The same as in `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    blocker: Option<String>,
    findings: Vec<FindingJson<'a>>,
    /// The remedies for the present obstacles. The same as in `status`.
    next: Vec<SuggestedCommand>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingJson<'a> {
    /// `alarm`, `cause`, `suspect`, `nodeDown`, `restarted`, `slowPull`, `comparison`, `pressure`, `clock`, `moving`, `waits`.
    kind: &'static str,
    /// The cause in the console's words, if `kind` is `cause`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    /// `true`: the finding is a problem; `false`: a wait, or normal progress.
    wrong: bool,
    /// Whether nodes count as failed because of the finding.
    fails: bool,
    title: &'a str,
    nodes: &'a [Str],
    since: Option<Timestamp>,
    evidence: Vec<EvidenceJson<'a>>,
    /// The resources that pods hold, of those that the nodes lack, if they were read.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    held: &'a [String],
    remedies: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandJson<'a>>,
}

#[derive(Serialize)]
struct CommandJson<'a> {
    /// The purpose of the command.
    text: Cow<'a, str>,
    command: String,
    /// The words into which a shell splits the command, for programs.
    argv: Vec<String>,
}

#[derive(Serialize)]
struct EvidenceJson<'a> {
    text: &'a str,
    nodes: u32,
}

impl<'a> DiagnosisJson<'a> {
    pub(crate) fn new(place: &'a CommandPlace, snapshot: &'a Snapshot, diagnosis: &'a Diagnosis) -> Self {
        let Diagnosis { findings, nodes, at_goal, updated } = diagnosis;
        Self {
            meta: TypeMetaJson::new("Diagnosis"),
            at: snapshot.at,
            context: &place.context,
            namespace: &snapshot.namespace,
            name: &snapshot.name,
            nodes: *nodes,
            at_goal: *at_goal,
            updated: *updated,
            blocker: snapshot.guidance().map(|guidance| guidance.waits),
            findings: findings.iter().map(|finding| FindingJson::of(finding, place, snapshot)).collect(),
            next: suggested_commands(place, snapshot),
        }
    }
}

impl<'a> CommandJson<'a> {
    fn new(text: impl Into<Cow<'a, str>>, command: String) -> Option<Self> {
        Some(Self { text: text.into(), argv: shell_words(&command)?, command })
    }
}

impl<'a> FindingJson<'a> {
    fn of(finding: &'a Finding, place: &CommandPlace, snapshot: &Snapshot) -> Self {
        let Finding { kind, title, severity, nodes, since, evidence, remedies, commands, held, fails, tries_again: _ } =
            finding;
        let fails = *fails;
        let cause = match kind {
            FindingKind::Cause(cause) => Some(cause.to_string()),
            _ => None,
        };
        let (kind, wrong) = (word(*kind), *severity == Severity::Warning);
        let evidence = evidence
            .iter()
            .map(|FindingEvidence { text, nodes, node: _ }| EvidenceJson { text, nodes: *nodes })
            .collect();
        let command = |OfferedCommand { text, command }: &'a OfferedCommand| {
            CommandJson::new(text, command.line(&place.flags()?)?)
        };
        let of_act = remedies.iter().find_map(|remedy| {
            let command = remedy.acts().find_map(|act| command_of(act, place, snapshot))?;
            CommandJson::new(remedy.to_string(), command)
        });
        let commands = of_act.into_iter().chain(commands.iter().filter_map(command)).collect();
        let remedies = remedies.iter().map(ToString::to_string).collect();
        Self { kind, cause, wrong, fails, title, nodes, since: *since, evidence, held, remedies, commands }
    }
}

fn word(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Alarm => "alarm",
        FindingKind::Cause(_) => "cause",
        FindingKind::Suspect => "suspect",
        FindingKind::NodeDown => "nodeDown",
        FindingKind::Restarted => "restarted",
        FindingKind::SlowPull => "slowPull",
        FindingKind::Comparison => "comparison",
        FindingKind::Prewarm => "prewarm",
        FindingKind::Pressure => "pressure",
        FindingKind::Clock => "clock",
        FindingKind::Moving => "moving",
        FindingKind::Waits => "waits",
    }
}
