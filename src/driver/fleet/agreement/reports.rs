//! What the list tells of the last report of a driver: of failing nodes, and of the time since when the rollout runs. And that it tells of a record
//! that is gone.

use super::*;

/// The ten nodes of `fake` are rolled out: two have the new pod, and crash.
fn two_crash() -> (FakeCluster, FakeConsole) {
    let (mut fake, mut console) = two_updated();
    fake.deleted.clone().iter().for_each(|node| fake.crash(node));
    console.run_for(&mut fake, 4);
    (fake, console)
}

/// Whether this is the time at which something began at `begun`, as reported with the next write of the Lease.
fn is_about(since: Option<Timestamp>, begun: Timestamp) -> bool {
    since.is_some_and(|since| since >= begun && since.since(begun) <= Duration::from_secs(4))
}

#[test]
fn how_long_it_runs_counts_from_when_it_was_let_go_resumed_or_sent_back() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run_for(&mut fake, 60);
    let held = listed_row(&fake);
    assert_eq!((held.state, held.since), (FleetState::Held, None), "the record does not tell since when");

    fake.slow = true;
    let begun = fake.now;
    console.partition(&mut fake, 4);
    fake.kubelets();
    console.run_for(&mut fake, 30);
    let row = listed_row(&fake);
    assert_eq!(row.state, FleetState::Rolling);
    assert!(is_about(row.since, begun), "{:?} after {begun:?}", row.since);

    let paused = fake.now;
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.run_for(&mut fake, 30);
    let row = listed_row(&fake);
    assert!(matches!(row.state, FleetState::Paused(_)) && is_about(row.since, paused), "{row:?}");

    let resumed = fake.now;
    console.ask(&mut fake, Command::Resume).unwrap();
    console.run_for(&mut fake, 30);
    let row = listed_row(&fake);
    assert_eq!(row.state, FleetState::Rolling);
    assert!(is_about(row.since, resumed), "{:?} after {resumed:?}", row.since);

    let undone = fake.now;
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    console.run_for(&mut fake, 6);
    let row = listed_row(&fake);
    assert_eq!(row.state, FleetState::RollingBack);
    assert!(is_about(row.since, undone), "{:?} after {undone:?}", row.since);

    // Whoever takes over goes on with it, and a driver that is gone says nothing of the present.
    let report = fake.lease.as_ref().unwrap().failing.clone().unwrap();
    assert_eq!(report.runs_since, row.since);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run(&mut fake);
    assert_eq!(listed_row(&fake).since, None);
    let mut bob = FakeConsole::open(&fake, "bob");
    bob.ask(&mut fake, Command::Drive(Takeover::IfFree)).unwrap();
    bob.run_for(&mut fake, 6);
    let taken_over = listed_row(&fake);
    assert_eq!((taken_over.state, taken_over.since), (FleetState::RollingBack, row.since));
}

/// A third image in the middle of a rollout: six nodes stay at the first revision, two at the second, two get the third.
#[test]
fn that_more_revisions_run_than_the_change_names_is_told_while_somebody_drives() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    let of = |fake: &FakeCluster| {
        let mut list = list_of(fake);
        for revision in &fake.revisions {
            // As the DaemonSet of the list: without images.
            let partial = PartialRevision {
                daemonset_uid: fake.daemonset.uid.clone(),
                hash: revision.hash.clone(),
                number: revision.number,
                images: Vec::new(),
            };
            list.revisions.insert(("edge".into(), revision.name.clone()), partial);
        }
        let row = row_of(&list, fake.now);
        (row.from.and_then(|from| from.number), row.to.number, row.more_revisions)
    };
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 6);
    console.run_for(&mut fake, 60);
    assert_eq!(of(&fake), (Some(1), Some(2), 0));
    console.set_image(&mut fake, "agent:v3");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 60);
    assert_eq!(of(&fake), (Some(1), Some(3), 1));
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run(&mut fake);
    assert_eq!(of(&fake), (Some(1), Some(3), 0), "nobody tells any more");
}

#[test]
fn what_failed_when_the_driver_left_is_told_as_the_past() {
    let (mut fake, mut console) = two_crash();
    assert_eq!(listed_row(&fake).standing(), "held, 2 failing: crash loop");
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    console.run_for(&mut fake, 4);
    let words = listed_row(&fake).standing();
    assert!(words.starts_with("paused, 2 failing: crash loop, by "), "{words}");
    console.ask(&mut fake, Command::Resume).unwrap();
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 4);
    assert_eq!(listed_row(&fake).standing(), "held, 2 unavailable, 0s ago 2 failing: crash loop");
    fake.now = fake.now + Duration::from_secs(330);
    let row = listed_row(&fake);
    assert_eq!(
        (row.failing.clone(), row.standing().as_str()),
        (None, "held, 2 unavailable, 5m ago 2 failing: crash loop")
    );

    let target = fake.lease.as_mut().unwrap().failing.as_mut().unwrap().revision.replace("other".into());
    assert_eq!(listed_row(&fake).standing(), "held, 2 unavailable", "it was about another target");
    fake.lease.as_mut().unwrap().failing.as_mut().unwrap().revision = target;
    fake.deleted.clone().iter().for_each(|node| fake.restart(node));
    assert_eq!(listed_row(&fake).standing(), "held", "all are available");
}

/// A driver that has died and may not have: its report is as old as its last renewal.
#[test]
fn what_a_silent_driver_told_last_is_told_as_the_past() {
    let (mut fake, console) = two_crash();
    drop(console);
    fake.now = fake.now + Duration::from_secs(40);
    let row = listed_row(&fake);
    assert!(row.silent_since.is_some() && row.failing.is_none(), "{row:?}");
    assert_eq!(row.standing(), "held, 2 unavailable, 40s ago 2 failing: crash loop");
}

#[test]
fn what_failed_at_another_target_is_not_told_as_present() {
    let (mut fake, _console) = two_crash();
    let report = fake.lease.as_mut().unwrap().failing.as_mut().unwrap();
    assert_eq!(report.revision.as_deref(), Some("hash2"));
    report.revision = Some("hash1".into());
    let row = listed_row(&fake);
    assert_eq!((row.failing, row.last_failing), (None, None));
    fake.lease.as_mut().unwrap().failing.as_mut().unwrap().revision = None;
    assert_eq!(listed_row(&fake).failing.map(|failing| failing.nodes), Some(2), "an older rolldeck does not name it");
}

/// The pods that crash are those of the revision from which it goes back. They are gone before the driver reports again.
#[test]
fn what_failed_before_a_roll_back_is_not_told_once_it_has_begun() {
    let (mut fake, mut console) = two_crash();
    console.ask(&mut fake, Command::Undo { to: None }).unwrap();
    let mut went_back = false;
    for _ in 0..6 {
        let record = fake.lease.as_ref().unwrap().record.clone().unwrap();
        if record.is_some_and(|record| record.intent.target.as_deref() == Some("hash1")) {
            went_back = true;
            assert!(listed_row(&fake).failing.is_none_or(|failing| failing.nodes == 0));
        }
        console.run_for(&mut fake, 1);
    }
    assert!(went_back, "{:?}", fake.lease);
}

#[test]
fn that_no_record_is_left_is_told_as_on_the_page() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 30);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run(&mut fake);
    let missing = |fake: &FakeCluster| {
        let page = FakeConsole::open_as(fake, "eve", Role::OneShot).snapshot(fake);
        page.alarms.contains(&Alarm::RecordMissing)
    };
    assert!(!missing(&fake) && listed_row(&fake).state == FleetState::Held);
    fake.lease = None;
    let row = listed_row(&fake);
    assert!(missing(&fake));
    assert_eq!((row.state.clone(), row.standing().as_str()), (FleetState::RecordMissing, "no record is left"));
    fake.deleted.clone().iter().for_each(|node| fake.crash(node));
    assert_eq!(listed_row(&fake).standing(), "no record is left, 2 unavailable");

    // A record that cannot be read is told as such, too.
    let mut unreadable = FakeCluster::rolling(10, 2);
    let mut ada = FakeConsole::open(&unreadable, "ada");
    ada.set_image(&mut unreadable, "agent:v2");
    unreadable.lease.as_mut().unwrap().record = Err("annotation: key must be a string".into());
    let row = listed_row(&unreadable);
    assert_eq!(
        (row.state.clone(), row.standing().as_str()),
        (FleetState::RecordUnreadable, "its record cannot be read")
    );
    assert!(row.state.rank() < FleetState::Degraded(1).rank());

    // Before the Leases are listed, and where they may not be seen, it is not known.
    let mut list = KnownFleet::default();
    list.daemonsets.insert(("edge".into(), "agent".into()), daemonset_of(&fake));
    let state = |list: &KnownFleet| list.view(fake.now, &Identity::for_tests("eve@host/1")).rows.remove(0).state;
    assert_eq!(state(&list), FleetState::Unseen);
    list.observe(FleetEvent::LeasesListing, fake.now);
    list.observe(FleetEvent::LeasesListed, fake.now);
    list.observe(FleetEvent::LeasesHealth(WatchHealth::Live), fake.now);
    assert_eq!(state(&list), FleetState::RecordMissing);
    let going = PartialDaemonSet { deleting: true, ..daemonset_of(&fake) };
    list.daemonsets.insert(("edge".into(), "agent".into()), going);
    assert_eq!(state(&list), FleetState::BeingDeleted, "its Lease goes with it");
}

/// A release drops the record, and the news that it has restored the strategy may come later.
#[test]
fn a_record_that_a_release_dropped_is_missed_only_after_a_while() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    let (at, daemonset) = (fake.now, daemonset_of(&fake));
    let key = (daemonset.namespace.clone(), Str::from(lease_name(&daemonset.name)));
    for how in 0..3 {
        let mut list = KnownFleet { leases_sight: Sight::live(), ..KnownFleet::default() };
        list.daemonsets.insert((daemonset.namespace.clone(), daemonset.name.clone()), daemonset.clone());
        let mut fact = LeaseFact { holder: None, ..fake.lease.clone().unwrap() };
        let record = fact.record.as_mut().unwrap().as_mut().unwrap();
        record.intent.releasing = Some(crate::engine::model::record::By { by: "ada".into(), at });
        list.lease(key.clone(), fact.clone(), at);
        match how {
            0 => list.observe(FleetEvent::LeaseGone(key.0.clone(), key.1.clone()), at),
            1 => list.lease(key.clone(), LeaseFact { record: Ok(None), ..fact }, at),
            _ => {
                list.observe(FleetEvent::LeasesListing, at);
                list.observe(FleetEvent::LeasesListed, at);
            }
        }
        let state = |now: Timestamp| list.view(now, &Identity::for_tests("eve@host/1")).rows.remove(0).state;
        assert_eq!(state(at), FleetState::Held, "{how}");
        let missed = list.next_expiry(at).unwrap();
        assert_eq!(missed, at + Duration::from_secs(5), "{how}: it is looked at again by itself");
        assert_eq!(state(missed), FleetState::RecordMissing, "{how}");
    }
}

/// An adoption writes the record before it sets `OnDelete`, and the news of the record may come later.
#[test]
fn the_record_of_an_adoption_that_is_seen_is_missed_only_after_a_while() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    let before = daemonset_of(&fake);
    console.set_image(&mut fake, "agent:v2");
    let (at, after) = (fake.now, daemonset_of(&fake));
    assert!(!before.adopted && after.adopted);
    let insert = |list: &mut KnownFleet, what: &PartialDaemonSet, at: Timestamp| {
        list.observe(FleetEvent::DaemonSet(Box::new(what.clone())), at);
    };
    let state =
        |list: &KnownFleet, now: Timestamp| list.view(now, &Identity::for_tests("eve@host/1")).rows.remove(0).state;
    let mut list = KnownFleet { leases_sight: Sight::live(), ..KnownFleet::default() };
    insert(&mut list, &before, at);
    insert(&mut list, &after, at);
    assert_eq!(state(&list, at), FleetState::Held);
    let missed = list.next_expiry(at).unwrap();
    assert_eq!(missed, at + Duration::from_secs(5), "it is looked at again by itself");
    assert_eq!(state(&list, missed), FleetState::RecordMissing);
    // The record is shown meanwhile, and is lost within the same time: nothing excuses that.
    let key = (after.namespace.clone(), Str::from(lease_name(&after.name)));
    let fact = LeaseFact { holder: None, ..fake.lease.clone().unwrap() };
    list.lease(key.clone(), fact, at);
    list.observe(FleetEvent::LeaseGone(key.0, key.1), at);
    assert_eq!(state(&list, at), FleetState::RecordMissing);

    // Who sees it adopted from the start has the Leases, too.
    let mut list = KnownFleet { leases_sight: Sight::live(), ..KnownFleet::default() };
    insert(&mut list, &after, at);
    assert_eq!(state(&list, at), FleetState::RecordMissing);
}

/// The record tells a halt as its driver saw it last. What fails once nobody drives, the list sees only as pods that are unavailable.
#[test]
fn of_a_halt_that_nobody_drives_it_is_told_how_many_pods_are_unavailable() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:bad");
    fake.broken = vec!["agent:bad".into()];
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 120);
    let driven = listed_row(&fake).standing();
    assert!(driven.starts_with("halted: ") && !driven.contains("unavailable"), "{driven}");
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run(&mut fake);
    fake.set_ready("n9", false);
    assert_eq!(listed_row(&fake).standing(), format!("{driven}, 3 unavailable"));
}
