//! The states of listed DaemonSets, and what a listing takes away.

use super::super::handle::FleetPrewarm;
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
    let nobody = |available: u32| fleet_state(&brief(&daemonset(2, available)), Some(&moving), undriven).to_string();
    assert_eq!((nobody(19), nobody(20)), ("running".to_owned(), "held".to_owned()), "nobody drives any more");
    let failing = Brief { failed_pulls: 1, ..brief(&daemonset(2, 19)) };
    let state = |driver| fleet_state(&failing, Some(&moving), driver).to_string();
    assert_eq!((state(driven), state(undriven)), ("running".to_owned(), "held".to_owned()), "its image is not there");
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
