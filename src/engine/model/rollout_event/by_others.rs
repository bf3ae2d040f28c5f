//! A template that somebody else made, as the answer to the command tells that goes on with it or replaces it. Who made it is known only as long as its
//! alarm stands: afterwards this answer is what whoever writes a report reads.

use std::fmt;

use super::command_reason::CommandReason;
use super::{EventOutcome, RolloutEvent};
use crate::engine::model::Str;

const REVISION: &str = "revision ";
const REPLACES: &str = "it replaces revision ";
const WHICH: &str = ", which ";
const MADE: &str = " made";
const AFTER: &str = " after ";
const SOMEBODY: &str = "somebody else";

/// A template that somebody else made in the middle of a rollout. Its words, in which the numbers are those of that time, are read by [`RolloutEvent::made_by_others`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MadeByOthers {
    /// The number of its revision.
    pub number: i64,
    /// Who made it, with the tool behind the name; `None` if managedFields do not tell.
    pub by: Option<Str>,
    /// The number of the revision that the rollout had led to; `None` if it is not known.
    pub after: Option<i64>,
}

impl fmt::Display for MadeByOthers {
    /// `revision 4, which kubectl-set made after 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.by.as_deref().unwrap_or(SOMEBODY);
        write!(f, "{REVISION}{}{WHICH}{by}{MADE}", self.number)?;
        self.after.map_or(Ok(()), |after| write!(f, "{AFTER}{after}"))
    }
}

impl MadeByOthers {
    /// `; revision 4, which kubectl-set made after 3, is now rolled out`: the clause of a resume.
    pub(crate) fn goes_on(&self, change: &str) -> String {
        format!("; {self}{}, is now rolled out", in_brackets(change))
    }

    /// `; it replaces revision 4, which kubectl-set made after 3`: the clause of another template.
    pub(crate) fn is_replaced(&self, change: &str) -> String {
        format!("; it replaces {self}{}", in_brackets(change))
    }

    /// Reads a clause of an answer.
    fn read(clause: &str) -> Option<Self> {
        let clause = clause.strip_prefix(REPLACES).or_else(|| clause.strip_prefix(REVISION))?;
        let (number, rest) = clause.split_once(WHICH)?;
        let (by, rest) = rest.split_once(MADE)?;
        let after = rest.strip_prefix(AFTER).and_then(super::phrases::number_at_the_beginning);
        let by = (by != SOMEBODY).then(|| by.into());
        Some(Self { number: number.parse().ok()?, by, after })
    }
}

/// The change in brackets: it comes as `: agent v2 → v3`, and may be empty.
fn in_brackets(change: &str) -> String {
    let change = change.trim_start_matches([':', ' ']);
    if change.is_empty() { String::new() } else { format!(" ({change})") }
}

impl RolloutEvent {
    /// The template of somebody else that a command went on with or replaced, as its answer tells. A command that was refused tells nothing.
    pub(super) fn made_by_others(&self) -> Option<MadeByOthers> {
        let tells = [CommandReason::Resumed, CommandReason::ImageSet, CommandReason::Undone].map(CommandReason::word);
        if self.outcome != EventOutcome::Done || !tells.contains(&self.reason()) {
            return None;
        }
        self.said.as_deref()?.split("; ").find_map(MadeByOthers::read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_template_of_somebody_else_is_read_again() {
        for by in [None, Some("kubectl-set".into()), Some("kubectl apply (kubectl-client-side-apply)".into())] {
            for after in [None, Some(3)] {
                let made = MadeByOthers { number: 4, by: by.clone(), after };
                for change in ["", ": agent v2 → v3"] {
                    for clause in [made.goes_on(change), made.is_replaced(change)] {
                        let read = MadeByOthers::read(clause.strip_prefix("; ").unwrap());
                        assert_eq!(read.as_ref(), Some(&made), "{clause}");
                    }
                }
            }
        }
        for other in
            ["resumed", "roll back: template is that of revision 3", "revision 4", "revision x, which ada made"]
        {
            assert_eq!(MadeByOthers::read(other), None, "{other}");
        }
    }
}
