//! One-shot commands: what is shown, asked and done.

use super::script;
use super::script::{Script, at, rollout};
use crate::cli::args::{CliCommand, OnCluster, OutputFormat};
use crate::cli::one_shot;
use crate::cli::output::Charset;
use crate::cli::output::tests::Kept;
use crate::driver::CommandError;
use crate::engine::model::command::{Command, Refusal, Step};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::labels::{Labels, Selector};
use crate::engine::model::record::{Halt, HaltingGate, OURSELVES, Paused};
use crate::engine::model::step_ahead::{NoStep, SelectionDone};
use crate::engine::report::snapshot::{Alarm, NodeView, Phase, Snapshot};
use crate::process::signals::EndSignal;
use insta::assert_snapshot;

#[tokio::test]
async fn what_else_manages_it_is_said_before_anything_is_adopted() {
    let script = Script::of(script::under_argo_cd()).previews(Danger::Bounded);
    assert_snapshot!(script.run("status ds/agent").await.text, @r#"
    edge/agent on prod-eu: idle, 120 of 120 available
      change   v1.9.0, rev 15
      driver   its controller drives
      budget   down 0 of 12, pull slots 12 by default once a rollout begins
      managed  by Argo CD (application edge-agents), which sets template and update strategy back at its next sync, within seconds where it heals itself
               to suspend it: argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true)
      view     live
    "#);
    assert_snapshot!(script.run("adopt ds/agent --dry-run").await.text, @r#"
    Adopt
      12 nodes may be updated, at most 2 down at a time.
      nodes: ipc-001 ipc-002 ipc-003 ipc-004 ipc-005 ipc-006 ipc-007 ipc-008 … and 4 more
      WARNING: Argo CD (application edge-agents) sets template and update strategy back at its next sync, within seconds where it heals itself. To suspend it: argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true).
      API: PATCH leases/rolldeck-agent (intent)
    Nothing was changed (--dry-run).
    "#);
    let status: serde_json::Value = serde_json::from_str(&script.run("status ds/agent -o json").await.text).unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&status["managedBy"]).unwrap(), @r#"
    [
      {
        "application": "edge-agents",
        "evidence": [
          "annotation argocd.argoproj.io/tracking-id",
          "field manager argocd-controller"
        ],
        "expects": "sets template and update strategy back at its next sync, within seconds where it heals itself",
        "reverts": "byItself",
        "suspendHint": "argocd app set edge-agents --sync-policy none (or ignoreDifferences on /spec/template and /spec/updateStrategy with RespectIgnoreDifferences=true)",
        "tool": "Argo CD"
      }
    ]
    "#);
    let one_shot: serde_json::Value =
        serde_json::from_str(&script.run("adopt ds/agent --dry-run -o json").await.text).unwrap();
    assert_eq!(one_shot["preview"]["warnings"][0], script::argo_cd().warning());
}

/// Whoever reads that the disk is full would give the command again.
#[tokio::test]
async fn where_the_answer_cannot_be_written_it_is_said_that_the_command_was_carried_out() {
    let step = "step ds/agent --to 60 -y -o json";
    let script = Script::of(rollout()).on_a_full_disk();
    let output = script.run(step).await;
    assert_eq!((output.code, script.requests().len()), (1, 1));
    let said = "Error: writing the answer: no storage space; the command itself was carried out: ";
    assert!(output.error.starts_with(said), "{}", output.error);
    let output = script.run("step ds/agent --to 60 -o json --dry-run").await;
    assert_eq!(output.error, "Error: writing the answer: no storage space");
}

#[tokio::test]
async fn a_write_is_shown_made_and_followed_by_advice() {
    let mut held = rollout();
    held.phase = Phase::Held;
    held.driver = DriverView::Nobody;
    let script = Script::of(held).previews(Danger::Bounded);
    let output = script.run("step ds/agent --to 10%").await;
    assert_eq!(output.code, 0);
    assert_eq!(script.requests(), [Command::Step(Step::Updated("10%".parse().unwrap()))]);
    assert_snapshot!(output.text, @r#"
    Step
      12 nodes may be updated, at most 2 down at a time.
      nodes: ipc-001 ipc-002 ipc-003 ipc-004 ipc-005 ipc-006 ipc-007 ipc-008 … and 4 more
      API: PATCH leases/rolldeck-agent (intent)
    settled: Step
    nobody drives; held: 38 of 60 nodes that may be updated are updated, 1 failed.
    next: rolldeck step --context prod-eu -n edge ds/agent   (lets 60 nodes go, 120 in total)
    next: rolldeck undo --context prod-eu -n edge ds/agent   (rolls back to revision 14)
    next: rolldeck drive --context prod-eu -n edge ds/agent   (drives it)
    "#);
}

/// A script that was interrupted must not keep others from driving, and has to learn how it ended.
#[tokio::test]
async fn a_signal_ends_a_command_that_waits_and_gives_its_lease_back() {
    let shows = |driver: DriverView, asked: Option<&str>| Snapshot {
        driver,
        requested_change: asked.map(Into::into),
        phase: Phase::Held,
        ..rollout()
    };
    let ours = DriverView::You { renewed_at: at(0), lapsed: false };
    for (driver, ends) in [(ours, true), (DriverView::Nobody, false)] {
        for (signal, code, name) in [(EndSignal::Interrupt, 130, "SIGINT"), (EndSignal::Terminate, 143, "SIGTERM")] {
            let script = Script::of(shows(DriverView::Nobody, None))
                .then(shows(driver.clone(), Some("a new image")))
                .then(shows(DriverView::Nobody, Some("a new image")))
                .never_settles();
            let cli = crate::cli::parse(["rolldeck", "undo", "ds/agent", "--yes"].map(Into::into)).unwrap().typed();
            let Some(CliCommand::OnCluster(OnCluster::OneShot(one_shot))) = cli.command else { panic!() };
            let (_, how, command) = one_shot.into_parts();
            let asked = || !script.requests().is_empty();
            let signalled = async {
                while !asked() {
                    tokio::task::yield_now().await;
                }
                signal
            };
            let mut output = Kept::default().output(OutputFormat::Text, Charset::Unicode);
            let place = ("edge", "agent");
            let end = one_shot::run_until(signalled, &script, place, command, &how, &mut output).await;
            assert_eq!(end.unwrap().code(), code);
            let last = script.requests().pop().unwrap();
            let why = format!("ended by {name}");
            assert_eq!(last == Command::EndDriving { why }, ends, "{last:?}");
        }
    }
}

#[tokio::test]
async fn a_dry_run_asks_for_nothing() {
    let script = Script::of(rollout()).previews(Danger::Serious);
    let output = script.run("undo ds/agent --dry-run").await;
    assert_eq!((output.code, script.requests().len()), (0, 0));
    assert!(output.text.ends_with("Nothing was changed (--dry-run).\n"), "{}", output.text);
}

#[tokio::test]
async fn what_can_break_more_than_the_budget_is_not_done_unasked() {
    let script = Script::of(rollout()).previews(Danger::ExceedsBudget);
    let output = script.run("release ds/agent --early").await;
    assert_eq!((output.code, script.requests().len()), (6, 0));
    assert_snapshot!(output.error, @r#"
    Error: this can take down more nodes than the budget allows, and nobody can be asked (no terminal); nothing was changed
    Hint: `rolldeck release ds/agent --early --yes` confirms it
    "#);
    assert_eq!(script.run("release ds/agent --early --yes").await.code, 0);
    assert_eq!(script.requests().len(), 1);
}

/// `drive --image` as well, which shows nothing where it cannot ask.
#[tokio::test]
async fn a_pause_by_a_person_is_not_lifted_unasked() {
    let paused = || Paused::new("bob@bastion".into(), at(420), Some("the link is down".into()));
    let script = || {
        let snapshot = Snapshot { phase: Phase::Paused(paused()), driver: DriverView::Nobody, ..rollout() };
        Script::of(snapshot).previews(Danger::Serious).lifts(paused())
    };
    for line in [
        "set-image ds/agent agent=r.example/agent:v3",
        "undo ds/agent",
        "drive ds/agent --image agent=r.example/agent:v3",
    ] {
        let script = script();
        let output = script.run(line).await;
        assert_eq!((output.code, script.requests().len()), (6, 0), "{line}: {}", output.error);
        let why = "this lifts the pause by bob@bastion 3m ago (the link is down), and nobody can be asked (no terminal); nothing was changed";
        let confirms = format!("\nHint: `rolldeck {line} --yes` confirms it");
        let resume = "\nHint: `rolldeck resume --context prod-eu -n edge ds/agent` lifts the pause: the rollout goes on as it is";
        assert!(output.error.contains(why), "{line}: {}", output.error);
        assert!(output.error.contains(&confirms), "{line}: {}", output.error);
        // Whoever wants to go back is not led forward.
        let forward = !line.starts_with("undo");
        assert_eq!(output.error.contains(resume), forward, "{line}: {}", output.error);
        assert_eq!(output.error.contains("rolldeck resume"), forward, "{line}: {}", output.error);
        assert!(script.refused().iter().any(|(_, refused)| refused == why), "{line}: it is recorded");
    }
    // Where nothing is rolled out, nothing goes on.
    let adopted =
        Snapshot { phase: Phase::Paused(paused()), driver: DriverView::Nobody, started_at: None, ..rollout() };
    let at_rest = Script::of(adopted).previews(Danger::Serious).lifts(paused());
    let said = at_rest.run("set-image ds/agent agent=r.example/agent:v3").await.error;
    assert!(said.trim_end().ends_with("lifts the pause"), "{said}");
    let early = script().previews(Danger::ExceedsBudget).run("release ds/agent --early").await;
    let why = "this lifts the pause by bob@bastion 3m ago (the link is down) and can take down more nodes than the budget allows, and nobody can be asked \
               (no terminal); nothing was changed";
    assert!(early.code == 6 && early.error.contains(why), "{}", early.error);
    let output = script().run("set-image ds/agent agent=r.example/agent:v3 --yes").await;
    assert_eq!(output.code, 0, "{}", output.error);
    let output = script().run("set-image ds/agent agent=r.example/agent:v3 --dry-run -o json").await;
    let json: serde_json::Value = serde_json::from_str(&output.text).unwrap();
    assert_eq!((output.code, &json["preview"]["liftsPause"]["by"]), (0, &"bob@bastion".into()), "{json}");
}

#[tokio::test]
async fn what_is_offered_next_moves_something() {
    let selector: Selector = "canary=true".parse().unwrap();
    let mut done = rollout();
    done.phase = Phase::Held;
    done.plan.selector = Some(selector.clone());
    let none = SelectionDone { selector, selected: 3, updated: 3, moving: 0, in_line: 0, lifting_frees: 57 };
    done.plan.next = Some(Err(NoStep::SelectionDone(none)));
    done.counts.failed = 0;
    let output = Script::of(done.clone()).run("status ds/agent").await.text;
    assert!(output.contains("  waits    canary done, 3 of 3 (canary=true)\n"), "{output}");
    let next: Vec<&str> = output.lines().filter(|line| line.trim_start().starts_with("next ")).collect();
    let lift = "  next     rolldeck select --clear --context prod-eu -n edge ds/agent   (lifts the selector, which frees 57 nodes)";
    assert_eq!(next, [lift], "{output}");
    let output = Script::of(done).previews(Danger::None).run("step ds/agent --to 3").await.text;
    let says = "canary done, 3 of 3 (canary=true).\nops@bastion-2/4711 drives and carries it out.\n\
                next: rolldeck select --clear --context prod-eu -n edge ds/agent   (lifts the selector, which frees 57 nodes)\n";
    assert!(output.ends_with(says), "{output}");
}

#[tokio::test]
async fn a_selector_that_matches_no_node_is_not_set_unasked() {
    let script = Script::of(rollout()).previews(Danger::Serious);
    let output = script.run("select ds/agent canry=true").await;
    assert_eq!((output.code, script.requests().len()), (6, 0));
    assert_snapshot!(output.error, @r#"
    Error: no node matches canry=true: while it stands no node is updated, and nobody can be asked (no terminal); nothing was changed
    Hint: `rolldeck select ds/agent canry=true --yes` confirms it
    "#);
    // A value that is not there is told with those that are; the line that sets it all the same stands below.
    let labels: Labels = [("canary", "true")].into_iter().collect();
    let nodes =
        rollout().nodes.iter().map(|node| NodeView { labels: labels.clone(), ..NodeView::clone(node) }).collect();
    let script = Script::of(Snapshot { nodes, driver: DriverView::Nobody, ..rollout() }).previews(Danger::Serious);
    for line in ["select ds/agent canary=nope", "drive ds/agent --selector canary=nope"] {
        let error = script.run(line).await.error;
        let hints = format!(
            "Hint: no node has canary=nope: the value of that label is true\nHint: `rolldeck {line} --yes` confirms it"
        );
        assert!(error.contains(&hints), "{line}: {error}");
    }
    assert_eq!(script.run("select ds/agent canry=true --yes").await.code, 0);
    assert_eq!(script.requests().len(), 1);
}

/// A script that runs `undo` once too often does not bring back what the fleet left long ago.
#[tokio::test]
async fn a_roll_back_that_ends_no_rollout_is_not_begun_unasked() {
    let idle = Snapshot { phase: Phase::Idle, started_at: None, ..rollout() };
    let script = Script::of(idle).previews(Danger::Serious);
    let output = script.run("undo ds/agent").await;
    assert_eq!((output.code, script.requests().len()), (6, 0), "{}", output.error);
    assert!(output.error.contains("no rollout is under way that this would end"), "{}", output.error);
    let hints = "\nHint: `rolldeck undo ds/agent --yes` confirms it\nHint: `--to-revision NUMBER` says to which revision it goes";
    assert!(output.error.contains(hints), "{}", output.error);
    for (nth, line) in ["undo ds/agent --yes", "undo ds/agent --to-revision 14"].iter().enumerate() {
        assert_eq!((script.run(line).await.code, script.requests().len()), (0, nth + 1), "{line}");
    }
    let script = Script::of(rollout()).previews(Danger::Serious);
    assert_eq!(script.run("undo ds/agent").await.code, 0, "of a rollout that is under way it is an emergency measure");
}

#[tokio::test]
async fn going_on_past_a_halt_is_not_done_unasked() {
    let mut halted = rollout();
    halted.phase = Phase::Halted;
    halted.halt = Some(
        Halt::new(1, HaltingGate::default(), at(0), "image not found on 1 node".into()).on(vec!["ipc-017".into()]),
    );
    let script = Script::of(halted).previews(Danger::Serious);
    let output = script.run("resume ds/agent").await;
    assert_eq!((output.code, script.requests().len()), (6, 0));
    assert_snapshot!(output.error, @r#"
    Error: this goes on past the halt (image not found on 1 node), and the 2 nodes that have failed by now do not halt it again; nobody can be asked (no terminal); nothing was changed
    Hint: `rolldeck resume ds/agent --yes` confirms it
    "#);
    assert_eq!(script.run("resume ds/agent --yes").await.code, 0);
    assert_eq!(script.requests(), [Command::Resume]);
}

#[tokio::test]
async fn a_refusal_says_that_nothing_happened() {
    let script = Script::of(rollout()).refuses(Refusal::DrivenBy { holder: "ops@bastion-2/7".into() });
    let output = script.run("set-image ds/agent agent=registry.example/agent:v3").await;
    assert_eq!(output.code, 7);
    assert_snapshot!(output.error, @r#"
    Error: ops@bastion-2/7 drives this rollout; take over first
    Hint: `rolldeck drive --take-over --context prod-eu -n edge ds/agent` asks them to hand over, and takes the lease once it has run out
    "#);
}

/// What the changes told is not told again as the error: only what came to nothing.
#[tokio::test]
async fn a_refusal_that_was_told_is_not_printed_twice() {
    let why = "set image agent=r.example/agent:v3 was refused: denied by policy; nothing was changed: change the policy, then ask again";
    let mut held = rollout();
    held.phase = Phase::Held;
    held.driver = DriverView::Nobody;
    let script = Script::of(held.clone()).fails(CommandError::NotAdmitted(why.to_owned()));
    let mut refused = held.clone();
    refused.phase = Phase::Paused(Paused::new(OURSELVES.into(), at(0), Some(why.into())));
    let script = script.then(refused);
    let output = script.run("drive ds/agent --image agent=r.example/agent:v3 --yes").await;
    assert_eq!(output.code, 6);
    assert!(output.text.contains(why), "{}", output.text);
    assert_snapshot!(output.error, @"Error: set image agent=r.example/agent:v3 was refused, and the rollout is paused");
    // Where it was not told, the error says it all.
    let script = Script::of(held).fails(CommandError::NotAdmitted(why.to_owned()));
    let output = script.run("drive ds/agent --image agent=r.example/agent:v3 --yes").await;
    assert_eq!((output.code, output.error), (6, format!("Error: {why}")));
}

/// What was to stop a driver could not be written: it goes on, and is stopped by a signal all the same.
#[tokio::test(start_paused = true)]
async fn a_pause_that_may_not_be_written_says_how_the_driver_is_stopped() {
    let why = "update lease rolldeck-agent: denied the request: no leases today";
    for (driver, hinted) in [
        (DriverView::Other { holder: "ops@bastion/1".into(), renewal_observed_at: at(0) }, true),
        (DriverView::Nobody, false),
    ] {
        let script = Script::of(Snapshot { driver, ..rollout() }).fails(CommandError::NotAdmitted(why.to_owned()));
        let output = script.run("pause ds/agent").await;
        assert_eq!(output.code, 6);
        assert!(output.error.starts_with(&format!("Error: {why}")), "{}", output.error);
        assert_eq!(output.error.contains("ops@bastion/1 may go on: an interrupt of that process"), hinted);
    }
}

/// All errors begin alike, those of a command line that makes no sense, too.
#[test]
fn errors_begin_with_one_word() {
    let refused = crate::cli::parse(["rolldeck", "set-image", "ds/agent", "agent=Not:An:Image"].map(Into::into));
    let said = crate::cli::usage_error(&refused.err().unwrap());
    assert!(said.starts_with("Error: invalid value"), "{said}");
}

#[test]
fn a_container_that_is_named_twice_is_refused() {
    for line in [
        "set-image ds/agent agent=r.example/agent:v2 agent=r.example/agent:v3",
        "drive ds/agent --image agent=r.example/agent:v2 --image agent=r.example/agent:v3",
        "prewarm ds/agent --image agent=r.example/agent:v2 --image agent=r.example/agent:v3",
    ] {
        let refused = crate::cli::parse(["rolldeck"].into_iter().chain(line.split(' ')).map(Into::into));
        let Err(said) = refused else { panic!("{line}") };
        let said = said.to_string();
        let twice = "container `agent` is named twice: agent=r.example/agent:v2 and agent=r.example/agent:v3";
        assert!(said.contains(twice), "{said}");
    }
}

/// The log names what was refused when it was given, by whomever, and not what was only tried dry.
#[tokio::test]
async fn what_is_refused_before_it_is_given_is_recorded_but_for_dry_runs() {
    let refuses = |line: &'static str, script: Script| async move {
        let code = script.run(line).await.code;
        let refused = script.refused();
        assert!(code != 0 && refused.len() < 2, "{line}: {code}, {refused:?}");
        refused.into_iter().next().map(|(_, why)| why)
    };
    // Nobody can be asked.
    let early = || Script::of(rollout()).previews(Danger::ExceedsBudget);
    let why = refuses("release ds/agent --early", early()).await.unwrap();
    assert!(why.contains("nobody can be asked"), "{why}");
    let why = refuses("select ds/agent nope=nope", Script::of(rollout())).await.unwrap();
    assert!(why.contains("no node matches nope=nope"), "{why}");
    // The engine refuses it.
    let engine = || Script::of(rollout()).refuses(Refusal::NotNow("it is paused".to_owned()));
    assert_eq!(refuses("step ds/agent --to 10%", engine()).await.as_deref(), Some("it is paused"));
    assert_eq!(refuses("step ds/agent --to 10% --dry-run", engine()).await, None);
    // Somebody else drives.
    let holder = DriverView::Other { holder: "ada@bastion".into(), renewal_observed_at: at(0) };
    let driven = Script::of(Snapshot { driver: holder, ..rollout() });
    assert_eq!(refuses("drive ds/agent", driven).await.as_deref(), Some("ada@bastion drives this rollout"));
}

/// A program reads the refusal where it reads the answer, and a shell the exit code.
#[tokio::test]
async fn what_failed_is_an_object_of_json_as_well() {
    let refusal = || Refusal::NotNow("it is halted".to_owned());
    let output = Script::of(rollout()).refuses(refusal()).run("step ds/agent --to 60 -o json").await;
    let json: serde_json::Value = serde_json::from_str(&output.text).unwrap();
    let want = serde_json::json!({
        "apiVersion": json["apiVersion"], "kind": "Error", "reason": "refused", "message": "it is halted", "exitCode": 6,
    });
    assert_eq!((output.code, &json), (6, &want));
    assert_eq!(output.error, "Error: it is halted", "standard error keeps it");
    let output = Script::of(rollout()).refuses(refusal()).run("step ds/agent --to 60").await;
    assert_eq!(output.text, "");
    // A stream ends with it.
    let mut halted = script::driving();
    halted.phase = Phase::Halted;
    halted.halt = Some(Halt::new(1, HaltingGate::default(), at(0), "image not found on 1 node".into()));
    let script = Script::of(script::held_by_nobody()).then(script::driving()).then(halted);
    let output = script.run("drive ds/agent -o json").await;
    let last: serde_json::Value = serde_json::from_str(output.text.lines().last().unwrap()).unwrap();
    assert_eq!((&last["kind"], &last["reason"], &last["exitCode"]), (&"Error".into(), &"halted".into(), &4.into()));
    let hint = last["hints"][0].as_str().unwrap();
    assert!(hint.contains("goes on past it (asks first, without a terminal it needs --yes)"), "{hint}");
}

/// The next commands are those of `status -o json`.
#[tokio::test]
async fn what_comes_next_after_a_command_is_written_as_status_writes_it() {
    let held = Snapshot { phase: Phase::Held, driver: DriverView::Nobody, ..rollout() };
    let json = |line: &'static str| {
        let held = held.clone();
        async move {
            let output = Script::of(held).previews(Danger::Bounded).run(line).await;
            serde_json::from_str::<serde_json::Value>(&output.text).unwrap()
        }
    };
    let (result, status) = (json("step ds/agent --to 10% -o json").await, json("status ds/agent -o json").await);
    assert_eq!(result["next"], status["next"]);
    assert_eq!((&result["next"][0]["remedy"], &result["changed"]), (&"step".into(), &true.into()));
    let said = result["advice"][0].as_str().unwrap();
    assert!(said.starts_with("nobody drives; held: "), "{result}");
    assert_eq!(json("step ds/agent --to 10% -o json --dry-run").await["changed"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_value_that_no_rollout_can_have_is_not_valid() {
    for flag in ["--max-unavailable=0", "--progress-deadline=0s"] {
        let line = ["rolldeck", "tune", "ds/agent", flag].map(std::ffi::OsString::from);
        assert_eq!(crate::cli::parse(line).unwrap_err().exit_code(), 2, "{flag}");
    }
}

/// A script reads no preview, and would go where the rollout halted before.
#[tokio::test]
async fn nobody_goes_back_unasked_to_where_the_rollout_halted() {
    let halted = "The rollout halted at revision 3, at 12:00Z: image not found on 1 node.";
    let script = || Script::of(rollout()).previews(Danger::Serious).halted_before(halted);
    let output = script().run("undo ds/agent --to-revision 3").await;
    assert_eq!(output.code, 6);
    assert!(
        output
            .error
            .starts_with("Error: The rollout halted at revision 3, at 12:00Z: image not found on 1 node, and nobody")
    );
    assert_eq!(script().run("undo ds/agent --to-revision 3 --yes").await.code, 0);
}

/// The one answer of a command is indented, whether it is done or refused. Behind the lines of a command that prints lines, the error is a line.
#[tokio::test]
async fn a_refusal_is_printed_as_the_answer_would_be() {
    let refused = Script::of(rollout()).refuses(Refusal::NotNow("not now".into()));
    let came = refused.run("step ds/agent --yes -o json").await;
    assert!(came.text.starts_with("{\n  \"apiVersion\""), "{}", came.text);
    let came = refused.run("drive ds/agent --to 10% --yes -o json").await;
    let last = came.text.lines().last().unwrap_or_default();
    assert!(last.starts_with("{\"apiVersion\"") && last.contains("\"kind\":\"Error\""), "{}", came.text);
}

fn restored(snapshot: Snapshot) -> Snapshot {
    Snapshot { alarms: vec![Alarm::StateRestored { at: at(590) }], ..snapshot }
}

/// What a person agreed to was another cluster: whatever is written then may undo what they did since the backup.
#[tokio::test]
async fn a_command_that_was_previewed_before_the_cluster_went_back_is_not_carried_out() {
    let script = Script::of(script::held_by_nobody()).then(restored(script::held_by_nobody())).moves_on_preview();
    let output = script.run("step ds/agent --to 3 --yes").await;
    assert_eq!(output.code, 1, "{}{}", output.text, output.error);
    assert!(output.error.contains("the state of the cluster went back to an earlier one"), "{}", output.error);
    assert!(output.error.contains("nothing was changed") && script.requests().is_empty(), "{:?}", script.requests());
    // Where it was seen before, the preview is of the cluster as it is.
    let script = Script::of(restored(script::held_by_nobody())).then(script::held_by_nobody());
    let output = script.run("step ds/agent --to 3 --yes").await;
    assert_eq!((output.code, script.requests().len()), (0, 1), "{}", output.error);
}

/// A misspelt theme is an error, also where no console is opened.
#[test]
fn a_theme_that_was_typed_is_known_before_anything_is_opened() {
    let theme = |line: &str| {
        let words = std::iter::once("rolldeck").chain(line.split(' ')).map(std::ffi::OsString::from);
        crate::cli::parse(words).unwrap().typed_style().and_then(|style| style.theme)
    };
    assert_eq!(theme("--plain --theme drak").as_deref(), Some("drak"));
    assert_eq!(theme("ds/agent -o json --theme dark").as_deref(), Some("dark"));
    assert_eq!(theme("--plain ds/agent"), None);
}
