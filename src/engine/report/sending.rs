//! The obstacle to deletions, and how far away the API server is.

use std::time::Duration;

use crate::engine::machine::Engine;
use crate::engine::model::Str;
use crate::engine::model::config::Role;
use crate::engine::model::time::Timestamp;
use crate::engine::model::wait::{DistanceView, Wait};
use crate::engine::rules::distance::{SENDING, rounded};
use crate::engine::writes::deletions::SentDeletion;
use crate::engine::writes::retry::LOST_ANSWER;
use crate::engine::writes::sending::WORTH_A_WORD;

impl Engine {
    /// How far away the API server is, and, while we drive, how long a pause by another process takes to have effect.
    pub(super) fn distance_view(&self, now: Timestamp) -> DistanceView {
        let round_trip = self.sending.distance.round_trip();
        let takes_effect = || rounded(self.sends_after_a_pause(now) + round_trip.unwrap_or_default());
        let drives = self.config().role == Role::Driver && self.lock.holds();
        let last_known = self.sending.distance.last_known().filter(|_| !drives);
        let measured = if drives { self.sending.distance.measured() } else { last_known.map(|(took, _)| took) };
        DistanceView {
            round_trip: measured.map(rounded),
            measured_at: last_known.map(|(_, at)| self.view.server_time(at)),
            silent: self.sending.distance.is_silent(),
            pause_within: drives.then(takes_effect),
        }
    }

    /// For how long this process may still send a deletion after another one has written a pause. The time that the deletion travels to the server is
    /// not included.
    pub fn sends_after_a_pause(&self, now: Timestamp) -> Duration {
        self.sending.distance.proof_age().max(self.lock.longest_proof(now)) + SENDING
    }

    /// The wait of the next node in line, or of a command; `None` if neither waits, or not for long.
    pub(super) fn waits_for(&self, now: Timestamp) -> Option<Wait> {
        let since = |since: Timestamp| (now >= since + WORTH_A_WORD).then_some(since);
        if let Some(wait) = self.sending.rate_wait(now) {
            return Some(wait);
        }
        if self.lock.holds() && self.config().role == Role::Driver && !self.plan.next.is_empty() {
            let since = self.sending.waits_since().and_then(since)?;
            return Some(self.why_nothing_leaves(since, now));
        }
        let patch = self.daemonset.patching().and_then(|patching| since(patching.sent_at));
        let patch = patch.map(|since| Wait::Answer { to: "a change of the DaemonSet".into(), since });
        let record = self.lock.in_flight().filter(|_| !self.edits.is_empty());
        let record = record.and_then(|write| since(write.sent_at)).map(|since| Wait::Record { since });
        let oldest = self.sending.unseen().filter(|(uid, _)| self.deletions.is_unanswered(uid)).map(|(_, at)| at).min();
        let deletion = oldest.and_then(since).map(|since| Wait::Answer { to: "a deletion".into(), since });
        patch.or(record).or(deletion)
    }

    fn why_nothing_leaves(&self, since: Timestamp, now: Timestamp) -> Wait {
        let asked_at = self.lock.in_flight().map(|write| write.sent_at);
        let handed_to = self.handover().map(|handover| handover.by);
        let retried = self.plan.next.iter().map(|node| self.deletions.node_held_until(*node)).min().flatten();
        let retried = retried.max(Some(self.deletions.retry.at)).filter(|at| *at > now);
        match (handed_to, retried) {
            _ if !self.lock.wants_to_drive() => Wait::Handover { to: None },
            (Some(to), _) => Wait::Handover { to: Some(to) },
            _ if !self.lock.may_act(now) => Wait::Lease { since },
            (_, Some(until)) => Wait::Retry { until },
            _ if self.catches_up() => Wait::Watch { since },
            _ if !self.edits.is_empty() => Wait::Record { since: asked_at.unwrap_or(since) },
            _ => Wait::Proof { since: asked_at.unwrap_or(since) },
        }
    }

    /// The wait of a node whose deletion was sent and is not seen.
    pub(super) fn waits_for_deletion(&self, uid: &Str, now: Timestamp) -> Option<Wait> {
        let sent_at = self.sending.sent_at(uid).filter(|sent_at| now >= *sent_at + WORTH_A_WORD)?;
        match self.deletions.get(uid)? {
            SentDeletion::Sent => Some(Wait::Answer { to: "its deletion".into(), since: sent_at }),
            SentDeletion::Confirmed(at) => Some(Wait::WatchEvent { since: at }),
            SentDeletion::Unknown(at) => Some(Wait::Lost { until: at + LOST_ANSWER }),
        }
    }
}
