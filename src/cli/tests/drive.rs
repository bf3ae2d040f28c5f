//! `drive`: what it tells, and when it ends.

use std::time::Duration;

use tokio::time::Instant;

use super::super::error::Exit;
use super::drive_prewarm::over;
use super::script;
use super::script::{Script, at, rollout};
use crate::engine::model::Str;
use crate::engine::model::command::{Command, Refusal, Takeover};
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::{Right, WatchHealth, Watched};
use crate::engine::model::node::NodeState;
use crate::engine::model::presence::Presence;
use crate::engine::model::record::{Direction, Halt, HaltingGate, OURSELVES, Paused};
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::model::settings::Finish;
use crate::engine::report::snapshot::{Alarm, Phase, Snapshot};
use insta::assert_snapshot;

#[tokio::test]
async fn a_drive_tells_its_changes_and_ends_with_the_rollout() {
    let mut idle = script::node_moves("ipc-020", NodeState::Updated);
    idle.phase = Phase::Idle;
    let script = Script::of(script::held_by_nobody())
        .then(script::driving())
        .then(script::node_moves("ipc-020", NodeState::Terminating))
        .then(script::node_moves("ipc-020", NodeState::Updated))
        .then(idle);
    let output = script.run("drive ds/agent --image agent=registry.example/agent:v2.0.0 --to 4 --max-pulling 1").await;
    assert_eq!(output.code, 0, "{}", output.error);
    assert_snapshot!(output.text, @r#"
    2026-11-18T11:16:40Z rev 14 → 15 edge/agent: v1.8.2 → v1.9.0
    2026-11-18T11:16:40Z step 2 of 3: 60 may be updated, partition 60
    2026-11-18T11:16:40Z down 2 of 2: 1 ours, 1 suspect + 3 by themselves, pull slots 2 of 2
    2026-11-18T11:16:40Z settled: Set image
    2026-11-18T11:16:40Z settled: Step
    2026-11-18T11:16:40Z settled: Drive
    2026-11-18T11:16:50Z running, 38 of 120 updated
    2026-11-18T11:17:00Z ipc-020: terminating
    2026-11-18T11:17:00Z ipc-020: updated, 38 of 120
    2026-11-18T11:17:00Z idle, 38 of 120 updated
    "#);
    let asked = script.requests();
    assert!(matches!(
        asked.as_slice(),
        [Command::Tuned { .. }, Command::Step(_), Command::Drive(Takeover::IfFree), ..]
    ));
    assert_eq!(asked.last(), Some(&ended("nothing was left to do")));
}

/// Two begin at the same moment: nobody drives as either of them looks, and one of them gets the lease.
#[tokio::test]
async fn who_is_second_to_drive_is_told_who_drives() {
    let mut other = script::held_by_nobody();
    other.driver = DriverView::Other { holder: "ben@bastion/9".into(), renewal_observed_at: at(0) };
    let script = Script::of(script::held_by_nobody()).then(other.clone()).then(other).driven_first_by_another();
    let ends = tokio::time::timeout(Duration::from_secs(20), script.run("drive ds/agent")).await;
    let output = ends.expect("it does not wait for the other's end");
    assert_eq!(output.code, 7, "{}{}", output.text, output.error);
    assert_snapshot!(output.error, @r"
    Error: ben@bastion/9 drives this rollout
    Hint: `rolldeck drive ds/agent --take-over` asks them to hand over, and takes the lease once it has run out
    ");
    assert!(matches!(script.refused().as_slice(), [(Command::Drive(Takeover::IfFree), _)]), "{:?}", script.refused());
}

#[tokio::test]
async fn a_drive_does_not_leave_when_its_strategy_is_set_back() {
    let drifted = |alarm: Alarm, phase: Phase| {
        let mut snapshot = script::driving();
        (snapshot.alarms, snapshot.phase) = (vec![alarm], phase);
        snapshot
    };
    let by = || Some("argocd-controller of Argo CD (application edge-agents)".into());
    let suspend_hint = || script::argo_cd().suspend_hint().map(Into::into);
    let mut idle = script::driving();
    idle.phase = Phase::Idle;
    let script = Script::of(script::held_by_nobody())
        .then(drifted(
            Alarm::StrategyDrifted { by: by(), limit: None, enforced: 0, suspend_hint: suspend_hint() },
            Phase::Native,
        ))
        .then(drifted(Alarm::OnDeleteEnforced { by: by(), times: 1, suspend_hint: suspend_hint() }, Phase::Running))
        .then(idle);
    let output = script.run("drive ds/agent --on-drift enforce").await;
    assert_eq!(output.code, 0, "{}", output.error);
    let tail: Vec<&str> = output.text.lines().skip(4).collect();
    assert_snapshot!(tail.join("\n"), @r#"
    2026-11-18T11:16:40Z settled: Drive
    2026-11-18T11:16:50Z the update strategy was changed back by argocd-controller of Argo CD (application edge-agents): its controller replaces pods by itself; to suspend it: argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true)
    2026-11-18T11:16:50Z rolled by its controller, 38 of 120 updated
    2026-11-18T11:16:50Z the update strategy was changed back by argocd-controller of Argo CD (application edge-agents) once lately: OnDelete is set again; to suspend it: argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true)
    2026-11-18T11:16:50Z running, 38 of 120 updated
    2026-11-18T11:16:50Z idle, 38 of 120 updated
    "#);
}

#[tokio::test]
async fn a_drive_that_was_killed_is_carried_on_by_the_same_command_line() {
    let mut idle = script::driving();
    idle.phase = Phase::Idle;
    let script = Script::of(script::held_by_nobody()).then(idle);
    let output = script.run("drive ds/agent --image agent=registry.example/agent:v1.9.0").await;
    assert_eq!(output.code, 0, "{}", output.error);
    assert_eq!(script.requests(), [Command::Drive(Takeover::IfFree), ended("nothing was left to do")]);
    let said = "the template has agent=registry.example/agent:v1.9.0 already: the rollout goes on";
    assert!(output.text.contains(said), "{}", output.text);
}

#[tokio::test]
async fn a_drive_to_where_everything_is_has_nothing_to_do() {
    let mut idle = script::held_by_nobody();
    (idle.phase, idle.started_at) = (Phase::Idle, None);
    idle.counts.available = idle.counts.nodes;
    let script = Script::of(idle);
    let output = script.run("drive ds/agent --image agent=registry.example/agent:v1.9.0").await;
    assert_eq!((output.code, script.requests().len()), (0, 0));
    let said =
        "the template has agent=registry.example/agent:v1.9.0 already, and every node is at it: nothing is to be done";
    assert!(output.text.contains(said), "{}", output.text);
}

#[tokio::test]
async fn a_drive_that_halts_exits_with_its_own_code() {
    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    halted.halt = Some(
        Halt::new(1, HaltingGate::default(), at(0), "image not found on 1 node".into()).on(vec!["ipc-017".into()]),
    );
    halted.alarms = vec![Alarm::Halted { gate: HaltingGate::default(), why: "image not found on 1 node".into() }];
    let script = Script::of(script::held_by_nobody()).then(halted.clone());
    let output = script.run("drive ds/agent").await;
    assert_eq!(output.code, Exit::Halted.code());
    let halt_advice = "failed on ipc-017: `rolldeck undo --context prod-eu -n edge ds/agent` rolls back to revision 14, `rolldeck resume --context prod-eu -n edge ds/agent` \
                   goes on past it";
    assert!(output.text.contains("image not found on 1 node") && output.error.contains(halt_advice), "{}", output.text);
    assert!(!output.text.contains("rolls back"), "it is said once: {}", output.text);
    let last =
        "Hint: rolldeck diagnose --context prod-eu -n edge ds/agent   (says why it halted, and what can be done)";
    assert_eq!(output.error.lines().last(), Some(last), "what else there is");
    let json = Script::of(script::held_by_nobody()).then(halted.clone()).run("drive ds/agent -o json").await;
    assert!(!json.text.contains("diagnose") && !json.error.contains("diagnose"), "{}{}", json.text, json.error);
    assert!(json.text.contains("rolls back") && json.error.contains(halt_advice), "{}{}", json.text, json.error);
    let output = Script::of(halted).run("status ds/agent").await;
    for next in ["next     rolldeck undo --context prod-eu -n edge ds/agent ", "next     rolldeck resume --context"] {
        assert!(output.text.contains(next), "{}", output.text);
    }
}

/// Who would drive and end at once does not say that it drives, and then that nobody does.
#[tokio::test]
async fn where_a_driver_would_end_at_once_none_is_begun_and_it_is_said_what_to_do() {
    let mut halted = script::held_by_nobody();
    halted.phase = Phase::Halted;
    let mut idle = script::held_by_nobody();
    (idle.phase, idle.adopted, idle.counts.available) = (Phase::Idle, true, idle.counts.nodes);
    let mut kept = script::held_by_nobody();
    (kept.phase, kept.settings.policies.finish) = (Phase::Complete, Finish::Keep);
    let resume = "`rolldeck resume --context prod-eu -n edge ds/agent`\nHint: run that first, then this command again";
    let release = "`rolldeck release --context prod-eu -n edge ds/agent` hands it back";
    for (snapshot, code, said) in [(halted, 4, resume), (idle.clone(), 0, release), (kept, 0, release)] {
        let script = Script::of(snapshot);
        let output = script.run("drive ds/agent").await;
        assert_eq!((output.code, script.requests().len()), (code, 0), "{}", output.text);
        let said_there =
            if code == 0 { output.text.lines().last().unwrap().contains(said) } else { output.error.ends_with(said) };
        assert!(said_there, "{}{}", output.text, output.error);
        assert!(!output.text.contains("you drive") && !output.text.contains("nobody drives"), "{}", output.text);
    }
    // Pods that nobody needs any more are deleted by whoever drives.
    let script = Script::of(Snapshot { driver: DriverView::Nobody, ..over(Phase::Idle, 2) }).then(over(Phase::Idle, 0));
    assert_eq!(script.run("drive ds/agent").await.code, 0);
    assert_eq!(script.requests().first(), Some(&Command::Drive(Takeover::IfFree)));
}

#[tokio::test]
async fn a_drive_ends_where_rolldeck_itself_paused_and_stays_where_an_operator_did() {
    let paused_by = |by: &str, why: &str| {
        let mut paused = script::driving();
        paused.phase = Phase::Paused(Paused::new(by.into(), at(0), Some(why.into())));
        paused
    };
    let refused = paused_by(OURSELVES, "rolling back to revision 14 was refused: admission webhook denied the request");
    let mut idle = script::driving();
    idle.phase = Phase::Idle;
    let begun = || Script::of(script::held_by_nobody()).then(script::driving());
    let script = begun().then(paused_by("ops@a", "link down")).then(refused);
    let output = script.run("drive ds/agent").await;
    assert_eq!(output.code, 4, "{}", output.error);
    let Some(Command::EndDriving { why }) = script.requests().pop() else { panic!() };
    assert!(why.contains("rolling back to revision 14 was refused"), "{why}");
    let last: Vec<&str> = output.text.lines().skip(4).collect();
    assert_snapshot!(last.join("\n"), @r#"
    2026-11-18T11:16:50Z running, 38 of 120 updated
    2026-11-18T11:16:50Z paused by ops@a 10m ago: "link down", 38 of 120 updated
    2026-11-18T11:16:50Z waits until somebody resumes it: nothing is started before
    2026-11-18T11:16:50Z next: rolldeck resume --context prod-eu -n edge ds/agent   (lifts the pause)
    2026-11-18T11:16:50Z paused by rolldeck 10m ago: rolling back to revision 14 was refused: admission webhook denied the request, 38 of 120 updated
    "#);
    let why = "Error: driving ends: paused by rolldeck 10m ago: rolling back to revision 14 was refused";
    assert!(output.error.starts_with(why), "{}", output.error);
    // Such a pause does not hold the DaemonSet's own controller.
    let mut set_back = paused_by(OURSELVES, "the update strategy was changed back");
    set_back.alarms = vec![Alarm::StrategyDrifted { by: None, limit: None, enforced: 0, suspend_hint: None }];
    let output = begun().then(set_back).run("drive ds/agent").await;
    let why = "Error: driving ends: paused by rolldeck 10m ago: the update strategy was changed back; its controller goes on replacing pods\n";
    assert!(output.code == 4 && output.error.starts_with(why), "{}", output.error);
    assert!(output.error.contains("\nHint: rolldeck resume "), "{}", output.error);
    let output = begun().then(paused_by("ops@a", "link down")).then(idle).run("drive ds/agent").await;
    assert_eq!(output.code, 0, "{}", output.error);
}

/// A drive waits for whoever paused: it says so, and how it goes on.
#[tokio::test]
async fn a_drive_of_what_is_paused_says_what_it_waits_for() {
    let mut paused = script::driving();
    paused.phase = Phase::Paused(Paused::new("ops@a".into(), at(0), Some("link down".into())));
    let script = Script::of(script::held_by_nobody()).then(paused.clone()).then(paused).then(script::step_done());
    let output = script.run("drive ds/agent --until held").await;
    let waits = output.text.lines().filter(|line| line.contains("waits until somebody resumes it"));
    assert_eq!(waits.count(), 1, "{}", output.text);
    assert!(output.text.contains("next: rolldeck resume --context prod-eu "), "{}", output.text);
}

/// How many nodes are down is told where that is more than may be, and when it is not any more; to programs whenever it changes.
#[tokio::test]
async fn a_drive_tells_when_more_nodes_are_down_than_may_be() {
    let down = |charged, secs| {
        let mut snapshot = script::driving();
        (snapshot.budget.max_unavailable, snapshot.budget.charged, snapshot.budget.rollout) = (2, charged, charged);
        snapshot.at = snapshot.at + Duration::from_secs(secs);
        snapshot
    };
    let idle = Snapshot { phase: Phase::Idle, ..down(0, 60) };
    let counts = [(1, 1), (2, 2), (3, 3), (10, 4), (2, 5), (1, 6)];
    let script = || {
        let begun = Script::of(down(0, 0));
        counts.iter().fold(begun, |script, (charged, secs)| script.then(down(*charged, *secs))).then(idle.clone())
    };
    let text = script().run("drive ds/agent").await.text;
    let told: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(" down ")?.1.split_once(':')).map(|it| it.0).collect();
    assert_eq!(told, ["0 of 2", "3 of 2", "2 of 2"], "{text}");
    let json = script().run("drive ds/agent -o json").await.text;
    let lines = json.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let of_budget = lines.filter(|line| line["topic"] == "budget").count();
    assert_eq!(of_budget, 2 + counts.len(), "{json}");
}

/// A script that goes on after a drive must not take a roll back for a success.
#[tokio::test]
async fn a_drive_whose_rollout_was_rolled_back_is_not_done() {
    let mut back = script::driving();
    back.direction = Direction::Back;
    let mut idle = script::driving();
    (idle.phase, idle.started_at) = (Phase::Idle, None);
    let begun = || Script::of(script::held_by_nobody()).then(script::driving());
    let output = begun().then(back.clone()).then(idle.clone()).run("drive ds/agent").await;
    assert_eq!(output.code, 4, "{}", output.error);
    assert!(output.text.contains("rolled back and handed back: idle"), "{}", output.text);
    // Whoever drives a roll back to its end has done what was asked.
    let output = Script::of(script::held_by_nobody()).then(back.clone()).then(idle.clone()).run("drive ds/agent").await;
    assert_eq!(output.code, 0, "{}", output.error);
    // Somebody thought better of it.
    let output = begun().then(back).then(script::driving()).then(idle).run("drive ds/agent").await;
    assert_eq!(output.code, 0, "{}", output.error);
}

#[tokio::test]
async fn a_drive_leaves_when_its_step_is_done() {
    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(script::step_done());
    let output = script.run("drive ds/agent --until held").await;
    assert_eq!((output.code, script.requests().last()), (0, Some(&ended("its --until held was reached"))));
}

#[tokio::test]
async fn a_drive_does_not_push_in_front_of_another() {
    let mut theirs = rollout();
    theirs.driver = DriverView::Other { holder: "ops@bastion-2/7".into(), renewal_observed_at: at(0) };
    let script = Script::of(theirs.clone());
    let output = script.run("drive ds/agent --to 50%").await;
    assert_eq!((output.code, script.requests().len()), (7, 0));

    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(theirs);
    let output = script.run("drive ds/agent").await;
    assert_eq!(output.code, 7);
    assert!(output.error.contains("ops@bastion-2/7 took over"), "{}", output.error);
}

#[tokio::test]
async fn a_drive_waits_until_it_shows_whether_the_driver_is_alive() {
    let holder = Str::from("ops@bastion-2/7");
    let mut named = script::held_by_nobody();
    named.driver = DriverView::Unconfirmed { holder: holder.clone(), renewed_at: Some(at(581)) };
    let [mut alive, mut lost] = [named.clone(), named.clone()];
    alive.driver = DriverView::Other { holder: holder.clone(), renewal_observed_at: at(0) };
    lost.driver = DriverView::Lost { holder, renewal_observed_at: at(0), renewed_at: None };

    let script = Script::of(named.clone()).then(alive);
    let output = script.run("drive ds/agent").await;
    assert_eq!((output.code, script.requests().len()), (7, 0), "{}", output.text);
    assert!(output.text.contains("ops@bastion-2 renewed its lease 19s ago by its clock"), "{}", output.text);

    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    let script = Script::of(named).then(lost).then(halted);
    let output = script.run("drive ds/agent").await;
    assert_eq!(
        (output.code, script.requests().first()),
        (4, Some(&Command::Drive(Takeover::IfFree))),
        "{}",
        output.text
    );
}

/// Whether whoever is named in the lease has ended shows only once it has run out.
#[tokio::test]
async fn a_take_over_says_how_long_it_waits_at_most_and_why() {
    let holder = Str::from("ops@bastion-2/7");
    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    let seen = [
        (DriverView::Unconfirmed { holder: holder.clone(), renewed_at: None }, Some("in 15s at most")),
        (DriverView::Other { holder, renewal_observed_at: at(596) }, Some("in 11s at most")),
        (DriverView::Nobody, None),
    ];
    for (driver, within) in seen {
        let first = Snapshot { driver, ..script::held_by_nobody() };
        let output = Script::of(first).then(halted.clone()).run("drive ds/agent --take-over").await;
        assert_eq!(output.code, 4, "{}", output.error);
        let said = output.text.lines().find(|line| line.contains("asks ops@bastion-2/7 to hand over"));
        assert_eq!(said.is_some(), within.is_some(), "{}", output.text);
        let (said, within) = (said.unwrap_or_default(), within.unwrap_or_default());
        assert!(
            said.contains(within) && (said.is_empty() || said.contains("it may still be replacing pods")),
            "{said}"
        );
    }
}

/// With `--to` a node goes as soon as it drives; without it none does before somebody steps, and it says which step that is.
#[tokio::test(start_paused = true)]
async fn a_drive_says_what_it_waits_for_only_where_it_waits() {
    let held = script::step_done();
    let script = || Script::of(script::held_by_nobody()).then(script::driving()).then(held.clone());
    let next = "next: rolldeck step --context prod-eu -n edge ds/agent   (lets 22 nodes go, 60 in total)";
    let image = "drive ds/agent --image agent=registry.example/agent:v2.0.0";
    for (line, code, waits) in [
        (format!("{image} --timeout 5m"), 3, true),
        (format!("{image} --to 3 --timeout 5m"), 3, false),
        (format!("{image} --to 3 --until held"), 0, false),
    ] {
        let output = script().run(&line).await;
        assert_eq!(output.code, code, "{line}: {}", output.error);
        assert_eq!(output.text.contains("no pod is replaced before the first step"), waits, "{line}: {}", output.text);
        assert_eq!(output.text.matches("next: rolldeck step").count(), 1, "{line}, {next}: {}", output.text);
    }
}

/// Nothing is written: the image would stay, and no node would get it.
#[tokio::test]
async fn a_drive_does_not_begin_with_labels_that_no_node_has() {
    let script = Script::of(script::held_by_nobody());
    let output =
        script.run("drive ds/agent --image agent=registry.example/agent:v2.0.0 --selector canry=true --to 3").await;
    assert_eq!((output.code, script.requests().len()), (6, 0), "{}", output.error);
    assert!(output.error.contains("no node matches canry=true"), "{}", output.error);
}

/// Nothing is written of a command line of which a later part is refused: the image would stay. What a rollout that has not begun yet may change
/// is judged when its turn comes.
#[tokio::test]
async fn a_drive_is_checked_as_a_whole_before_anything_is_written() {
    let step: fn(&Command) -> bool = |command| matches!(command, Command::Step(_));
    let drive: fn(&Command) -> bool = |command| matches!(command, Command::Drive(_));
    let image = "drive ds/agent --image agent=registry.example/agent:v2.0.0 --to 500";
    let tune = "drive ds/agent --max-unavailable 3 --to 50%";
    let too_many = || Refusal::Invalid("500 nodes are more than the 120 that there are".into());
    let halted = || Refusal::NotNow("halted".into());
    for (line, refused, refusal, code, written) in [
        (image, step, too_many(), 6, 0),
        (image, drive, Refusal::NotPermitted(Right::DeletePods), 6, 0),
        (tune, step, halted(), 6, 0),
        // An image lifts the halt before it: here the step is refused all the same, when its turn comes.
        (image, step, halted(), 6, 1),
    ] {
        let script = Script::of(script::held_by_nobody()).refuses_only(refused, refusal.clone());
        let output = script.run(line).await;
        assert_eq!((output.code, script.requests().len()), (code, written), "{line}, {refusal}: {}", output.error);
        let told = script.refused();
        assert!(
            matches!(told.as_slice(), [(command, why)] if refused(command) && *why == refusal.to_string()),
            "{told:?}"
        );
    }
}

/// `snapshot` as seen by an account that may not read nodes.
fn without_nodes(mut snapshot: Snapshot) -> Snapshot {
    let nodes = snapshot.watches.iter_mut().find(|view| view.watched == Watched::Nodes).unwrap();
    nodes.health = WatchHealth::Forbidden { why: "cannot list resource \"nodes\"".into() };
    snapshot
}

/// Nothing would be updated: neither is the image written, nor is a step that nobody may do a success.
#[tokio::test]
async fn a_drive_that_may_not_read_nodes_is_refused() {
    let script = Script::of(without_nodes(script::held_by_nobody()));
    for line in ["drive ds/agent --image agent=registry.example/agent:v2.0.0 --to 2 --until held", "drive ds/agent"] {
        let output = script.run(line).await;
        assert_eq!((output.code, script.requests().len()), (6, 0), "{line}: {}{}", output.text, output.error);
        let why = "not driven, no node would be updated: nodes are forbidden: cannot list resource \"nodes\"";
        assert!(output.error.contains(why), "{}", output.error);
    }
    // The right is taken away while it drives.
    let mut held = without_nodes(script::driving());
    held.phase = Phase::Held;
    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(held);
    let output = script.run("drive ds/agent --until held").await;
    assert_eq!(output.code, 6, "{}{}", output.text, output.error);
    assert!(output.error.contains("driving ends, as no node can be updated: nodes are forbidden"), "{}", output.error);
}

/// Limits would be in force, and nothing would follow.
#[tokio::test]
async fn a_drive_that_would_end_at_once_writes_no_limits_first() {
    let halted = Snapshot { phase: Phase::Halted, ..script::held_by_nobody() };
    let script = Script::of(halted.clone());
    let output = script.run("drive ds/agent --max-unavailable 3").await;
    assert_eq!((output.code, script.requests().len()), (4, 0), "{}", output.text);
    assert!(output.error.starts_with("Error: not driven"), "{}", output.error);
    let script = Script::of(halted);
    script.run("drive ds/agent --image agent=registry.example/agent:v2.0.0").await;
    assert!(
        matches!(script.requests().first().map(Command::inner), Some(Command::SetImage(_))),
        "another image lifts the halt"
    );
}

/// An operator resumed past the failures of a step. None of its nodes has the new revision all the same, and a script goes on after 0.
#[tokio::test(start_paused = true)]
async fn a_step_of_which_every_node_failed_is_not_done_though_that_was_accepted() {
    for (updated, code) in [(0, 3), (1, 0)] {
        let mut held = script::driving();
        held.phase = Phase::Held;
        held.plan.allowed = 2;
        (held.counts.committed, held.counts.updated) = (2, updated);
        let mut failed = script::cause(script::node("ipc-017", NodeState::Failed));
        (failed.at_target, failed.accepted, failed.committed) = (true, true, true);
        held.nodes = vec![failed].into();
        let script = Script::of(script::held_by_nobody()).then(held);
        let output = script.run("drive ds/agent --until held").await;
        assert_eq!(output.code, code, "{}", output.error);
        assert_eq!(output.error.contains("no node of its step was updated"), code == 3, "{}", output.error);
    }
}

/// When it halts, others may have the same trouble, and count as failed a moment later.
#[tokio::test]
async fn all_nodes_that_failed_are_named_and_those_in_trouble() {
    let name = |nth: usize| Str::from(format!("ipc-{nth:03}"));
    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    let halt = Halt::new(1, HaltingGate::default(), at(0), "image not found on 1 node".into());
    halted.halt = Some(halt.on(vec![name(17)]));
    let mut nodes = vec![script::cause(script::node("ipc-017", NodeState::Failed))];
    nodes.push(script::cause(script::node("ipc-018", NodeState::Failed)));
    nodes.push(script::cause(script::node("ipc-019", NodeState::PullFailed)));
    halted.nodes = nodes.clone().into();
    let output = Script::of(script::held_by_nobody()).then(halted.clone()).run("drive ds/agent").await;
    assert!(output.error.contains("failed on ipc-017 ipc-018, in trouble on ipc-019: "), "{}", output.error);
    nodes.extend((20..30).map(|nth| script::cause(script::node(&name(nth), NodeState::Failed))));
    halted.nodes = nodes.into();
    let output = Script::of(script::held_by_nobody()).then(halted).run("drive ds/agent").await;
    let named = (20..26).map(|nth| format!(" ipc-{nth:03}")).collect::<String>();
    let said = format!("failed on ipc-017 ipc-018{named} and 4 more, in trouble on ipc-019: ");
    assert!(output.error.contains(&said), "{}", output.error);
}

#[tokio::test(start_paused = true)]
async fn a_drive_that_runs_out_of_time_stands_down() {
    let script = Script::of(script::held_by_nobody()).then(script::driving());
    let output = script.run("drive ds/agent --timeout 5m").await;
    let why = "its --timeout of 300s had passed".to_owned();
    assert_eq!((output.code, script.requests().last()), (3, Some(&Command::GiveUpDriving { why })));
    let last = "Hint: this process starts nothing more; the same command carries on\n\
                Hint: rolldeck drive --context prod-eu -n edge ds/agent   (drives it on)";
    assert!(output.error.ends_with(last), "{}", output.error);
    // Nobody drives from then on, so that it is held.
    assert!(output.error.starts_with("Error: not finished after 300 s: it was "), "{}", output.error);
}

/// As where its right to renew it was taken away.
#[tokio::test(start_paused = true)]
async fn a_drive_says_that_its_lease_ran_out_and_that_it_drives_again() {
    let driver = |lapsed| DriverView::You { renewed_at: script::driving().at, lapsed };
    let drives = |lapsed| Snapshot { driver: driver(lapsed), ..script::driving() };
    let script = Script::of(script::held_by_nobody()).then(drives(false)).then(drives(true)).then(drives(false));
    let output = script.run("drive ds/agent --timeout 5s").await;
    let said: Vec<&str> = output.text.lines().filter(|line| line.contains("you dr")).collect();
    let [.., lapsed, again] = &said[..] else { panic!("{}", output.text) };
    assert!(lapsed.ends_with("you drove: the lease ran out") && again.ends_with("you drive"), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_drive_whose_daemonset_goes_tells_nothing_of_it_but_that() {
    let gone =
        Snapshot { daemonset: Presence::Absent, phase: Phase::Idle, started_at: None, ..script::held_by_nobody() };
    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(gone);
    let output = script.run("drive ds/agent").await;
    assert_eq!(output.code, 5, "{}", output.error);
    assert!(output.error.contains("was deleted"), "{}", output.error);
    assert!(!output.text.contains("idle"), "{}", output.text);
}

/// Somebody deletes the Lease: it is over. With a namespace that is deleted the Lease may go before the DaemonSet: then it is over with that.
#[tokio::test(start_paused = true)]
async fn a_drive_whose_lease_is_deleted_ends_with_what_was_deleted() {
    let event = RolloutEvent {
        at: script::driving().at,
        by: None,
        kind: RolloutEventKind::RecordDeleted,
        outcome: EventOutcome::Done,
        command: None,
        said: None,
        visibility: Visibility::Cluster,
        revision: None,
    };
    let without = || Snapshot {
        driver: DriverView::Nobody,
        started_at: None,
        timeline: vec![event.clone()].into(),
        ..script::held_by_nobody()
    };
    let script = || Script::of(script::held_by_nobody()).then(script::driving()).then(without());
    let began = Instant::now();
    let output = script().run("drive ds/agent").await;
    assert_eq!(output.code, 1, "{}", output.error);
    assert!(output.error.contains("the Lease of the rollout was deleted"), "{}", output.error);
    assert!(began.elapsed() >= Duration::from_secs(10), "the DaemonSet may still go: {:?}", began.elapsed());
    let going = Snapshot { alarms: vec![Alarm::BeingDeleted], ..without() };
    let gone = Snapshot { daemonset: Presence::Absent, phase: Phase::Idle, ..without() };
    for script in [script().then(gone.clone()), script().then(going).then(gone)] {
        let output = script.run("drive ds/agent").await;
        assert_eq!(output.code, 5, "{}", output.error);
    }
}

/// The Lease is there, and its record is not, or cannot be read: there is nothing to wait for.
#[tokio::test(start_paused = true)]
async fn a_drive_whose_record_is_lost_ends_at_once_with_what_helps() {
    let why = || "annotation: key must be a string".into();
    let lost = [
        (RolloutEventKind::RecordRemoved, "was taken off its Lease", Alarm::RecordMissing),
        (
            RolloutEventKind::RecordUnreadable { why: why() },
            "cannot be read any more",
            Alarm::RecordUnreadable { why: why() },
        ),
    ];
    for (kind, said, alarm) in lost {
        let event = RolloutEvent {
            at: script::driving().at,
            by: None,
            kind,
            outcome: EventOutcome::Done,
            command: None,
            said: None,
            visibility: Visibility::Cluster,
            revision: None,
        };
        let without = Snapshot {
            driver: DriverView::Nobody,
            started_at: None,
            timeline: vec![event].into(),
            alarms: vec![alarm],
            ..script::held_by_nobody()
        };
        let began = Instant::now();
        let output =
            Script::of(script::held_by_nobody()).then(script::driving()).then(without).run("drive ds/agent").await;
        assert_eq!(output.code, 1, "{}", output.error);
        assert!(output.error.contains(said) && output.error.contains(ADOPT), "{}", output.error);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}

/// A lease that is not given back is not waited for.
#[tokio::test(start_paused = true)]
async fn a_drive_is_refused_at_once_where_the_record_cannot_be_read() {
    let alarms = vec![Alarm::RecordUnreadable { why: "annotation: key must be a string".into() }];
    let driver = DriverView::Unconfirmed { holder: "bob@bastion/1".into(), renewed_at: None };
    let script = Script::of(Snapshot { alarms, driver, ..script::held_by_nobody() });
    let output = script.run("drive ds/agent").await;
    assert_eq!(output.code, 6, "{}", output.error);
    assert!(output.error.contains(&format!("Hint: {ADOPT} begins a record anew")), "{}", output.error);
}

const ADOPT: &str = "`rolldeck adopt --context prod-eu -n edge ds/agent`";

/// What a process that drove asks for at its end.
fn ended(why: &str) -> Command {
    Command::EndDriving { why: why.to_owned() }
}
