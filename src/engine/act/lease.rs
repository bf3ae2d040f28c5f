//! Writes the Lease: one write at a time, which carries the lock, all edits and the progress.

use crate::engine::lease::lock::{InFlight, LeaseContents};
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::config::Role;
use crate::engine::model::effect::{Effect, EffectId};
use crate::engine::model::time::Timestamp;

impl Engine {
    /// The next write of the Lease, if one is due and may be sent now.
    pub(crate) fn write_lease(&mut self, now: Timestamp) -> Option<(EffectId, Effect)> {
        if !self.lock.can_write(now) {
            return None;
        }
        let write = if self.lock.record_error().is_some_and(|why| !self.may_replace_unreadable(why, now)) {
            // What cannot be read may be of a newer version: it stays as it is, and whoever decides on it needs the lease.
            let leaves = self.lock.holds() && !self.lock.wants_to_drive() && self.takes_no_place();
            leaves.then(|| self.lock.give_back(LeaseContents::default()))?
        } else if self.lock.holds() {
            self.holders_write(now)?
        } else if self.lock.wants_to_drive() && self.lock.is_free(now) && self.has_work() {
            let mut kept = self.kept();
            if let Some(record) = &mut kept.record {
                record.intent.handover = None;
            }
            if let Some(prewarm) = &mut kept.prewarm {
                prewarm.handover = None;
            }
            // With this write it drives: one more to say so is not needed.
            if let Some(record) = kept.record.as_mut().filter(|_| self.config().role == Role::Driver) {
                record.progress.driver = Some(self.config().identity.clone());
            }
            self.lock.hold(kept, now)
        } else if self.edits.is_empty() {
            return None;
        } else {
            self.lock.keep_holder(self.kept())
        };
        self.sending.proof_is_on_its_way();
        let write_id = self.write_id();
        let id = self.send_lease();
        let resource_version = self.lock.resource_version();
        let against = resource_version.clone();
        let edits_before = self.edits.next_serial();
        let good_for = self.sending.distance.proof_age();
        self.lock.sent(InFlight { id, sent_at: now, write: write.clone(), against, edits_before, write_id, good_for });
        Some((id, Effect::WriteLease { resource_version, lease: Box::new(write) }))
    }

    /// Whether an operator has agreed to lose what cannot be read on the Lease for this reason, and nobody else holds it who may be able to read it.
    fn may_replace_unreadable(&self, why: &Str, now: Timestamp) -> bool {
        self.edits.replace_unreadable(why) && self.lock.living_other(now).is_none()
    }

    /// Whether no write is on its way that takes a place of the next driver: it would delete a pod, begin a pull or change the DaemonSet while somebody
    /// else counts what is down and what pulls. Deletions of what pre-warming made, and lists, may still be on their way.
    fn takes_no_place(&self) -> bool {
        !self.effects.has_deletion() && !self.effects.has_creation() && !self.daemonset.is_patching()
    }

    fn holders_write(&self, now: Timestamp) -> Option<crate::engine::model::effect::LeaseWrite> {
        let intent = self.recorded_intent();
        let prewarm = self.recorded_prewarm();
        let over = intent.is_none() && prewarm.is_none();
        if (!self.lock.wants_to_drive() || over) && self.takes_no_place() {
            return Some(self.lock.give_back(self.kept_with_foreign()));
        }
        let news = match (self.lock.record(), intent) {
            (Some(saved), Some(intent)) => saved.intent != *intent || saved.progress != self.progress,
            (saved, intent) => saved.is_some() != intent.is_some(),
        };
        let news = news || self.lock.prewarm() != prewarm.as_deref();
        (news || self.sending.needs_proof() || self.lock.renewal_due(now)).then(|| self.lock.hold(self.kept(), now))
    }
}
