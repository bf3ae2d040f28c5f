//! Who holds the lease, as observers with clocks of their own judge it.

use super::*;

fn lease(holder: Option<&str>, version: u32, renewed: i64) -> LeaseFact {
    LeaseFact {
        uid: "lease".into(),
        resource_version: version.to_string().into(),
        holder: holder.map(Str::from),
        duration_secs: 15,
        acquired_at: None,
        renewed_at: Some(Timestamp::from_millis(renewed)),
        transitions: 0,
        record: Ok(None),
        prewarm: Ok(None),
        pace: Arc::default(),
        failing: None,
    }
}

fn at(secs: u64) -> Timestamp {
    Timestamp::default() + Duration::from_secs(secs)
}

#[test]
fn a_dead_holder_is_succeeded_only_after_a_whole_lease_on_our_own_clock() {
    let mut lock = Lock::new("me".into(), Timing::default());
    // Its renewTime is a year ahead: clocks differ, and that must not matter.
    lock.observe(lease(Some("other"), 1, 31_536_000_000), at(100));
    assert!(!lock.is_free(at(114)));
    lock.observe(lease(Some("other"), 2, 31_536_003_000), at(103));
    assert!(!lock.is_free(at(117)), "it renewed in between");
    assert!(lock.is_free(at(118)));
    assert!(matches!(lock.view(at(119)), DriverView::Lost { renewed_at: None, .. }), "seen renewing it");
}

#[test]
fn who_the_lease_names_is_not_alive_before_we_see_it() {
    let mut lock = Lock::new("me".into(), Timing::default());
    lock.observe(lease(Some("other"), 1, 0), at(100));
    assert!(matches!(lock.view(at(101)), DriverView::Unconfirmed { renewed_at: Some(_), .. }));
    lock.observe(lease(Some("other"), 2, 0), at(101));
    assert!(matches!(lock.view(at(101)), DriverView::Unconfirmed { .. }), "somebody else edited the record");
    let DriverView::Lost { renewed_at, .. } = lock.view(at(130)) else { panic!("{:?}", lock.view(at(130))) };
    assert_eq!(renewed_at, Some(Timestamp::from_millis(0)), "when we came says nothing of when it drove last");
    lock.observe(lease(Some("other"), 3, 3_000), at(103));
    assert!(matches!(lock.view(at(104)), DriverView::Other { .. }));
    // One that is made before our eyes is alive.
    lock.observe_absent(at(104));
    lock.observe(LeaseFact { uid: "anew".into(), ..lease(Some("other"), 4, 0) }, at(105));
    assert!(matches!(lock.view(at(105)), DriverView::Other { .. }));
}

#[test]
fn what_was_seen_of_a_holder_before_counts_while_the_lease_is_unchanged() {
    let reopened = |before: &Lock, fact: LeaseFact, now| {
        let mut lock = Lock::new("me".into(), Timing::default());
        lock.remember(before.seen_holder().unwrap());
        lock.observe(fact, now);
        lock
    };
    let mut lock = Lock::new("me".into(), Timing::default());
    lock.observe(lease(Some("other"), 1, 0), at(100));
    lock.observe(lease(Some("other"), 2, 5_000), at(105));
    let alive = reopened(&lock, lease(Some("other"), 2, 5_000), at(107));
    assert!(matches!(alive.view(at(107)), DriverView::Other { .. }));
    assert!(
        !alive.is_free(at(119)) && alive.is_free(at(120)),
        "fifteen seconds after it was renewed, as for who saw that"
    );
    let dead = reopened(&lock, lease(Some("other"), 3, 5_000), at(300));
    assert!(matches!(dead.view(at(300)), DriverView::Lost { .. }), "also where its record was edited meanwhile");
    let renewed = reopened(&lock, lease(Some("other"), 9, 9_000), at(300));
    assert!(matches!(renewed.view(at(300)), DriverView::Unconfirmed { .. }), "nobody saw when");
    assert!(!renewed.is_free(at(314)) && renewed.is_free(at(315)));
}

#[test]
fn an_edit_of_the_record_does_not_keep_a_dead_holder_alive() {
    let mut lock = Lock::new("me".into(), Timing::default());
    lock.observe(lease(Some("other"), 1, 0), at(100));
    lock.observe(lease(Some("other"), 2, 0), at(110));
    assert!(lock.is_free(at(115)));
}

#[test]
fn a_holder_stops_acting_well_before_others_may_take_over() {
    let mut lock = Lock::new("me".into(), Timing::default());
    lock.observe(lease(Some("me"), 1, 0), at(100));
    assert!(!lock.may_act(at(100)), "the lease names us, but we have not renewed it in this life");
    lock.renewed(at(99));
    assert!(lock.may_act(at(106)) && !lock.may_act(at(107)));
    assert!(lock.may_act_until().unwrap() + Duration::from_secs(4) < at(99) + lock.timing.lease);
}

#[test]
fn a_late_answer_does_not_bring_back_a_lease_that_is_gone() {
    let mut lock = Lock::new("me".into(), Timing::default());
    lock.observe(lease(Some("me"), 1, 0), at(100));
    lock.observe_absent(at(100));
    lock.learn(lease(Some("me"), 2, 0), at(101));
    assert_eq!(lock.known, KnownLease::Absent);
    lock.learn(LeaseFact { uid: "another".into(), ..lease(Some("me"), 3, 0) }, at(102));
    assert!(lock.holds());
    lock.observe_absent(at(102));
    // What its watch says comes in order: that it was gone came from a list that was behind.
    lock.observe(lease(Some("me"), 4, 0), at(103));
    assert!(lock.holds());
}

#[test]
fn a_late_event_does_not_bring_back_an_old_holder() {
    let mut lock = Lock::new("me".into(), Timing::default());
    lock.observe(lease(Some("me"), 5, 0), at(100));
    lock.renewed(at(100));
    lock.observe(lease(None, 4, 0), at(101));
    assert!(lock.may_act(at(101)));
    lock.observe(lease(Some("other"), 6, 0), at(102));
    assert!(!lock.may_act(at(102)), "taken away");
}
