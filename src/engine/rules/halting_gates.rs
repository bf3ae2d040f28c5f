//! The consequences of each gate that halts, in one table: a new gate needs an entry for each, and the compiler asks for it. `act/halt.rs` has how a
//! rollout goes on past each gate.

use crate::engine::model::record::HaltingGate;
use crate::engine::model::settings::{Gates, OnFailure};

impl HaltingGate {
    /// Whether it also halts a rollout in which every node is updated.
    pub(crate) fn halts_what_is_complete(self) -> bool {
        match self {
            // With `finish=keep` a node may fail after that.
            Self::FailureThreshold => true,
        }
    }

    /// Whether these settings turn it off, so that it halts nothing: `tune` says that instead of when it halts, and who is asked whether to drive is
    /// told of each gate that is on.
    pub(crate) fn is_off(self, _gates: &Gates) -> bool {
        match self {
            // A threshold of 0 is refused, and one that is recorded counts as 1 (`too_many_failed`).
            Self::FailureThreshold => false,
        }
    }

    /// Whether it halts a rollout again that a less grave gate has halted. The second halt has a number and an event of its own, and the rollout may
    /// go back by it. While a grave halt stands, no other gate acts; it may halt once an operator resumed.
    pub(crate) fn is_grave(self) -> bool {
        match self {
            Self::FailureThreshold => true,
        }
    }

    /// Whether the rollout goes back after its halt, by the settings in `gates`.
    pub(crate) fn goes_back(self, gates: &Gates) -> bool {
        match self {
            Self::FailureThreshold => gates.on_failure == OnFailure::RollBack,
        }
    }

    /// Whether its halt speaks against the revision, so that no rollout goes back to that revision.
    pub(crate) fn speaks_against_revision(self) -> bool {
        match self {
            Self::FailureThreshold => true,
        }
    }

    /// Accepted by an operator who resumes past its halt, as the end of a sentence: `this accepts …`.
    pub fn accepted_in_words(self) -> &'static str {
        match self {
            Self::FailureThreshold => "the failures that halted it",
        }
    }

    /// How the nodes that its halt names are concerned, to be put before their names: `failed on ipc-017`.
    pub fn where_in_words(self) -> &'static str {
        match self {
            Self::FailureThreshold => "failed on",
        }
    }

    /// Whether a roll back is offered as a remedy of its halt, before the resume.
    pub(crate) fn offers_undo(self) -> bool {
        match self {
            Self::FailureThreshold => true,
        }
    }
}
