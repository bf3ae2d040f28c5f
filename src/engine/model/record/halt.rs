//! Why a rollout halted, and by which gate. The consequences of each gate are in `model/halting_gate.rs`.

use serde::{Deserialize, Serialize};

use crate::engine::model::Str;
use crate::engine::model::settings::HaltingGate;
use crate::engine::model::time::Timestamp;

/// Why and where a rollout halted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Halt {
    /// Counts the halts of this rollout, from 1.
    pub number: u32,
    /// Which gate halted it.
    #[serde(default, deserialize_with = "HaltingGate::read", skip_serializing_if = "HaltingGate::goes_without_saying")]
    pub gate: HaltingGate,
    /// When, by the driver's clock.
    pub at: Timestamp,
    /// What happened, in words.
    pub why: Str,
    /// The nodes of the halt, at most [`EXCEPTIONS_LIMIT`](super::EXCEPTIONS_LIMIT). Their relation to the halt depends on the gate, so
    /// they are read by [`Self::named`] or [`Self::failed`] only.
    nodes: Vec<Str>,
}

impl Halt {
    /// A halt that names no node.
    pub fn new(number: u32, gate: HaltingGate, at: Timestamp, why: Str) -> Self {
        Self { number, gate, at, why, nodes: Vec::new() }
    }

    /// The same halt with these nodes in place of its own. They are not cut: the caller passes at most [`EXCEPTIONS_LIMIT`](super::EXCEPTIONS_LIMIT).
    pub fn on(self, nodes: Vec<Str>) -> Self {
        Self { nodes, ..self }
    }

    /// Replaces the named nodes.
    pub(crate) fn set_named(&mut self, nodes: Vec<Str>) {
        self.nodes = nodes;
    }

    /// The nodes that are shown with the halt. They need not have failed: see [`Self::failed`].
    pub fn named(&self) -> &[Str] {
        &self.nodes
    }

    /// The named nodes that have failed. They count as failed for the next driver, and an operator who resumes accepts their failures.
    /// Empty for a gate that names nodes for another reason.
    pub fn failed(&self) -> &[Str] {
        if self.gate.names_what_failed() { &self.nodes } else { &[] }
    }

    /// Removes the failed nodes from the halt and returns them: an operator has accepted their failures.
    pub(crate) fn take_failed(&mut self) -> Vec<Str> {
        let failed = self.failed().to_vec();
        self.nodes.retain(|node| !failed.contains(node));
        failed
    }

    /// Removes one named node, because the record has no room for all.
    pub(super) fn leave_out_a_node(&mut self) -> Option<Str> {
        self.nodes.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Record;
    use super::*;

    /// The record has the names under `nodes`, as versions write it that read all of them as failed.
    #[test]
    fn a_halt_is_read_with_the_nodes_that_it_was_written_with() {
        let text = r#"{"number":1,"at":"1970-01-01T00:00:07.000Z","why":"image not found","nodes":["n1","n2"]}"#;
        let halt: Halt = serde_json::from_str(text).unwrap();
        assert_eq!((halt.named(), halt.failed()), (&["n1".into(), "n2".into()][..], &["n1".into(), "n2".into()][..]));
        assert_eq!(serde_json::to_string(&halt).unwrap(), text);
    }

    /// Versions that know one gate only write no gate and need none; one that is not known yet is not lost.
    #[test]
    fn a_halt_names_its_gate_only_where_it_is_another_than_the_first() {
        let halted = |gate: &str| {
            format!(
                r#"{{"version":1,"intent":{{}},"progress":{{"halt":{{"number":1,"at":"1970-01-01T00:00:07Z"{gate},"why":"","nodes":[]}}}}}}"#
            )
        };
        for (said, kept) in [("", None), (r#","gate":"moonPhase""#, Some("moonPhase"))] {
            let mut record = Record::parse(&halted(said)).unwrap();
            assert_eq!(record.progress.halt.as_ref().unwrap().gate, HaltingGate::FailureThreshold, "{said}");
            let gate = |record: &Record| serde_json::to_value(record).unwrap().pointer("/progress/halt/gate").cloned();
            assert_eq!(gate(&record), kept.map(serde_json::Value::from), "{said}");
            // It goes with its halt.
            record.progress.halt.as_mut().unwrap().at = Timestamp::from_millis(8_000);
            assert_eq!(gate(&record), None, "{said}");
        }
    }
}
