//! What follows from each gate that halts, in one table: whoever adds one decides it here, and the compiler asks for it. How a rollout goes
//! on past each is in `act/halt.rs`.

use crate::engine::model::record::HaltingGate;
use crate::engine::model::settings::{Gates, OnFailure};

impl HaltingGate {
    /// Whether it halts a rollout of which every node is updated, too.
    pub(crate) fn halts_what_is_complete(self) -> bool {
        match self {
            // With `finish=keep` a node may fail afterwards.
            Self::FailureThreshold => true,
        }
    }

    /// Whether it halts a rollout again that one which is not grave has halted: with a number and an event of its own, and the rollout may
    /// go back by it. While a grave one stands no other does anything; it may halt once an operator resumed.
    pub(crate) fn is_grave(self) -> bool {
        match self {
            Self::FailureThreshold => true,
        }
    }

    /// Whether the rollout then goes back, as far as its settings say.
    pub(crate) fn goes_back(self, gates: &Gates) -> bool {
        match self {
            Self::FailureThreshold => gates.on_failure == OnFailure::RollBack,
        }
    }

    /// Whether it speaks against the revision: then that is none to go back to.
    pub(crate) fn speaks_against_revision(self) -> bool {
        match self {
            Self::FailureThreshold => true,
        }
    }
}
