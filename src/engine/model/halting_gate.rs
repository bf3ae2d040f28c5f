//! The gates that halt a rollout. What each halts for is in its file in `machine/halting`, what follows from its halt in
//! `rules/halting_gates.rs`.

use serde::{Deserialize, Deserializer, Serialize};

use super::with_all::with_all;

with_all! {
/// A gate that halts the rollout. Where two have a reason at once, the one that stands first here halts it; the other does once an
/// operator resumed, unless it is grave and the first is not (`HaltingGate::is_grave`). While there is one gate only, no test can show
/// that: `of_two_gates_that_halt_at_once_the_first_is_told` (`engine/tests/gates.rs`) asks for it with the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HaltingGate {
    /// Too many nodes failed. Records that were written before there were other gates do not name this one, and must not.
    #[default]
    FailureThreshold,
}
}

impl HaltingGate {
    /// Whether the nodes that its halt names have failed. If so, they count as failed for the next driver, and an operator who resumes accepts their
    /// failures: the preview of a resume says `and accepts these 2 failures:` and lists them, and the remedy of the halt is `resumes, the failures so
    /// far accepted`, else `resumes`. It stands here and not in `rules/halting_gates.rs` because [`Halt`](super::record::Halt) asks it.
    pub(crate) fn names_what_failed(self) -> bool {
        match self {
            Self::FailureThreshold => true,
        }
    }

    /// Whether a record leaves this gate out.
    pub(super) fn goes_without_saying(&self) -> bool {
        *self == Self::default()
    }

    /// A gate that this version does not know is read as the first one, and stays in the record (see `record/unknown.rs`).
    pub(super) fn read<'de, D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(text)?;
        Ok(serde_json::from_value(value).unwrap_or_default())
    }
}
