//! The command line as a script uses it: the real program, run against a practice cluster that another process serves.
//!
//! ```text
//! rolldeck demo --serve ──HTTP── rolldeck set-image, step, drive, pause, …   one process each
//! ```

use std::process::Stdio;
use std::time::Duration;

use crate::support::practice::Practice;
use crate::support::program::text;
use rustix::process::Signal;

const DS: &str = "ds/agent";
const V2: &str = "agent=registry.example/agent:v2";

#[test]
fn a_rollout_is_carried_out_by_commands_alone() {
    let practice = Practice::start();
    assert_eq!(practice.run(&["status", DS]).status.code(), Some(0), "at first there is nothing to do");

    let output = practice.ok(&["set-image", DS, V2, "--yes"]);
    assert!(output.contains("no pod is replaced before the first step"), "{output}");
    let held = practice.run(&["status", DS]);
    assert_eq!(held.status.code(), Some(3), "{}", text(&held));
    assert!(practice.status(DS).at_target().is_empty());
    assert_eq!(practice.json(&["history", DS, "-o", "json"])["revisions"].as_array().unwrap().len(), 2);

    let output = practice.ok(&["step", DS, "--to", "2"]);
    assert!(
        output.contains("rolldeck drive --context rolldeck-demo -n edge ds/agent"),
        "the next thing to do is named: {output}"
    );
    practice.ok(&["drive", DS, "--until", "held", "--timeout", "60s"]);
    assert_eq!(practice.status(DS).at_target().len(), 2);
    assert_eq!(practice.run(&["status", DS]).status.code(), Some(3));

    practice.ok(&["select", DS, "canary=true"]);
    practice.ok(&["drive", DS, "--to", "100%", "--until", "held", "--timeout", "60s"]);
    let updated = practice.status(DS).at_target();
    for canary in practice.status(DS).nodes(|node| node["selected"] == true) {
        assert!(updated.contains(&canary), "{canary} is a canary: {updated:?}");
    }
    assert!((3..=5).contains(&updated.len()), "the canaries, and what was updated before: {updated:?}");

    practice.ok(&["select", DS, "--clear"]);
    let output = practice.ok(&["drive", DS, "--max-unavailable", "5", "--timeout", "120s"]);
    assert!(output.contains("you drive"), "{output}");
    let status = practice.status(DS).0;
    assert_eq!((&status["counts"]["updated"], &status["adopted"]), (&20.into(), &false.into()), "{status}");
    assert_eq!(status["strategy"], "RollingUpdate", "handed back as it was");
    assert_eq!(practice.run(&["status", DS]).status.code(), Some(0));
}

#[test]
fn undo_replaces_only_pods_of_the_new_revision() {
    let practice = Practice::start();
    practice.ok(&["drive", DS, "--image", V2, "--to", "3", "--until", "held", "--yes", "--timeout", "60s"]);
    let before = practice.status(DS);
    let stayed = before.nodes(|node| node["atTarget"] == false);
    assert_eq!(stayed.len(), 17);
    practice.ok(&["undo", DS, "--yes"]);
    practice.ok(&["drive", DS, "--timeout", "60s"]);
    let after = practice.status(DS);
    for name in stayed {
        assert_eq!(before.pod(&name), after.pod(&name), "{name} never left the old revision, its pod stays");
    }
    assert_eq!(after.0["counts"]["updated"], 20);
}

#[test]
fn a_halted_rollout_has_its_own_exit_code_and_says_where() {
    let practice = Practice::start();
    let image = "agent=registry.example/agent:missing";
    let output = practice.run(&["drive", DS, "--image", image, "--to", "50%", "--yes", "--timeout", "120s"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    assert!(text(&output).contains("image not found"), "{}", text(&output));
    let down = practice.status(DS).nodes(|node| node["state"] != "updated" && node["state"] != "outdated");
    assert!(down.len() <= 2, "no more than the budget: {down:?}");
    let status = practice.run(&["status", DS, "--nodes"]);
    assert_eq!(status.status.code(), Some(4), "{}", text(&status));
}

#[test]
fn a_pause_from_another_process_stops_the_driver() {
    let practice = Practice::start();
    let mut drive = practice.drive(DS, &["--image", V2, "--to", "100%", "--max-unavailable", "1"]);
    drive.until_updated(1);
    practice.ok(&["pause", DS, "--reason", "the link is down"]);
    drive.until("the link is down");
    let paused_at = practice.status(DS).at_target().len();
    std::thread::sleep(Duration::from_secs(3));
    let later = practice.status(DS).at_target().len();
    assert!(later <= paused_at + 1, "only what was under way may end: {paused_at}, then {later}");
    practice.ok(&["resume", DS]);
    drive.until("running");
    drive.signal(Signal::TERM);
    assert_eq!(drive.end().code(), Some(143));
}

#[test]
fn an_interrupted_driver_gives_the_lease_back_and_another_carries_on() {
    let practice = Practice::start();
    let mut drive = practice.drive(DS, &["--image", V2, "--to", "100%", "--max-unavailable", "2"]);
    drive.until_updated(2);
    drive.signal(Signal::INT);
    drive.until("interrupted: stopping");
    assert_eq!(drive.end().code(), Some(130));
    assert!(drive.seen().contains("this process starts nothing more; the same command carries on"), "{}", drive.seen());
    assert_eq!(practice.status(DS).0["driver"]["state"], "nobody");
    practice.ok(&["drive", DS, "--max-unavailable", "10", "--timeout", "120s"]);
    assert_eq!(practice.status(DS).0["counts"]["updated"], 20);
}

#[test]
fn a_killed_driver_is_succeeded_by_one_that_takes_over() {
    let practice = Practice::start();
    let mut drive = practice.drive(DS, &["--image", V2, "--to", "100%", "--max-unavailable", "2"]);
    drive.until_updated(2);
    drive.signal(Signal::KILL);
    drive.end();
    let line = ["drive", DS, "--image", V2, "--max-unavailable", "10", "--take-over", "--yes", "--timeout", "120s"];
    let output = practice.ok(&line);
    assert!(output.contains("you drive"), "{output}");
    assert_eq!(practice.status(DS).0["counts"]["updated"], 20);
}

#[test]
fn two_drivers_do_not_drive_at_once() {
    let practice = Practice::start();
    let mut first = practice.drive(DS, &["--image", V2, "--to", "100%", "--max-unavailable", "1"]);
    first.until_updated(1);
    let refused = practice.run(&["drive", DS]);
    assert_eq!(refused.status.code(), Some(7), "{}", text(&refused));
    assert!(text(&refused).contains("--take-over"), "{}", text(&refused));

    let mut second = practice.drive(DS, &["--take-over", "--max-unavailable", "10"]);
    second.until("you drive");
    assert_eq!(first.end().code(), Some(7));
    assert_eq!(second.end().code(), Some(0));
    assert_eq!(practice.status(DS).0["counts"]["updated"], 20);
}

/// The log names a refused command, also one that nobody confirmed; a dry run changes nothing and leaves no line.
#[test]
fn what_was_refused_when_it_was_given_is_in_the_log() {
    let practice = Practice::start();
    practice.ok(&["set-image", DS, V2, "--yes"]);
    let refused = |practice: &Practice| {
        let log = practice.ok(&["log"]);
        log.lines().filter(|line| line.contains("  refused: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    for (line, code) in [(&["release", DS, "--dry-run"][..], 6), (&["resume", DS, "--dry-run"], 6)] {
        assert_eq!(practice.run(line).status.code(), Some(code));
    }
    assert_eq!(refused(&practice), Vec::<String>::new());
    for line in [&["select", DS, "nope=nope"][..], &["release", DS, "--early"], &["resume", DS]] {
        assert_eq!(practice.run(line).status.code(), Some(6));
    }
    let told = refused(&practice);
    assert_eq!(told.len(), 3, "{told:?}");
    for (line, says) in
        told.iter().zip(["no node matches nope=nope", "nobody can be asked", "neither paused nor halted"])
    {
        assert!(line.contains(says), "{line}");
    }
}

#[test]
fn pause_sets_on_delete_without_adopting_first() {
    let practice = Practice::start();
    let output = practice.ok(&["pause", DS]);
    assert!(output.contains("OnDelete is set"), "{output}");
    assert_eq!(practice.status(DS).0["strategy"], "OnDelete");
    practice.ok(&["release", DS]);
    assert_eq!(practice.status(DS).0["strategy"], "RollingUpdate");
}

#[test]
fn a_strategy_that_is_set_back_is_enforced_as_it_was_chosen() {
    let practice = Practice::start();
    practice.ok(&["adopt", DS, "--on-drift", "enforce", "--max-unavailable", "3"]);
    let status = practice.status(DS).0;
    assert_eq!((&status["onDrift"], &status["budget"]["maxUnavailable"]), (&"enforce".into(), &3.into()), "{status}");

    // The rollout goes only to 10 nodes: it might be over before the strategy is set back for the second time.
    let mut drive = practice.drive(DS, &["--image", V2, "--to", "10"]);
    drive.until_updated(1);
    practice.set_strategy_back();
    drive.until(
        "the update strategy was changed back by argocd-controller of Argo CD once lately: OnDelete is set again",
    );
    let status = practice.status(DS).0;
    assert_eq!((&status["strategy"], &status["alarms"][0]["type"]), (&"OnDelete".into(), &"onDeleteEnforced".into()));
    let suspend_hint = status["alarms"][0]["suspendHint"].as_str().unwrap_or_default();
    assert!(suspend_hint.contains("automated sync"), "{status}");

    let output = practice.ok(&["tune", DS, "--on-drift", "report"]);
    assert!(output.contains("on drift: enforce → report"), "{output}");
    practice.set_strategy_back();
    drive.until("changed back by argocd-controller of Argo CD, once after OnDelete was set again");
    drive.until("paused by rolldeck");
    assert_eq!(drive.end().code(), Some(4), "an operator has to decide");
    let status = practice.run(&["status", DS]);
    assert_eq!(status.status.code(), Some(4));
    assert!(text(&status).contains("next     rolldeck adopt"), "{}", text(&status));
    practice.ok(&["adopt", DS]);
    assert_eq!(practice.status(DS).0["strategy"], "OnDelete");
    practice.ok(&["resume", DS]);
    practice.ok(&["drive", DS, "--to", "100%"]);
    assert_eq!(practice.status(DS).0["counts"]["updated"], 20);
}

#[test]
fn budgets_and_gates_are_changed_while_it_runs() {
    let practice = Practice::start();
    let refused = practice.run(&["tune", DS, "--max-unavailable", "5"]);
    assert_eq!(refused.status.code(), Some(6), "{}", text(&refused));
    assert!(
        text(&refused).contains("`adopt`, `set-image` and `drive --image` take the same flags"),
        "{}",
        text(&refused)
    );

    let mut drive = practice.drive(DS, &["--image", V2, "--to", "100%", "--max-unavailable", "1", "--finish", "keep"]);
    drive.until_updated(1);
    let output = practice.ok(&["set", DS, "--max-unavailable", "25%", "--strict", "--failure-threshold", "2"]);
    assert!(output.contains("max unavailable: 1 → 25%") && output.contains("strict: false → true"), "{output}");
    drive.until("of 5");
    let status = practice.status(DS).0;
    assert_eq!(
        (&status["budgets"]["maxUnavailable"], &status["gates"]["failureThreshold"]),
        (&"25%".into(), &2.into())
    );
    assert_eq!((&status["budget"]["strict"], &status["finish"]), (&true.into(), &"keep".into()), "{status}");
    for (value, says) in [("0", "write 1 or more, or pause"), ("120%", "neither a count"), ("all", "or `default`")] {
        let refused = practice.run(&["tune", DS, "--max-unavailable", value]);
        assert!(matches!(refused.status.code(), Some(2 | 6)) && text(&refused).contains(says), "{}", text(&refused));
    }
    assert_eq!(drive.end().code(), Some(0));
    practice.ok(&["release", DS]);
}

#[test]
fn bad_input_gets_a_clear_message_and_nothing_else() {
    let practice = Practice::start();
    for (line, code, says) in [
        (&["status", "ds/nope"][..], 5, "there is no DaemonSet `nope` in namespace `edge`"),
        (&["status", DS, "-n", "nowhere"], 5, "there is no DaemonSet `agent` in namespace `nowhere`"),
        (&["status", DS, "--context", "nowhere"], 1, "no context `nowhere`"),
        (&["status", DS, "--kubeconfig", "/nowhere/config"], 1, "/nowhere/config"),
        (&["set-image", DS, "agent=Not:An:Image"], 2, "is not an image reference"),
        (&["set-image", DS, "sidecar=registry.example/agent:v2"], 6, "sidecar"),
        (&["select", DS, "canary=true,,"], 2, "empty condition"),
        (&["undo", DS, "--to-revision", "77"], 5, "no revision 77"),
        (&["resume", DS], 6, "no rollout"),
        (&["drive", DS], 6, "nothing to drive"),
        (&["demo", "nowhere"], 2, "there are factory"),
    ] {
        let output = practice.run(line);
        assert_eq!(output.status.code(), Some(code), "{line:?}: {}", text(&output));
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.starts_with("Error: ") && error.contains(says), "{line:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_unreachable() {
    let practice = Practice::start();
    let file = practice.home().join("unreachable");
    let config = std::fs::read_to_string(practice.kubeconfig()).unwrap();
    let server = config.lines().find(|line| line.contains("server:")).unwrap();
    // The port was free a moment ago, so nobody listens on it.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    std::fs::write(&file, config.replace(server, &format!("    server: http://{free}"))).unwrap();
    let output = practice.run(&["status", DS, "--kubeconfig", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("cannot read from the cluster"), "{}", text(&output));
}

#[test]
fn without_a_terminal_the_list_of_daemonsets_is_printed() {
    let practice = Practice::start();
    let fleet = practice.ok(&[]);
    assert!(fleet.starts_with("NAMESPACE  DAEMONSET") && fleet.contains("agent"), "{fleet}");
}

#[test]
fn a_closed_output_ends_it_without_a_message() {
    let practice = Practice::start();
    let mut status = practice.command(&["status", DS, "--nodes"]);
    let mut child = status.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
