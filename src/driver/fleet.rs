//! The list of all DaemonSets that the user may see. Each row is made from a partial DaemonSet, its revisions, its starting
//! pods and, if there is one, its Lease.

mod ages;
mod change;
mod half_seen;
mod leases;
mod listed;
mod pulls;
mod sight;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use self::ages::StateAges;
use self::change::ListedChange;
use self::half_seen::HalfSeen;
use self::leases::{ObservedLease, driven_by, is_adopted};
use self::listed::Listed;
use self::pulls::StartingPods;
use self::sight::Sight;
use super::handle::{DrivenBy, Fleet, FleetPulls, FleetRow};
use super::identity::Identity;
use super::run::LOOKS_AT_CLOCK;
use super::seen_holders::SeenHolders;
use crate::cluster::{Clock, Cluster, FleetEvent, PartialDaemonSet, PartialRevision};
use crate::engine::model::Str;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::facts::{LeaseFact, StrategyKind};
use crate::engine::model::failing_nodes::{FailingNodes, LastFailing};
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::{Direction, Record, lease_name};
use crate::engine::model::time::Timestamp;
use crate::engine::rules::fleet_state::{Brief, DriverPresence, fleet_state, recorded_since};
use crate::engine::rules::holder::{HolderLiveness, SeenHolder};

/// How many events may wait.
const EVENTS: usize = 256;
/// While changes keep arriving, at least this much time lies between two views.
const GAP: Duration = Duration::from_millis(100);

/// Watches all DaemonSets until no front end holds the receiver any more.
pub(super) fn spawn(
    cluster: &Cluster,
    namespace: Option<&str>,
    us: Identity,
    seen_holders: SeenHolders,
) -> watch::Receiver<Arc<Fleet>> {
    let (sender, events) = mpsc::channel(EVENTS);
    let feed = cluster.fleet(namespace, sender);
    let (views, receiver) = watch::channel(Arc::new(Fleet::default()));
    let clock = cluster.clock();
    tokio::spawn(async move {
        let known = KnownFleet { seen_holders, ..KnownFleet::default() };
        run(events, &views, clock, us, known).await;
        drop(feed);
    });
    receiver
}

async fn run(
    mut events: mpsc::Receiver<FleetEvent>,
    views: &watch::Sender<Arc<Fleet>>,
    clock: Clock,
    us: Identity,
    mut known: KnownFleet,
) {
    let mut ages = StateAges::default();
    let mut next_view_at = Instant::now();
    let mut due = false;
    loop {
        let expiry = known.next_expiry(clock.now()).map(|at| at.since(clock.now()).min(LOOKS_AT_CLOCK));
        let until_expiry = expiry.map(|wait| Instant::now() + wait);
        let view_at = due.then_some(next_view_at);
        let timer = [view_at, until_expiry].into_iter().flatten().min();
        tokio::select! {
            biased;
            () = views.closed() => return,
            () = sleep_until(timer.unwrap_or_else(Instant::now)), if timer.is_some() => due = true,
            event = events.recv() => {
                let Some(event) = event else { return };
                known.observe(event, clock.now());
                while let Ok(event) = events.try_recv() {
                    known.observe(event, clock.now());
                }
                due = true;
            }
        }
        if due && Instant::now() >= next_view_at {
            let now = clock.now();
            let mut view = known.view(now, &us);
            ages.date(&mut view.rows, known.is_settled(now), now);
            publish(views, view);
            due = false;
            next_view_at = Instant::now() + GAP;
        }
    }
}

fn publish(views: &watch::Sender<Arc<Fleet>>, view: Fleet) {
    views.send_if_modified(|last| {
        // The time of the view is not compared: a view that shows the same is no news.
        let news = (&last.health, &last.leases, &last.revisions, &last.starting_pods, &last.rows)
            != (&view.health, &view.leases, &view.revisions, &view.starting_pods, &view.rows);
        if news {
            *last = Arc::new(view);
        }
        news
    });
}

/// Namespace and name.
type ObjectKey = (Str, Str);

/// The known facts of a fleet.
#[derive(Default, Debug)]
struct KnownFleet {
    health: WatchHealth,
    leases_sight: Sight,
    /// Set if only one namespace can be seen: its name, and the server's message.
    only: Option<(Str, Str)>,
    revisions_sight: Sight,
    daemonsets: Listed<ObjectKey, PartialDaemonSet>,
    revisions: Listed<ObjectKey, PartialRevision>,
    leases: Listed<ObjectKey, ObservedLease>,
    half_seen: HalfSeen,
    seen_holders: SeenHolders,
    starting: StartingPods,
}

impl KnownFleet {
    fn observe(&mut self, event: FleetEvent, now: Timestamp) {
        match event {
            FleetEvent::DaemonSetsListing => self.daemonsets.listing(),
            FleetEvent::DaemonSetsListed => self.daemonsets.listed(),
            FleetEvent::DaemonSet(what) => {
                let key = (what.namespace.clone(), what.name.clone());
                let lease = (what.namespace.clone(), Str::from(lease_name(&what.name)));
                let is_recorded = self.leases.get(&lease).is_some_and(|lease| lease.record_of(&what).is_some());
                if !is_recorded {
                    self.half_seen.follow_daemonset(lease, self.daemonsets.get(&key), &what, now);
                }
                self.daemonsets.insert(key, *what);
            }
            FleetEvent::DaemonSetGone(namespace, name) => self.daemonsets.remove(&(namespace, name)),
            FleetEvent::DaemonSetsHealth(health) => self.health = health,
            FleetEvent::OnlyNamespace(namespace, why) => self.only = Some((namespace, why)),
            FleetEvent::AllNamespaces => self.only = None,
            FleetEvent::LeasesListing => self.leases.listing(),
            FleetEvent::LeasesListed => {
                let before = self.leases.iter().filter(|(_, lease)| lease.has_record_that_ends());
                let before: Vec<ObjectKey> = before.map(|(key, _)| key.clone()).collect();
                self.leases.listed();
                let gone = before.into_iter().filter(|key| self.leases.get(key).is_none());
                gone.for_each(|key| self.half_seen.begins(key, now));
            }
            FleetEvent::Lease(namespace, name, fact) => self.lease((namespace, name), *fact, now),
            FleetEvent::LeaseGone(namespace, name) => {
                let key = (namespace, name);
                self.half_seen.follow_lease(&key, self.leases.get(&key), None, now);
                self.leases.remove(&key);
            }
            FleetEvent::LeasesHealth(health) => self.leases_sight.observe(health, now),
            FleetEvent::RevisionsListing => self.revisions.listing(),
            FleetEvent::RevisionsListed => self.revisions.listed(),
            FleetEvent::Revision(namespace, name, what) => self.revisions.insert((namespace, name), *what),
            FleetEvent::RevisionGone(namespace, name) => self.revisions.remove(&(namespace, name)),
            FleetEvent::RevisionsHealth(health) => self.revisions_sight.observe(health, now),
            FleetEvent::StartingPodsListing => self.starting.pods.listing(),
            FleetEvent::StartingPodsListed => self.starting.pods.listed(),
            FleetEvent::StartingPod(pod) => self.starting.insert(*pod),
            FleetEvent::StartingPodGone(uid) => self.starting.remove(&uid),
            FleetEvent::PullBegun(uid) => self.starting.pull_begins(uid),
            FleetEvent::StartingPodsHealth(health) => self.starting.health = health,
        }
    }

    /// A lease is alive as long as its holder renews it. An edit of its record by another process does not renew it.
    fn lease(&mut self, key: ObjectKey, fact: LeaseFact, now: Timestamp) {
        let holder_liveness = match self.leases.get(&key) {
            Some(known) => known.holder_liveness.next(&known.fact, &fact, now),
            None => {
                let seen = self.seen_holders.last(&key).and_then(|seen| seen.liveness(&fact));
                // The Lease appeared after all Leases were listed, so it was created just now.
                seen.unwrap_or_else(|| HolderLiveness::first(now, self.leases_sight.is_current(now)))
            }
        };
        self.seen_holders.note(&key, SeenHolder::new(&fact, holder_liveness));
        self.half_seen.follow_lease(&key, self.leases.get(&key), Some(&fact), now);
        self.leases.insert(key, ObservedLease { fact, holder_liveness });
    }

    fn next_expiry(&self, now: Timestamp) -> Option<Timestamp> {
        let held = self.leases.iter().filter(|(_, lease)| lease.fact.holder.is_some());
        let changes = held.flat_map(|(_, lease)| [Some(lease.runs_out_at()), lease.silent_from()]).flatten();
        let seen_at = self.leases_sight.seen_at(now);
        let words = self.leases.iter().filter_map(|(_, lease)| lease.last_report_changes_at(seen_at, now));
        let sights = [&self.leases_sight, &self.revisions_sight].into_iter().filter_map(Sight::changes_at);
        changes.chain(words).chain(sights).chain(self.half_seen.missed_at()).filter(|at| *at > now).min()
    }

    fn view(&self, now: Timestamp, us: &Identity) -> Fleet {
        let mut revisions: HashMap<&str, Vec<&PartialRevision>> = HashMap::new();
        for (_, revision) in self.revisions.iter() {
            revisions.entry(&revision.daemonset_uid).or_default().push(revision);
        }
        let pulls = self.starting.counts();
        let row = |daemonset: &PartialDaemonSet| {
            let of_it = revisions.get(&*daemonset.uid).map(Vec::as_slice).unwrap_or_default();
            let pulls = pulls.as_ref().map(|pulls| pulls.get(&*daemonset.uid).copied().unwrap_or_default());
            self.row(daemonset, of_it, pulls, now, us)
        };
        let rows = self.daemonsets.iter().map(|(_, daemonset)| row(daemonset)).collect();
        let health = match (&self.only, &self.health) {
            (Some((namespace, why)), WatchHealth::Live) => {
                WatchHealth::Forbidden { why: format!("{why}; showing only namespace {namespace}").into() }
            }
            (_, health) => health.clone(),
        };
        let (leases, revisions) = (self.leases_sight.health().clone(), self.revisions_sight.health().clone());
        Fleet { health, leases, revisions, starting_pods: self.starting.health.clone(), at: now, rows }
    }

    /// Whether all facts from which states follow are known as of now. If so, a state that differs from the one before has just begun.
    fn is_settled(&self, now: Timestamp) -> bool {
        let is_forbidden = matches!(self.leases_sight.health(), WatchHealth::Forbidden { .. });
        self.health == WatchHealth::Live && (is_forbidden || self.leases_sight.is_current(now))
    }

    fn row(
        &self,
        daemonset: &PartialDaemonSet,
        revisions: &[&PartialRevision],
        pulls: Option<FleetPulls>,
        now: Timestamp,
        us: &Identity,
    ) -> FleetRow {
        let key = (daemonset.namespace.clone(), Str::from(lease_name(&daemonset.name)));
        let lease = self.leases.get(&key);
        let (sees_leases, seen_at) = (self.leases_sight.is_current(now), self.leases_sight.seen_at(now));
        let driver = match lease.and_then(|lease| lease.driver(seen_at)) {
            Some(_) => DriverPresence::Present,
            None if sees_leases => DriverPresence::Absent,
            None => DriverPresence::Unknown,
        };
        let record = lease.and_then(|lease| lease.record_of(daemonset));
        let failed_pulls = pulls.map_or(0, |pulls| pulls.failed);
        let record_is_missing = self.record_is_missing(daemonset, &key, now);
        // What was reported of another target says nothing of this one.
        let of_target = |report: &FailingNodes| record.is_some_and(|it| report.is_about(it.intent.target.as_ref()));
        let report = lease.and_then(|lease| lease.failing(seen_at)).cloned().filter(of_target);
        let lacks_images = report.as_ref().is_some_and(|report| report.lacks_images);
        let record_is_unreadable = lease.is_some_and(|lease| lease.fact.record.is_err());
        let known = Brief {
            failed_pulls,
            record_is_missing,
            record_is_unreadable,
            record_is_unseen: record.is_none() && !sees_leases,
            lacks_images,
            ..brief(daemonset)
        };
        let silent_since =
            lease.filter(|_| driver == DriverPresence::Present).and_then(|lease| lease.silent_since(seen_at));
        // As on the page: nothing is next by a holder whose lease has run out by the holder's own clock.
        let state = fleet_state(&known, record, if silent_since.is_some() { DriverPresence::Absent } else { driver });
        // A change of the template is that of somebody else only if neither its revision nor its record can be an old one.
        let sees_change = sees_leases && self.revisions_sight.is_current(now);
        let others = report.as_ref().map_or(&[][..], |report| &report.other_revisions);
        let ListedChange { to, from, more, template_of_others } =
            ListedChange::of(daemonset, revisions, record, sees_change, others);
        let rests = matches!(state, FleetState::Held | FleetState::Adopted | FleetState::UpToDate);
        let state = match driver {
            // The controller counts pods at another revision than the target of the rollout, and a driver pauses the rollout first.
            DriverPresence::Absent if rests && template_of_others => FleetState::Undriven,
            DriverPresence::Absent | DriverPresence::Present | DriverPresence::Unknown => state,
        };
        let last = lease.filter(|_| report.is_none()).and_then(|lease| lease.report_of_absent_driver(seen_at));
        let last_failing = last.filter(|report| report.revision.is_some() && of_target(report)).cloned();
        let last_failing = last_failing.and_then(|report| LastFailing::new(report, now));
        let (driven_by, prewarmed_by) = match driven_by(daemonset, lease, driver, us) {
            holder @ (DrivenBy::You | DrivenBy::Other(_) | DrivenBy::Unconfirmed(_))
                if lease.is_some_and(|lease| lease.only_prewarms(daemonset)) =>
            {
                (DrivenBy::Controller, Some(holder))
            }
            known => (known, None),
        };
        let unavailable = daemonset.counters.desired.saturating_sub(daemonset.counters.available);
        FleetRow {
            namespace: daemonset.namespace.clone(),
            name: daemonset.name.clone(),
            counters: daemonset.counters,
            strategy: strategy_words(daemonset),
            since: recorded_since(&state, record, report.as_ref()),
            state,
            to,
            from,
            more_revisions: more,
            template_of_others,
            goes_back: record.is_some_and(goes_back),
            pulls,
            last_failing: last_failing.filter(|last| last.report.nodes > 0 && unavailable > 0),
            failing: report.map(|report| FailingNodes { at: None, ..report }),
            prewarm: lease.and_then(|lease| lease.prewarm_of(daemonset, driver)),
            silent_since,
            driven_by,
            prewarmed_by,
        }
    }

    /// Whether no record is left of the rollout for which rolldeck set `OnDelete`: the same rule as in `Engine::record_is_missing`.
    fn record_is_missing(&self, daemonset: &PartialDaemonSet, key: &ObjectKey, now: Timestamp) -> bool {
        // While Leases are not seen, somebody may have recorded it.
        let shows_none = self.leases_sight.is_current(now)
            && self.leases.get(key).is_none_or(|lease| matches!(lease.fact.record, Ok(None)));
        is_adopted(daemonset) && !daemonset.deleting && shows_none && !self.half_seen.has(key, now)
    }
}

/// Whether the rollout that is recorded goes back to an earlier revision, and is neither over nor being handed back.
fn goes_back(record: &Record) -> bool {
    let intent = &record.intent;
    let is_over = record.progress.completed.is_some() || intent.releasing.is_some();
    intent.direction() == Direction::Back && intent.change.is_none() && !is_over
}

fn brief(daemonset: &PartialDaemonSet) -> Brief {
    let PartialDaemonSet { counters, strategy, adopted, observed, deleting, .. } = daemonset;
    Brief {
        counters: *counters,
        strategy: *strategy,
        adopted: *adopted,
        observed: *observed,
        deleting: *deleting,
        record_is_unseen: false,
        record_is_missing: false,
        record_is_unreadable: false,
        failed_pulls: 0,
        lacks_images: false,
    }
}

fn strategy_words(daemonset: &PartialDaemonSet) -> String {
    let none = [IntOrPercent::Int(0), IntOrPercent::Percent(0)];
    match (daemonset.strategy, daemonset.max_surge.filter(|surge| !none.contains(surge)), daemonset.max_unavailable) {
        (StrategyKind::OnDelete, _, _) if daemonset.adopted => "OnDelete (ours)".to_owned(),
        (StrategyKind::OnDelete, _, _) => "OnDelete".to_owned(),
        (StrategyKind::RollingUpdate, Some(surge), _) => format!("RollingUpdate surge {surge}"),
        (StrategyKind::RollingUpdate, None, Some(unavailable)) => format!("RollingUpdate {unavailable}"),
        (StrategyKind::RollingUpdate, None, None) => "RollingUpdate".to_owned(),
    }
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod tests;
