//! The record and its intent: as the cluster has them, and as they will be once all edits are saved.

use std::borrow::Cow;

use super::Engine;
use crate::engine::lease::edit::{Edit, PrewarmEdit};
use crate::engine::lease::lock::LeaseContents;
use crate::engine::model::Str;
use crate::engine::model::record::{By, Intent, Record};
use crate::engine::model::step_ahead::NothingRecorded;

impl Engine {
    /// The record as it will be once all edits are saved.
    pub(crate) fn record(&self) -> Option<Record> {
        let intent = self.recorded_intent()?.into_owned();
        let saved = self.lock.record().cloned().unwrap_or_default();
        let mut write_ids = saved.write_ids.clone();
        write_ids.extend(self.write_id());
        write_ids.drain(..write_ids.len().saturating_sub(Record::WRITE_IDS));
        let daemonset_uid = self.lock.daemonset().cloned().or_else(|| saved.daemonset_uid.clone());
        let progress = self.progress.clone();
        Some(Record { version: Record::VERSION, daemonset_uid, intent, progress, write_ids, ..saved })
    }

    /// The contents that the Lease is to have besides the lock, once all edits are saved.
    pub(crate) fn kept(&self) -> LeaseContents {
        let prewarm = self.recorded_prewarm().map(Cow::into_owned).map(|mut prewarm| {
            prewarm.write_ids.extend(self.write_id());
            prewarm.write_ids.drain(..prewarm.write_ids.len().saturating_sub(Record::WRITE_IDS));
            prewarm
        });
        // A process that edits the record for another driver leaves the reports of that driver unchanged.
        let pace = if self.lock.holds() { self.pacing.view() } else { self.lock.reported_pace() };
        let failing = if self.lock.holds() { self.failing_nodes() } else { self.lock.reported_failing() };
        LeaseContents { record: self.record(), prewarm, pace, failing }
    }

    /// Whether there is anything to drive: a rollout, or pre-warming.
    pub(crate) fn has_work(&self) -> bool {
        self.is_recorded() || self.recorded_prewarm().is_some()
    }

    /// An identifier for the next write of the Lease; `None` if that write carries no edit.
    pub(crate) fn write_id(&self) -> Option<Str> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut mark = DefaultHasher::new();
        (&self.config.identity, self.effects.next()).hash(&mut mark);
        (!self.edits.is_empty()).then(|| format!("{:016x}", mark.finish()).into())
    }

    /// The intent as it will be once all edits are saved; the default where nothing is recorded.
    pub(crate) fn intent(&self) -> Intent {
        self.recorded_intent().map(Cow::into_owned).unwrap_or_default()
    }

    /// Whether there is a record, or will be once all edits are saved.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorded_intent().is_some()
    }

    /// Whether no rollout is under way by its record: there is none, or it is kept after its end.
    pub(crate) fn is_over(&self) -> bool {
        !self.is_recorded() || self.progress.completed.is_some()
    }

    /// The message for where [`Self::is_recorded`] is false.
    pub(crate) fn nothing_recorded(&self) -> NothingRecorded {
        match self.lock.foreign_record() {
            Some(_) => NothingRecorded::OfThisDaemonSet,
            None if self.lock.has_unreadable_record() => NothingRecorded::Readable,
            None if self.record_is_missing() => NothingRecorded::AnyMore,
            None => NothingRecorded::AtAll,
        }
    }

    /// Whether an adoption, or a setting made in a console, begins a record because the one that there was is gone, cannot be read, or was of an
    /// earlier DaemonSet.
    pub(crate) fn begins_a_new_record(&self) -> bool {
        !self.is_recorded() && self.nothing_recorded() != NothingRecorded::AtAll
    }

    /// The intent as it will be once all edits are saved; `None` where nothing is recorded.
    pub(crate) fn recorded_intent(&self) -> Option<Cow<'_, Intent>> {
        let mut intent = self.lock.record().map(|record| Cow::Borrowed(&record.intent));
        for unsaved in self.edits.iter() {
            unsaved.edit.apply(&mut intent);
        }
        // We hold the lease now, so our own request for it is settled.
        let ours = |by: &By| by.by == self.config.identity;
        if self.lock.holds()
            && let Some(intent) = &mut intent
            && intent.handover.as_ref().is_some_and(ours)
        {
            intent.to_mut().handover = None;
        }
        intent
    }

    /// The intent by which nodes are assessed. The driver uses the intent that it is about to write. Any other process uses the saved intent, because
    /// the driver does not know of that process's unsaved edits.
    pub(crate) fn assessed_intent(&self) -> Option<Cow<'_, Intent>> {
        if self.lock.holds() { self.recorded_intent() } else { self.saved_intent() }
    }

    /// Who asks the holder for the lease; this process may be the one.
    pub(crate) fn handover(&self) -> Option<By> {
        let of_rollout = self.recorded_intent().and_then(|intent| intent.handover.clone());
        of_rollout.or_else(|| self.recorded_prewarm().and_then(|prewarm| prewarm.handover.clone()))
    }

    /// The edit that asks the holder for the lease. Where only pre-warming is recorded, the request is part of that and begins no rollout.
    pub(crate) fn request_for_the_lease(&self, by: By) -> Edit {
        if !self.is_recorded() && self.recorded_prewarm().is_some() {
            Edit::Prewarm(PrewarmEdit::Handover(by))
        } else {
            Edit::Handover(by)
        }
    }

    /// The intent as the cluster has it; `None` where nothing is recorded.
    pub(crate) fn saved_intent(&self) -> Option<Cow<'_, Intent>> {
        self.lock.record().map(|record| Cow::Borrowed(&record.intent))
    }
}
