//! The lock: who drives, by client-go's rules of leader election, without its clock and its network.
//!
//! A Lease runs out when it has not *changed* for its duration on the observer's own clock. The times in it are never compared with a local
//! clock. A holder may act for a shorter while ([`Timing::act`]), counted from when its last successful renewal was sent. Between the two
//! ends nobody acts. To take over from a living driver, a process asks for the Lease in the record
//! ([`crate::engine::model::record::Intent::handover`]): the driver stops, and gives the Lease back.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::lease::tenure::Tenure;
use crate::engine::model::Str;
use crate::engine::model::config::Timing;
use crate::engine::model::driver::DriverView;
use crate::engine::model::effect::{EffectId, LeaseWrite};
use crate::engine::model::facts::LeaseFact;
use crate::engine::model::failing_nodes::FailingNodes;
use crate::engine::model::pace::PacedSite;
use crate::engine::model::prewarm::Prewarm;
use crate::engine::model::record::{Intent, Record};
use crate::engine::model::time::Timestamp;
use crate::engine::model::version::{is_behind, is_older};
use crate::engine::rules::distance::Proof;
use crate::engine::rules::holder::{HolderLiveness, SeenHolder};

/// How long we wait after a conflict for a newer version, before we try again with the version that we know.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether we want to drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Want {
    /// We do not want to drive; a Lease that we hold is given back.
    #[default]
    No,
    /// We want to drive if nobody else does.
    IfFree,
    /// We want to drive; the present driver is asked to hand over.
    Ask,
}

/// What this process wants, and what became of it.
#[derive(Debug, Default)]
struct Wanted {
    want: Want,
    /// Whether this process has driven since it was last asked to.
    has_driven: bool,
    /// Why this process has stopped to want the Lease, if it said so; until it drives again.
    leaves_because: Option<Str>,
}

/// The knowledge about the Lease object.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum KnownLease {
    /// Nothing is known yet.
    Nothing,
    /// There is no Lease.
    Absent,
    /// The Lease was seen in this state.
    Present(Box<LeaseFact>),
}

/// The contents of the Lease beside the lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeaseContents {
    pub(crate) record: Option<Record>,
    pub(crate) prewarm: Option<Prewarm>,
    pub(crate) pace: Arc<[PacedSite]>,
    pub(crate) failing: Option<FailingNodes>,
}

/// A write of the lease that was sent.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    pub(crate) id: EffectId,
    pub(crate) sent_at: Timestamp,
    pub(crate) write: LeaseWrite,
    /// The version that the write replaces; `None` if it creates the Lease.
    pub(crate) against: Option<Str>,
    /// The write carries every edit whose serial number is below this.
    pub(crate) edits_before: u64,
    /// The write's identifier, which the record keeps; `None` if the write carries no edit.
    pub(crate) write_id: Option<Str>,
    /// The age up to which the write proves that the record is as it was when the write was sent.
    pub(crate) good_for: Duration,
}

impl InFlight {
    /// Whether this Lease contains the write, as its lists of write ids show.
    fn is_in(&self, fact: &LeaseFact) -> bool {
        let record = fact.record.as_ref().ok().and_then(Option::as_ref).map(|record| &record.write_ids);
        let prewarm = fact.prewarm.as_ref().ok().and_then(Option::as_ref).map(|prewarm| &prewarm.write_ids);
        let among = |ids: &Vec<Str>| self.write_id.as_ref().is_some_and(|mark| ids.contains(mark));
        record.is_some_and(among) || prewarm.is_some_and(among)
    }
}

/// The lock of one rollout.
#[derive(Debug)]
pub(crate) struct Lock {
    identity: Str,
    timing: Timing,
    wanted: Wanted,
    pub(super) known: KnownLease,
    /// `metadata.uid` of the DaemonSet that was seen last, even if it is gone. A record that names another uid is not used.
    pub(super) daemonset: Option<Str>,
    /// The uid of the last Lease that was seen to be gone.
    gone: Option<Str>,
    in_flight: Option<InFlight>,
    /// Writes whose answer was lost, oldest first. The record may show that they arrived all the same.
    lost: Vec<InFlight>,
    /// When the holder was last known to be alive.
    holder_liveness: HolderLiveness,
    /// The knowledge about the holder from before the Lease was seen here.
    seen_before: Option<SeenHolder>,
    /// Since when we hold the lease, and when we last renewed it.
    tenure: Option<Tenure>,
    /// The last proof of the record, if we hold the lease.
    proof: Option<Proof>,
    /// Nothing is written before this instant.
    retry_at: Timestamp,
    /// The resource version at which a write met a conflict, and until when the next write waits for a newer one.
    outdated: Option<(Option<Str>, Timestamp)>,
    /// The resource version at which a Lease was last seen to be deleted.
    gone_at: Option<u64>,
    /// Since when the record of a rollout that was to end is gone.
    pub(super) record_dropped_at: Option<Timestamp>,
    /// Whether somebody put an older copy of the Lease back, which the driver has not dealt with yet.
    pub(super) put_back: bool,
    /// The intent of the record that was seen last, unless its rollout was to end.
    pub(super) last_intent: Option<Box<Intent>>,
}

impl Lock {
    pub(crate) fn new(identity: Str, timing: Timing) -> Self {
        Self {
            identity,
            timing,
            wanted: Wanted::default(),
            known: KnownLease::Nothing,
            daemonset: None,
            gone: None,
            in_flight: None,
            lost: Vec::new(),
            holder_liveness: HolderLiveness::default(),
            seen_before: None,
            tenure: None,
            proof: None,
            retry_at: Timestamp::default(),
            outdated: None,
            gone_at: None,
            record_dropped_at: None,
            put_back: false,
            last_intent: None,
        }
    }

    /// Whether this process wants to drive, with or without asking the present driver to hand over.
    pub(crate) fn wants_to_drive(&self) -> bool {
        self.wanted.want != Want::No
    }

    /// Whether this process wants the present driver to hand over.
    pub(crate) fn wants_a_handover(&self) -> bool {
        self.wanted.want == Want::Ask
    }

    /// An operator asks this process to drive.
    pub(crate) fn ask_to_drive(&mut self, want: Want) {
        (self.wanted.want, self.wanted.has_driven) = (want, false);
    }

    /// This process wants to drive no more. It gives the Lease back if it holds it.
    pub(crate) fn want_no_more(&mut self) {
        self.wanted.want = Want::No;
    }

    /// The reason that this process gives for that.
    pub(crate) fn leave_because(&mut self, why: Str) {
        self.wanted.leaves_because = Some(why);
    }

    /// Why this process wants to drive no more, if it said so.
    pub(crate) fn leaves_because(&self) -> Option<&Str> {
        self.wanted.leaves_because.as_ref()
    }

    /// Forgets why this process wanted to drive no more: it drives.
    pub(crate) fn stays(&mut self) {
        self.wanted.leaves_because = None;
    }

    /// Notes whether this process drives now. Returns whether it wants to drive and has driven since it was asked to.
    pub(crate) fn note_driving(&mut self, now: Timestamp) -> bool {
        self.wanted.has_driven |= self.wants_to_drive() && self.may_act(now);
        self.wants_to_drive() && self.wanted.has_driven
    }

    /// What is known about the Lease object.
    pub(crate) fn known(&self) -> &KnownLease {
        &self.known
    }

    /// Whether nothing is known yet about the Lease object.
    pub(crate) fn is_unseen(&self) -> bool {
        self.known == KnownLease::Nothing
    }

    /// `metadata.uid` of the DaemonSet that was seen last, even if it is gone.
    pub(crate) fn daemonset(&self) -> Option<&Str> {
        self.daemonset.as_ref()
    }

    /// Takes in which DaemonSet is there. Returns whether it is another one than before.
    pub(crate) fn see_daemonset(&mut self, uid: &Str) -> bool {
        self.daemonset.replace(uid.clone()).is_some_and(|before| before != *uid)
    }

    /// Takes in an earlier observation of the Lease, by the same clock. It counts until the Lease is seen here.
    pub(crate) fn remember(&mut self, seen: SeenHolder) {
        self.seen_before = Some(seen);
    }

    /// The Lease as it is seen here, for a later observer; `None` if there is no Lease.
    pub(crate) fn seen_holder(&self) -> Option<SeenHolder> {
        match &self.known {
            KnownLease::Present(fact) => Some(SeenHolder::new(fact, self.holder_liveness)),
            KnownLease::Nothing | KnownLease::Absent => None,
        }
    }

    /// Takes in the lease as observed.
    pub(crate) fn observe(&mut self, fact: LeaseFact, now: Timestamp) {
        if is_behind(fact.resource_version.parse().ok(), self.gone_at) {
            return;
        }
        if let KnownLease::Present(known) = &self.known {
            // This holds also for another uid: a late watch still tells of the Lease that was deleted before this one was made.
            if is_older(&fact.resource_version, &known.resource_version) {
                return;
            }
            self.holder_liveness = self.holder_liveness.next(known, &fact, now);
        } else {
            // If the Lease was missing before, we saw it being made.
            let seen = self.seen_before.take().and_then(|seen| seen.liveness(&fact));
            let first = || HolderLiveness::first(now, self.known == KnownLease::Absent);
            self.holder_liveness = seen.unwrap_or_else(first);
        }
        if self.outdated.as_ref().is_some_and(|(outdated, _)| outdated.as_ref() != Some(&fact.resource_version)) {
            self.outdated = None;
        }
        self.note_whether_put_back(&fact);
        let ended = self.has_record_that_ends();
        self.known = KnownLease::Present(Box::new(fact));
        self.follow_record(ended, now);
        if !self.holds() {
            (self.tenure, self.proof) = (None, None);
        }
    }

    /// Takes in the Lease from the answer to a request, unless the watch has shown that it is gone or newer: the watch says nothing twice.
    pub(crate) fn learn(&mut self, fact: LeaseFact, now: Timestamp) {
        let gone = self.gone.as_ref() == Some(&fact.uid);
        let old = matches!(&self.known, KnownLease::Present(known) if is_older(&fact.resource_version, &known.resource_version));
        if !gone && !old {
            self.observe(fact, now);
        }
    }

    /// The write that was sent and is not answered yet.
    pub(crate) fn in_flight(&self) -> Option<&InFlight> {
        self.in_flight.as_ref()
    }

    /// Notes a write that is sent.
    pub(crate) fn sent(&mut self, write: InFlight) {
        self.in_flight = Some(write);
    }

    /// The write that this answer is about, which is not in flight any more.
    pub(crate) fn answered(&mut self, id: EffectId) -> Option<InFlight> {
        self.in_flight.take_if(|write| write.id == id)
    }

    /// Nothing is written before this instant.
    pub(crate) fn write_again_at(&mut self, at: Timestamp) {
        self.retry_at = at;
    }

    /// Notes a write whose answer was lost.
    pub(crate) fn lose(&mut self, write: InFlight) {
        // The record keeps no more write ids than this.
        if self.lost.len() == Record::WRITE_IDS {
            self.lost.remove(0);
        }
        self.lost.push(write);
    }

    /// The newest of our unanswered writes (also those whose answer was lost) that the record contains. Its edits must not be
    /// written again, because that could undo what others have written since.
    pub(crate) fn recognize(&mut self, fact: &LeaseFact) -> Option<InFlight> {
        if self.in_flight.as_ref().is_some_and(|write| write.is_in(fact)) {
            return self.in_flight.take();
        }
        let arrived = self.lost.iter().rposition(|write| write.is_in(fact))?;
        Some(self.lost.remove(arrived))
    }

    /// Takes in that a write took effect. Every earlier write whose answer was lost has failed or is included in this one, so that none can
    /// take effect any more.
    pub(crate) fn written(&mut self, write: &InFlight) {
        self.lost.retain(|lost| lost.id > write.id);
        self.retry_at = Timestamp::default();
        if write.write.holder.as_ref() == Some(&self.identity) {
            self.renewed(write.sent_at);
            let proof = Proof { sent_at: write.sent_at, good_for: write.good_for };
            let newer = self.proof.is_none_or(|known| known.sends_until() <= proof.sends_until());
            self.proof = if self.holds() && newer { Some(proof) } else { self.proof };
        }
    }

    /// Takes in that the Lease was deleted, as of this resource version if it is a number.
    pub(crate) fn observe_gone(&mut self, version: Option<u64>, now: Timestamp) {
        // A newer Lease is there: a late watch tells of the one before it.
        if is_behind(version, self.resource_version().and_then(|known| known.parse().ok())) {
            return;
        }
        self.gone_at = self.gone_at.max(version);
        self.observe_absent(now);
    }

    /// Takes in that there is no lease.
    pub(crate) fn observe_absent(&mut self, now: Timestamp) {
        if let KnownLease::Present(fact) = &self.known {
            self.gone = Some(fact.uid.clone());
        }
        let ended = self.has_record_that_ends();
        self.known = KnownLease::Absent;
        self.follow_record(ended, now);
        (self.tenure, self.proof) = (None, None);
        self.outdated = None;
        self.lost.clear();
    }

    /// The request for pre-warming, if it can be read and is not of another DaemonSet.
    pub(crate) fn prewarm(&self) -> Option<&Prewarm> {
        let prewarm = match &self.known {
            KnownLease::Present(fact) => fact.prewarm.as_ref().ok()?.as_ref()?,
            KnownLease::Nothing | KnownLease::Absent => return None,
        };
        let foreign = self.daemonset.as_ref().is_some_and(|seen| *seen != prewarm.daemonset_uid);
        (!foreign).then_some(prewarm)
    }

    /// The pace of sites, as the holder reported it.
    pub(crate) fn reported_pace(&self) -> Arc<[PacedSite]> {
        match &self.known {
            KnownLease::Present(fact) => fact.pace.clone(),
            KnownLease::Nothing | KnownLease::Absent => Arc::default(),
        }
    }

    /// The nodes that fail, as the holder reported them.
    pub(crate) fn reported_failing(&self) -> Option<FailingNodes> {
        match &self.known {
            KnownLease::Present(fact) => fact.failing.clone(),
            KnownLease::Nothing | KnownLease::Absent => None,
        }
    }

    /// Why the record, or the request for pre-warming, cannot be read.
    pub(crate) fn record_error(&self) -> Option<&Str> {
        match &self.known {
            KnownLease::Present(fact) => fact.record.as_ref().err().or(fact.prewarm.as_ref().err()),
            KnownLease::Nothing | KnownLease::Absent => None,
        }
    }

    /// Whether there is a record that cannot be read.
    pub(crate) fn has_unreadable_record(&self) -> bool {
        matches!(&self.known, KnownLease::Present(fact) if fact.record.is_err())
    }

    /// Who the lease names as its holder, alive or not.
    pub(crate) fn holder(&self) -> Option<&Str> {
        match &self.known {
            KnownLease::Present(fact) => fact.holder.as_ref(),
            KnownLease::Nothing | KnownLease::Absent => None,
        }
    }

    /// Whether the lease says that we hold it.
    pub(crate) fn holds(&self) -> bool {
        self.holder() == Some(&self.identity)
    }

    /// When our last successful renewal was sent, if we hold the lease.
    fn renewed_at(&self) -> Option<Timestamp> {
        Some(self.tenure.filter(|_| self.holds())?.renewed_at)
    }

    /// Whether deletions may still arrive that were decided by somebody who held a Lease before this one: nobody waited for that Lease to run out.
    pub(crate) fn may_follow_others(&self, now: Timestamp) -> bool {
        self.tenure.is_none_or(|tenure| now < tenure.since + self.timing.lease)
    }

    /// The instant until which we may act, if we hold the Lease.
    pub(crate) fn may_act_until(&self) -> Option<Timestamp> {
        Some(self.renewed_at()? + self.timing.act)
    }

    /// The instant until which a deletion that was decided behind the last proof may be sent. A process that was suspended in between must
    /// not act on an old record.
    pub(crate) fn proof_is_good_until(&self) -> Option<Timestamp> {
        Some(self.proof?.sends_until().min(self.may_act_until()?))
    }

    /// Whether we may act now.
    pub(crate) fn may_act(&self, now: Timestamp) -> bool {
        self.may_act_until().is_some_and(|until| now < until)
    }

    /// When the present holder's lease runs out, if it is not renewed.
    pub(crate) fn runs_out_at(&self) -> Timestamp {
        let duration_secs = match &self.known {
            KnownLease::Present(fact) => fact.duration_secs,
            KnownLease::Nothing | KnownLease::Absent => 0,
        };
        self.holder_liveness.runs_out_at(duration_secs, self.timing.lease)
    }

    /// Somebody else who holds the lease and is alive as far as we can tell.
    pub(crate) fn living_other(&self, now: Timestamp) -> Option<&Str> {
        self.holder().filter(|holder| **holder != self.identity && now < self.runs_out_at())
    }

    /// Whether we could take the lease now: it is absent, free, or has run out.
    pub(crate) fn is_free(&self, now: Timestamp) -> bool {
        match &self.known {
            KnownLease::Nothing => false,
            KnownLease::Absent => true,
            KnownLease::Present(_) => !self.holds() && self.living_other(now).is_none(),
        }
    }

    /// Whether a renewal is due.
    pub(crate) fn renewal_due(&self, now: Timestamp) -> bool {
        self.holds() && self.renewed_at().is_none_or(|renewed_at| now >= renewed_at + self.timing.renew)
    }

    /// Whether a write may be sent now.
    pub(crate) fn can_write(&self, now: Timestamp) -> bool {
        let patient = self.outdated.as_ref().is_some_and(|(_, until)| now < *until);
        self.in_flight.is_none() && now >= self.retry_at && !patient && self.known != KnownLease::Nothing
    }

    /// The write that keeps the Lease's holder and changes only its contents.
    pub(crate) fn keep_holder(&self, kept: LeaseContents) -> LeaseWrite {
        let LeaseContents { record, prewarm, pace, failing } = kept;
        match &self.known {
            KnownLease::Present(fact) => LeaseWrite {
                holder: fact.holder.clone(),
                duration_secs: fact.duration_secs,
                acquired_at: fact.acquired_at,
                renewed_at: fact.renewed_at,
                transitions: fact.transitions,
                record,
                prewarm,
                pace,
                failing,
                keeps_unreadable: false,
            },
            KnownLease::Nothing | KnownLease::Absent => LeaseWrite {
                holder: None,
                duration_secs: 1,
                acquired_at: None,
                renewed_at: None,
                transitions: 0,
                record,
                prewarm,
                pace,
                failing,
                keeps_unreadable: false,
            },
        }
    }

    /// The write that makes us the holder of the Lease, or keeps us.
    pub(crate) fn hold(&self, kept: LeaseContents, now: Timestamp) -> LeaseWrite {
        let mut write = self.keep_holder(kept);
        if write.holder.as_ref() != Some(&self.identity) {
            write.transitions += u32::from(!matches!(self.known, KnownLease::Absent));
            write.acquired_at = Some(now);
            write.holder = Some(self.identity.clone());
            // The pace that another holder has measured is not ours to keep. Its report of failing nodes names it, and stays until our first one.
            write.pace = Arc::default();
        }
        write.duration_secs = u32::try_from(self.timing.lease.as_secs()).unwrap_or(15);
        write.renewed_at = Some(now);
        write
    }

    /// The write that gives the Lease back. The report of failing nodes stays as the last one.
    pub(crate) fn give_back(&self, kept: LeaseContents) -> LeaseWrite {
        let keeps_unreadable = self.record_error().is_some();
        LeaseWrite { holder: None, duration_secs: 1, pace: Arc::default(), keeps_unreadable, ..self.keep_holder(kept) }
    }

    /// The resource version to write against; `None` if the write is to create the Lease.
    pub(crate) fn resource_version(&self) -> Option<Str> {
        match &self.known {
            KnownLease::Present(fact) => Some(fact.resource_version.clone()),
            KnownLease::Nothing | KnownLease::Absent => None,
        }
    }

    /// Takes in the success of a write that was sent at `sent_at` and made us the holder or kept us.
    pub(crate) fn renewed(&mut self, sent_at: Timestamp) {
        if self.holds() {
            self.tenure = Some(Tenure::renewed(self.tenure, sent_at));
        }
    }

    /// Takes in that a write met a conflict: the next write waits until the newer version is seen, but for [`PATIENCE`] at most.
    pub(crate) fn is_outdated(&mut self, now: Timestamp) {
        self.outdated = Some((self.resource_version(), now + PATIENCE));
    }

    /// Whether deletions may be decided now: we may act, and the last write that proved the record was sent at most
    /// [`Proof::good_for`] ago.
    ///
    /// Every write of the Lease is a compare-and-swap on the whole object, so a success proves that nobody had paused or taken over
    /// before it. Deletions are sent only behind such a proof.
    pub(crate) fn awaits_proof(&self, now: Timestamp) -> bool {
        self.may_act(now) && self.proof.is_some_and(|proof| now <= proof.decides_until())
    }

    /// Until when deletions may be decided behind the last proof.
    pub(crate) fn proof_decides_until(&self) -> Option<Timestamp> {
        Some(self.proof?.decides_until())
    }

    /// The longest time for which a proof is good: either the one in use, or the one that the write on its way may bring.
    pub(crate) fn longest_proof(&self, now: Timestamp) -> Duration {
        let used = self.proof.filter(|proof| now <= proof.sends_until()).map(|proof| proof.good_for);
        let comes = self.in_flight.as_ref().map(|write| write.good_for);
        used.max(comes).unwrap_or_default()
    }

    /// When the lock has something to do by itself, or when time alone changes who may act.
    pub(crate) fn changes_at(&self) -> impl Iterator<Item = Timestamp> {
        let renewal = self.renewed_at().map(|renewed_at| renewed_at + self.timing.renew);
        let end = self.may_act_until();
        let lapses = self.renewed_at().map(|renewed_at| renewed_at + self.timing.lease);
        let others = self.holder().filter(|holder| **holder != self.identity).map(|_| self.runs_out_at());
        let patience = self.outdated.as_ref().map(|(_, until)| *until);
        [renewal, end, lapses, others, patience, Some(self.retry_at)].into_iter().flatten()
    }

    /// Who drives, in words for a front end.
    pub(crate) fn view(&self, now: Timestamp) -> DriverView {
        let waiting = self.wants_to_drive();
        // A holder that has not renewed for a whole lease duration hands nothing over.
        let living = || self.living_other(now).cloned();
        match (&self.known, self.holder()) {
            (KnownLease::Nothing, _) => DriverView::Unknown,
            (_, Some(holder)) if *holder == self.identity => {
                let renewed_at = self.renewed_at().unwrap_or(self.holder_liveness.changed_at);
                DriverView::You { renewed_at, lapsed: now.since(renewed_at) >= self.timing.lease }
            }
            _ if self.wants_a_handover() => DriverView::Waiting { holder: living() },
            (_, Some(holder)) if now < self.runs_out_at() && self.holder_liveness.alive => {
                DriverView::Other { holder: holder.clone(), renewal_observed_at: self.holder_liveness.changed_at }
            }
            (KnownLease::Present(fact), Some(holder)) if now < self.runs_out_at() => {
                DriverView::Unconfirmed { holder: holder.clone(), renewed_at: fact.renewed_at }
            }
            _ if waiting => DriverView::Waiting { holder: living() },
            (known, Some(holder)) => DriverView::Lost {
                holder: holder.clone(),
                renewal_observed_at: self.holder_liveness.changed_at,
                renewed_at: match known {
                    KnownLease::Present(fact) if !self.holder_liveness.alive => fact.renewed_at,
                    KnownLease::Present(_) | KnownLease::Nothing | KnownLease::Absent => None,
                },
            },
            (_, None) => DriverView::Nobody,
        }
    }
}

#[cfg(test)]
mod tests;
