//! Commands of others, as their Events report them to whoever follows a rollout.

use super::script;
use super::script::{Script, at};
use crate::engine::model::facts::Severity;
use crate::engine::model::node::NodeState;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::report::snapshot::Snapshot;

fn reported(secs: i64, name: &str, reason: &str, said: &str) -> RolloutEvent {
    RolloutEvent {
        at: at(secs),
        by: None,
        kind: RolloutEventKind::Reported {
            reason: reason.into(),
            identity: "ben@bastion/1f".into(),
            event: name.into(),
            severity: Severity::Normal,
        },
        outcome: EventOutcome::Done,
        command: None,
        said: Some(said.into()),
        visibility: Visibility::Timeline,
        revision: None,
    }
}

/// What this process did when it had opened the rollout for its edits.
fn by_us(name: &str) -> RolloutEventKind {
    RolloutEventKind::Reported {
        reason: "RolloutImageSet".into(),
        identity: script::driving().identity,
        event: name.into(),
        severity: Severity::Normal,
    }
}

/// Also where the rollout is opened a second time to drive, and reads all Events anew.
#[tokio::test(start_paused = true)]
async fn a_driver_tells_once_which_others_gave_commands_since_it_began() {
    let before = reported(-60, "agent.0", "RolloutStepped", "step to 1: 1 of 120 nodes may be updated");
    let step = reported(611, "agent.1", "RolloutStepped", "step to partition 4: 116 of 120 nodes may be updated");
    let ours = RolloutEvent { kind: by_us("agent.4"), ..reported(612, "", "", "template has agent=v2") };
    let paused = reported(612, "agent.5", "RolloutPaused", "paused: no update starts: link is down");
    let resumed = reported(612, "agent.2", "RolloutResumed", "resumed: link is up");
    let drove = reported(613, "agent.3", "RolloutDriven", "drives the rollout now");
    let with = |snapshot: Snapshot, timeline: &[&RolloutEvent]| Snapshot {
        timeline: timeline.iter().map(|event| (*event).clone()).collect(),
        ..snapshot
    };
    let moves = |state| script::node_moves("ipc-020", state);
    let script = Script::of(script::held_by_nobody())
        .then(with(script::driving(), &[&before]))
        .then(with(moves(NodeState::Terminating), &[&before, &step]))
        .then(with(moves(NodeState::Creating), &[]))
        .then(with(moves(NodeState::Starting), &[&before, &step, &ours, &paused, &resumed, &drove]))
        .then(moves(NodeState::Updated));
    let told = script.run("drive ds/agent --timeout 5s").await.text;
    let told: Vec<&str> = told.lines().filter(|line| line.contains("ben")).collect();
    let want = [
        "2026-11-18T11:17:00Z reported by ben@bastion: step to partition 4: 116 of 120 nodes may be updated",
        "2026-11-18T11:17:00Z reported by ben@bastion: resumed: link is up",
    ];
    assert_eq!(told, want);
}
