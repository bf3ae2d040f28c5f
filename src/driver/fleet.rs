//! The list of all DaemonSets that the user may see. Each row is made from a partial DaemonSet, its revisions, its starting
//! pods and, if there is one, its Lease.

mod ages;
mod change;
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
use self::leases::{DroppedRecords, ObservedLease, driven_by};
use self::listed::Listed;
use self::pulls::StartingPods;
use self::sight::Sight;
use super::handle::{Fleet, FleetPulls, FleetRow};
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
use crate::engine::model::record::lease_name;
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
    dropped_records: DroppedRecords,
    seen_holders: SeenHolders,
    starting: StartingPods,
}

impl KnownFleet {
    fn observe(&mut self, event: FleetEvent, now: Timestamp) {
        match event {
            FleetEvent::DaemonSetsListing => self.daemonsets.listing(),
            FleetEvent::DaemonSetsListed => self.daemonsets.listed(),
            FleetEvent::DaemonSet(what) => {
                self.daemonsets.insert((what.namespace.clone(), what.name.clone()), *what);
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
                gone.for_each(|key| self.dropped_records.dropped(key, now));
            }
            FleetEvent::Lease(namespace, name, fact) => self.lease((namespace, name), *fact, now),
            FleetEvent::LeaseGone(namespace, name) => {
                let key = (namespace, name);
                self.dropped_records.follow(&key, self.leases.get(&key), None, now);
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
        self.dropped_records.follow(&key, self.leases.get(&key), Some(&fact), now);
        self.leases.insert(key, ObservedLease { fact, holder_liveness });
    }

    fn next_expiry(&self, now: Timestamp) -> Option<Timestamp> {
        let held = self.leases.iter().filter(|(_, lease)| lease.fact.holder.is_some());
        let changes = held.flat_map(|(_, lease)| [Some(lease.runs_out_at()), lease.silent_from()]).flatten();
        let seen_at = self.leases_sight.seen_at(now);
        let words = self.leases.iter().filter_map(|(_, lease)| lease.last_report_changes_at(seen_at, now));
        let sights = [&self.leases_sight, &self.revisions_sight].into_iter().filter_map(Sight::changes_at);
        changes.chain(words).chain(sights).chain(self.dropped_records.missed_at()).filter(|at| *at > now).min()
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
        let state = fleet_state(&known, record, driver);
        // A change of the template is that of somebody else only if neither its revision nor its record can be an old one.
        let sees_change = sees_leases && self.revisions_sight.is_current(now);
        let ListedChange { to, from, template_of_others } = ListedChange::of(daemonset, revisions, record, sees_change);
        let rests = matches!(state, FleetState::Held | FleetState::Adopted | FleetState::UpToDate);
        let state = match driver {
            // The controller counts pods at another revision than the target of the rollout, and a driver pauses the rollout first.
            DriverPresence::Absent if rests && template_of_others => FleetState::Undriven,
            DriverPresence::Absent | DriverPresence::Present | DriverPresence::Unknown => state,
        };
        let last = lease.filter(|_| report.is_none()).and_then(|lease| lease.report_of_absent_driver(seen_at));
        let last_failing = last.filter(|report| report.revision.is_some() && of_target(report)).cloned();
        let last_failing = last_failing.and_then(|report| LastFailing::new(report, now));
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
            template_of_others,
            pulls,
            last_failing: last_failing.filter(|last| last.report.nodes > 0 && unavailable > 0),
            failing: report.map(|report| FailingNodes { at: None, ..report }),
            prewarm: lease.and_then(|lease| lease.prewarm_of(daemonset, driver)),
            silent_since: lease
                .filter(|_| driver == DriverPresence::Present)
                .and_then(|lease| lease.silent_since(seen_at)),
            driven_by: driven_by(daemonset, lease, driver, us),
        }
    }

    /// Whether no record is left of the rollout for which rolldeck set `OnDelete`: the same rule as in `Engine::record_is_missing`.
    fn record_is_missing(&self, daemonset: &PartialDaemonSet, key: &ObjectKey, now: Timestamp) -> bool {
        // While Leases are not seen, somebody may have recorded it.
        let shows_none = self.leases_sight.is_current(now)
            && self.leases.get(key).is_none_or(|lease| matches!(lease.fact.record, Ok(None)));
        let adopted = daemonset.adopted && daemonset.strategy == StrategyKind::OnDelete;
        adopted && !daemonset.deleting && shows_none && !self.dropped_records.is_young(key, now)
    }
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
mod tests {
    use super::super::handle::{DrivenBy, FleetPrewarm};
    use super::*;
    use crate::engine::model::facts::DaemonSetCounters;
    use crate::engine::model::prewarm::{Prewarm, PrewarmLimits, PrewarmMethod, PrewarmNodes, PrewarmSource};
    use crate::engine::model::record::{By, Halt, HaltingGate, Paused, Record};

    pub(super) fn daemonset(updated: u32, available: u32) -> PartialDaemonSet {
        PartialDaemonSet {
            namespace: "edge".into(),
            name: "agent".into(),
            uid: "uid".into(),
            strategy: StrategyKind::OnDelete,
            max_unavailable: Some(IntOrPercent::Int(1)),
            max_surge: Some(IntOrPercent::Int(0)),
            adopted: true,
            observed: true,
            deleting: false,
            counters: DaemonSetCounters { desired: 20, current: 20, ready: 20, updated, available, misscheduled: 0 },
            images: vec![("agent".into(), "registry.example/agent:v2".into())],
        }
    }

    fn native(updated: u32, available: u32) -> PartialDaemonSet {
        PartialDaemonSet { strategy: StrategyKind::RollingUpdate, adopted: false, ..daemonset(updated, available) }
    }

    pub(super) fn record(change: impl FnOnce(&mut Record)) -> Record {
        let mut record = Record { version: 1, ..Record::default() };
        change(&mut record);
        record
    }

    fn lease(holder: Option<&str>, renewed: i64) -> LeaseFact {
        LeaseFact {
            uid: "l".into(),
            resource_version: "1".into(),
            holder: holder.map(Str::from),
            duration_secs: 15,
            acquired_at: None,
            renewed_at: Some(Timestamp::from_millis(renewed)),
            transitions: 0,
            record: Ok(Some(record(|_| {}))),
            prewarm: Ok(None),
            pace: Default::default(),
            failing: None,
        }
    }

    #[test]
    fn a_record_of_an_earlier_daemonset_says_nothing_about_this_one() {
        let at = Timestamp::default();
        let paused = |uid: Option<&str>| {
            let record = record(|record| {
                record.daemonset_uid = uid.map(Str::from);
                record.intent.paused = Some(Paused::new("ada".into(), at, None));
            });
            ObservedLease {
                fact: LeaseFact { record: Ok(Some(record)), ..lease(None, 0) },
                holder_liveness: HolderLiveness::first(at, false),
            }
        };
        let shown = |uid| {
            let (lease, daemonset) = (paused(uid), daemonset(5, 20));
            fleet_state(&brief(&daemonset), lease.record_of(&daemonset), DriverPresence::Present).to_string()
        };
        assert_eq!((shown(Some("uid")), shown(None)), ("paused by ada".to_owned(), "paused by ada".to_owned()));
        assert!(!shown(Some("earlier")).starts_with("paused"));
    }

    /// A request to pre-warm the images of the template on all nodes, by single pods.
    pub(super) fn prewarm_of(daemonset_uid: &str) -> Prewarm {
        Prewarm {
            daemonset_uid: daemonset_uid.into(),
            source: PrewarmSource::Template,
            nodes: PrewarmNodes::All,
            limits: PrewarmLimits::default(),
            method: PrewarmMethod::Pods,
            stateful_sets: false,
            paused: None,
            cancelled: None,
            complete: None,
            retried: None,
            handover: None,
            failures: std::collections::BTreeMap::new(),
            unrecorded: Default::default(),
            by: By { by: "ada".into(), at: Timestamp::default() },
            write_ids: Vec::new(),
        }
    }

    #[test]
    fn what_is_pre_warmed_is_told_by_the_lease_alone() {
        let request = prewarm_of("uid");
        let by = || request.by.clone();
        let state = |prewarm: Prewarm, driver: DriverPresence| {
            let fact = LeaseFact { prewarm: Ok(Some(prewarm)), ..lease(None, 0) };
            let observed = ObservedLease { fact, holder_liveness: HolderLiveness::first(Timestamp::default(), false) };
            observed.prewarm_of(&daemonset(5, 20), driver)
        };
        let (driven, undriven) = (DriverPresence::Present, DriverPresence::Absent);
        assert_eq!(state(request.clone(), driven), Some(FleetPrewarm::Requested));
        assert_eq!(state(request.clone(), undriven), Some(FleetPrewarm::NobodyDrives));
        assert_eq!(state(request.clone(), DriverPresence::Unknown), Some(FleetPrewarm::DriverUnknown));
        let by_sets = Prewarm { method: PrewarmMethod::StatefulSet, ..request.clone() };
        assert_eq!(state(by_sets, undriven), Some(FleetPrewarm::Requested));
        assert_eq!(state(Prewarm { paused: Some(by()), ..request.clone() }, driven), Some(FleetPrewarm::Paused));
        assert_eq!(state(Prewarm { cancelled: Some(by()), ..request.clone() }, driven), Some(FleetPrewarm::Cancelled));
        let complete = Prewarm { cancelled: Some(by()), complete: Some(3), ..request.clone() };
        assert_eq!(state(complete, driven), Some(FleetPrewarm::Done), "nobody cancelled it");
        assert_eq!(state(Prewarm { daemonset_uid: "earlier".into(), ..request }, driven), None);
    }

    #[test]
    fn a_state_for_every_story() {
        let halted = record(|record| {
            record.progress.halt = Some(Halt::new(1, HaltingGate::default(), Timestamp::default(), "3 failed".into()));
        });
        let resumed = record(|record| {
            record.progress.halt = halted.progress.halt.clone();
            record.intent.acknowledged_halt = 1;
        });
        let paused = record(|record| {
            record.intent.paused = Some(Paused::new("ada".into(), Timestamp::default(), None));
        });
        let stepped = record(|record| record.intent.partition = IntOrPercent::Int(18));
        let moving = record(|record| {
            record.intent.partition = IntOrPercent::Int(18);
            record.progress.in_progress.insert("n1".into());
        });
        let drifted = record(|record| record.progress.adopted = true);
        let releasing = record(|record| {
            record.progress.adopted = true;
            record.intent.releasing = Some(By { by: "ada".into(), at: Timestamp::default() });
        });
        let back = record(|record| {
            record.intent.target = Some("rev-1".into());
            record.intent.back_to = Some("rev-1".into());
        });
        let (driven, undriven) = (DriverPresence::Present, DriverPresence::Absent);
        for (story, daemonset, record, want) in [
            ("native, idle", native(20, 20), None, "idle"),
            ("native, rolling", native(5, 19), None, "running"),
            ("native, sick", native(20, 17), None, "3 unavailable"),
            ("adopted, idle", daemonset(20, 20), None, "adopted"),
            ("before the first step", daemonset(0, 20), Some(&record(|_| {})), "held"),
            ("stepped to 2", daemonset(0, 20), Some(&stepped), "running"),
            ("stepped to 2, done", daemonset(2, 20), Some(&stepped), "held"),
            ("one on its way", daemonset(2, 19), Some(&moving), "running"),
            ("one that fails by itself", daemonset(2, 19), Some(&stepped), "held"),
            ("rolling back", daemonset(3, 20), Some(&back), "rolling back"),
            ("halted", daemonset(3, 17), Some(&halted), "halted: 3 failed"),
            ("halted and resumed", daemonset(20, 20), Some(&resumed), "adopted"),
            ("paused", daemonset(3, 20), Some(&paused), "paused by ada"),
            ("set back by somebody", native(3, 20), Some(&drifted), "strategy set back: its controller rolls"),
            ("handed back by us", native(20, 20), Some(&releasing), "adopted"),
        ] {
            assert_eq!(fleet_state(&brief(&daemonset), record, driven).to_string(), want, "{story}");
        }
        let nobody =
            |available: u32| fleet_state(&brief(&daemonset(2, available)), Some(&moving), undriven).to_string();
        assert_eq!((nobody(19), nobody(20)), ("running".to_owned(), "held".to_owned()), "nobody drives any more");
        let failing = Brief { failed_pulls: 1, ..brief(&daemonset(2, 19)) };
        let state = |driver| fleet_state(&failing, Some(&moving), driver).to_string();
        assert_eq!(
            (state(driven), state(undriven)),
            ("running".to_owned(), "held".to_owned()),
            "its image is not there"
        );
        let lacks = Brief { lacks_images: true, ..brief(&daemonset(1, 20)) };
        let state = |driver| fleet_state(&lacks, Some(&stepped), driver).to_string();
        let runs = fleet_state(&brief(&daemonset(1, 20)), Some(&stepped), driven).to_string();
        assert_eq!((state(driven), runs), ("held".to_owned(), "running".to_owned()), "its driver reports that");
    }

    /// The controller would report all pods of this DaemonSet as up to date.
    #[test]
    fn a_template_that_others_changed_under_a_rollout_is_told() {
        let (leases_sight, revisions_sight) = (Sight::live(), Sight::live());
        let mut known = KnownFleet { leases_sight, revisions_sight, ..KnownFleet::default() };
        let now = Timestamp::default();
        known.observe(FleetEvent::DaemonSet(Box::new(daemonset(20, 20))), now);
        for (hash, number) in [("old", 3), ("new", 2)] {
            let (daemonset_uid, hash) = ("uid".into(), Str::from(hash));
            let images = daemonset(20, 20).images;
            let revision = PartialRevision { daemonset_uid, hash: hash.clone(), number, images };
            known.observe(FleetEvent::Revision("edge".into(), hash, Box::new(revision)), now);
        }
        let mut fact = lease(None, 0);
        fact.record = Ok(Some(record(|record| record.intent.target = Some("new".into()))));
        known.observe(FleetEvent::Lease("edge".into(), "rolldeck-agent".into(), Box::new(fact)), now);
        let row = known.view(now, &Identity::for_tests("ada@host/1")).rows[0].clone();
        assert_eq!((row.to.number, row.from.as_ref().and_then(|from| from.number)), (Some(2), Some(3)));
        assert_eq!(row.doing(), "template changed by others, nobody drives");
        assert_eq!((row.updated(), row.state), (None, FleetState::Undriven));
    }

    #[test]
    fn revisions_are_told_to_the_daemonset_that_controls_them() {
        let mut known = KnownFleet::default();
        let now = Timestamp::default();
        known.observe(FleetEvent::DaemonSet(Box::new(daemonset(3, 20))), now);
        for (uid, number) in [("uid", 4), ("uid", 5), ("another", 9)] {
            let revision = PartialRevision {
                daemonset_uid: uid.into(),
                hash: format!("h{number}").into(),
                number,
                images: daemonset(3, 20).images,
            };
            known.observe(FleetEvent::Revision("edge".into(), format!("r{number}").into(), Box::new(revision)), now);
        }
        let row = |known: &KnownFleet| known.view(now, &Identity::for_tests("ada@host/1")).rows[0].clone();
        let numbers = |row: FleetRow| (row.from.and_then(|from| from.number), row.to.number);
        assert_eq!(numbers(row(&known)), (Some(4), Some(5)));
        known.observe(FleetEvent::RevisionGone("edge".into(), "r4".into()), now);
        assert_eq!(numbers(row(&known)), (None, Some(5)));
    }

    #[test]
    fn a_driver_that_stops_renewing_is_nobody_after_its_lease() {
        let us = Identity::for_tests("ada@host/1");
        let at = |secs: u64| Timestamp::default() + Duration::from_secs(secs);
        let mut known = KnownFleet::default();
        known.observe(FleetEvent::DaemonSet(Box::new(daemonset(2, 20))), at(0));
        let tell = |known: &mut KnownFleet, lease: LeaseFact, now: Timestamp| {
            known.observe(FleetEvent::Lease("edge".into(), "rolldeck-agent".into(), Box::new(lease)), now);
        };
        let driver = |known: &KnownFleet, now: Timestamp| known.view(now, &us).rows[0].driven_by.clone();
        tell(&mut known, lease(Some("eve@there/9"), 1), at(0));
        known.observe(FleetEvent::LeasesHealth(WatchHealth::Live), at(0));
        assert_eq!(driver(&known, at(14)), DrivenBy::Unconfirmed("eve@there/9".into()), "not seen alive yet");
        assert_eq!(driver(&known, at(14)).to_string(), "eve@there?");
        assert_eq!(known.next_expiry(at(14)), Some(at(15)));
        tell(&mut known, lease(Some("eve@there/9"), 2), at(14));
        assert_eq!(driver(&known, at(28)), DrivenBy::Other("eve@there/9".into()));
        tell(&mut known, LeaseFact { resource_version: "9".into(), ..lease(Some("eve@there/9"), 2) }, at(28));
        assert_eq!(driver(&known, at(29)), DrivenBy::Nobody, "an edit of the record is no renewal");
        tell(&mut known, lease(Some("ada@host/1.2"), 3), at(30));
        assert_eq!(driver(&known, at(31)), DrivenBy::You);
        known.observe(FleetEvent::LeasesHealth(WatchHealth::Forbidden { why: "no".into() }), at(32));
        known.observe(FleetEvent::LeaseGone("edge".into(), "rolldeck-agent".into()), at(32));
        assert_eq!(driver(&known, at(33)), DrivenBy::Unknown);
    }

    #[test]
    fn what_a_listing_does_not_name_is_gone() {
        let us = Identity::for_tests("ada@host/1");
        let mut known = KnownFleet::default();
        let now = Timestamp::default();
        known.observe(FleetEvent::DaemonSetsListing, now);
        known.observe(FleetEvent::DaemonSet(Box::new(daemonset(20, 20))), now);
        known.observe(FleetEvent::DaemonSetsListed, now);
        assert_eq!(known.view(now, &us).rows.len(), 1);
        known.observe(FleetEvent::DaemonSetsListing, now);
        assert_eq!(known.view(now, &us).rows.len(), 1, "not before the listing is complete");
        known.observe(FleetEvent::DaemonSetsListed, now);
        assert!(known.view(now, &us).rows.is_empty());
    }

    #[test]
    fn one_namespace_instead_of_all_is_said_until_all_are_listed() {
        let mut known = KnownFleet { health: WatchHealth::Live, ..KnownFleet::default() };
        let health = |known: &KnownFleet| known.view(Timestamp::default(), &Identity::for_tests("ada@host/1")).health;
        known.observe(FleetEvent::OnlyNamespace("edge".into(), "cannot list".into()), Timestamp::default());
        assert!(matches!(health(&known), WatchHealth::Forbidden { why } if why.contains("only namespace edge")));
        known.observe(FleetEvent::AllNamespaces, Timestamp::default());
        assert_eq!(health(&known), WatchHealth::Live);
    }
}
