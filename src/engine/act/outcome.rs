//! Takes in the outcome of a write: when the write is tried again, and what the commands that wait for it are told.
//!
//! A deletion counts against the budget from when it is sent until a watch shows what became of it, also if its answer was
//! lost.

use std::time::Duration;

use super::change::remedy;
use crate::engine::lease::edit::Edit;
use crate::engine::lease::lock::InFlight;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::command::Unsettled;
use crate::engine::model::config::Role;
use crate::engine::model::effect::{Done, EffectError, EffectErrorKind, EffectId, Outcome};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::{DaemonSetFact, StrategyKind};
use crate::engine::model::record::{CHANGE, ORIGINAL_STRATEGY};
use crate::engine::model::rollout_event::EventOutcome;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::change::WrittenChange;
use crate::engine::rules::saved_strategy::has_saved_strategy;
use crate::engine::writes::daemonset::{PatchPurpose, Patching};
use crate::engine::writes::effects::Sent;
use crate::engine::writes::failures::{LeaseFailure, Written};
use crate::engine::writes::pending::{Needs, Pending};
use crate::engine::writes::refusals::FailedDeletion;

/// The outcome of a write, for the audit log.
fn reported(outcome: &Outcome) -> (EventOutcome, Option<Str>) {
    match outcome {
        Ok(_) => (EventOutcome::Done, None),
        Err(error) => (error.kind.into(), Some(error.message.clone())),
    }
}

impl Engine {
    /// Takes in the outcome of the effect `id`. An id that is unknown or was answered before is ignored. The engine's time never goes back: a `now`
    /// before its own counts for the effect only.
    pub fn outcome(&mut self, id: EffectId, outcome: Outcome, now: Timestamp) {
        self.now = self.now.max(now);
        self.freshness.touch();
        match self.effects.answered(id) {
            Some(Sent::Delete { uid, node, pod }) => {
                let (result, said) = reported(&outcome);
                self.tell_delete(&node, &pod, &uid, result, said);
                self.delete_outcome(&uid, &node, outcome, now);
            }
            Some(Sent::TryPod { revision }) => self.trial_outcome(&revision, &outcome, now),
            Some(Sent::CreateWarm { node, pod }) => self.warm_pod_outcome(&node, &pod, outcome, now),
            Some(Sent::DeleteWarm { uid, .. }) => self.warm_deletion_outcome(&uid, &outcome, now),
            Some(Sent::ListSets) => self.warm_sets_outcome(outcome, now),
            Some(Sent::CreateSet { name }) => self.warm_set_outcome(&name, outcome, now),
            Some(Sent::DeleteSet { name, uid }) => self.warm_set_deletion_outcome((&name, &uid), &outcome, now),
            Some(Sent::DaemonSet) => self.patch_outcome(id, outcome, now),
            Some(Sent::Lease) => self.lease_outcome(id, outcome, now),
            None => {}
        }
    }

    /// Gives up deletions whose answer was lost. If the pod is still there and not terminating [`LOST_ANSWER`] later, it was not deleted.
    /// The watch must have been heard since then, because a watch that stands still shows deleted pods, too, and so does one that was just opened again.
    pub(crate) fn forget_lost_answers(&mut self, now: Timestamp) {
        let live = self.health(Watched::Pods) == WatchHealth::Live && !self.catches_up();
        let watches = self.view.watches();
        let settled = |at: Timestamp| live && now >= at && watches.heard_since(Watched::Pods, at);
        let lost: Vec<Str> =
            self.deletions.given_up_at().filter(|(_, at)| settled(*at)).map(|(uid, _)| uid.clone()).collect();
        for uid in lost {
            let error = self.deletions.give_up(&uid);
            self.view.touch_pod(&uid);
            if let Some((node, error)) = error.filter(|_| self.view.has_pod(&uid)) {
                self.deletion_refused(&node, &uid, &error, FailedDeletion::Lost, now);
            }
        }
        self.deletions.forget_errors();
    }

    fn delete_outcome(&mut self, uid: &Str, node: &Str, outcome: Outcome, now: Timestamp) {
        let counts = self.deletions.contains(uid);
        match outcome {
            Ok(_) => {
                self.deletions.retry.succeeded();
                self.failures.forget_write(Written::Pod);
                self.refusals.succeeded(self.view.node(node));
                if counts {
                    if self.view.has_pod(uid) {
                        self.deletions.confirmed(uid, now);
                    } else {
                        // No watch will show the end of this pod: its deletion counts against the budget for a while.
                        self.deletions.unknown(uid, now);
                    }
                }
            }
            Err(error) if error.kind.may_have_happened() => {
                if counts {
                    self.deletions.answer_lost(uid, node, error, now);
                }
            }
            // The pod is gone, whoever deleted it. The deletion counts until the watch has shown that.
            Err(error) if error.kind == EffectErrorKind::NotFound => {
                if counts && self.view.has_pod(uid) {
                    self.deletions.confirmed(uid, now);
                } else {
                    self.deletions.forget(uid);
                }
            }
            // The deletion was not sent, because the proof was too old by then. It is decided again behind the next proof.
            Err(error) if error.kind == EffectErrorKind::TooLate => {
                self.deletions.forget(uid);
                self.view.touch_pod(uid);
            }
            Err(error) => {
                self.deletions.forget(uid);
                self.view.touch_pod(uid);
                let refused = error.kind.is_refusal();
                if refused {
                    self.deletion_refused(node, uid, &error, FailedDeletion::Refused, now);
                    return;
                }
                let wait = Duration::from_secs(2);
                if let Some(ix) = self.view.node(node) {
                    self.deletions.hold_node(ix, now + wait);
                }
                if error.kind != EffectErrorKind::Conflict {
                    self.deletions.retry.failed(&error, now);
                    self.note_failure(Written::Pod, &error, now);
                }
            }
        }
    }

    fn note_failure(&mut self, written: Written, error: &EffectError, now: Timestamp) {
        let unauthorized = error.kind == EffectErrorKind::Unauthorized;
        if error.kind.is_refusal() || unauthorized || error.kind.may_have_happened() {
            self.failures.write_failed(written, error, now);
        }
    }

    fn patch_outcome(&mut self, id: EffectId, outcome: Outcome, now: Timestamp) {
        let Some(patching) = self.daemonset.answered(id) else { return };
        let outcome = self.unless_without_effect(patching.kind, outcome, now);
        let (result, said) = reported(&outcome);
        let dry_run = outcome.as_ref().is_err_and(|error| error.dry_run);
        self.tell_patch(patching.kind, (result, dry_run), said, patching.reported_by_command);
        match outcome {
            Ok(done) => {
                self.daemonset.retry.succeeded();
                self.daemonset.took_effect(patching.kind);
                self.failures.forget_write(Written::DaemonSet);
                match patching.kind {
                    PatchPurpose::Adopt => self.daemonset.release_brake(),
                    PatchPurpose::Template => {
                        // The template may have been seen, and the next change may have been asked for, before this answer came.
                        let asked = self.recorded_intent().and_then(|intent| intent.request());
                        let request = patching.request.filter(|request| asked.as_ref() == Some(request));
                        // What the server answered is our template, whatever admission made of what we sent.
                        self.daemonset.written = match (request, &done) {
                            (Some(request), Done::DaemonSet(fact)) => {
                                Some(WrittenChange { request, template: fact.template.clone() })
                            }
                            _ => None,
                        };
                    }
                    PatchPurpose::ForgetChange | PatchPurpose::Release => {}
                }
                if let Done::DaemonSet(fact) = done {
                    self.view.daemonset_was_written(fact, now);
                }
            }
            Err(error) => {
                self.daemonset.retry.failed(&error, now);
                if error.kind == EffectErrorKind::Conflict {
                    self.daemonset.met_conflict(patching.resource_version.clone());
                }
                if error.kind == EffectErrorKind::Unauthorized {
                    self.patch_not_authorized(patching.kind, &error.message);
                }
                let refused = error.kind.is_refusal();
                if !(refused && self.give_up_patch(patching, &error, now)) {
                    self.note_failure(Written::DaemonSet, &error, now);
                }
            }
        }
    }

    /// Turns the answer to an adoption into a refusal if admission undid a part of it in the same write: the server answers with success, and the DaemonSet is
    /// not on `OnDelete`, or its original strategy is not saved with it (docs/kubernetes.md, *OnDelete*). The DaemonSet that the server stored is observed
    /// all the same.
    fn unless_without_effect(&mut self, kind: PatchPurpose, outcome: Outcome, now: Timestamp) -> Outcome {
        let message = match &outcome {
            Ok(Done::DaemonSet(fact)) if kind == PatchPurpose::Adopt => without_effect(fact),
            _ => None,
        };
        let (Some(message), Ok(Done::DaemonSet(fact))) = (message, &outcome) else { return outcome };
        self.view.daemonset_was_written(fact.clone(), now);
        Err(EffectError { kind: EffectErrorKind::Invalid, message, dry_run: false })
    }

    /// Handles a patch that the API server refused: commands that wait for it fail. Returns whether it is given up for good.
    fn give_up_patch(&mut self, patching: Patching, error: &EffectError, now: Timestamp) -> bool {
        if patching.kind == PatchPurpose::ForgetChange {
            // The annotation that stays does no harm: the release removes it.
            let daemonset = self.view.daemonset();
            self.daemonset.untidy = daemonset.and_then(|daemonset| daemonset.annotations.get(CHANGE)).cloned();
            self.daemonset.retry.succeeded();
            return true;
        }
        let waits = match patching.kind {
            PatchPurpose::Adopt => {
                self.daemonset.release_brake();
                // A pause needs no more than `OnDelete`, saved or not.
                match self.strategy() {
                    StrategyKind::OnDelete => &[Needs::Adopted][..],
                    StrategyKind::RollingUpdate => &[Needs::Adopted, Needs::Braked],
                }
            }
            PatchPurpose::Release => &[Needs::Released],
            PatchPurpose::Template | PatchPurpose::ForgetChange => &[],
        };
        // A command that has ended is not to be carried out by whoever drives next. A console that drives goes on trying.
        let asked = self.recorded_intent().and_then(|intent| intent.releasing.clone());
        let called_off =
            asked.filter(|_| patching.kind == PatchPurpose::Release && self.config().role == Role::OneShot);
        match called_off {
            Some(by) => {
                self.edit(None, Edit::CallOffRelease(by));
                let why = format!("{}; nothing is released, and it is not asked for any more", error.message);
                self.refuse_waiting(|pending| waits.contains(&pending.needs), &why);
            }
            None => {
                let left = match patching.kind {
                    PatchPurpose::Adopt => self.left_of_a_refused_adoption(),
                    PatchPurpose::Release => "; the release stays recorded, and is tried again",
                    PatchPurpose::Template | PatchPurpose::ForgetChange => "",
                };
                let why = format!("{}{left}", error.message);
                self.refuse_waiting(|pending| waits.contains(&pending.needs), &why);
            }
        }
        let change = patching.request.filter(|_| self.lock.holds() && patching.kind != PatchPurpose::Release);
        let Some(request) = change else { return false };
        if patching.kind == PatchPurpose::Template {
            // Nothing is left to be tried again, and the next change must not wait for a retry.
            self.daemonset.retry.succeeded();
        }
        self.refuse_change(request, &error.message, remedy(error), now);
        true
    }

    /// Fails the commands of a process that ends with them, where the API server does not accept its credentials for the patch. What they asked for stays
    /// recorded: a record that says otherwise could not be written with these credentials either. A driver tries the patch again.
    fn patch_not_authorized(&mut self, kind: PatchPurpose, why: &str) {
        if self.config().role != Role::OneShot {
            return;
        }
        let left = match kind {
            PatchPurpose::Adopt => self.left_of_a_refused_adoption(),
            PatchPurpose::Release => "; the release stays recorded, and whoever drives next carries it out",
            PatchPurpose::Template => "; the change stays recorded, and whoever drives next carries it out",
            PatchPurpose::ForgetChange => return,
        };
        self.daemonset.release_brake();
        for pending in self.pending.take_where(|pending| pending.needs != Needs::DriverStopped) {
            self.edits.drop_those_of(pending.id);
            self.settled(pending, Err(Unsettled::Unauthorized(format!("{why}{left}"))));
        }
    }

    /// What stays where the API server refuses the patch of an adoption or of a brake, and how it is taken back: the record is written before the DaemonSet.
    fn left_of_a_refused_adoption(&self) -> &'static str {
        let rolls = self.strategy() == StrategyKind::RollingUpdate;
        match self.lock.record().map(|record| &record.intent) {
            _ if self.is_adopted() => "",
            Some(_) if !rolls => "; the rollout is recorded all the same: `release` drops the record",
            Some(intent) if intent.paused.is_some() => {
                "; the pause is recorded, and does not stop its controller, which still replaces pods: `pause` tries again, `release --early` drops the record"
            }
            Some(_) => {
                "; the rollout is recorded, and its controller still replaces pods: `adopt` tries again, `release` drops the record"
            }
            None if self.lock.in_flight().is_some() => {
                "; what was asked for may be recorded all the same, and does not stop its controller: `status` says so, `release --early` drops the record"
            }
            None if rolls => "; nothing is recorded, and its controller still replaces pods",
            None => "",
        }
    }

    /// Fails the commands that `which` picks, and drops their edits.
    pub(super) fn fail_pending(&mut self, which: impl Fn(&Pending) -> bool, why: &str) {
        for pending in self.pending.take_where(which) {
            self.edits.drop_those_of(pending.id);
            self.settled(pending, Err(Unsettled::Failed(why.to_owned())));
        }
    }

    /// Settles the commands that `which` picks as refused by the API server, and drops their edits.
    fn refuse_waiting(&mut self, which: impl Fn(&Pending) -> bool, why: &str) {
        for pending in self.pending.take_where(which) {
            self.edits.drop_those_of(pending.id);
            self.settled(pending, Err(Unsettled::Refused(why.to_owned())));
        }
    }

    /// Settles the commands that cannot be carried out, because the API server refuses to have the Lease written, or does not accept the credentials for it: a
    /// command of which nothing was saved before is refused as a whole.
    fn refuse_pending(&mut self, error: &EffectError) {
        let why = &*error.message;
        for braked in self.pending.iter_mut().filter(|pending| self.edits.has_any_of(pending.id)) {
            braked.without_pause(why);
        }
        for pending in self.pending.take_where(|pending| pending.needs != Needs::Braked) {
            let unsaved = self.edits.has_any_of(pending.id);
            let left = if unsaved { "" } else { "; what was asked for is recorded, and not carried out to its end" };
            let said = format!("{why}{left}");
            let unsettled = match error.kind {
                EffectErrorKind::Unauthorized => Unsettled::Unauthorized(said),
                _ => Unsettled::Refused(said),
            };
            self.settled(pending, Err(unsettled));
        }
        self.edits.clear();
    }

    /// Takes in that a write of the Lease took effect, as its answer or the record shows.
    pub(crate) fn lease_is_written(&mut self, write: &InFlight) {
        self.failures.set_lease(None);
        self.edits.saved_below(write.edits_before);
        self.lock.written(write);
    }

    fn lease_outcome(&mut self, id: EffectId, outcome: Outcome, now: Timestamp) {
        let Some(in_flight) = self.lock.answered(id) else { return };
        self.measure_distance(&in_flight, &outcome, now);
        match outcome {
            Ok(done) => {
                if let Done::Lease(fact) = done {
                    self.view.lease_was_written(&fact.resource_version, now);
                    self.lock.learn(*fact, now);
                    self.note_outcome();
                }
                self.lease_is_written(&in_flight);
            }
            Err(error) => {
                if error.kind.may_have_happened() {
                    self.lock.lose(in_flight.clone());
                }
                if !matches!(error.kind, EffectErrorKind::Conflict | EffectErrorKind::NotFound) {
                    let unauthorized = error.kind == EffectErrorKind::Unauthorized;
                    let (why, refused) = (error.message.clone(), error.kind.is_refusal() || unauthorized);
                    self.failures.set_lease(Some(LeaseFailure { why, refused }));
                }
                let wait = match error.kind {
                    EffectErrorKind::Throttled { retry_after_millis } => Duration::from_millis(retry_after_millis),
                    EffectErrorKind::Forbidden | EffectErrorKind::Invalid => Duration::from_secs(10),
                    // Somebody may log in again at any time.
                    EffectErrorKind::Unauthorized => Duration::from_secs(3),
                    _ => Duration::from_millis(500),
                };
                self.lock.write_again_at(now + wait);
                match error.kind {
                    // There is no Lease. Its watch may have shown that before a late answer made us believe in it again, and will
                    // not show it a second time.
                    EffectErrorKind::NotFound if self.lock.resource_version() == in_flight.against => {
                        self.lock.observe_absent(now);
                        self.lock.write_again_at(now);
                    }
                    EffectErrorKind::Conflict | EffectErrorKind::NotFound => {
                        // The newer version that the write conflicted with may have been seen already, before this answer.
                        if self.lock.resource_version() == in_flight.against {
                            self.lock.is_outdated(now);
                        }
                        self.lock.write_again_at(now);
                    }
                    EffectErrorKind::Forbidden | EffectErrorKind::Invalid | EffectErrorKind::Unauthorized => {
                        self.refuse_pending(&error);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The part of an adoption that is missing in the DaemonSet which the API server stored, in words; `None` if nothing is.
fn without_effect(stored: &DaemonSetFact) -> Option<Str> {
    if stored.strategy.kind == StrategyKind::RollingUpdate {
        let why = "setting OnDelete had no effect: a mutating webhook or policy sets another update strategy in the same write";
        return Some(why.into());
    }
    (!has_saved_strategy(stored)).then(|| {
        format!(
            "saving the original update strategy had no effect: a mutating webhook or policy removes the annotation {ORIGINAL_STRATEGY} in the same write; \
             let it leave annotations of rolldeck.io alone; `release` puts the strategy back"
        )
        .into()
    })
}
