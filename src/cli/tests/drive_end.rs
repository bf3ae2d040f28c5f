//! When `drive` ends because of other processes.

use tokio::time::Instant;

use super::super::args::DriveUntil;
use super::super::drive::{DriveEnd, HELD_FOR};
use super::prewarm;
use super::script::{self, Script, rollout};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::driver::DriverView;
use crate::engine::model::hold::{Hold, ImageWait};
use crate::engine::model::node::NodeState;
use crate::engine::model::prewarm::PrewarmView;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::report::snapshot::{Alarm, NodeView, Phase, Snapshot};

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

/// One node may be updated, needs its image first, and the registry does not have that.
fn lacks_its_image() -> Snapshot {
    let cause = CauseKind::ImageNotFound;
    let hold = Some(Hold::ImageAbsent(ImageWait::Failed { cause, retried: false }));
    let lacking = NodeView {
        hold,
        prewarm: Some(prewarm::failed(cause, 1, None).into()),
        committed: false,
        at_target: false,
        ..script::node("ipc-017", NodeState::Outdated)
    };
    let prewarmed = prewarm::warm(std::array::from_fn(|_| prewarm::failed(cause, 1, None)), prewarm::asked()).prewarm;
    let target = rollout().to.unwrap();
    let images = target.images.iter().map(|(_, image)| image.clone()).collect();
    let prewarm = prewarmed.map(|prewarmed| PrewarmView { images, ..prewarmed });
    let mut lacks = Snapshot {
        phase: Phase::Running,
        nodes: vec![lacking].into(),
        alarms: Vec::new(),
        prewarm,
        ..script::driving()
    };
    lacks.settings.gates.require_image = true;
    lacks
}

#[tokio::test]
async fn a_drive_until_held_ends_where_the_images_that_are_needed_cannot_be_pulled() {
    let output = Script::of(script::held_by_nobody())
        .then(script::driving())
        .then(lacks_its_image())
        .run("drive ds/agent --until held")
        .await;
    assert_eq!(output.code, 3, "{}{}", output.text, output.error);
    let waits = "waits for 1 node: 1 image not on the node: its pull failed, image not found (ipc-017)";
    assert_eq!(output.error.trim_end(), format!("Error: driving ends, as no node can be updated: it {waits}"));
    let next: Vec<&str> = output.text.lines().filter_map(|line| line.split_once("next: ")).map(|it| it.1).collect();
    let place = "--context prod-eu -n edge ds/agent";
    let offered = [
        format!("rolldeck set-image agent=IMAGE {place}   (begins a new rollout, with an image that is there)"),
        format!("rolldeck undo {place}   (rolls back)"),
        format!("rolldeck prewarm --retry {place}   (pulls again what failed)"),
    ];
    assert_eq!(next, offered, "a cancelled pre-warming would begin again");
}
