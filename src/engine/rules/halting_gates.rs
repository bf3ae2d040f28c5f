//! What follows from each gate that halts, in one table: whoever adds one decides it here, and the compiler asks for it. How a rollout goes
//! on past each is in `act/halt.rs`.

use crate::engine::model::record::HaltingGate;
use crate::engine::model::settings::{Gates, OnFailure};

/// What an operator accepts by resuming past a halt. Previews of a resume and the remedies of the halt are made by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AcceptedByResuming {
    /// The failures of the nodes that had failed when it halted ([`Halt::failed`](crate::engine::model::record::Halt::failed)).
    Failures,
}

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

    /// What an operator who resumes past its halt accepts.
    pub(crate) fn accepted_by_resuming(self) -> AcceptedByResuming {
        match self {
            Self::FailureThreshold => AcceptedByResuming::Failures,
        }
    }

    /// The same as the end of a sentence: `this accepts …`.
    pub fn accepted_in_words(self) -> &'static str {
        match self {
            Self::FailureThreshold => "the failures that halted it",
        }
    }

    /// What the nodes that its halt names have to do with it, before their names: `failed on ipc-017`.
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
