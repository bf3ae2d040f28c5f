//! A change of the template, from when it is asked for until it is made or refused.
//!
//! ```text
//!   asked ──────────▶ patch sent ──▶ answered ───────────────▶ made: target, and `back_to` where it goes back
//!   (nothing moves)       │              (what the server made of it is our template, whatever admission did)
//!                         ├──▶ answer lost ──▶ annotation `rolldeck.io/change` tells
//!                         └──▶ refused ─────▶ the change is dropped, the rollout is paused with the refusal
//! ```
//!
//! Until a change is made, target, partition, selector and a halt stay as they were. Otherwise a roll back that cannot be written
//! would let the new revision go on without partition, selector and halt.

use super::begin::Leads;
use crate::engine::lease::edit::Edit;
use crate::engine::lease::lock::KnownLease;
use crate::engine::machine::Engine;
use crate::engine::machine::change::PUT_BACK;
use crate::engine::model::Str;
use crate::engine::model::change_request::ChangeRequest;
use crate::engine::model::command::Unsettled;
use crate::engine::model::effect::{DaemonSetPatch, EffectError, EffectErrorKind};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::presence::Presence;
use crate::engine::model::record::{CHANGE, ChangeOutcome, Intent, OURSELVES, Paused};
use crate::engine::model::rollout_event::{RolloutEventKind, TemplateResponse, Visibility};
use crate::engine::model::template::{NoTemplate, Template};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::change::{InForce, annotated};
use crate::engine::writes::daemonset::PatchPurpose;
use crate::engine::writes::pending::Pending;

/// The length to which a server's refusal is cut before it is recorded, in characters.
const REFUSAL_LIMIT: usize = 600;

impl Engine {
    /// Compares the template with what was asked for: notes that a change of ours is made, finds the first target, and pauses if
    /// somebody else has changed the template.
    pub(super) fn follow_template(&mut self, intent: &Intent, now: Timestamp) {
        if !self.is_adopted() || !self.is_observed() {
            return;
        }
        let Some(current) = self.view.current().cloned() else { return };
        if let Some(request) = intent.request() {
            self.follow_change(intent, request, current, now);
        } else if intent.target.is_none() {
            self.edit(None, Edit::Target { target: current, made: None, acknowledged: 0 });
        } else if intent.releasing.is_none() {
            self.follow_resumed(intent, now);
            if self.sees_template() {
                self.follow_others(intent, &current, now);
            }
        }
    }

    /// Whether the template that is seen is the present one, as far as can be told. A process that has just taken over may know from the record what its own
    /// watch does not show yet: nobody else changed that.
    fn sees_template(&self) -> bool {
        self.sees_daemonset() && self.health(Watched::Revisions) == WatchHealth::Live
    }

    /// Begins a rollout where an operator has resumed with somebody else's template: nothing that was accepted of the revision before, or seen of it, is
    /// about this one. A record of a version that did not note its target is taken to be about the present one.
    fn follow_resumed(&mut self, intent: &Intent, now: Timestamp) {
        if self.progress.started_at.is_none() {
            return;
        }
        match &self.progress.target {
            Some(known) if Some(known) == intent.target.as_ref() => {}
            Some(_) => self.begin(Leads::Elsewhere, now),
            None => self.progress.target.clone_from(&intent.target),
        }
    }

    /// Pauses the rollout if somebody else has changed the template. While it is paused for that, each further change of theirs is reported
    /// and noted. If they put the template of the target back, the rollout stays paused, because only the author of these changes knows why
    /// they were made.
    fn follow_others(&mut self, intent: &Intent, current: &Str, now: Timestamp) {
        let is_target = intent.target.as_ref() == Some(current);
        let then = match &intent.paused {
            None if is_target => return,
            None => TemplateResponse::Paused,
            Some(paused) => match &paused.template {
                None if is_target => return,
                Some(known) if known == current => return,
                Some(_) if is_target => TemplateResponse::PutBack,
                _ => TemplateResponse::Noted,
            },
        };
        self.tell_template_changed_by_others(intent, then);
        let put_back = then == TemplateResponse::PutBack;
        let why = if put_back { PUT_BACK.to_owned() } else { self.template_changed_words() };
        self.edit(None, Edit::HoldTemplate(paused_for_template(current, why, now)));
    }

    fn follow_change(&mut self, intent: &Intent, request: ChangeRequest, current: Str, now: Timestamp) {
        let wanted = self.view.template_with(&request.change);
        let has = |wanted: &Template| self.view.daemonset().is_some_and(|it| it.template == *wanted);
        let in_force = self.in_force(&request);
        if in_force == InForce::Ours || wanted.as_ref().is_ok_and(has) {
            self.daemonset.written = None;
            self.tell_template_changed(intent, &current);
            let halt = self.progress.halt.as_ref().map_or(0, |halt| halt.number);
            let same = intent.target.as_ref() == Some(&current);
            self.edit(None, Edit::Target { target: current, made: Some(request), acknowledged: halt });
            self.begin(if same { Leads::ToTheSameTarget } else { Leads::Elsewhere }, now);
        } else if in_force == InForce::Overwritten {
            if !self.daemonset.is_patching() && self.sees_template() {
                self.tell_template_changed_by_others(intent, TemplateResponse::Paused);
                let paused = paused_for_template(&current, self.template_changed_words(), now);
                self.drop_change(request, paused);
            }
        } else if let Err(why) = wanted {
            // While the watch of revisions is not live, the revision may exist without having been seen.
            if !self.daemonset.is_patching() && self.health(Watched::Revisions) == WatchHealth::Live {
                self.refuse_change(request, &refusal_words(why), "`history` lists what there is to go back to", now);
            }
        }
    }

    /// Whether the template in force is the result of this change. The answer to our patch decides; without an answer, the annotation does.
    fn in_force(&self, request: &ChangeRequest) -> InForce {
        let Some(daemonset) = self.view.daemonset() else { return InForce::NotMade };
        match (self.daemonset.written.as_ref().filter(|written| written.request == *request), &request.id) {
            (Some(written), _) if written.template == daemonset.template => InForce::Ours,
            (Some(_), _) => InForce::Overwritten,
            (None, Some(id)) => annotated(id, daemonset),
            (None, None) => InForce::NotMade,
        }
    }

    /// Whether the template is that of the change which is asked for, as far as is known. What is left is its revision, and to note that as the target.
    pub(crate) fn change_is_written(&self, intent: &Intent) -> bool {
        intent.request().is_some_and(|request| self.in_force(&request) == InForce::Ours)
    }

    /// Whether this change has still to be sent.
    pub(super) fn is_to_be_sent(&self, request: &ChangeRequest) -> bool {
        self.in_force(request) == InForce::NotMade
    }

    /// The patch that removes the annotation of a change that is over, unless the API server has refused that.
    pub(super) fn tidying(&self) -> Option<(PatchPurpose, DaemonSetPatch)> {
        let change = self.view.daemonset()?.annotations.get(CHANGE)?;
        (self.daemonset.untidy.as_ref() != Some(change))
            .then_some((PatchPurpose::ForgetChange, DaemonSetPatch::ForgetChange))
    }

    /// Gives up a change that the API server refuses or that cannot be made. Nothing of it is done, and the rollout pauses with the
    /// reason.
    pub(super) fn refuse_change(&mut self, request: ChangeRequest, why: &str, remedy: &str, now: Timestamp) {
        let what = self.change_words(&request.change);
        let mut why = self.without_values(why).to_string();
        if why.chars().count() > REFUSAL_LIMIT {
            why = why.chars().take(REFUSAL_LIMIT).chain(['…']).collect();
        }
        // An adoption of which only a part is possible has set `OnDelete` before.
        let unchanged = match self.strategy() {
            StrategyKind::OnDelete if !self.is_adopted() => "the template was not changed",
            StrategyKind::OnDelete | StrategyKind::RollingUpdate => "nothing was changed",
        };
        let words = format!("{what} was refused: {why}; {unchanged}: {remedy}, then ask again, or resume without it");
        self.happened(RolloutEventKind::ChangeRefused { why: words.as_str().into() }, Visibility::Cluster);
        self.drop_change(request, Paused::new(OURSELVES.into(), now, Some(words.into())));
    }

    fn drop_change(&mut self, request: ChangeRequest, paused: Paused) {
        self.daemonset.written = None;
        self.edit(None, Edit::Refuse { request, paused });
    }

    // ── The command that waits for it ─────────────────────────────────────────────────────────────────────────────

    /// Copies the outcome of a change from the record to the commands that wait for that change, because the record may soon be deleted.
    pub(crate) fn note_outcome(&mut self) {
        let outcome = self.lock.record().and_then(|record| record.intent.outcome.as_ref());
        let Some(outcome) = outcome.cloned() else { return };
        for pending in self.pending.iter_mut().filter(|pending| pending.change.as_ref() == Some(&outcome.id)) {
            pending.outcome = Some(outcome.clone());
        }
    }

    /// The outcome of the change that this command asked for, whichever process carried it out. `None` while the change is under way, and
    /// for a command that asked for no change.
    pub(super) fn change_result(&self, pending: &Pending) -> Option<Result<String, Unsettled>> {
        let id = pending.change.as_ref()?;
        match &pending.outcome {
            Some(ChangeOutcome { refused: None, .. }) => return Some(Ok(pending.says.clone())),
            Some(ChangeOutcome { refused: Some(why), .. }) => return Some(Err(Unsettled::Refused(why.to_string()))),
            None => {}
        }
        let asked = self.lock.record().and_then(|record| record.intent.requested_change.as_ref());
        if asked.is_some_and(|asked| asked.id == *id) {
            return None;
        }
        Some(Err(Unsettled::Failed(self.called_off().to_owned())))
    }

    /// The reason why a recorded request is not carried out any more.
    pub(super) fn called_off(&self) -> &'static str {
        match self.lock.known() {
            _ if self.view.presence() == Presence::Absent => "called off: the DaemonSet was deleted meanwhile",
            _ if self.is_being_deleted() => "called off: the DaemonSet is being deleted",
            KnownLease::Absent => "called off: the Lease was deleted meanwhile, and the record of the rollout with it",
            _ if self.recorded_intent().is_some_and(|intent| self.is_template_of_others(&intent)) => {
                "called off: somebody else changed the template meanwhile"
            }
            KnownLease::Nothing | KnownLease::Present(_) => "called off: somebody asked for something else meanwhile",
        }
    }
}

/// The remedy for a patch that the API server refused, in words for the operator.
pub(crate) fn remedy(error: &EffectError) -> &'static str {
    let says = |words: &str| error.message.contains(words);
    match error.kind {
        EffectErrorKind::Forbidden if says("cannot patch") => "get a role that may patch daemonsets.apps",
        _ => "change the policy that refuses it, or choose what it admits",
    }
}

/// A pause because somebody else changed the template. `template` is the hash of the revision that they made of it.
fn paused_for_template(template: &Str, why: String, now: Timestamp) -> Paused {
    Paused { template: Some(template.clone()), ..Paused::new(OURSELVES.into(), now, Some(why.into())) }
}

/// Why a change of the template is refused, in words.
fn refusal_words(why: NoTemplate) -> String {
    match why {
        NoTemplate::DaemonSetUnknown => "the DaemonSet is gone".to_owned(),
        NoTemplate::RevisionGone(hash) => format!("revision {hash} is not in the history any more"),
        NoTemplate::Container(why) => why,
    }
}

#[cfg(test)]
mod tests;
