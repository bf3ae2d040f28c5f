//! How far away the API server is, and what follows from it for deletions.
//!
//! Every write of the Lease is a compare-and-swap, so its success proves that the record was as we know it when the API server carried the write out.
//! A deletion is sent only behind such a proof. The answer takes a round trip, so the permitted age of a proof follows from measured round trips.
//! That age is bounded, and so is the wait of an operator who pauses elsewhere:
//!
//! ```text
//!   write of the lease sent                  +0
//!   a deletion behind it is decided     up to  proof_age       0.5 s near by, 3 s at the most
//!   it leaves                           up to  + SENDING       0.5 s: a process that stood still sends nothing afterwards
//!   it arrives                          up to  + WRITE_TIMEOUT 4 s: an answer is not waited for longer
//!                                      ─────────────────────
//!                                            +7.5 s at the most
//!   we stop acting at all                    +8 s              Timing::act
//!   a patch of the DaemonSet arrives up to   +12 s             Timing::act + WRITE_TIMEOUT
//!   somebody else may take over              +15 s             Timing::lease, counted by them from when they saw it
//! ```
//!
//! A proof is good for the age that was in force when its write was *sent*, as that age was shown to people at that time. A write that took longer is
//! no proof but a measurement, and the next one may take as long.

use std::collections::VecDeque;
use std::time::Duration;

use crate::engine::model::effect::WRITE_TIMEOUT;
use crate::engine::model::time::Timestamp;

/// A proof may be at least this old, however near the API server is.
const LEAST_PROOF: Duration = Duration::from_millis(500);
/// A proof may never be older, however far away the API server is.
pub(crate) const MOST_PROOF: Duration = Duration::from_secs(3);
/// The permitted age of a proof exceeds one and a half round trips by this.
const MARGIN: Duration = Duration::from_millis(200);
/// How long a deletion that was decided may take to leave.
pub(crate) const SENDING: Duration = Duration::from_millis(500);
/// Beyond this round trip nothing is started: too much of [`MOST_PROOF`] is over when the answer comes.
pub(crate) const FARTHEST: Duration = Duration::from_millis(2_500);
/// How many round trips are remembered: about 25 s of renewals.
const KEPT: usize = 8;
/// After this many unanswered writes in a row nothing is started, as if the server were far away.
const SILENT: u32 = 2;

/// How far away the API server is.
#[derive(Debug, Default)]
pub(crate) struct Distance {
    /// The durations of the last writes of the Lease, from being sent to being answered, oldest first.
    measured: VecDeque<Duration>,
    /// How many writes in a row were not answered in time.
    unanswered: u32,
    /// The adapter's measurement on its other requests, which is all that is known before the first write.
    reported: Option<Duration>,
    /// When a write of the Lease was answered last, by our own clock.
    answered_at: Option<Timestamp>,
    /// When the adapter reported last, by our own clock.
    reported_at: Option<Timestamp>,
}

impl Distance {
    /// A write of the Lease was answered at `now`.
    pub(crate) fn answered_at(&mut self, now: Timestamp, took: Duration) {
        self.answered_at = Some(now);
        self.answered(took);
    }

    fn answered(&mut self, took: Duration) {
        if self.measured.len() == KEPT {
            self.measured.pop_front();
        }
        self.measured.push_back(took);
        self.unanswered = 0;
    }

    /// A write of the Lease was given up, or failed in a way that does not tell what the API server found.
    pub(crate) fn unanswered(&mut self, after: Duration) {
        self.unanswered += u32::from(after >= FARTHEST);
    }

    /// The adapter measured this on its other requests, the last of which was answered at `now`.
    pub(crate) fn reported_at(&mut self, now: Timestamp, took: Duration) {
        self.reported_at = Some(now);
        self.reported = Some(took);
    }

    /// The round trip for people, and when it was measured. Whoever does not write the Lease any more has only the adapter's measurements, if those are
    /// younger than its last write.
    pub(crate) fn last_known(&self) -> Option<(Duration, Timestamp)> {
        let by_adapter = self.reported.zip(self.reported_at).filter(|_| self.reported_at > self.answered_at);
        by_adapter.or_else(|| self.measured().zip(self.answered_at.or(self.reported_at)))
    }

    /// The round trip: the second longest of the remembered ones. So a single write that had to open a connection first, or lost a packet, does not
    /// count, while a congested line does. `None` before anything is known.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        if self.is_silent() { self.measured().max(Some(WRITE_TIMEOUT)) } else { self.measured() }
    }

    /// Whether the last writes were not answered, which does not tell how far away the server is.
    pub(crate) fn is_silent(&self) -> bool {
        self.unanswered >= SILENT
    }

    /// The round trip as measured by answers; `None` before the first answer.
    pub(crate) fn measured(&self) -> Option<Duration> {
        let mut measured: Vec<Duration> = self.measured.iter().copied().collect();
        measured.sort_unstable();
        match (measured.as_slice(), self.reported) {
            ([.., second, _], _) => Some(*second),
            ([only], Some(reported)) => Some(reported.min(*only)),
            ([only], None) => Some(*only),
            ([], reported) => reported,
        }
    }

    /// The permitted age of a proof when a deletion is decided behind it.
    pub(crate) fn proof_age(&self) -> Duration {
        let round_trip = self.round_trip().unwrap_or_default();
        (round_trip * 3 / 2 + MARGIN).clamp(LEAST_PROOF, MOST_PROOF)
    }

    /// The round trip as measured by answers, if it is too long to start anything.
    pub(crate) fn too_far(&self) -> Option<Duration> {
        self.measured().filter(|round_trip| *round_trip > FARTHEST)
    }
}

/// Proves that the record was as we know it when the API server carried out a write of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof {
    /// When the write was sent.
    pub(crate) sent_at: Timestamp,
    /// The permitted age that was in force then.
    pub(crate) good_for: Duration,
}

impl Proof {
    /// Until when deletions may be decided behind it.
    pub(crate) fn decides_until(&self) -> Timestamp {
        self.sent_at + self.good_for
    }

    /// Until when a deletion that was decided behind it may leave.
    pub(crate) fn sends_until(&self) -> Timestamp {
        self.decides_until() + SENDING
    }
}

/// The span as it is shown: rounded up to a hundredth of a second, from one second on to a tenth.
pub(crate) fn rounded(span: Duration) -> Duration {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(millis.next_multiple_of(if millis < 1_000 { 10 } else { 100 }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::model::config::Timing;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn after(round_trips: &[u64]) -> Distance {
        let mut distance = Distance::default();
        round_trips.iter().for_each(|took| distance.answered(millis(*took)));
        distance
    }

    #[test]
    fn near_by_a_proof_is_good_for_half_a_second_and_far_away_for_as_long_as_it_takes() {
        assert_eq!(Distance::default().proof_age(), millis(500));
        assert_eq!(after(&[8; 8]).proof_age(), millis(500));
        assert_eq!(after(&[600; 8]).proof_age(), millis(1_100));
        assert_eq!(after(&[1_000; 8]).proof_age(), millis(1_700));
        assert_eq!(after(&[2_000; 8]).proof_age(), millis(3_000));
        assert!(after(&[2_000; 8]).too_far().is_none());
        assert_eq!(after(&[2_600; 8]).too_far(), Some(millis(2_600)));
    }

    #[test]
    fn one_that_took_long_says_nothing_and_two_do() {
        assert_eq!(after(&[6_000, 20]).round_trip(), Some(millis(20)));
        assert_eq!(after(&[20, 20, 20, 1_800]).proof_age(), millis(500));
        assert_eq!(after(&[20, 20, 20, 1_800, 1_700]).proof_age(), millis(2_750));
        let mut calm = after(&[1_800; 8]);
        (0..7).for_each(|_| calm.answered(millis(20)));
        assert_eq!(calm.round_trip(), Some(millis(20)), "what is over is forgotten");
    }

    #[test]
    fn no_answer_at_all_starts_nothing_and_is_no_distance() {
        let mut distance = after(&[20; 8]);
        distance.unanswered(WRITE_TIMEOUT);
        assert!(!distance.is_silent());
        distance.unanswered(WRITE_TIMEOUT);
        assert_eq!((distance.is_silent(), distance.too_far()), (true, None));
        assert_eq!((distance.round_trip(), distance.measured()), (Some(WRITE_TIMEOUT), Some(millis(20))));
        distance.answered(millis(20));
        assert!(!distance.is_silent());
        // A server that fails at once is near.
        distance.unanswered(millis(20));
        distance.unanswered(millis(20));
        assert!(!distance.is_silent());
    }

    #[test]
    fn what_is_shown_is_rounded_up() {
        assert_eq!(rounded(millis(0)), millis(0));
        assert_eq!(rounded(millis(611)), millis(620));
        assert_eq!(rounded(millis(1_340)), millis(1_400));
    }

    proptest! {
        /// Whatever was measured: the last deletion arrives before we stop acting, and long before anybody may take over.
        #[test]
        fn no_deletion_outlives_the_lease(round_trips in prop::collection::vec(0_u64..60_000, 0..20), reported in prop::option::of(0_u64..60_000)) {
            let mut distance = after(&round_trips);
            reported.into_iter().for_each(|took| distance.reported_at(Timestamp::default(), millis(took)));
            let timing = Timing::default();
            let sent_at = Timestamp::from_millis(0);
            let proof = Proof { sent_at, good_for: distance.proof_age() };
            prop_assert!(proof.good_for <= MOST_PROOF);
            let arrives = proof.sends_until() + WRITE_TIMEOUT;
            prop_assert!(arrives <= sent_at + timing.act);
            prop_assert!(sent_at + timing.act + WRITE_TIMEOUT < sent_at + timing.lease);
            // What is not too far can be decided before the proof is too old.
            if distance.too_far().is_none() {
                prop_assert!(distance.round_trip().unwrap_or_default() + MARGIN <= proof.good_for);
            }
        }
    }
}
