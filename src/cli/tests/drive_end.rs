//! When `drive` ends because of other processes, and how it says why it ends.

use std::time::Duration;

use insta::assert_snapshot;
use tokio::time::Instant;

use super::super::args::DriveUntil;
use super::super::drive::{DriveEnd, HELD_FOR, REFUSED_FOR};
use super::prewarm;
use super::script::{self, Script, at, rollout};
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::command::Command;
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::Severity;
use crate::engine::model::hold::{Hold, ImageWait};
use crate::engine::model::node::NodeState;
use crate::engine::model::prewarm::{PrewarmState, PrewarmView, PrewarmWait};
use crate::engine::model::record::{By, Direction, Halt, HaltingGate};
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::report::snapshot::{Alarm, NodeView, NodeViews, Phase, Snapshot};

fn event(kind: RolloutEventKind) -> RolloutEvent {
    RolloutEvent {
        at: rollout().at,
        by: None,
        kind,
        outcome: EventOutcome::Done,
        command: None,
        said: None,
        visibility: Visibility::Cluster,
        revision: None,
    }
}

fn driven_by(driver: DriverView) -> Snapshot {
    Snapshot { driver, ..rollout() }
}

/// While the API server does not answer, the drive waits; where it refuses to have the Lease renewed, waiting does not help.
#[test]
fn a_drive_ends_where_the_renewal_of_its_lease_is_refused_for_a_while() {
    let lapsed = |lease_refused| Snapshot {
        alarms: vec![Alarm::WriteFailing { why: "replacing lease: Unauthorized".into(), lease_refused }],
        ..driven_by(DriverView::You { renewed_at: rollout().at, lapsed: true })
    };
    let drives = || driven_by(DriverView::You { renewed_at: rollout().at, lapsed: false });
    let began = Instant::now();
    for (lease_refused, ends) in [(true, true), (false, false)] {
        let mut course = DriveEnd::new(DriveUntil::Complete);
        assert!(course.end(&drives(), began).is_none());
        assert!(course.end(&lapsed(lease_refused), began).is_none());
        assert_eq!(course.looks_again_at(), lease_refused.then_some(began + REFUSED_FOR));
        let end = course.end(&lapsed(lease_refused), began + REFUSED_FOR);
        assert_eq!(end.is_some(), ends);
        if let Some(end) = end {
            let error = end.unwrap_err().to_string();
            assert!(error.contains("refuses to have it renewed: replacing lease: Unauthorized"), "{error}");
        }
    }
    // It was accepted again in between.
    let mut course = DriveEnd::new(DriveUntil::Complete);
    assert!(course.end(&drives(), began).is_none());
    assert!(course.end(&lapsed(true), began).is_none());
    assert!(course.end(&drives(), began + REFUSED_FOR / 2).is_none());
    assert!(course.end(&lapsed(true), began + REFUSED_FOR).is_none());
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
    let prewarmed = prewarm::warm(std::array::from_fn(|_| prewarm::failed(cause, 1, None)), prewarm::request()).prewarm;
    let target = rollout().to.unwrap();
    let images = target.images.iter().map(|(_, image)| image.clone()).collect();
    let prewarm = prewarmed.map(|prewarmed| PrewarmView { images, ..prewarmed });
    let mut lacks =
        Snapshot { phase: Phase::Held, nodes: vec![lacking].into(), alarms: Vec::new(), prewarm, ..script::driving() };
    lacks.settings.gates.require_image = true;
    lacks
}

/// Whoever resumed past a halt whose cause stands gets no further halt: what leads on is said once, while the drive waits and where it ends.
#[tokio::test(start_paused = true)]
async fn a_drive_that_stands_still_names_what_leads_on() {
    let used_up = Alarm::BudgetUsedUp { used: 2, limit: 2, waiting: 17, failed: 2 };
    let nodes = vec![script::node("ipc-017", NodeState::Failed)].into();
    let stands = Snapshot { alarms: vec![used_up], nodes, ..script::driving() };
    let undo = "rolldeck undo --context prod-eu -n edge ds/agent   (rolls back to revision 14)";
    let output = Script::of(script::held_by_nobody())
        .then(script::driving())
        .then(stands)
        .run("drive ds/agent --until held --timeout 5m")
        .await;
    assert_eq!(output.code, 3, "{}{}", output.text, output.error);
    assert_eq!(output.text.matches(&format!("next: {undo}")).count(), 1, "{}", output.text);
    let hint = format!("\nHint: {undo}");
    assert!(output.error.contains("no node can be updated") && output.error.contains(&hint), "{}", output.error);
}

#[tokio::test]
async fn a_drive_until_held_ends_where_the_images_that_are_needed_cannot_be_pulled() {
    let output = Script::of(script::held_by_nobody())
        .then(script::driving())
        .then(lacks_its_image())
        .run("drive ds/agent --until held")
        .await;
    assert_eq!(output.code, 3, "{}{}", output.text, output.error);
    let waits = "waits for 1 node: without the image, image not found (ipc-017)";
    let error = format!("Error: driving ends, as no node can be updated: it {waits}");
    assert_eq!(output.error.trim_end(), error, "no command is whole without an image");
    let next: Vec<&str> = output.text.lines().filter_map(|line| line.split_once("next: ")).map(|it| it.1).collect();
    let place = "--context prod-eu -n edge ds/agent";
    let offered = [
        format!("rolldeck set-image {place} agent=IMAGE   (begins a new rollout, with an image that is there)"),
        format!("rolldeck undo {place}   (rolls back to revision 14)"),
        format!(
            "rolldeck prewarm --image agent=registry.example/agent:v2 --max-pulling 2 {place}   (pulls again what failed; {})",
            "asks first, without a terminal it needs --yes"
        ),
    ];
    assert_eq!(next, offered, "nobody drives once it has ended: `prewarm --retry` would only be recorded");
    // Once its image is named the line can be read.
    let line = next[0].split("   (").next().unwrap().replace("IMAGE", "registry.example/agent:v3");
    assert!(crate::cli::parse(line.split(' ').map(Into::into)).is_ok(), "{line}");
}

/// Whoever started it in a script reads on standard error why it ended with this code.
#[tokio::test]
async fn what_ends_because_it_halted_says_so_as_every_error_does() {
    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    let why = "image not found on 1 node";
    halted.halt = Some(Halt::new(1, HaltingGate::default(), at(0), why.into()).on(vec!["ipc-017".into()]));
    let begun = || Script::of(script::held_by_nobody()).then(script::driving());
    let output = begun().then(halted.clone()).run("drive ds/agent").await;
    assert_eq!(output.code, 4);
    assert_snapshot!(output.error, @r#"
    Error: driving ends: halted at revision 15: image not found on 1 node
    Hint: failed on ipc-017: `rolldeck undo --context prod-eu -n edge ds/agent` rolls back to revision 14, `rolldeck resume --context prod-eu -n edge ds/agent` goes on past it (asks first, without a terminal it needs --yes)
    Hint: rolldeck diagnose --context prod-eu -n edge ds/agent   (says why it halted, and what can be done)
    "#);
    let watched = Script::of(halted).run("status ds/agent --watch").await;
    assert_eq!(watched.code, 4);
    assert_snapshot!(watched.error, @r#"
    Error: halted at revision 15: image not found on 1 node
    Hint: failed on ipc-017: `rolldeck undo --context prod-eu -n edge ds/agent` rolls back to revision 14, `rolldeck resume --context prod-eu -n edge ds/agent` goes on past it (asks first, without a terminal it needs --yes)
    "#);
    let mut failed = script::driving();
    // It goes on past failures that are tolerated or accepted, and ends with them.
    (failed.phase, failed.counts.failed) = (Phase::Running, 2);
    let ended = Snapshot { phase: Phase::Complete, ..failed.clone() };
    let watched = Script::of(failed).then(ended).run("status ds/agent --watch").await;
    assert_eq!((watched.code, &*watched.error), (4, "Error: 2 nodes failed: complete"));
    let mut back = script::driving();
    back.direction = Direction::Back;
    let idle = Snapshot { phase: Phase::Idle, started_at: None, ..script::driving() };
    let output = begun().then(back.clone()).then(idle.clone()).run("drive ds/agent").await;
    assert_snapshot!(output.error, @"Error: driving ends: it was rolled back meanwhile; now idle");
    let nodes = vec!["ipc-017".into(), "ipc-018".into()];
    let loops = RolloutEventKind::Halted { number: 1, revision: Some(15), why: "crash loop on 2 nodes".into(), nodes };
    let timeline = [event(loops), event(RolloutEventKind::RollingBack { to: "14".into() })].into();
    let gates = Snapshot { at: at(610), timeline, ..idle.clone() };
    let output = begun().then(back.clone()).then(gates).run("drive ds/agent").await;
    assert_eq!(output.code, 4);
    assert_snapshot!(output.error, @"Error: driving ends: it was rolled back by rolldeck itself: crash loop on 2 nodes (ipc-017, ipc-018); now idle");
    // Where a person asked for it, it is no error, and the code still says that the image is not on every node.
    let undone = RolloutEventKind::Reported {
        reason: "RolloutUndone".into(),
        identity: "ada@bastion-3/1f00c3a9".into(),
        event: "agent.18".into(),
        severity: Severity::Normal,
    };
    let undone = RolloutEvent { said: Some("roll back: template is that of revision 16".into()), ..event(undone) };
    let mut back = script::driving();
    (back.direction, back.timeline) = (Direction::Back, [undone].into());
    let idle = Snapshot { phase: Phase::Idle, started_at: None, ..back.clone() };
    let output = begun().then(back).then(idle).run("drive ds/agent").await;
    assert_eq!((output.code, &*output.error), (4, "Ended: it was rolled back by ada@bastion-3 meanwhile; now idle"));
    let native = Snapshot { phase: Phase::Native, ..script::driving() };
    let output = begun().then(native).run("drive ds/agent").await;
    assert_eq!(output.code, 3);
    assert_snapshot!(output.error, @"Error: driving ends: it was released before its end; now rolled by its controller");
    let releasing = Phase::Releasing(By { by: "ada@bastion-3".into(), at: at(600) });
    let releasing = Snapshot { phase: releasing, ..script::driving() };
    let native = Snapshot { phase: Phase::Native, ..script::driving() };
    let output = begun().then(releasing).then(native).run("drive ds/agent").await;
    assert_eq!(output.code, 3);
    let why = "Ended: it was released by ada@bastion-3 before its end; now rolled by its controller";
    assert_eq!(output.error, why);
}

/// A roll back makes pods that the quota refuses as well.
#[tokio::test]
async fn a_halt_by_a_quota_says_what_helps_first() {
    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    halted.halt =
        Some(Halt::new(1, HaltingGate::default(), at(0), "quota exceeded on 1 node".into()).on(vec!["ipc-017".into()]));
    let cause = Some(Box::new(Cause { kind: CauseKind::QuotaExceeded, container: None, message: None }));
    halted.nodes = vec![NodeView { cause, ..script::node("ipc-017", NodeState::Failed) }].into();
    let ended =
        Script::of(script::held_by_nobody()).then(script::driving()).then(halted.clone()).run("drive ds/agent").await;
    assert_eq!(ended.code, 4);
    assert_snapshot!(ended.error);
    let next: Vec<&str> = ended.text.lines().filter_map(|line| line.split_once("next: ")).map(|it| it.1).collect();
    assert!(next.iter().all(|next| !next.starts_with("rolldeck undo")), "{next:?}");
    halted.alarms =
        vec![Alarm::Halted { gate: HaltingGate::default(), why: "quota exceeded on 1 node (ipc-017)".into() }];
    let status = Script::of(halted).run("status ds/agent -o json").await;
    let status: serde_json::Value = serde_json::from_str(&status.text).unwrap();
    let first = &status["next"][0];
    assert_eq!(first["remedy"], "resumePastFailures", "{}", status["next"]);
    assert!(first["text"].as_str().unwrap().contains("first raise the namespace's ResourceQuota"), "{first}");
}

/// What somebody else pre-warms has nothing left to do and does not bring the image.
#[tokio::test]
async fn a_drive_until_held_ends_where_what_is_pre_warmed_does_not_bring_the_images() {
    let mut lacks = lacks_its_image();
    let hold = Hold::ImageAbsent(ImageWait::NotRequested { by: "ben@bastion/1".into(), done: true });
    lacks.nodes = vec![NodeView { hold: Some(hold), prewarm: None, ..NodeView::clone(&lacks.nodes[0]) }].into();
    lacks.prewarm = prewarm::warm(std::array::from_fn(|_| prewarm::PRESENT), prewarm::request()).prewarm;
    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(lacks);
    let output = script.run("drive ds/agent --until held").await;
    assert_eq!(output.code, 3, "{}{}", output.text, output.error);
    let waits = "waits for 1 node: without the image, which what ben@bastion pre-warms does not bring (ipc-017)";
    let mut said = output.error.lines();
    let error = format!("Error: driving ends, as no node can be updated: it {waits}");
    assert_eq!(said.next(), Some(&*error));
    let next: Vec<&str> = output.text.lines().filter_map(|line| line.split_once("next: ")).map(|it| it.1).collect();
    let [prewarm, cancel] = next.as_slice() else { panic!("{next:?}") };
    assert!(prewarm.starts_with("rolldeck prewarm --this-step --context prod-eu -n edge ds/agent   ("), "{prewarm}");
    assert_eq!((said.next(), said.next()), (Some(&*format!("Hint: {prewarm}")), None), "the first of them goes on");
    assert!(prewarm.ends_with("; asks first, without a terminal it needs --yes)"), "{prewarm}");
    assert!(cancel.starts_with("rolldeck prewarm --cancel --context prod-eu -n edge ds/agent   ("), "{cancel}");
}

/// The record says why a drive ended, and not only that it did.
#[tokio::test(start_paused = true)]
async fn the_record_says_why_a_drive_ended() {
    let held = script::step_done();
    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    halted.halt = Some(Halt::new(1, HaltingGate::default(), at(0), "image not found on 1 node".into()));
    for (last, why) in [
        (held, "its --until held was reached"),
        (
            lacks_its_image(),
            "no node can be updated: it waits for 1 node: without the image, image not found (ipc-017)",
        ),
        (halted, "halted at revision 15: image not found on 1 node"),
    ] {
        let script = Script::of(script::held_by_nobody()).then(script::driving()).then(last);
        script.run("drive ds/agent --until held").await;
        let gives_up = Command::EndDriving { why: why.to_owned() };
        assert_eq!(script.requests().last(), Some(&gives_up));
    }
}

/// A policy keeps the pods that are left of a step. A script that waits for the step is told so after a minute, in which the policy may be put right.
#[tokio::test(start_paused = true)]
async fn a_step_whose_last_pods_may_not_be_deleted_is_waited_for_for_a_minute() {
    let refused = |others| {
        let why = "admission webhook says no".into();
        let alarm = Alarm::DeletionRefused { node: "ipc-017".into(), count: 2, why, others };
        let mut snapshot = Snapshot { alarms: vec![alarm], ..script::driving() };
        snapshot.nodes = NodeViews::default();
        snapshot
    };
    let (held, complete) = (|| DriveEnd::new(DriveUntil::Held), || DriveEnd::new(DriveUntil::Complete));
    let after = |mut end: DriveEnd, snapshot: &Snapshot, secs: u64| {
        let begin = Instant::now();
        assert!(end.end(snapshot, begin).is_none());
        end.end(snapshot, begin + Duration::from_secs(secs))
            .map(|end| end.unwrap_err().to_string().lines().next().unwrap_or_default().to_owned())
    };
    assert_eq!(after(held(), &refused(false), 59), None);
    let why =
        "Error: driving ends, as the API server refuses to delete the pods that are left: admission webhook says no";
    assert_eq!(after(held(), &refused(false), 60).as_deref(), Some(why));
    assert_eq!(after(held(), &refused(true), 600), None, "others go on");
    let all =
        Snapshot { alarms: vec![Alarm::DeletionsRefused { why: "admission webhook says no".into() }], ..refused(true) };
    assert_eq!(after(held(), &all, 59), None);
    assert_eq!(after(held(), &all, 60).as_deref(), Some(why));
    assert_eq!(after(complete(), &refused(false), 600), None, "it is tried again by itself");
}

/// A canary that failed is no success, even where the failure threshold tolerates it: a script goes on with the next step.
#[tokio::test]
async fn a_step_whose_nodes_failed_or_were_not_tried_is_not_done() {
    let step = |state: NodeState, accepted: bool, committed: u32| {
        let mut held = script::node_moves("ipc-020", state);
        held.phase = Phase::Held;
        held.plan.allowed = 2;
        held.counts.committed = committed;
        let of_step =
            |node: &NodeView| NodeView { at_target: committed > 0, committed: committed > 0, accepted, ..node.clone() };
        held.nodes = held.nodes.iter().map(of_step).collect();
        held
    };
    let failed = "its step is not done: 1 node failed at the new revision (ipc-020)";
    for (held, code, says) in [
        (step(NodeState::Failed, false, 2), 4, failed),
        (step(NodeState::Failed, true, 2), 0, ""),
        (step(NodeState::Updated, false, 2), 0, ""),
        // The failing pods are old ones.
        (step(NodeState::Failed, false, 0), 3, "no node of its step was updated"),
        (step(NodeState::NodeDown, false, 0), 3, "no node of its step was updated"),
    ] {
        let script = Script::of(script::held_by_nobody()).then(script::driving()).then(held);
        let output = script.run("drive ds/agent --until held").await;
        assert_eq!(output.code, code, "{}{}", output.text, output.error);
        assert!(output.error.contains(says), "{}", output.error);
    }
    // Nothing is let go yet: there is no step to be done.
    let mut held = step(NodeState::Outdated, false, 0);
    held.plan.allowed = 0;
    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(held);
    assert_eq!(script.run("drive ds/agent --until held").await.code, 0);
}

/// All of the budget is used by nodes that do not come back. A script that waits for the step is told so after a minute.
#[tokio::test(start_paused = true)]
async fn a_step_whose_budget_is_used_up_for_good_is_waited_for_for_a_minute() {
    let alarm = Alarm::BudgetUsedUp { used: 3, limit: 2, waiting: 17, failed: 0 };
    let mut snapshot = Snapshot { alarms: vec![alarm], ..script::driving() };
    snapshot.nodes = NodeViews::default();
    let begin = Instant::now();
    let mut end = DriveEnd::new(DriveUntil::Held);
    assert!(end.end(&snapshot, begin).is_none());
    assert!(end.end(&snapshot, begin + Duration::from_secs(59)).is_none());
    let error = end.end(&snapshot, begin + Duration::from_secs(60)).unwrap().unwrap_err().to_string();
    assert!(error.contains("no node can be updated: 17 nodes wait: 3 are down, 2 may be"), "{error}");
}

/// The second step lets nodes go, and all of those are off: that others were updated before does not make it a success.
#[tokio::test]
async fn a_later_step_of_which_nothing_was_updated_is_not_done() {
    let mut driving = script::driving();
    driving.counts.committed = 38;
    let mut held = Snapshot { phase: Phase::Held, ..driving.clone() };
    held.nodes = held.nodes.iter().map(|node| NodeView { state: NodeState::NodeDown, ..node.clone() }).collect();
    let script = Script::of(script::held_by_nobody()).then(driving.clone()).then(held.clone());
    let output = script.run("drive ds/agent --until held").await;
    assert_eq!(output.code, 3, "{}{}", output.text, output.error);
    // One more was updated: the others did not hold it up.
    held.counts.committed = 39;
    let script = Script::of(script::held_by_nobody()).then(driving).then(held);
    assert_eq!(script.run("drive ds/agent --until held").await.code, 0);
}

/// A machine that is off gets no image. `prewarm` ends then, and so does a drive that has nothing else to do.
#[test]
fn a_drive_that_only_pre_warms_nodes_that_are_down_ends_after_a_while() {
    let down = || PrewarmState::Waiting(PrewarmWait::NodeDown);
    let left = prewarm::warm([prewarm::PRESENT, down(), down()], prewarm::request());
    let after = |left: &Snapshot, until, secs: u64| {
        let begin = Instant::now();
        let mut end = DriveEnd::new(until);
        assert!(end.end(left, begin).is_none());
        let looks = end.looks_again_at();
        (end.end(left, begin + Duration::from_secs(secs)).map(|end| end.unwrap_err()), looks.map(|at| at - begin))
    };
    for until in [DriveUntil::Held, DriveUntil::Complete] {
        let minutes = Duration::from_secs(600);
        assert!(matches!(after(&left, until, 599), (None, Some(looks)) if looks == minutes));
        let (Some(error), _) = after(&left, until, 600) else { panic!("it waits for ever") };
        assert_eq!(error.code(), 3);
        assert!(error.to_string().contains("2 nodes are down: ipc-002 ipc-003"), "{error}");
    }
    let goes_on = prewarm::warm([prewarm::waiting(), down(), down()], prewarm::request());
    assert!(after(&goes_on, DriveUntil::Held, 6_000).0.is_none(), "another node waits for its turn");
    // A rollout that has still nodes to update waits for those.
    let held = Snapshot { phase: Phase::Running, ..left };
    assert!(after(&held, DriveUntil::Complete, 6_000).0.is_none());
}
