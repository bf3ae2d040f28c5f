//! A rollout with a past.

use super::console::TestConsole;
use super::fixtures::{DAY, MINUTE, ago, idle, running};
use crate::engine::model::command::{Command, Early, Step};
use crate::engine::model::driver::DriverView;
use crate::engine::model::facts::Severity;
use crate::engine::model::released_strategy::ReleasedStrategy;
use crate::engine::model::rollout_event::{EventOutcome, ImageChanged, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::report::snapshot::Snapshot;

/// One thing that happened so many seconds ago.
pub(super) fn rollout_event(
    secs: u64,
    by: Option<&str>,
    what: RolloutEventKind,
    result: EventOutcome,
    said: &str,
) -> RolloutEvent {
    RolloutEvent {
        at: ago(secs),
        by: by.map(Into::into),
        kind: what,
        outcome: result,
        command: None,
        said: (!said.is_empty()).then(|| said.into()),
        visibility: Visibility::Timeline,
        revision: None,
    }
}

/// The same rollout, and how it came to it.
pub(super) fn with_events() -> Snapshot {
    let us = Some("ops@bastion-2");
    let images = [("agent".to_owned(), "registry.factory.example/edge/agent:v1.9.0".parse().unwrap())].into();
    let changed = RolloutEventKind::TemplateChanged {
        from: Some(14),
        to: Some(15),
        images: vec![ImageChanged {
            container: "agent".into(),
            from: Some("registry.factory.example/edge/agent:v1.8.2".into()),
            to: Some("registry.factory.example/edge/agent:v1.9.0".into()),
        }],
    };
    let paused = RolloutEventKind::Reported {
        reason: "RolloutPaused".into(),
        identity: "ada@workstation-17.munich.factory.example/1f00c3a9".into(),
        event: "ipc-agent.17".into(),
        severity: Severity::Normal,
    };
    let halted = RolloutEventKind::Halted {
        number: 1,
        revision: Some(15),
        why: "image not found on 1 node".into(),
        nodes: vec!["ipc-017".into()],
    };
    let timeline = [
        rollout_event(
            2 * DAY,
            us,
            RolloutEventKind::Released { strategy: ReleasedStrategy::Original },
            EventOutcome::Done,
            "",
        ),
        rollout_event(9 * MINUTE, us, RolloutEventKind::LeaseAcquired, EventOutcome::Done, ""),
        rollout_event(9 * MINUTE, None, RolloutEventKind::Adopted, EventOutcome::Done, ""),
        rollout_event(9 * MINUTE, None, changed, EventOutcome::Done, ""),
        rollout_event(
            9 * MINUTE,
            us,
            RolloutEventKind::Command(Command::SetImage(images)),
            EventOutcome::Done,
            "template has agent=registry.factory.example/edge/agent:v1.9.0; no pod is replaced before the first step",
        ),
        rollout_event(
            8 * MINUTE,
            us,
            RolloutEventKind::Command(Command::Step(Step::Next)),
            EventOutcome::Done,
            "38 of 120 nodes may be updated, partition keeps 82",
        ),
        rollout_event(
            5 * MINUTE,
            None,
            paused,
            EventOutcome::Done,
            "paused: no update starts: the link to line 4 is down (from 10.1.2.3, as ada)",
        ),
        rollout_event(4 * MINUTE, us, RolloutEventKind::Command(Command::Resume), EventOutcome::Done, "resumed"),
        rollout_event(3 * MINUTE, None, halted, EventOutcome::Done, ""),
        rollout_event(
            50,
            us,
            RolloutEventKind::Command(Command::Release(Early::Refuse)),
            EventOutcome::Refused,
            "85 pods are not at the current revision; once released its controller replaces them by itself: release early \
             only if that is meant",
        ),
    ];
    Snapshot { timeline: timeline.into(), ..running() }
}

#[test]
fn when_nothing_is_rolled_out_the_header_says_when_the_last_rollout_was_complete() {
    let mut snapshot = idle();
    let complete = |secs, back| {
        rollout_event(
            secs,
            None,
            RolloutEventKind::Complete { nodes: 120, back, revision: Some(15) },
            EventOutcome::Done,
            "",
        )
    };
    snapshot.timeline = [complete(2 * DAY, false), complete(3 * MINUTE, false)].into();
    let console = TestConsole::on(snapshot, 80, 24);
    let screen = console.screen();
    assert!(screen.contains("✓ idle, last rollout complete 3m ago"), "{screen}");
    assert!(!TestConsole::on(running(), 80, 24).screen().contains("last rollout"));

    // The one that was rolled back is told apart, whoever asked for that.
    let mut snapshot = idle();
    let undone = RolloutEventKind::Command(Command::Undo { to: None });
    let undone = rollout_event(4 * MINUTE, Some("ops@bastion-2"), undone, EventOutcome::Done, "");
    snapshot.timeline = [complete(2 * DAY, false), undone, complete(3 * MINUTE, true)].into();
    let console = TestConsole::on(snapshot, 80, 24);
    let screen = console.screen();
    assert!(screen.contains("✓ idle, last rollout rolled back 3m ago"), "{screen}");
    let left = crate::tui::run::farewell::farewell(&console.model).remove(0);
    assert!(left.contains("nodes updated, last rollout rolled back 3m ago"), "who quits is told, too: {left}");
}

/// No event tells of a driver that was gone before anybody looked.
#[test]
fn the_end_of_a_driver_is_on_the_timeline_also_where_nobody_saw_it() {
    let holder = || "ben@bastion/7f".into();
    let lost = DriverView::Lost { holder: holder(), renewal_observed_at: ago(20), renewed_at: Some(ago(3_600)) };
    let mut console = TestConsole::on(Snapshot { driver: lost.clone(), ..running() }, 120, 40).typed("T");
    let said = "driver ben@bastion/7f was last heard of at 11:00:00 by its clock; nobody drives";
    assert!(console.screen().contains(said), "{}", console.screen());
    let silent = rollout_event(1, None, RolloutEventKind::DriverSilent { holder: holder() }, EventOutcome::Done, "");
    console.see(Snapshot { driver: lost, timeline: [silent].into(), ..running() });
    assert!(!console.screen().contains("was last heard of"), "an event tells it: {}", console.screen());
    console.see(running());
    assert!(!console.screen().contains("was last heard of"), "{}", console.screen());
}
