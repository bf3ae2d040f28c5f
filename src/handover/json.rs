//! The report as JSON for programs, with stable names.

use serde::Serialize;

use super::{API_VERSION, Handover, StoryLine, clean};
use crate::engine::model::facts::Severity;
use crate::engine::model::node::NodeState;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Counts, NodeView, RevisionView};
use crate::engine::report::story::ProgressPoint;

/// A whole report.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    at: Timestamp,
    context: &'a str,
    namespace: String,
    name: String,
    /// The DaemonSet's uid; null if the DaemonSet does not exist.
    uid: Option<String>,
    phase: String,
    /// The beginning of the rollout to the present target.
    started_at: Option<Timestamp>,
    from: Option<ReportRevision>,
    to: Option<ReportRevision>,
    counts: Counts,
    /// The facts in words.
    facts: serde_json::Map<String, serde_json::Value>,
    findings: Vec<ReportFinding>,
    /// What went wrong, in words. If the record was begun anew, also what went wrong before that.
    went_wrong: Vec<String>,
    /// The commands by which it can go on, as `status` has them.
    next: Vec<&'a serde_json::Value>,
    /// The progress over time: each point holds until the next.
    progress: &'a [ProgressPoint],
    /// The events, oldest first.
    timeline: Vec<TimelineLine<'a>>,
    nodes: Vec<ReportNode>,
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    screen: Option<Vec<&'a str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportRevision {
    number: Option<i64>,
    hash: String,
    images: Vec<String>,
    created_at: Option<Timestamp>,
    change_cause: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportFinding {
    title: String,
    wrong: bool,
    nodes: Vec<String>,
    since: Option<Timestamp>,
    evidence: Vec<String>,
    /// The resources that pods hold, of those that the nodes lack, if they were read.
    held: Vec<String>,
    remedies: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TimelineLine<'a> {
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    text: &'a str,
    wrong: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportNode {
    name: String,
    site: String,
    state: NodeState,
    why: String,
    since: Option<Timestamp>,
    revision_number: Option<i64>,
    at_target: bool,
    pod: Option<String>,
    pod_created_at: Option<Timestamp>,
    restarts: u32,
    /// How many of them do not count, since its node was restarted.
    restarts_with_node: u32,
    /// How many pods of its revision its kubelet evicted before this one, as far as that is watched.
    evictions: u32,
}

impl ReportRevision {
    fn of(revision: &RevisionView) -> Self {
        Self {
            number: revision.number,
            hash: clean(&revision.hash),
            images: revision.images.iter().map(|(container, image)| clean(&format!("{container}={image}"))).collect(),
            created_at: revision.created_at,
            change_cause: revision.change_cause.as_deref().map(clean),
        }
    }
}

impl Handover {
    /// The whole report for programs.
    pub(crate) fn json(&self) -> impl Serialize + '_ {
        let snapshot = &*self.snapshot;
        let node = |node: &NodeView| ReportNode {
            name: clean(&node.name),
            site: clean(&node.site),
            state: node.state,
            why: self.why(node),
            since: node.shown_since(),
            revision_number: node.revision_number(),
            at_target: node.at_target,
            pod: node.pod.as_deref().map(clean),
            pod_created_at: node.pod_created_at,
            restarts: node.restarts,
            restarts_with_node: node.restarts_with_node,
            evictions: node.evictions(),
        };
        let finding = |finding: &crate::engine::report::diagnosis::Finding| ReportFinding {
            title: clean(&finding.title),
            wrong: finding.severity == Severity::Warning,
            nodes: finding.nodes.iter().map(|name| clean(name)).collect(),
            since: finding.since,
            evidence: finding.evidence.iter().map(|evidence| clean(&evidence.text)).collect(),
            held: finding.held.iter().map(|held| clean(held)).collect(),
            remedies: finding.remedies.iter().map(|remedy| clean(&remedy.to_string())).collect(),
        };
        let line = |line: &'_ StoryLine| (line.who.as_deref().map(clean), line.node.as_deref().map(clean));
        ReportJson {
            api_version: API_VERSION,
            kind: "RolloutReport",
            at: snapshot.at,
            context: &self.context,
            namespace: clean(&snapshot.namespace),
            name: clean(&snapshot.name),
            uid: snapshot.uid.as_deref().map(clean),
            phase: snapshot.phase_word(),
            started_at: snapshot.target_began(),
            from: snapshot.from.as_ref().map(ReportRevision::of),
            to: snapshot.to.as_ref().map(ReportRevision::of),
            counts: snapshot.counts,
            facts: self.facts().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
            findings: self.diagnosis.findings.iter().map(finding).collect(),
            went_wrong: self.went_wrong(),
            next: self.next.iter().map(|next| &next.json).collect(),
            progress: &self.progress,
            timeline: self
                .lines
                .iter()
                .map(|entry| {
                    let (who, node) = line(entry);
                    let wrong = entry.severity == Severity::Warning;
                    TimelineLine { at: entry.at, who, node, text: &entry.text, wrong }
                })
                .collect(),
            nodes: snapshot.nodes.iter().map(node).collect(),
            notes: &self.notes,
            screen: self.screen.as_deref().map(|screen| screen.lines().collect()),
        }
    }
}
