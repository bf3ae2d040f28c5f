//! Sends deletions: no more than the rate allows, each only after its node is named in the record, and each behind a proof of
//! the record that is young enough. A node that is next in line and whose deletion is not sent yet shows what it waits for.
//!
//! ```text
//!   next in line ──▶ named as in progress in the record? ──▶ proof young enough? ──▶ tokens left? ──▶ sent
//!                         │ no                              │ no                   │ no
//!                         └──────── one write of the Lease ─┘                      └─ a group every quarter of a second
//! ```
//!
//! Nodes that are named already go while a write of the Lease names the next ones, and the next proof is requested before the
//! last one is too old. Far from the API server a write takes seconds; waiting for each in turn would take far too long.

use std::collections::BTreeMap;
use std::time::Duration;

use super::distance::{Distance, SENDING, rounded};
use super::lock::{InFlight, Want};
use super::machine::{Deletion, Engine};
use super::model::Str;
use super::model::config::RateLimit;
use super::model::config::Role;
use super::model::effect::{Effect, EffectId, Outcome};
use super::model::hold::Hold;
use super::model::node::NodeIx;
use super::model::time::Timestamp;
use super::model::wait::{DistanceView, Wait};
use super::rate::Tokens;
use super::snapshot::Alarm;

/// A shorter wait is not shown.
const WORTH_A_WORD: Duration = Duration::from_secs(2);
/// A proof that expires within a round trip plus this is renewed while deletions wait.
const AHEAD: Duration = Duration::from_millis(250);

/// How fast and how far away deletions are sent, and what they wait for.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) distance: Distance,
    tokens: Tokens,
    /// When each deletion was sent that is not seen yet, by pod uid.
    pub(crate) sent: BTreeMap<Str, Timestamp>,
    /// Since when there are nodes next in line and no deletion leaves.
    waits_since: Option<Timestamp>,
    /// How many wait for nothing but the rate, and until when the next of them do.
    rated: Option<(usize, Timestamp)>,
}

impl Sending {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self {
            distance: Distance::default(),
            tokens: Tokens::new(limit),
            sent: BTreeMap::new(),
            waits_since: None,
            rated: None,
        }
    }
}

impl Engine {
    /// Sends the deletions of these nodes' pods, as far as they may leave now, and prepares the rest.
    pub(crate) fn send_deletions(&mut self, next: Vec<(NodeIx, Str)>, now: Timestamp) -> Vec<(EffectId, Effect)> {
        let (named, unnamed): (Vec<_>, Vec<_>) = next.into_iter().partition(|(_, name)| self.is_announced(name));
        let mut waiting = named.into_iter();
        let mut effects = Vec::new();
        if let Some(not_after) = self.lock.proof_is_good_until().filter(|_| self.lock.awaits_proof(now)) {
            let tokens = self.sending.tokens.available(now);
            for (ix, node) in waiting.by_ref().take(tokens) {
                let pod = self.assessment.row(ix).and_then(|row| row.pod).and_then(|pod| self.view.pod(pod));
                let Some(pod) = pod else { continue };
                let (name, uid) = (pod.fact.name.clone(), pod.fact.uid.clone());
                let id = self.send_delete(&name, &uid, &node);
                effects.push((id, Effect::DeletePod { name, uid, node, not_after }));
            }
            self.sending.tokens.take(effects.len(), now);
            let rated = waiting.len();
            self.sending.rated = (rated > 0).then(|| (rated, self.sending.tokens.next_group_at(rated, now)));
        }
        if !effects.is_empty() {
            self.sending.waits_since = None;
        }
        if waiting.len() == 0 && unnamed.is_empty() {
            return effects;
        }
        // From here on these nodes are blamed on the rollout, also by the next driver, even if they were down before.
        self.progress.down_before.retain(|down, _| !unnamed.iter().any(|(_, name)| name == down));
        self.needs_proof |= !unnamed.is_empty() || self.proof_ends_soon(now);
        self.progress.in_progress.extend(unnamed.into_iter().map(|(_, name)| name));
        self.fit_progress(now);
        effects.extend(self.write_lease(now));
        effects
    }

    /// Whether the next proof would come too late for what waits, if it were not asked for now.
    fn proof_ends_soon(&self, now: Timestamp) -> bool {
        let ahead = self.sending.distance.round_trip().unwrap_or_default() + AHEAD;
        self.lock.proof_decides_until().is_none_or(|until| until <= now + ahead)
    }

    /// Whether the saved record names this node as in progress, and not as down before.
    fn is_announced(&self, node: &Str) -> bool {
        let Some(record) = self.lock.record() else { return false };
        let (in_progress, before) = (&record.progress.in_progress, &record.progress.down_before);
        in_progress.contains(node) && !before.contains_key(node)
    }

    /// Takes note of whether anything waits, before it is decided what may leave.
    pub(crate) fn note_waits(&mut self, now: Timestamp) {
        self.sending.rated = None;
        let deletions = &self.deletions;
        self.sending.sent.retain(|uid, _| deletions.contains_key(uid));
        let waits = !self.plan.next.is_empty();
        self.sending.waits_since = waits.then(|| self.sending.waits_since.unwrap_or(now));
    }

    /// Takes in how long a write of the Lease took to be answered.
    pub(crate) fn measure_distance(&mut self, write: &InFlight, outcome: &Outcome, now: Timestamp) {
        let took = now.since(write.sent_at);
        match outcome {
            Err(error) if error.kind.may_have_happened() => self.sending.distance.unanswered(took),
            // It was not sent.
            Err(error) if error.kind.was_not_sent() => {}
            // After a conflict the object was read again, so the answer took two round trips.
            Err(_) => {}
            Ok(_) => self.sending.distance.answered(took),
        }
    }

    // ── What is shown of it ───────────────────────────────────────────────────────────────────────────────────────

    /// For how long after a pause elsewhere a deletion may still be sent from here; its way to the server comes on top.
    pub fn sends_after_a_pause(&self, now: Timestamp) -> Duration {
        self.sending.distance.proof_age().max(self.lock.longest_proof(now)) + SENDING
    }

    /// How far away the API server is, and how long it takes, where we drive, until a pause from elsewhere has effect.
    pub(crate) fn distance_view(&self, now: Timestamp) -> DistanceView {
        let round_trip = self.sending.distance.round_trip();
        let bites = || rounded(self.sends_after_a_pause(now) + round_trip.unwrap_or_default());
        DistanceView {
            round_trip: round_trip.map(rounded),
            pause_within: (self.config().role == Role::Driver && self.lock.holds()).then(bites),
        }
    }

    /// Holds everything where we drive and the API server is too far away to do it safely.
    pub(crate) fn too_far_to_drive(&self) -> Option<Hold> {
        let too_far = self.sending.distance.too_far().filter(|_| self.lock.holds())?;
        Some(Hold::TooFar { round_trip: rounded(too_far) })
    }

    /// Says so, and what to do.
    pub(crate) fn distance_alarm(&self) -> Option<Alarm> {
        let drives = self.lock.holds() && self.config().role == Role::Driver;
        let too_far = self.sending.distance.too_far().filter(|_| drives)?;
        Some(Alarm::TooFar { round_trip: rounded(too_far) })
    }

    /// What the next node in line waits for, or a command that was asked for; `None` if nothing waits, or not for long.
    pub(crate) fn waits_for(&self, now: Timestamp) -> Option<Wait> {
        let since = |since: Timestamp| (now >= since + WORTH_A_WORD).then_some(since);
        if let Some((waiting, _)) = self.sending.rated {
            let until = self.sending.tokens.ready_at(waiting, now);
            let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
            return Some(Wait::Rate { per_sec: self.sending.tokens.per_sec(), waiting, until });
        }
        if self.lock.holds() && self.config().role == Role::Driver && !self.plan.next.is_empty() {
            let since = self.sending.waits_since.and_then(since)?;
            return Some(self.why_nothing_leaves(since, now));
        }
        let patch = self.patching.as_ref().and_then(|patching| since(patching.sent_at));
        let patch = patch.map(|since| Wait::Answer { to: "a change of the DaemonSet".into(), since });
        let record = self.lock.in_flight.as_ref().filter(|_| !self.edits.is_empty());
        let record = record.and_then(|write| since(write.sent_at)).map(|since| Wait::Record { since });
        let oldest = self.sending.sent.iter().filter(|(uid, _)| self.is_unanswered(uid)).map(|(_, at)| *at).min();
        let deletion = oldest.and_then(since).map(|since| Wait::Answer { to: "a deletion".into(), since });
        patch.or(record).or(deletion)
    }

    fn why_nothing_leaves(&self, since: Timestamp, now: Timestamp) -> Wait {
        let asked_at = self.lock.in_flight.as_ref().map(|write| write.sent_at);
        let handed_to = self.recorded_intent().and_then(|intent| Some(intent.handover.as_ref()?.by.clone()));
        let retried = self.plan.next.iter().map(|node| self.node_retry.get(node).copied()).min().flatten();
        let retried = retried.max(Some(self.delete_retry.at)).filter(|at| *at > now);
        match (handed_to, retried) {
            _ if self.lock.want == Want::No => Wait::Handover { to: None },
            (Some(to), _) => Wait::Handover { to: Some(to) },
            _ if !self.lock.may_act(now) => Wait::Lease { since },
            (_, Some(until)) => Wait::Retry { until },
            _ if self.catches_up() => Wait::Watch { since },
            _ if !self.edits.is_empty() => Wait::Record { since: asked_at.unwrap_or(since) },
            _ => Wait::Proof { since: asked_at.unwrap_or(since) },
        }
    }

    pub(crate) fn is_unanswered(&self, uid: &Str) -> bool {
        self.deletions.get(uid).is_some_and(|deletion| deletion.is_unanswered())
    }

    /// What a node waits for whose deletion was sent and is not seen.
    pub(crate) fn waits_for_deletion(&self, uid: &Str, now: Timestamp) -> Option<Wait> {
        let sent_at = self.sending.sent.get(uid).filter(|sent_at| now >= **sent_at + WORTH_A_WORD)?;
        match self.deletions.get(uid)? {
            Deletion::Sent => Some(Wait::Answer { to: "its deletion".into(), since: *sent_at }),
            Deletion::Confirmed(at) => Some(Wait::Seen { since: *at }),
            Deletion::Unknown(at) => Some(Wait::Lost { until: *at + super::outcome::LOST_ANSWER }),
        }
    }

    /// When time alone lets more leave, or is worth a word.
    pub(crate) fn sending_changes_at(&self) -> impl Iterator<Item = Timestamp> {
        let group = self.sending.rated.map(|(_, at)| at);
        let waits = self.sending.waits_since;
        let patch = self.patching.as_ref().map(|patching| patching.sent_at);
        let write = self.lock.in_flight.as_ref().filter(|_| !self.edits.is_empty()).map(|write| write.sent_at);
        let sent = self.sending.sent.values().copied();
        let worth_a_word = waits.into_iter().chain(patch).chain(write).chain(sent).map(|at| at + WORTH_A_WORD);
        group.into_iter().chain(worth_a_word)
    }
}

#[cfg(test)]
mod tests;
