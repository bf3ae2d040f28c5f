//! The rate at which deletions are sent, and the distance to the API server.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::engine::model::Str;
use crate::engine::model::config::RateLimit;
use crate::engine::model::time::Timestamp;
use crate::engine::model::wait::Wait;
use crate::engine::rules::distance::Distance;
use crate::engine::rules::rate::TokenBucket;

/// A shorter wait is not shown.
pub(crate) const WORTH_A_WORD: Duration = Duration::from_secs(2);

/// The rate of deletions, the distance to the API server, and what deletions wait for.
#[derive(Debug)]
pub(crate) struct Sending {
    /// How far away the API server is.
    pub(crate) distance: Distance,
    tokens: TokenBucket,
    /// When each deletion that is not seen yet was sent, by pod uid.
    sent: BTreeMap<Str, Timestamp>,
    /// Since when nodes are next in line and no deletion leaves.
    waits_since: Option<Timestamp>,
    /// How many deletions wait for nothing but the rate, and when the next of them may be sent.
    rated: Option<(usize, Timestamp)>,
    /// Deletions wait for a proof: a write of the Lease is needed even if there is nothing else to write.
    needs_proof: bool,
}

impl Sending {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self {
            distance: Distance::default(),
            tokens: TokenBucket::of_deletions(limit),
            sent: BTreeMap::new(),
            waits_since: None,
            rated: None,
            needs_proof: false,
        }
    }

    /// Begins a decision. `waits`: nodes are next in line. Deletions for which `counts` does not hold any more are forgotten.
    pub(crate) fn begin(&mut self, waits: bool, counts: impl Fn(&Str) -> bool, now: Timestamp) {
        self.rated = None;
        self.sent.retain(|uid, _| counts(uid));
        self.waits_since = waits.then(|| self.waits_since.unwrap_or(now));
    }

    /// How many deletions may be sent at `now`.
    pub(crate) fn available(&self, now: Timestamp) -> usize {
        self.tokens.available(now)
    }

    /// Notes that `count` deletions were sent at `now`, and that `left` more wait for nothing but the rate.
    pub(crate) fn sent_many(&mut self, count: usize, left: usize, now: Timestamp) {
        self.tokens.take(count, now);
        self.rated = (left > 0).then(|| (left, self.tokens.next_group_at(left, now)));
    }

    /// Notes that a deletion was sent.
    pub(crate) fn sent(&mut self, uid: &Str, now: Timestamp) {
        self.sent.insert(uid.clone(), now);
        self.waits_since = None;
    }

    /// When the deletion of this pod was sent.
    pub(crate) fn sent_at(&self, uid: &str) -> Option<Timestamp> {
        self.sent.get(uid).copied()
    }

    /// The deletions that are not seen yet, and when each was sent.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = (&Str, Timestamp)> {
        self.sent.iter().map(|(uid, at)| (uid, *at))
    }

    /// Since when nodes are next in line and no deletion leaves.
    pub(crate) fn waits_since(&self) -> Option<Timestamp> {
        self.waits_since
    }

    /// The wait for the rate, if deletions wait for it.
    pub(crate) fn rate_wait(&self, now: Timestamp) -> Option<Wait> {
        let (waiting, _) = self.rated?;
        let until = self.tokens.ready_at(waiting, now);
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        Some(Wait::Rate { per_sec: self.tokens.refill(), waiting, until })
    }

    /// Whether deletions wait for nothing but the rate.
    pub(crate) fn waits_for_the_rate(&self) -> bool {
        self.rated.is_some()
    }

    /// When the rate lets the next deletions go, and when a wait becomes long enough to be shown.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        let group = self.rated.map(|(_, at)| at);
        let waits = self.waits_since.into_iter().chain(self.sent.values().copied());
        group.into_iter().chain(waits.map(|since| since + WORTH_A_WORD))
    }

    /// Asks for a write of the Lease as the proof for which deletions wait.
    pub(crate) fn ask_for_proof(&mut self) {
        self.needs_proof = true;
    }

    /// Whether a write of the Lease is needed as a proof.
    pub(crate) fn needs_proof(&self) -> bool {
        self.needs_proof
    }

    /// Notes that a write of the Lease is sent, which will be the proof.
    pub(crate) fn proof_is_on_its_way(&mut self) {
        self.needs_proof = false;
    }
}
