//! What follows from the halt of each gate, one row per gate ([`HaltingGate::consequences`]): a new gate needs a row, and the compiler asks for it. The
//! rule of each gate is in `machine/halting`.

use super::settings::{Gates, HaltingGate, OnFailure};

/// What follows from the halt of a gate. The sentences are what people read because of each value.
#[derive(Clone, Copy, Debug)]
struct HaltConsequences {
    /// Whether the nodes that its halt names have failed. If so, they count as failed for the next driver, and an operator who resumes accepts their
    /// failures: the preview of a resume says `and accepts these 2 failures:` and lists them, and the remedy of the halt is `resumes, the failures so
    /// far accepted`, else `resumes`.
    names_what_failed: bool,
    /// Whether it also halts a rollout in which every node is updated, as it stays with `finish=keep`: the header then says `halted` in place of
    /// `complete`, and an alarm why.
    halts_what_is_complete: bool,
    /// Whether these settings turn it off, so that it halts nothing. A preview of `tune` then says `It is off then: it halts nothing.` in place of when it
    /// halts. Who is asked whether to drive reads of each gate that is on `or at …`, and of one that was turned off `not halted by …`.
    is_off: fn(&Gates) -> bool,
    /// Whether it halts a rollout again that a less grave gate has halted: a second `halted: …` on the timeline, with a number of its own, and perhaps
    /// a roll back. While a grave halt stands, no other gate acts; it may halt once an operator resumed.
    is_grave: bool,
    /// Whether `on-failure` applies: under `rollback` the rollout goes back by itself after its halt. Who is asked whether to drive reads `or at …` of a gate
    /// that does as the failure threshold does, else `halts at …`. It halts all the same where it is paused, where no revision is known to go back to,
    /// and where another revision would not help ([`NothingElseHelps`], which each reason to halt says).
    follows_on_failure: bool,
    /// Whether its halt speaks against the revision while it stands. If so, whoever goes to that revision is warned: `The rollout halted at revision 15,
    /// at …`, and an `undo` that names no revision does not choose it. Events and timeline tell a halt without its gate and are read so of every gate.
    speaks_against_revision: bool,
    /// What an operator accepts who resumes past its halt. Of a gate whose nodes have not failed, or that names none, the preview of a resume says
    /// `It goes on past the halt (it takes longer than 2h), and accepts ….`; without a terminal any resume is refused by `this accepts … (image not
    /// found on 2 nodes), and nobody can be asked`. Of nodes that have failed the preview lists the failures instead.
    accepted: &'static str,
    /// How the nodes that its halt names are concerned: `failed on ipc-017: …` stands before what to do. Not read of a halt that names none.
    on_nodes: &'static str,
    /// Whether a roll back is offered against it, before the resume: `rolldeck undo … rolls back, rolldeck resume … goes on past it`; else the resume alone
    /// is. An alarm of a halt that waits for a driver offers the roll back or nothing.
    offers_undo: bool,
}

/// Why no other revision helps against what halts, so that the rollout halts where it would go back, and says why. A gate that counts something else
/// than failures of the revision, such as time, and that follows `on-failure`, either lets another revision help or needs a reason of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NothingElseHelps {
    /// Containers fail that no template names, on so many nodes that without them nothing would halt.
    NotInTheTemplate,
}

impl NothingElseHelps {
    /// As it follows the reason of a halt that would have gone back.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::NotInTheTemplate => {
                "pods of every revision get what is not in the template, so that a roll back does not help"
            }
        }
    }
}

impl HaltingGate {
    fn consequences(self) -> HaltConsequences {
        match self {
            Self::FailureThreshold => HaltConsequences {
                names_what_failed: true,
                // With `finish=keep` a node may fail after that.
                halts_what_is_complete: true,
                // A threshold of 0 is refused, and one that is recorded counts as 1 (`failures_to_halt`).
                is_off: |_| false,
                is_grave: true,
                follows_on_failure: true,
                speaks_against_revision: true,
                accepted: "the failures that halted it",
                on_nodes: "failed on",
                offers_undo: true,
            },
        }
    }

    /// Whether the nodes that its halt names have failed.
    pub(crate) fn names_what_failed(self) -> bool {
        self.consequences().names_what_failed
    }

    /// Whether it also halts a rollout in which every node is updated.
    pub(crate) fn halts_what_is_complete(self) -> bool {
        self.consequences().halts_what_is_complete
    }

    /// Whether these settings turn it off.
    pub(crate) fn is_off(self, gates: &Gates) -> bool {
        (self.consequences().is_off)(gates)
    }

    /// Whether it halts a rollout again that a less grave gate has halted.
    pub(crate) fn is_grave(self) -> bool {
        self.consequences().is_grave
    }

    /// Whether the rollout goes back after its halt, by the settings in `gates`.
    pub(crate) fn goes_back(self, gates: &Gates) -> bool {
        self.consequences().follows_on_failure && gates.on_failure == OnFailure::RollBack
    }

    /// Whether its halt speaks against the revision.
    pub(crate) fn speaks_against_revision(self) -> bool {
        self.consequences().speaks_against_revision
    }

    /// Accepted by an operator who resumes past its halt, as the end of a sentence: `this accepts …`.
    pub fn accepted_in_words(self) -> &'static str {
        self.consequences().accepted
    }

    /// How the nodes that its halt names are concerned, to be put before their names: `failed on ipc-017`.
    pub fn where_in_words(self) -> &'static str {
        self.consequences().on_nodes
    }

    /// Whether a roll back is offered as a remedy of its halt, before the resume.
    pub(crate) fn offers_undo(self) -> bool {
        self.consequences().offers_undo
    }
}
