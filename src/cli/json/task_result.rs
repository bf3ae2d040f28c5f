//! How `drive` and `prewarm` ended, as the last line of what they print.

use serde::Serialize;

use super::TypeMetaJson;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::Snapshot;

/// The end of a task. `outcome` is `done`, `interrupted`, `terminated`, or the `reason` of an `Error`; `meaning` says what the exit code stands for.
/// `phase` and `nodes` are as last seen; they are absent where nothing was seen.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskResultJson<'a> {
    #[serde(flatten)]
    meta: TypeMetaJson,
    at: Timestamp,
    command: &'static str,
    namespace: &'a str,
    name: &'a str,
    outcome: &'static str,
    exit_code: u8,
    meaning: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<NodeCountsJson>,
}

/// How many nodes there are, how many are updated and serve, and how many failed.
#[derive(Serialize)]
struct NodeCountsJson {
    total: u32,
    updated: u32,
    available: u32,
    failed: u32,
}

/// How a task ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskEnding {
    pub(crate) outcome: &'static str,
    pub(crate) exit_code: u8,
    pub(crate) meaning: &'static str,
}

impl<'a> TaskResultJson<'a> {
    pub(crate) fn new(
        command: &'static str,
        (namespace, name): (&'a str, &'a str),
        at: Timestamp,
        ending: TaskEnding,
        last: Option<&Snapshot>,
    ) -> Self {
        let TaskEnding { outcome, exit_code, meaning } = ending;
        let nodes = last.map(|last| NodeCountsJson {
            total: last.counts.nodes,
            updated: last.counts.updated,
            available: last.counts.available,
            failed: last.counts.failed,
        });
        let phase = last.map(Snapshot::phase_word);
        Self {
            meta: TypeMetaJson::new("TaskResult"),
            at,
            command,
            namespace,
            name,
            outcome,
            exit_code,
            meaning,
            phase,
            nodes,
        }
    }
}
