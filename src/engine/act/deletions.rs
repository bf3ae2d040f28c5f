//! Sends deletions. A deletion is sent only if the rate allows it, the record names its node, and the last proof of the record is young
//! enough. A node that is next in line and whose deletion is not sent yet shows what it waits for.
//!
//! ```text
//!   next in line ──▶ named as in progress in the record? ──▶ proof young enough? ──▶ tokens left? ──▶ sent
//!                         │ no                              │ no                   │ no
//!                         └──────── one write of the Lease ─┘                      └─ a group every quarter of a second
//! ```
//!
//! Nodes that are already named go while a write of the Lease names the next ones. The next proof is requested before the last one is too
//! old. Far from the API server a write takes seconds, so that a wait for each write in turn would take far too long.

use std::time::Duration;

use crate::engine::lease::lock::InFlight;
use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::effect::{Effect, EffectId, Outcome};
use crate::engine::model::node::NodeIx;
use crate::engine::model::time::Timestamp;

/// While deletions wait, a proof that expires within a round trip plus this duration is renewed.
const AHEAD: Duration = Duration::from_millis(250);

impl Engine {
    /// Sends the deletions of these nodes' pods that may be sent now, and prepares the rest.
    pub(super) fn send_deletions(&mut self, next: Vec<(NodeIx, Str)>, now: Timestamp) -> Vec<(EffectId, Effect)> {
        let (named, unnamed): (Vec<_>, Vec<_>) = next.into_iter().partition(|(_, name)| self.is_announced(name));
        let mut waiting = named.into_iter();
        let mut effects = Vec::new();
        if let Some(not_after) = self.lock.proof_is_good_until().filter(|_| self.lock.awaits_proof(now)) {
            let tokens = self.sending.available(now);
            for (ix, node) in waiting.by_ref().take(tokens) {
                let pod = self.assessment.row(ix).and_then(|row| row.pod).and_then(|pod| self.view.pod(pod));
                let Some(pod) = pod else { continue };
                let (name, uid) = (pod.fact.name.clone(), pod.fact.uid.clone());
                let id = self.send_delete(&name, &uid, &node);
                effects.push((id, Effect::DeletePod { name, uid, node, not_after }));
            }
            self.sending.sent_many(effects.len(), waiting.len(), now);
        }
        if waiting.len() == 0 && unnamed.is_empty() {
            return effects;
        }
        // From here on these nodes are blamed on the rollout, also by the next driver, even if they were down before.
        self.progress.down_before.retain(|down, _| !unnamed.iter().any(|(_, name)| name == down));
        if !unnamed.is_empty() || self.proof_ends_soon(now) {
            self.sending.ask_for_proof();
        }
        self.progress.in_progress.extend(unnamed.into_iter().map(|(_, name)| name));
        self.fit_progress(now);
        effects.extend(self.write_lease(now));
        effects
    }

    /// Whether the present proof ends so soon that the next one, if it is not asked for now, would come too late for the waiting deletions.
    fn proof_ends_soon(&self, now: Timestamp) -> bool {
        self.lock.proof_decides_until().is_none_or(|until| until <= now + self.ahead())
    }

    /// How long before the end of a proof the next proof is asked for.
    fn ahead(&self) -> Duration {
        self.sending.distance.round_trip().unwrap_or_default() + AHEAD
    }

    /// While deletions wait for the rate: when the next proof is asked for, so that it is there in time, and when the present proof is too
    /// old, so that deletions wait for the next one.
    pub(crate) fn proofs_change_at(&self) -> [Option<Timestamp>; 2] {
        let until = self.lock.proof_decides_until().filter(|_| self.sending.waits_for_the_rate());
        [until.map(|until| until - self.ahead()), until.map(|until| until + Duration::from_millis(1))]
    }

    /// Whether the saved record names this node as in progress, and not as down before.
    fn is_announced(&self, node: &Str) -> bool {
        let Some(record) = self.lock.record() else { return false };
        let (in_progress, before) = (&record.progress.in_progress, &record.progress.down_before);
        in_progress.contains(node) && !before.contains_key(node)
    }

    /// Notes whether any deletion waits. This is called before it is decided which deletions are sent.
    pub(super) fn note_waits(&mut self, now: Timestamp) {
        self.sending.begin(!self.plan.next.is_empty(), |uid| self.deletions.contains(uid), now);
    }

    /// Measures how long the API server took to answer a write of the Lease.
    pub(super) fn measure_distance(&mut self, write: &InFlight, outcome: &Outcome, now: Timestamp) {
        let took = now.since(write.sent_at);
        match outcome {
            Err(error) if error.kind.may_have_happened() => self.sending.distance.unanswered(took),
            // The write was not sent, so that nothing was measured.
            Err(error) if error.kind.was_not_sent() => {}
            // After a conflict the object was read again, so the answer took two round trips.
            Err(_) => {}
            Ok(_) => self.sending.distance.answered_at(now, took),
        }
    }
}

#[cfg(test)]
mod tests;
