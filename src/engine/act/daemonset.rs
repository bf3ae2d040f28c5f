//! Writes the DaemonSet: adopts it, changes its template, hands it back. One patch at a time.

use crate::engine::machine::Engine;
use crate::engine::model::effect::{DaemonSetPatch, Effect, EffectId};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::StrategyKind;
use crate::engine::model::record::{ORIGINAL_STRATEGY, Progress};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::change::change_annotation;
use crate::engine::rules::saved_strategy::saved_json;
use crate::engine::writes::daemonset::PatchPurpose;

impl Engine {
    /// The next patch of the DaemonSet, if one is due and may be sent now.
    pub(super) fn write_daemonset(&mut self, now: Timestamp) -> Option<(EffectId, Effect)> {
        let daemonset = self.view.daemonset().filter(|daemonset| !daemonset.deleting)?;
        if !self.daemonset.may_send(&daemonset.resource_version, now) {
            return None;
        }
        let rolling = daemonset.strategy.kind == StrategyKind::RollingUpdate;
        if !rolling {
            self.daemonset.is_on_delete();
        }
        let (kind, patch) = if self.daemonset.brakes() {
            (PatchPurpose::Adopt, self.adoption())
        } else if self.lock.may_act(now) {
            self.holders_patch()?
        } else {
            return None;
        };
        let resource_version = self.view.daemonset()?.resource_version.clone();
        if kind == PatchPurpose::Release {
            self.daemonset.released = Some(self.released_strategy());
        }
        let id = self.send_patch(kind, resource_version.clone());
        Some((id, Effect::PatchDaemonSet { resource_version, patch }))
    }

    /// The patch that the holder of the lease has to make next, if any.
    fn holders_patch(&self) -> Option<(PatchPurpose, DaemonSetPatch)> {
        let daemonset = self.view.daemonset()?;
        let intent = self.lock.record()?.intent.clone();
        if intent.handover.is_some() || !self.lock.wants_to_drive() {
            return None;
        }
        if let Some(by) = &intent.releasing {
            // An edit that calls the release off may be waiting to be saved.
            let stands = self.recorded_intent().is_some_and(|intent| intent.releasing.is_some());
            if !stands || self.release_must_wait(by) || self.releases_another_template(&intent) {
                return None;
            }
            let Some(saved) = self.original_to_restore() else { return self.tidying() };
            // If somebody has set a rolling strategy meanwhile, theirs stays, and is the original one from then on: the record says so before.
            let rolling = daemonset.strategy.kind == StrategyKind::RollingUpdate;
            if rolling
                && self.lock.record()?.progress.original_strategy.as_deref()
                    != Some(&daemonset.strategy.raw.to_string())
            {
                return None;
            }
            let original = if rolling { daemonset.strategy.raw.clone() } else { saved };
            let rolls = original["type"].as_str() != Some("OnDelete");
            let expected_template = rolls.then(|| daemonset.template.clone());
            return Some((PatchPurpose::Release, DaemonSetPatch::Release { original, expected_template }));
        }
        if !self.is_adopted() {
            // A strategy that somebody set back after the adoption is handled as a drift (`strategy_drift.rs`), not here. If somebody set
            // `OnDelete` by hand, the patch only has to add the missing annotation with the original strategy.
            let fought = self.progress.adopted && daemonset.strategy.kind == StrategyKind::RollingUpdate;
            // The record has the original strategy before the DaemonSet has another one.
            let is_noted = self.lock.record().is_some_and(|record| record.progress.original_strategy.is_some());
            return (is_noted && !fought).then(|| (PatchPurpose::Adopt, self.adoption()));
        }
        let Some(request) = intent.request() else { return self.tidying() };
        // A change that was made or refused is about to be removed from the record, and is not sent again.
        let stands = self.recorded_intent().is_some_and(|intent| intent.request().as_ref() == Some(&request));
        if !stands || !self.is_observed() || !self.is_to_be_sent(&request) {
            return None;
        }
        let wanted = self.view.template_with(&request.change).ok()?;
        let differs = wanted != daemonset.template;
        let change = request.id.as_ref().map(|id| change_annotation(id, daemonset.generation + 1).into());
        let patch = || DaemonSetPatch::Template { template: wanted.json().clone(), change };
        differs.then(|| (PatchPurpose::Template, patch()))
    }

    /// Notes the update strategy that the DaemonSet had before its adoption, so that the first write of the record has it. The annotation in which the adoption
    /// saves it need not stay: admission may remove it in the same write. A release notes the rolling strategy that somebody else has set meanwhile.
    pub(super) fn note_original(&mut self) {
        let Some(daemonset) = self.view.daemonset().filter(|_| self.is_recorded()) else { return };
        let releases = self.recorded_intent().is_some_and(|intent| intent.releasing.is_some());
        if releases && daemonset.strategy.kind == StrategyKind::RollingUpdate {
            self.progress.original_strategy = Some(daemonset.strategy.raw.to_string().into());
            return;
        }
        if self.progress.original_strategy.is_some() {
            return;
        }
        let on_delete = daemonset.strategy.kind == StrategyKind::OnDelete;
        // Beside a rolling strategy the annotation was left behind by an earlier rollout.
        let saved =
            daemonset.annotations.get(ORIGINAL_STRATEGY).filter(|_| on_delete && saved_json(daemonset).is_some());
        self.progress.original_strategy =
            Some(saved.cloned().unwrap_or_else(|| daemonset.strategy.raw.to_string().into()));
    }

    /// The patch that adopts the DaemonSet. It saves the present strategy as the original one. If this rollout has already saved a
    /// strategy, the saved one stays the original, whichever process drives or brakes by now. If the record is gone and the present
    /// strategy is a rolling one, an annotation that the earlier rollout left behind is overwritten, because somebody may have set another
    /// strategy since. While the Lease has not been seen, its record cannot be read, or it cannot be watched, a saved strategy is kept, because nobody knows then whether
    /// a record exists. If somebody removed the annotation, it is written again from the record.
    fn adoption(&self) -> DaemonSetPatch {
        let daemonset = self.view.daemonset();
        let began = |progress: &Progress| progress.adopted || progress.drifted;
        let recorded = self.lock.is_unseen()
            || self.lock.has_unreadable_record()
            || self.lock.record().is_some_and(|it| began(&it.progress));
        let unseen = self.health(Watched::Lease) != WatchHealth::Live;
        let ours = recorded || unseen || began(&self.progress) || self.strategy() == StrategyKind::OnDelete;
        let saved = daemonset.filter(|_| ours).and_then(|daemonset| daemonset.annotations.get(ORIGINAL_STRATEGY));
        // The annotation was removed, alone or with the strategy, as `kubectl replace` does: the record has the original one.
        let recorded = || {
            let progress = self.lock.record().map(|record| &record.progress);
            // This process may have adopted it, and not have recorded that yet.
            let adopted = self.strategy() == StrategyKind::OnDelete || began(&self.progress);
            let ours = |it: &&Progress| adopted || began(it);
            progress.filter(ours).and_then(|progress| progress.original_strategy.as_deref())
        };
        let present = || daemonset.map(|daemonset| daemonset.strategy.raw.to_string()).unwrap_or_default();
        let original = saved.map(|saved| &**saved).or_else(recorded).map_or_else(present, ToOwned::to_owned);
        DaemonSetPatch::Adopt { original, on_delete: self.strategy() == StrategyKind::OnDelete }
    }
}
