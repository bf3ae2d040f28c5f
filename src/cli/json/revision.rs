//! Revisions as JSON: source and target of a rollout, the list of `history`, one revision with its template, and the differences between two.

use std::collections::HashMap;

use serde::Serialize;

use super::TypeMetaJson;
use crate::engine::model::Str;
use crate::engine::model::images_on_nodes::ImagesOnNodes;
use crate::engine::model::rollout_event::RevisionHalt;
use crate::engine::model::template::diff::FieldChange;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{RevisionView, Snapshot};

/// One revision.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RevisionJson<'a> {
    number: Option<i64>,
    /// Its numbers before roll backs, the last one first, as far as the rollout's Events report them; `history` only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier_numbers: Vec<i64>,
    hash: &'a str,
    images: Vec<ContainerImageJson<'a>>,
    created_at: Option<Timestamp>,
    change_cause: Option<&'a str>,
    pods: u32,
    /// The numbers of nodes that have its images; `history` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_nodes: Option<&'a ImagesOnNodes>,
    /// The last rollout to it that halted and was not complete afterwards, as far as the record and the rollout's Events report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    halted: Option<&'a RevisionHalt>,
}

impl<'a> RevisionJson<'a> {
    pub(crate) fn new(revision: &'a RevisionView) -> Self {
        Self {
            number: revision.number,
            earlier_numbers: Vec::new(),
            hash: &revision.hash,
            images: revision.images.iter().map(|(container, image)| ContainerImageJson { container, image }).collect(),
            created_at: revision.created_at,
            change_cause: revision.change_cause.as_deref(),
            pods: revision.pods,
            on_nodes: None,
            halted: revision.halted.as_ref(),
        }
    }
}

#[derive(Serialize)]
struct ContainerImageJson<'a> {
    container: &'a str,
    image: &'a str,
}

/// A DaemonSet's revisions, newest first.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RevisionHistoryJson<'a> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    at: Timestamp,
    namespace: &'a str,
    name: &'a str,
    revisions: Vec<RevisionJson<'a>>,
    /// Hash of the revision to which `undo` without a revision leads; null if `undo` is refused.
    undo: Option<&'a str>,
    /// The reason of that refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    undo_refused: Option<String>,
}

impl<'a> RevisionHistoryJson<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, on_nodes: &'a HashMap<Str, ImagesOnNodes>) -> Self {
        let revision = |revision: &'a RevisionView| RevisionJson {
            on_nodes: on_nodes.get(&revision.hash),
            earlier_numbers: snapshot.earlier_numbers(revision),
            ..RevisionJson::new(revision)
        };
        Self {
            meta: TypeMetaJson::new("RevisionHistory"),
            at: snapshot.at,
            namespace: &snapshot.namespace,
            name: &snapshot.name,
            revisions: snapshot.revisions.iter().map(revision).collect(),
            undo: snapshot.roll_back.as_deref().ok(),
            undo_refused: snapshot.roll_back.as_ref().err().map(ToString::to_string),
        }
    }
}

/// One revision with its template, verbatim.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WholeRevisionJson<'a> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    at: Timestamp,
    namespace: &'a str,
    name: &'a str,
    revision: RevisionJson<'a>,
    template: &'a serde_json::Value,
}

impl<'a> WholeRevisionJson<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, revision: &'a RevisionView, template: &'a serde_json::Value) -> Self {
        Self {
            meta: TypeMetaJson::new("Revision"),
            at: snapshot.at,
            namespace: &snapshot.namespace,
            name: &snapshot.name,
            revision: RevisionJson::new(revision),
            template,
        }
    }
}

/// The differences between two revisions.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RevisionDiffJson<'a> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    at: Timestamp,
    namespace: &'a str,
    name: &'a str,
    /// Null if there is only one revision.
    from: Option<RevisionJson<'a>>,
    to: RevisionJson<'a>,
    /// Each with its `path`, and `change`: `added`, `removed`, `changed`, `reordered`.
    changes: &'a [FieldChange],
}

impl<'a> RevisionDiffJson<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        (from, to): (Option<&'a RevisionView>, &'a RevisionView),
        changes: &'a [FieldChange],
    ) -> Self {
        Self {
            meta: TypeMetaJson::new("RevisionDiff"),
            at: snapshot.at,
            namespace: &snapshot.namespace,
            name: &snapshot.name,
            from: from.map(RevisionJson::new),
            to: RevisionJson::new(to),
            changes,
        }
    }
}
