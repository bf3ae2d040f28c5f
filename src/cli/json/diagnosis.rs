//! `diagnose`: what is wrong, cause by cause.

use serde::Serialize;

use super::TypeMeta;
use crate::engine::model::Str;
use crate::engine::model::facts::Severity;
use crate::engine::model::time::Timestamp;
use crate::engine::report::diagnosis::{Diagnosis, Finding, FindingEvidence, FindingKind};
use crate::engine::report::snapshot::Snapshot;

/// What is wrong with one rollout.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiagnosisJson<'a> {
    #[serde(flatten)]
    meta: TypeMeta,
    at: Timestamp,
    context: &'a str,
    namespace: &'a str,
    name: &'a str,
    nodes: u32,
    at_goal: u32,
    findings: Vec<FindingJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingJson<'a> {
    /// `alarm`, `cause`, `suspect`, `nodeDown`, `restarted`, `slowPull`, `clock`, `moving`, `waits`.
    kind: &'static str,
    /// Of kind `cause`: which, in the console's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    /// `true`: it is wrong; `false`: it waits, or is on its way.
    wrong: bool,
    title: &'a str,
    nodes: &'a [Str],
    since: Option<Timestamp>,
    evidence: Vec<EvidenceJson<'a>>,
    remedies: &'a [String],
}

#[derive(Serialize)]
struct EvidenceJson<'a> {
    text: &'a str,
    nodes: u32,
}

impl<'a> DiagnosisJson<'a> {
    pub(crate) fn new(context: &'a str, snapshot: &'a Snapshot, diagnosis: &'a Diagnosis) -> Self {
        let Diagnosis { findings, nodes, at_goal } = diagnosis;
        Self {
            meta: TypeMeta::new("Diagnosis"),
            at: snapshot.at,
            context,
            namespace: &snapshot.namespace,
            name: &snapshot.name,
            nodes: *nodes,
            at_goal: *at_goal,
            findings: findings.iter().map(FindingJson::of).collect(),
        }
    }
}

impl<'a> FindingJson<'a> {
    fn of(finding: &'a Finding) -> Self {
        let Finding { kind, title, severity, nodes, since, evidence, remedies } = finding;
        let cause = match kind {
            FindingKind::Cause(cause) => Some(cause.to_string()),
            _ => None,
        };
        let (kind, wrong) = (word(*kind), *severity == Severity::Warning);
        let evidence =
            evidence.iter().map(|FindingEvidence { text, nodes }| EvidenceJson { text, nodes: *nodes }).collect();
        Self { kind, cause, wrong, title, nodes, since: *since, evidence, remedies }
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
        FindingKind::Clock => "clock",
        FindingKind::Moving => "moving",
        FindingKind::Waits => "waits",
    }
}
