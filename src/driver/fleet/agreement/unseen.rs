//! What the list tells while one of its watches is down: nothing that it would have to see for that.

use super::*;
use crate::driver::fleet::tests::prewarm_of;
use crate::driver::handle::FleetPrewarm;

/// The watch of Leases was heard last at `since`.
fn lose_leases(list: &mut KnownFleet, since: Timestamp) {
    let down = WatchHealth::Down { since, why: "connection refused".into() };
    list.observe(FleetEvent::LeasesHealth(down), since + Duration::from_secs(2));
}

/// What the list says: its state in words, and who drives.
fn says(list: &KnownFleet, now: Timestamp) -> (String, String) {
    let row = row_of(list, now);
    (row.standing(), row.driven_by.to_string())
}

fn words(standing: &str, driver: &str) -> (String, String) {
    (standing.to_owned(), driver.to_owned())
}

#[test]
fn who_was_seen_to_drive_is_not_said_to_have_stopped() {
    let (mut fake, mut console) = two_updated();
    fake.deleted.clone().iter().for_each(|node| fake.crash(node));
    console.run_for(&mut fake, 4);
    let driver = fake.lease.as_ref().unwrap().holder.clone().unwrap();
    let mut list = list_of(&fake);
    // The list has seen it renewed.
    console.run_for(&mut fake, 4);
    let key = ("edge".into(), Str::from(lease_name("agent")));
    list.lease(key.clone(), fake.lease.clone().unwrap(), fake.now);
    let seen = words("held, 2 failing: crash loop", &driver);
    assert_eq!(says(&list, fake.now), seen);

    let lost_at = fake.now;
    lose_leases(&mut list, lost_at);
    let at = |secs: u64| lost_at + Duration::from_secs(secs);
    for later in [3, 20, 3_600] {
        assert_eq!(says(&list, at(later)), seen, "{later} s later it is as it was seen last");
        assert_eq!(row_of(&list, at(later)).last_failing, None);
    }

    // It is open again. What was missed arrives: a driver that is alive has renewed its Lease.
    list.observe(FleetEvent::LeasesHealth(WatchHealth::Live), at(3_600));
    assert_eq!(says(&list, at(3_600)), seen, "nothing of what was missed has arrived");
    let mut alive = list_of(&fake);
    lose_leases(&mut alive, lost_at);
    alive.observe(FleetEvent::LeasesHealth(WatchHealth::Live), at(3_600));
    let renewed = LeaseFact { renewed_at: Some(at(3_599)), ..fake.lease.clone().unwrap() };
    alive.lease(key, renewed, at(3_601));
    assert_eq!(says(&alive, at(3_602)), seen);
    // One that renewed nothing is gone.
    assert_eq!(list.next_expiry(at(3_600)), Some(at(3_602)), "it is looked at again by itself");
    let (standing, driver) = says(&list, at(3_602));
    assert!(standing.starts_with("held, 2 unavailable, 1h ago 2 failing: crash loop"), "{standing}");
    assert_eq!(driver, "nobody");
}

#[test]
fn what_depends_on_a_driver_is_not_known_where_none_was_seen() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.partition(&mut fake, 8);
    console.run_for(&mut fake, 20);
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 4);
    // The partition lets two go, which are updated: whoever drives, nothing moves.
    let mut list = list_of(&fake);
    assert_eq!(says(&list, fake.now), words("held", "nobody"));
    lose_leases(&mut list, fake.now);
    assert_eq!(says(&list, fake.now), words("held", "unknown"));

    FakeConsole::open_as(&fake, "eve", Role::OneShot).partition(&mut fake, 4);
    let mut list = list_of(&fake);
    assert_eq!(says(&list, fake.now), words("held, nobody drives", "nobody"));
    lose_leases(&mut list, fake.now);
    assert_eq!(says(&list, fake.now), words("not known: leases not seen", "unknown"));

    FakeConsole::open_as(&fake, "eve", Role::OneShot).ask(&mut fake, Command::Pause { why: None }).unwrap();
    let mut list = list_of(&fake);
    lose_leases(&mut list, fake.now);
    let (standing, driver) = says(&list, fake.now);
    assert!(standing.starts_with("paused by ") && driver == "unknown", "{standing}, {driver}");
}

#[test]
fn a_rollout_whose_lease_was_never_seen_is_not_said_to_be_held() {
    let (mut fake, mut console) = two_updated();
    let never_seen = |fake: &FakeCluster| {
        let mut list = KnownFleet::default();
        list.observe(FleetEvent::DaemonSet(Box::new(daemonset_of(fake))), fake.now);
        lose_leases(&mut list, fake.now);
        says(&list, fake.now)
    };
    let unseen = words("not known: leases not seen", "unknown");
    assert_eq!(never_seen(&fake), unseen, "the page says {}", console.snapshot(&fake).doing());
    console.ask(&mut fake, Command::Pause { why: None }).unwrap();
    assert_eq!(never_seen(&fake), unseen, "the page says {}", console.snapshot(&fake).doing());
    // What the DaemonSet itself tells stands.
    let fake = FakeCluster::rolling(10, 2);
    assert_eq!(never_seen(&fake), words("idle", "controller"));
}

#[test]
fn whether_pre_warming_goes_on_is_not_known_without_its_lease() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut console = FakeConsole::open(&fake, "ops");
    console.ask(&mut fake, Command::Adopt).unwrap();
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 4);
    fake.lease.as_mut().unwrap().prewarm = Ok(Some(prewarm_of(&fake.daemonset.uid)));
    let mut list = list_of(&fake);
    assert_eq!(row_of(&list, fake.now).prewarm, Some(FleetPrewarm::NobodyDrives));
    lose_leases(&mut list, fake.now);
    assert_eq!(row_of(&list, fake.now).prewarm, Some(FleetPrewarm::DriverUnknown));
    assert_eq!(says(&list, fake.now), words("pre-warm, driver unknown, adopted", "unknown"));
}

/// The record is made before the DaemonSet is adopted: a watch of Leases that is behind does not show it.
#[test]
fn a_record_that_has_not_arrived_is_not_said_to_be_lost() {
    let mut fake = FakeCluster::rolling(10, 2);
    let mut list = list_of(&fake);
    lose_leases(&mut list, fake.now);
    let mut console = FakeConsole::open(&fake, "ops");
    console.set_image(&mut fake, "agent:v2");
    console.run(&mut fake);
    list.observe(FleetEvent::DaemonSet(Box::new(daemonset_of(&fake))), fake.now);
    assert_eq!(says(&list, fake.now), words("not known: leases not seen", "unknown"));
}

/// Neither an old revision nor an old record makes the template one of somebody else.
#[test]
fn a_template_is_said_to_be_changed_by_others_only_if_revision_and_record_are_those_of_now() {
    let images = |version: &str| vec![(Str::from("agent"), Str::from(format!("agent:{version}")))];
    let revision = |hash: &str, number: i64, version: &str| PartialRevision {
        daemonset_uid: "ds".into(),
        hash: hash.into(),
        number,
        images: images(version),
    };
    let (mut fake, mut console) = two_updated();
    console.ask(&mut fake, Command::StopDriving).unwrap();
    console.run_for(&mut fake, 4);
    let target = fake.lease.as_ref().unwrap().record.clone().unwrap().unwrap().intent.target.unwrap();
    // The template has been changed since.
    let listed = |revisions: &[PartialRevision]| {
        let mut list = list_of(&fake);
        let daemonset = PartialDaemonSet { images: images("v3"), ..daemonset_of(&fake) };
        list.observe(FleetEvent::DaemonSet(Box::new(daemonset)), fake.now);
        for revision in revisions {
            let what = Box::new(revision.clone());
            list.observe(FleetEvent::Revision("edge".into(), revision.hash.clone(), what), fake.now);
        }
        list
    };
    let (ours, theirs) = (revision(&target, 2, "v2"), revision("theirs", 3, "v3"));
    let is_told = |list: &KnownFleet| row_of(list, fake.now).template_of_others;
    let broken = || WatchHealth::Down { since: fake.now, why: "connection refused".into() };

    let mut list = listed(&[ours.clone(), theirs.clone()]);
    assert_eq!(says(&list, fake.now), words("template changed by others, nobody drives", "nobody"));
    list.observe(FleetEvent::RevisionsHealth(broken()), fake.now);
    assert!(!is_told(&list), "whoever drives may have made a revision after these");
    let mut list = listed(&[ours.clone(), theirs]);
    list.observe(FleetEvent::LeasesHealth(broken()), fake.now);
    assert!(!is_told(&list), "it may be what is recorded by now");
    assert!(!is_told(&listed(&[ours])), "the revision of the template has not arrived");
}
