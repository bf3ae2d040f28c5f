//! The next step of the plan, or the reason why there is none. It is offered, previewed and refused in the same words.

use std::fmt;

use super::Str;
use super::labels::Selector;
use super::quantity::IntOrPercent;

/// Why no selector can be set while a rollout goes back.
pub const SELECTOR_IGNORED: &str =
    "rolling back ignores the selector; it updates every node, and is over when all are back";

/// A step of the plan that can be taken now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepAhead {
    /// The step, as the plan has it: so many nodes updated in total.
    pub step: IntOrPercent,
    /// How many nodes may be updated in total once it is taken; no more than the selector leaves, if one is set.
    pub allowed: u32,
    /// How many more nodes may go at once by it, at least 1; `None` while the new revision is not settled.
    pub frees: Option<u32>,
    /// Whether the selector has fewer nodes than the step: the other nodes of the step wait until the selector is lifted.
    pub cut_by_selector: bool,
}

/// The reason why no rollout of this DaemonSet is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NothingRecorded {
    /// No rollout has been recorded at all.
    AtAll,
    /// A rollout was recorded, but its record is gone.
    AnyMore,
    /// There is a record that cannot be read.
    Readable,
    /// The recorded rollout was of an earlier DaemonSet of the same name.
    OfThisDaemonSet,
}

impl NothingRecorded {
    /// The command that records a rollout. Every command that is refused for lack of a record tells the same.
    pub(crate) fn remedy(self) -> &'static str {
        self.remedy_or("`set-image` begins one")
    }

    /// The same command, or `at_all` if no rollout has been recorded at all.
    pub(crate) fn remedy_or(self, at_all: &'static str) -> &'static str {
        match self {
            Self::AtAll => at_all,
            Self::AnyMore | Self::Readable | Self::OfThisDaemonSet => {
                "`adopt` records it anew, with the limits that its flags name"
            }
        }
    }
}

impl fmt::Display for NothingRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtAll => "no rollout is recorded",
            Self::AnyMore => "no record is left of the rollout",
            Self::Readable => "the rollout's record cannot be read",
            Self::OfThisDaemonSet => "the rollout that is recorded was of an earlier DaemonSet of this name",
        })
    }
}

/// Why there is no next step.
#[derive(Clone, PartialEq, Debug)]
pub enum NoStep {
    /// Rolling back ignores partition and steps.
    GoingBack,
    /// The rollout halted: the failures have to be accepted, or undone, first.
    Halted {
        /// What failed.
        why: Str,
    },
    /// Somebody else changed the template in the middle of the rollout: an operator has to choose one of the two templates first.
    TemplateChanged {
        /// How the template was changed, in words: `: agent v2 → v1`; empty if that is not known.
        how: Str,
    },
    /// Every node may be updated already.
    Last,
    /// Every node is at the target, or on its way there.
    AllUpdated,
    /// No rollout is recorded, and none is under way.
    NoRollout(NothingRecorded),
    /// Every node that the selector matches and that can be updated is at the target, or on its way there.
    SelectionDone(SelectionDone),
    /// The nodes that are left cannot be updated now: they are down or cordoned.
    NoneReady {
        /// How many nodes are left.
        left: u32,
    },
}

/// A selection with nothing left to update.
#[derive(Clone, PartialEq, Debug)]
pub struct SelectionDone {
    /// The selector.
    pub selector: Selector,
    /// How many nodes it matches.
    pub selected: u32,
    /// How many of them are updated and available.
    pub updated: u32,
    /// How many of them are on their way.
    pub moving: u32,
    /// How many of them may go already, and wait: for the budget, or because the rollout is paused.
    pub in_line: u32,
    /// How many nodes may go at once when the selector is lifted, under the partition as it is.
    pub lifting_frees: u32,
}

impl fmt::Display for SelectionDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { selector, selected, updated, moving, in_line, .. } = self;
        match (selected - updated.min(selected), moving) {
            (left, 0) if left > 0 && *in_line > 0 => {
                write!(f, "canary: {updated} of {selected} updated, {in_line} in line ({selector})")
            }
            (0, _) if *selected == 0 => write!(f, "no node matches {selector}"),
            (0, _) => write!(f, "canary done, {updated} of {selected} ({selector})"),
            (left, 0) => write!(f, "canary: {updated} of {selected} updated, {left} cannot go now ({selector})"),
            (_, moving) => write!(f, "canary: {updated} of {selected} updated, {moving} on the way ({selector})"),
        }
    }
}

/// The words for a refused step, and the remedy.
impl fmt::Display for NoStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GoingBack => {
                f.write_str("rolling back ignores partition and steps: whoever drives takes every node back")
            }
            Self::Halted { why } => {
                write!(f, "halted: {why}; `resume` goes on past it, `undo` goes back")
            }
            Self::TemplateChanged { how } => write!(
                f,
                "somebody else changed the template in the middle of the rollout{how}; `resume` rolls it out as it is now, `undo` goes back"
            ),
            Self::Last => f.write_str("this is the last step: every node may be updated"),
            Self::NoRollout(nothing) => write!(f, "{nothing}, so there is no step to take: {}", nothing.remedy()),
            Self::AllUpdated => f.write_str("a step moves nothing: every node is updated, or on its way"),
            Self::SelectionDone(done) if done.moving > 0 => {
                write!(f, "a step moves nothing: {done}; wait until they are updated")
            }
            Self::SelectionDone(done) if done.in_line > 0 => {
                write!(
                    f,
                    "a step moves nothing: {done}; what is in line needs none, and its row says what it waits for"
                )
            }
            Self::SelectionDone(done) => write!(
                f,
                "a step moves nothing: {done}; lift the selector first (`select --clear`), or choose other nodes"
            ),
            Self::NoneReady { left } => write!(
                f,
                "a step moves nothing: the {left} nodes that are left are down or cordoned; `step --to 100%` lets them \
                 go once they can"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is said of what was only asked about, too.
    #[test]
    fn what_a_halt_refuses_says_what_helps_and_nothing_of_what_was_not_done() {
        let said = NoStep::Halted { why: "1 node failed".into() }.to_string();
        assert_eq!(said, "halted: 1 node failed; `resume` goes on past it, `undo` goes back");
    }
}
