//! Edits of a rollout's record. Each is absolute and idempotent, so that it can be applied again to whatever record a
//! conflict turned up, and twice when an answer was lost.
//!
//! What an operator asked for is asked of any record. What the driver does by itself is an answer to the record that it
//! saw: where somebody has asked for something else meanwhile, that stands.

use std::borrow::Cow;

use super::Str;
use super::labels::Selector;
use super::quantity::IntOrPercent;
use super::record::{By, Change, Direction, Intent, Paused};
use super::tuning::Tuning;

/// One edit of the intent.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Edit {
    /// Make sure that a rollout is recorded.
    Begin,
    /// Ask for another template. Everything is held again going forward; going back nothing is.
    Change(Change, Direction),
    /// By itself: this is the revision that nodes are to have, as the change that was asked for is `made`, or none was.
    Target { target: Str, made: Option<Change> },
    /// By itself: give up this change, which cannot be made, or which somebody else undid.
    DropChange(Change),
    /// By itself: go back from the `failed` revision; not where somebody paused.
    GoBack { to: Str, failed: Option<Str>, acknowledged: u32 },
    /// By itself: pause; whoever paused before keeps the word, and so does whoever hands it back.
    Hold(Paused),
    /// By itself: hand the DaemonSet back, as every node has this revision.
    Complete { target: Option<Str>, by: By },
    /// By itself: what was to be handed back by itself is not, or not yet.
    CallOffRelease(By),
    /// How many pods stay at the old revision.
    Partition(IntOrPercent),
    /// Which nodes may be updated.
    Select(Option<Selector>),
    /// Pause; nothing is handed back then either.
    Pause(Paused),
    /// Go on: halts up to this number are acknowledged, and a template that somebody else changed is accepted.
    Resume { acknowledged: u32, target: Option<Str> },
    /// Hand the DaemonSet back.
    Release(By),
    /// Ask the holder to hand over the lease.
    Handover(By),
    /// Change budgets, gates, what a flip does, or the end.
    Tune(Tuning),
    /// By itself: what was to be released is, so the record goes.
    End,
}

impl Edit {
    /// Applies the edit to a record's intent; `None`: there is no record.
    pub(crate) fn apply(&self, intent: &mut Option<Cow<'_, Intent>>) {
        match self {
            Self::End => drop(intent.take_if(|intent| intent.releasing.is_some())),
            Self::Begin => drop(intent.get_or_insert_default()),
            edit => edit.apply_to(intent.get_or_insert_default().to_mut()),
        }
    }

    fn apply_to(&self, intent: &mut Intent) {
        match self {
            Self::Begin | Self::End => {}
            Self::Change(change, direction) => {
                intent.change = Some(change.clone());
                intent.direction = *direction;
                intent.paused = None;
                intent.releasing = None;
                if *direction == Direction::Forward {
                    intent.partition = IntOrPercent::Percent(100);
                }
            }
            Self::Target { target, made } => {
                intent.change.take_if(|change| Some(&*change) == made.as_ref());
                intent.target = Some(target.clone());
            }
            Self::DropChange(dropped) => drop(intent.change.take_if(|change| change == dropped)),
            Self::GoBack { to, failed, acknowledged } => {
                if intent.paused.is_none() && intent.change.is_none() && intent.target == *failed {
                    intent.change = Some(Change::Revision(to.clone()));
                    intent.direction = Direction::Back;
                    intent.releasing = None;
                    intent.acknowledged_halt = intent.acknowledged_halt.max(*acknowledged);
                }
            }
            Self::Hold(paused) if intent.releasing.is_none() => {
                intent.paused.get_or_insert_with(|| paused.clone());
            }
            Self::Hold(_) => {}
            Self::Complete { target, by } => {
                if intent.paused.is_none() && intent.change.is_none() && intent.target == *target {
                    intent.releasing.get_or_insert_with(|| by.clone());
                }
            }
            Self::CallOffRelease(by) => drop(intent.releasing.take_if(|releasing| releasing == by)),
            Self::Partition(partition) => intent.partition = *partition,
            Self::Select(selector) => intent.selector = selector.clone(),
            Self::Pause(paused) => {
                intent.paused = Some(paused.clone());
                intent.releasing = None;
            }
            Self::Resume { acknowledged, target } => {
                intent.paused = None;
                intent.acknowledged_halt = intent.acknowledged_halt.max(*acknowledged);
                if target.is_some() {
                    intent.target.clone_from(target);
                }
            }
            Self::Release(by) => intent.releasing = Some(by.clone()),
            Self::Handover(by) => intent.handover = Some(by.clone()),
            Self::Tune(tuning) => tuning.apply_to(intent),
        }
    }
}
