//! Why a rollout halted, and by which gate. What follows from each gate is in `rules/halting_gates.rs`.

use serde::{Deserialize, Deserializer, Serialize};

use crate::engine::model::Str;
use crate::engine::model::time::Timestamp;
use crate::engine::model::with_all::with_all;

with_all! {
/// A gate that halts the rollout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HaltingGate {
    /// Too many nodes failed. Records that were written before there were others do not name it, and are not to.
    #[default]
    FailureThreshold,
}
}

impl HaltingGate {
    fn goes_without_saying(&self) -> bool {
        *self == Self::default()
    }

    /// One that this version does not know is read as the first, and stays in the record (see [`super::unknown`]).
    fn read<'de, D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(text)?;
        Ok(serde_json::from_value(value).unwrap_or_default())
    }
}

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
    /// Where: at most [`EXCEPTIONS_LIMIT`](super::EXCEPTIONS_LIMIT) nodes.
    pub nodes: Vec<Str>,
}

#[cfg(test)]
mod tests {
    use super::super::Record;
    use super::*;

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
