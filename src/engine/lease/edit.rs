//! Edits of a rollout's record. Each edit is absolute and idempotent: it can be applied again to another record after a conflict, and twice
//! after a lost answer.
//!
//! An operator's edit applies to the record as it is by then, unless somebody else has changed the same setting since it was asked for
//! (`overtaken`). An edit that the driver makes by itself is a reaction to the record that it saw: if somebody has asked for something else
//! meanwhile, the edit changes nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::engine::model::Str;
use crate::engine::model::change_request::ChangeRequest;
use crate::engine::model::labels::Selector;
use crate::engine::model::prewarm::{Prewarm, UnrecordedFailures};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::size::clipped;
use crate::engine::model::record::{BegunAnew, By, Change, ChangeOutcome, Intent, Paused, RequestedChange};
use crate::engine::model::settings::{PrewarmAhead, Tuning};

/// One edit of the intent.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Edit {
    /// Make sure that a rollout is recorded.
    Begin,
    /// Make sure that a rollout is recorded. A rollout that begins now gets these settings, and notes who began it if an earlier record was
    /// lost.
    BeginWith { settings: Tuning, anew: Option<BegunAnew> },
    /// Replace a record, or a request for pre-warming, that cannot be read for this reason. The operator has agreed to lose it.
    ReplaceUnreadable(Str),
    /// Ask for another template. No node is updated until the template is made; with a new image everything is held again.
    Change { change: Change, id: Str },
    /// By itself: make this revision the one that nodes are to have, because the change that was asked for is `made`, or because none was
    /// asked for. Halts up to this number are past then.
    Target { target: Str, made: Option<ChangeRequest>, acknowledged: u32 },
    /// With a command that lets nodes go, or that pauses: make the revision that its operator saw the target, if the record has no target
    /// yet and no other template is asked for. A template that somebody else makes afterwards does not become the target.
    FirstTarget(Str),
    /// By itself: give up this change and pause, because the change cannot be made or somebody else undid it. A person's pause that the request
    /// lifted stands again instead.
    Refuse { request: ChangeRequest, paused: Paused },
    /// By itself: ask to go back from the `failed` revision. Nothing changes if somebody paused.
    GoBack { to: Str, failed: Option<Str>, id: Str },
    /// By itself: pause. A pause that is there already stays as it is, and a rollout that is being released is not paused.
    Hold(Paused),
    /// By itself: pause because somebody else changed the template, and note their template. A pause for an earlier change of theirs gets
    /// this reason; a pause for anything else keeps its own. A rollout that is being released is not paused.
    HoldTemplate(Paused),
    /// By itself: pause because somebody put an older copy of the record back. A pause in that copy stays. A change or a release that it asks for was
    /// carried out or taken back since, and is dropped.
    HoldPutBack(Paused),
    /// By itself: hand the DaemonSet back, as every node has this revision.
    Complete { target: Option<Str>, by: By },
    /// By itself: call off the release, if this is the request that asked for it.
    CallOffRelease(By),
    /// How many pods stay at the old revision.
    Partition {
        /// How many nodes keep their old pod.
        partition: IntOrPercent,
        /// How many are updated in total, where the step was given so and leaves some out.
        total: Option<u32>,
    },
    /// Which nodes may be updated.
    Select(Option<Selector>),
    /// Pause; nothing is handed back then either.
    Pause(Paused),
    /// Go on. Halts up to this number are acknowledged, these nodes that failed since are accepted, and so is a template that somebody else
    /// made, for which everything is held again.
    Resume { acknowledged: u32, accepted: BTreeSet<Str>, target: Option<Str> },
    /// Hand the DaemonSet back.
    Release {
        /// Who asked, and when.
        by: By,
        /// The hash of the revision of the template at that time, where it was known.
        of: Option<Str>,
    },
    /// Ask the holder to hand over the lease.
    Handover(By),
    /// Change settings of the rollout.
    Tune { tuning: Tuning, by: By },
    /// By itself: the release is done, so the record is removed.
    End,
    /// An edit of the request for pre-warming, which stands beside the record.
    Prewarm(PrewarmEdit),
}

/// One edit of the request for pre-warming.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PrewarmEdit {
    /// Make this the request, instead of the present one.
    Start(Box<Prewarm>),
    /// Make no more pods.
    Pause(By),
    /// Go on.
    Resume,
    /// Try failed pulls again.
    Retry(By),
    /// Delete the pods for pre-warming, and end.
    Cancel(By),
    /// By itself: end it, as this many nodes, which are all, have the images.
    Complete {
        /// rolldeck itself, and when.
        by: By,
        /// How many nodes.
        nodes: u32,
    },
    /// Ask the holder to hand over the Lease, if no rollout is recorded.
    Handover(By),
    /// By itself: remove a cancelled request, because its pods are cleaned up.
    End,
}

impl Edit {
    /// Whether only the holder of the Lease decides on this edit, as a reaction to the record that it read, if no command asked for it.
    pub(super) fn is_the_drivers_own(&self) -> bool {
        match self {
            Self::Begin
            | Self::BeginWith { .. }
            | Self::ReplaceUnreadable(_)
            | Self::Change { .. }
            | Self::Target { .. }
            | Self::FirstTarget(_)
            | Self::Refuse { .. }
            | Self::GoBack { .. }
            | Self::Hold(_)
            | Self::HoldTemplate(_)
            | Self::HoldPutBack(_)
            | Self::Complete { .. }
            | Self::CallOffRelease(_)
            | Self::Partition { .. }
            | Self::Select(_)
            | Self::Pause(_)
            | Self::Resume { .. }
            | Self::Release { .. }
            | Self::Tune { .. }
            | Self::Prewarm(
                PrewarmEdit::Start(_)
                | PrewarmEdit::Pause(_)
                | PrewarmEdit::Resume
                | PrewarmEdit::Retry(_)
                | PrewarmEdit::Cancel(_)
                | PrewarmEdit::Complete { .. }
                | PrewarmEdit::End,
            )
            | Self::End => true,
            // A process that asks for the Lease does not hold it.
            Self::Handover(_) | Self::Prewarm(PrewarmEdit::Handover(_)) => false,
        }
    }

    /// Applies the edit to a record's intent; `None`: there is no record.
    pub(crate) fn apply(&self, intent: &mut Option<Cow<'_, Intent>>) {
        match self {
            Self::End => drop(intent.take_if(|intent| intent.releasing.is_some())),
            Self::Begin => drop(intent.get_or_insert_default()),
            Self::BeginWith { settings, anew } => {
                intent.get_or_insert_with(|| {
                    let mut begun = Intent::default();
                    begun.tune(settings);
                    begun.begun_anew.clone_from(anew);
                    Cow::Owned(begun)
                });
            }
            // An operator who cancels does not want pre-warming to begin again by itself.
            Self::Prewarm(PrewarmEdit::Cancel(by)) if !by.is_rolldeck() => {
                if let Some(intent) = intent.as_mut().filter(|intent| !intent.prewarm.is_default()) {
                    intent.to_mut().prewarm = PrewarmAhead::Off;
                }
            }
            Self::Prewarm(_) | Self::ReplaceUnreadable(_) => {}
            edit => edit.apply_to(intent.get_or_insert_default().to_mut()),
        }
    }

    /// Applies the edit to the request for pre-warming; `None`: there is none.
    pub(crate) fn apply_to_prewarm(&self, prewarm: &mut Option<Cow<'_, Prewarm>>) {
        let Self::Prewarm(edit) = self else { return };
        match (edit, prewarm.as_mut()) {
            (PrewarmEdit::Start(asked), _) => {
                let write_ids = prewarm.as_ref().map(|known| known.write_ids.clone()).unwrap_or_default();
                let before = prewarm.as_ref().is_some_and(|known| known.stateful_sets);
                let stateful_sets = asked.stateful_sets || before;
                *prewarm = Some(Cow::Owned(Prewarm { write_ids, stateful_sets, ..(**asked).clone() }));
            }
            (PrewarmEdit::End, _) => drop(prewarm.take_if(|known| known.cancelled.is_some())),
            (_, None) => {}
            // A second pause changes nothing: the first one stands.
            (PrewarmEdit::Pause(by), Some(known)) => {
                known.to_mut().paused.get_or_insert_with(|| by.clone());
            }
            (PrewarmEdit::Resume, Some(known)) => known.to_mut().paused = None,
            (PrewarmEdit::Retry(by), Some(known)) => {
                let known = known.to_mut();
                known.retried = Some(by.clone());
                known.failures.clear();
                known.unrecorded = UnrecordedFailures::default();
            }
            (PrewarmEdit::Cancel(by), Some(known)) => {
                known.to_mut().cancelled.get_or_insert_with(|| by.clone());
            }
            // Somebody may have cancelled it in the meantime: then that is why it ends.
            (PrewarmEdit::Complete { .. }, Some(known)) if known.cancelled.is_some() => {}
            (PrewarmEdit::Complete { by, nodes }, Some(known)) => {
                let known = known.to_mut();
                (known.cancelled, known.complete) = (Some(by.clone()), Some(*nodes));
            }
            (PrewarmEdit::Handover(by), Some(known)) => known.to_mut().handover = Some(by.clone()),
        }
    }

    fn apply_to(&self, intent: &mut Intent) {
        match self {
            Self::Begin | Self::BeginWith { .. } | Self::ReplaceUnreadable(_) | Self::End | Self::Prewarm(_) => {}
            Self::Change { change, id } => {
                // If the record has this edit already, its partition is the one that the edit set, and no pause stands: what was before stays.
                let replaced = intent.requested_change.take().unwrap_or_default();
                let before = || change.begins_steps().then_some(intent.partition);
                intent.requested_change = Some(RequestedChange {
                    id: id.clone(),
                    partition_before: replaced.partition_before.or_else(before),
                    paused_before: intent.paused.take().filter(|it| !it.is_by_rolldeck()).or(replaced.paused_before),
                });
                intent.change = Some(change.clone());
                intent.releasing = None;
                if change.begins_steps() {
                    intent.partition = IntOrPercent::Percent(100);
                }
            }
            Self::Target { target, made, acknowledged } => {
                intent.target = Some(target.clone());
                intent.acknowledged_halt = intent.acknowledged_halt.max(*acknowledged);
                if let Some(made) = made {
                    intent.back_to = matches!(made.change, Change::Revision(_)).then(|| target.clone());
                    take_request(intent, made, None);
                }
            }
            Self::FirstTarget(seen) => {
                if intent.target.is_none() && intent.change.is_none() {
                    intent.target = Some(seen.clone());
                }
            }
            Self::Refuse { request, paused } => {
                if let Some(asked) = take_request(intent, request, paused.why.clone()) {
                    intent.partition = asked.partition_before.unwrap_or(intent.partition);
                    if intent.releasing.is_none() {
                        // A person's reason to pause says more than the refusal, which the outcome and an Event tell.
                        let again = asked.paused_before.map(|it| Paused { template: paused.template.clone(), ..it });
                        intent.paused.get_or_insert_with(|| again.unwrap_or_else(|| paused.clone()));
                    }
                }
            }
            Self::GoBack { to, failed, id } => {
                if intent.paused.is_none() && intent.change.is_none() && intent.target == *failed {
                    intent.change = Some(Change::Revision(to.clone()));
                    intent.requested_change = Some(RequestedChange { id: id.clone(), ..RequestedChange::default() });
                    intent.releasing = None;
                }
            }
            Self::Hold(paused) if intent.releasing.is_none() => {
                intent.paused.get_or_insert_with(|| paused.clone());
            }
            Self::HoldTemplate(paused) if intent.releasing.is_none() => match &mut intent.paused {
                Some(known) if known.is_by_rolldeck() && known.template.is_some() => {
                    *known = paused.clone().instead_of(Some(known.clone()));
                }
                Some(known) => known.template.clone_from(&paused.template),
                None => intent.paused = Some(paused.clone()),
            },
            Self::Hold(_) | Self::HoldTemplate(_) => {}
            Self::HoldPutBack(paused) => {
                (intent.change, intent.requested_change) = (None, None);
                (intent.releasing, intent.release_of) = (None, None);
                intent.paused.get_or_insert_with(|| paused.clone());
            }
            Self::Complete { target, by } => {
                let stands = intent.paused.is_none() && intent.change.is_none() && intent.target == *target;
                if stands && intent.releasing.is_none() {
                    (intent.releasing, intent.release_of) = (Some(by.clone()), target.clone());
                }
            }
            Self::CallOffRelease(by) => drop(intent.releasing.take_if(|releasing| releasing == by)),
            Self::Partition { partition, total } => {
                (intent.partition, intent.updated_in_total) = (*partition, *total);
                if let Some(asked) = &mut intent.requested_change {
                    asked.partition_before = None;
                }
            }
            Self::Select(selector) => intent.selector = selector.clone(),
            Self::Pause(paused) => {
                intent.paused = Some(paused.clone().instead_of(intent.paused.take()));
                intent.releasing = None;
            }
            Self::Resume { acknowledged, accepted, target } => {
                intent.paused = None;
                if let Some(asked) = &mut intent.requested_change {
                    asked.paused_before = None;
                }
                intent.acknowledged_halt = intent.acknowledged_halt.max(*acknowledged);
                intent.accepted.clone_from(accepted);
                if target.is_some() {
                    // The steps until now were for another template: they say nothing of this one, which no node may have tried. Where
                    // the record has this edit already, its partition may be that of a later step, and stays.
                    if intent.target != *target {
                        intent.partition = IntOrPercent::Percent(100);
                    }
                    intent.target.clone_from(target);
                    intent.back_to = None;
                }
            }
            Self::Release { by, of } => (intent.releasing, intent.release_of) = (Some(by.clone()), of.clone()),
            Self::Handover(by) => intent.handover = Some(by.clone()),
            Self::Tune { tuning, by } => {
                let before = intent.settings();
                intent.tune(tuning);
                if let Some(paused) = &mut intent.paused {
                    paused.note_tuned(tuning, &before, by);
                }
            }
        }
    }
}

/// Takes a change that is made, or `refused`, out of the record, if that change is still asked for.
fn take_request(intent: &mut Intent, request: &ChangeRequest, refused: Option<Str>) -> Option<RequestedChange> {
    if intent.request().as_ref() != Some(request) {
        return None;
    }
    intent.change = None;
    let asked = intent.requested_change.take();
    intent.outcome = request.id.clone().map(|id| ChangeOutcome { id, refused });
    Some(asked.unwrap_or_default())
}

impl Edit {
    /// This edit with its reasons cut to the length that a record allows.
    pub(crate) fn with_short_reasons(mut self) -> Self {
        if let Self::Pause(paused) | Self::Hold(paused) | Self::HoldTemplate(paused) | Self::HoldPutBack(paused) =
            &mut self
            && let Some(why) = &mut paused.why
        {
            *why = clipped(why);
        }
        self
    }
}
