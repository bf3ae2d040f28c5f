//! What `drive` says and how it ends where pods for pre-warming are left that nobody needs any more.

use std::time::Duration;

use tokio::time::Instant;

use super::prewarm;
use super::script::{self, Script, at};
use crate::engine::model::command::Command;
use crate::engine::model::prewarm::{PrewarmLeftover, PrewarmView};
use crate::engine::model::record::{OURSELVES, Paused};
use crate::engine::model::settings::Finish;
use crate::engine::report::snapshot::{Phase, Snapshot};

/// We drive, it is over in this way, and so many pods for pre-warming that nobody needs any more are there.
pub(super) fn over(phase: Phase, pods: u32) -> Snapshot {
    let mut snapshot = script::driving();
    let images = prewarm::warm([prewarm::PRESENT, prewarm::PRESENT, prewarm::PRESENT], prewarm::request());
    let refusal = (pods > 0).then(|| ("ipc-001".into(), "pods \"agent-prewarm-1\" is forbidden".into()));
    let leftover = PrewarmLeftover { pods, ending: 0, undriven: false, refusal };
    snapshot.prewarm = images.prewarm.map(|warm| PrewarmView { leftover, ..warm });
    snapshot.phase = phase;
    snapshot.counts.committed = snapshot.plan.allowed;
    snapshot.settings.policies.finish = Finish::Keep;
    snapshot
}

fn ends() -> [(Phase, u8); 6] {
    let paused = Paused::new(OURSELVES.into(), at(0), Some("refused".into()));
    [
        (Phase::Held, 0),
        (Phase::Complete, 0),
        (Phase::Idle, 0),
        (Phase::Halted, 4),
        (Phase::Paused(paused), 4),
        (Phase::Native, 3),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_drive_ends_once_no_pod_for_pre_warming_is_left_that_nobody_needs() {
    for (phase, code) in ends() {
        let script = Script::of(script::held_by_nobody()).then(script::driving());
        let script = script.then(over(phase.clone(), 2)).then(over(phase.clone(), 1)).then(over(phase.clone(), 0));
        let began = Instant::now();
        let output = script.run("drive ds/agent --until held").await;
        assert_eq!(output.code, code, "{phase:?}: {}", output.error);
        assert!(!output.text.contains("is left") && !output.text.contains("are left"), "{phase:?}: {}", output.text);
        assert!(began.elapsed() < Duration::from_secs(1), "{phase:?}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_drive_says_which_pods_for_pre_warming_are_left_if_they_do_not_go() {
    for (phase, code) in ends() {
        let script = Script::of(script::held_by_nobody()).then(script::driving());
        let script = script.then(over(phase.clone(), 2)).then(over(phase.clone(), 1));
        let began = Instant::now();
        let output = script.run("drive ds/agent --until held").await;
        assert_eq!(output.code, code, "{phase:?}: {}", output.error);
        let said = "1 pod for pre-warming that nobody needs any more is left (ipc-001: pods \"agent-prewarm-1\" is forbidden): \
                    whoever drives next deletes what is left";
        assert!(output.text.contains(said), "{phase:?}: {}", output.text);
        let took = began.elapsed();
        assert!((30..60).contains(&took.as_secs()), "{phase:?}: {took:?}");
        assert!(matches!(script.requests().last(), Some(Command::EndDriving { .. })), "{phase:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_drive_that_runs_out_of_time_says_what_is_left_of_pre_warming() {
    let script = Script::of(script::held_by_nobody()).then(over(Phase::Running, 3));
    let output = script.run("drive ds/agent --timeout 5s").await;
    assert_eq!(output.code, 3);
    assert!(output.error.contains("3 pods for pre-warming that nobody needs any more are left"), "{}", output.error);
}

/// As after `prewarm`: who was interrupted, or ran out of time, learns what becomes of its pods, and how to go on or give it up.
#[tokio::test(start_paused = true)]
async fn a_drive_that_only_pre_warms_says_what_is_left_of_it_as_prewarm_does() {
    let warms = |phase| {
        let warm = prewarm::warm([prewarm::PRESENT, prewarm::waiting(), prewarm::waiting()], prewarm::request());
        Snapshot { phase, ..warm }
    };
    let error_of = async |phase: Phase| {
        let script = Script::of(script::held_by_nobody()).then(warms(phase));
        let output = script.run("drive ds/agent --timeout 20s").await;
        assert_eq!(output.code, 3, "{}{}", output.text, output.error);
        output.error
    };
    let error = error_of(Phase::Idle).await;
    let stays = "\nHint: its pods stay, and what is being pulled goes on; whoever drives next carries on";
    let goes_on = "ds/agent` goes on, `rolldeck prewarm --cancel --context prod-eu -n edge ds/agent` gives it up";
    assert!(error.contains(stays) && error.contains(goes_on), "{error}");
    let error = error_of(Phase::Running).await;
    assert!(!error.contains("its pods stay"), "the rollout is what it drives: {error}");
}
