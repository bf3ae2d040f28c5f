//! When `drive` ends because of other processes.

use tokio::time::Instant;

use super::super::args::DriveUntil;
use super::super::drive::{DriveEnd, HELD_FOR};
use super::script::{self, Script, rollout};
use crate::engine::model::driver::DriverView;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};

fn event(kind: RolloutEventKind) -> RolloutEvent {
    RolloutEvent {
        at: rollout().at,
        by: None,
        kind,
        outcome: EventOutcome::Done,
        command: None,
        said: None,
        visibility: Visibility::Cluster,
    }
}

fn driven_by(driver: DriverView) -> Snapshot {
    Snapshot { driver, ..rollout() }
}

/// A one-shot command held the lease while this process stood still, and gave it back: that is no take-over.
#[test]
fn who_holds_the_lease_for_a_moment_has_not_taken_over() {
    let at = rollout().at;
    let you = || driven_by(DriverView::You { renewed_at: at, lapsed: false });
    let other = || driven_by(DriverView::Other { holder: "ops@bastion/1".into(), renewal_observed_at: at });
    let mut course = DriveEnd::new(DriveUntil::Complete);
    let began = Instant::now();
    assert!(course.end(&you(), began).is_none());
    assert!(course.end(&other(), began).is_none());
    assert_eq!(course.looks_again_at(), Some(began + HELD_FOR));
    assert!(course.end(&you(), began + HELD_FOR).is_none(), "it drives on");
    assert!(course.end(&other(), began + HELD_FOR).is_none(), "that is another moment");
    let end = course.end(&other(), began + HELD_FOR + HELD_FOR).unwrap().unwrap_err();
    assert!(end.to_string().contains("ops@bastion/1 took over"), "{end}");

    // Whoever asked for it and got it drives from then on, however soon that is over.
    let given = event(RolloutEventKind::LeaseGivenBack { to: Some("ops@bastion/1".into()) });
    let mut course = DriveEnd::new(DriveUntil::Complete);
    assert!(course.end(&you(), began).is_none());
    let handed = Snapshot { timeline: [given].into(), ..driven_by(DriverView::Nobody) };
    assert!(course.end(&handed, began).is_some_and(|end| end.is_err()));
}

/// The process stood still, and sees afterwards what happened meanwhile.
#[test]
fn who_has_driven_meanwhile_or_deleted_the_record_ends_the_drive() {
    let you = || driven_by(DriverView::You { renewed_at: rollout().at, lapsed: false });
    let began = Instant::now();
    let mut course = DriveEnd::new(DriveUntil::Complete);
    assert!(course.end(&you(), began).is_none());
    for (by, said) in
        [(Some("ops@bastion/1".into()), "ops@bastion/1 has driven since"), (None, "another rollout has begun since")]
    {
        let drove = event(RolloutEventKind::DroveMeanwhile { by });
        let drove = Snapshot { timeline: [drove].into(), ..driven_by(DriverView::Nobody) };
        let end = course.end(&drove, began).unwrap().unwrap_err();
        assert!(end.to_string().contains(said), "{end}");
    }

    let gone = Snapshot { alarms: vec![Alarm::RecordMissing], started_at: None, ..driven_by(DriverView::Nobody) };
    let mut course = DriveEnd::new(DriveUntil::Complete);
    assert!(course.end(&gone, began).is_none(), "it has not driven");
    assert!(course.end(&you(), began).is_none());
    assert!(course.end(&gone, began).is_none(), "a release may still restore the strategy");
    let end = course.end(&gone, course.looks_again_at().unwrap()).unwrap().unwrap_err();
    assert!(end.to_string().contains("the Lease of the rollout was deleted"), "{end}");
}

/// No node was updated yet: it is rolled back between two snapshots, and every node is at the revision. A script must not take that for a success.
#[tokio::test]
async fn a_roll_back_that_is_complete_at_once_ends_the_drive_as_every_roll_back_does() {
    let complete = event(RolloutEventKind::Complete { nodes: 2, back: true, revision: Some(14) });
    let idle = Snapshot { phase: Phase::Idle, started_at: None, ..script::driving() };
    let complete = RolloutEvent { at: idle.at, ..complete };
    let back_at_once = Snapshot { timeline: [complete].into(), ..idle };
    let ended =
        Script::of(script::held_by_nobody()).then(script::driving()).then(back_at_once).run("drive ds/agent").await;
    assert_eq!((ended.code, &*ended.error), (4, "Error: driving ends: it was rolled back meanwhile; now idle"));
    assert!(ended.text.contains("rolled back and handed back"), "{}", ended.text);
}
