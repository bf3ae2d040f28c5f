//! The Leases of listed DaemonSets: what their holders and records tell.

use crate::cluster::PartialDaemonSet;
use crate::driver::handle::{DrivenBy, FleetPrewarm};
use crate::driver::identity::Identity;
use crate::engine::model::Str;
use crate::engine::model::config::LEASE;
use crate::engine::model::facts::{LeaseFact, StrategyKind};
use crate::engine::model::failing_nodes::{FailingNodes, LastFailing};
use crate::engine::model::prewarm::PrewarmMethod;
use crate::engine::model::record::Record;
use crate::engine::model::time::Timestamp;
use crate::engine::rules::fleet_state::DriverPresence;
use crate::engine::rules::holder::{HolderLiveness, silent_from};
use crate::engine::rules::missing_record::ends;

/// A Lease, and the last sign of life of its holder.
#[derive(Debug)]
pub(super) struct ObservedLease {
    pub(super) fact: LeaseFact,
    pub(super) holder_liveness: HolderLiveness,
}

impl ObservedLease {
    pub(super) fn runs_out_at(&self) -> Timestamp {
        self.holder_liveness.runs_out_at(self.fact.duration_secs, LEASE)
    }

    pub(super) fn driver(&self, now: Timestamp) -> Option<&Str> {
        self.fact.holder.as_ref().filter(|_| now < self.runs_out_at())
    }

    /// The time from which the holder counts as silent, by the same rule as on the rollout's page.
    pub(super) fn silent_from(&self) -> Option<Timestamp> {
        silent_from(&self.fact, self.holder_liveness)
    }

    /// The time of the holder's last renewal, by the holder's own clock; `None` if the holder is not silent.
    pub(super) fn silent_since(&self, now: Timestamp) -> Option<Timestamp> {
        self.silent_from().filter(|from| *from <= now).and(self.fact.renewed_at)
    }

    /// The failing nodes that the holder has written to the Lease; `None` if the holder is silent. A driver that does not
    /// write them leaves the value of its predecessor.
    pub(super) fn failing(&self, now: Timestamp) -> Option<&FailingNodes> {
        let driver = self.driver(now).filter(|_| self.silent_since(now).is_none())?;
        self.fact.failing.as_ref().filter(|failing| failing.by == *driver)
    }

    /// The last report of failing nodes, if it is not known that a driver lives who sees them now.
    pub(super) fn report_of_absent_driver(&self, now: Timestamp) -> Option<&FailingNodes> {
        let is_driven = self.driver(now).is_some() && self.silent_since(now).is_none();
        self.fact.failing.as_ref().filter(|_| !is_driven)
    }

    /// When the age of the last report changes in words; `seen_at` is the time as of which the Lease is known.
    pub(super) fn last_report_changes_at(&self, seen_at: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let report = self.report_of_absent_driver(seen_at).filter(|report| report.nodes > 0)?;
        Some(LastFailing::next_change(report.at?, now))
    }

    /// Whether its rollout is to end, so that its record may be dropped.
    pub(super) fn has_record_that_ends(&self) -> bool {
        matches!(&self.fact.record, Ok(Some(record)) if ends(record))
    }

    /// The record in the Lease; `None` if it belongs to an earlier DaemonSet of the same name.
    pub(super) fn record_of(&self, daemonset: &PartialDaemonSet) -> Option<&Record> {
        let record = self.fact.record.as_ref().ok()?.as_ref()?;
        record.daemonset_uid.as_ref().is_none_or(|uid| *uid == daemonset.uid).then_some(record)
    }

    /// Whether its holder, if there is one, only pre-warms while the DaemonSet's own controller replaces pods: the same rule as on the rollout's page.
    pub(super) fn only_prewarms(&self, daemonset: &PartialDaemonSet) -> bool {
        let warms = self
            .fact
            .prewarm
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .is_some_and(|prewarm| prewarm.daemonset_uid == daemonset.uid && prewarm.cancelled.is_none());
        let began = self.record_of(daemonset).is_some_and(|record| record.progress.started_at.is_some());
        warms && daemonset.strategy == StrategyKind::RollingUpdate && !began
    }

    /// The pre-warming that the Lease asks for; `None` if it belongs to an earlier DaemonSet of the same name.
    pub(super) fn prewarm_of(&self, daemonset: &PartialDaemonSet, driver: DriverPresence) -> Option<FleetPrewarm> {
        let prewarm = self.fact.prewarm.as_ref().ok()?.as_ref()?;
        let prewarm = Some(prewarm).filter(|prewarm| prewarm.daemonset_uid == daemonset.uid)?;
        Some(match (&prewarm.cancelled, &prewarm.paused, driver) {
            (Some(_), _, _) if prewarm.complete.is_some() => FleetPrewarm::Done,
            (Some(_), _, _) => FleetPrewarm::Cancelled,
            (None, Some(_), _) => FleetPrewarm::Paused,
            // A StatefulSet continues without a driver.
            (None, None, _) if prewarm.method == PrewarmMethod::StatefulSet => FleetPrewarm::Requested,
            (None, None, DriverPresence::Present) => FleetPrewarm::Requested,
            (None, None, DriverPresence::Absent) => FleetPrewarm::NobodyDrives,
            (None, None, DriverPresence::Unknown) => FleetPrewarm::DriverUnknown,
        })
    }
}

/// Who replaces the pods of a DaemonSet; `driver` says whether the holder of its Lease drives.
pub(super) fn driven_by(
    daemonset: &PartialDaemonSet,
    lease: Option<&ObservedLease>,
    driver: DriverPresence,
    us: &Identity,
) -> DrivenBy {
    let lease = lease.filter(|_| driver == DriverPresence::Present);
    match lease.and_then(|lease| Some((lease.fact.holder.as_ref()?, lease.holder_liveness.alive))) {
        Some((driver, _)) if us.is_us(driver) => DrivenBy::You,
        Some((driver, true)) => DrivenBy::Other(driver.clone()),
        Some((driver, false)) => DrivenBy::Unconfirmed(driver.clone()),
        None if daemonset.strategy == StrategyKind::RollingUpdate => DrivenBy::Controller,
        None if driver == DriverPresence::Absent => DrivenBy::Nobody,
        None => DrivenBy::Unknown,
    }
}

/// Whether rolldeck has set `OnDelete` on the DaemonSet.
pub(super) fn is_adopted(daemonset: &PartialDaemonSet) -> bool {
    daemonset.adopted && daemonset.strategy == StrategyKind::OnDelete
}
