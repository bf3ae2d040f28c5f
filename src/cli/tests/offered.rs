//! Commands that are offered for pasting: whatever the cluster and its objects are called, a shell runs what is meant.

use super::prewarm::{PRESENT, V2, failed, idle, request, waiting, warm};
use super::script::{self, Script, at, rollout};
use crate::engine::model::cause::CauseKind;
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::presence::Presence;
use crate::engine::model::prewarm::{Prewarm, PrewarmMethod, PrewarmNodes};
use crate::engine::model::record::{Halt, HaltingGate};
use crate::engine::report::snapshot::{Phase, Snapshot};

/// A context, a namespace and a name that would each run something if they were not quoted.
const NAMES: [&str; 3] = ["a;touch pwned b", "$(touch pwned)", "it's & \"that\""];

/// Flags that were given, and quoted.
const GIVEN: &str = "--kubeconfig '/etc/my edge' --as 'jane doe'";

fn named(snapshot: Snapshot) -> Snapshot {
    Snapshot { namespace: NAMES[1].into(), name: NAMES[2].into(), ..snapshot }
}

fn halted() -> Snapshot {
    let halt = Halt::new(1, HaltingGate::default(), at(0), "image not found".into()).on(vec!["ipc-017".into()]);
    Snapshot { phase: Phase::Halted, halt: Some(halt), ..rollout() }
}

fn held() -> Snapshot {
    Snapshot { phase: Phase::Held, driver: DriverView::Nobody, ..rollout() }
}

fn unconfirmed() -> Snapshot {
    let driver = DriverView::Unconfirmed { holder: "ops@bastion-2/7".into(), renewed_at: Some(at(581)) };
    Snapshot { phase: Phase::Running, driver, ..rollout() }
}

/// Pre-warming of the one node that is called as nothing should be.
fn prewarming(method: PrewarmMethod, driver: DriverView) -> Snapshot {
    let request = Prewarm { nodes: PrewarmNodes::Node("n;touch pwned".into()), method, ..request() };
    Snapshot { driver, ..warm([PRESENT, waiting(), waiting()], request) }
}

fn failing() -> Snapshot {
    warm([PRESENT, failed(CauseKind::ImageNotFound, 1, None), PRESENT], request())
}

/// Everything that is printed, with all that offers a command among it.
async fn printed(context: &'static str, given: Option<&str>, named: fn(Snapshot) -> Snapshot) -> String {
    let you = DriverView::You { renewed_at: at(600), lapsed: false };
    let absent = Snapshot { daemonset: Presence::Absent, ..rollout() };
    let mut text = String::new();
    for (snapshots, line) in [
        (vec![halted()], "status ds/agent"),
        (vec![halted()], "status ds/agent -o json"),
        (vec![held()], "status ds/agent"),
        (vec![held()], "step ds/agent --to 10%"),
        (vec![halted()], "resume ds/agent --yes"),
        (vec![unconfirmed()], "step ds/agent --to 10%"),
        (vec![script::held_by_nobody(), halted()], "drive ds/agent"),
        (vec![rollout(), halted()], "status ds/agent --watch"),
        (vec![failing()], "status ds/agent"),
        (vec![prewarming(PrewarmMethod::Pods, DriverView::Nobody)], "status ds/agent"),
        (vec![prewarming(PrewarmMethod::Pods, DriverView::Nobody)], "pause ds/agent"),
        (vec![idle(), failing()], V2),
        (vec![idle(), warm([waiting(), waiting(), waiting()], request())], "TIMEOUT"),
        (
            vec![
                idle(),
                Snapshot {
                    driver: you,
                    ..warm(
                        [waiting(), waiting(), waiting()],
                        Prewarm { method: PrewarmMethod::StatefulSet, ..request() },
                    )
                },
            ],
            "TIMEOUT",
        ),
        (vec![absent], "status ds/agent"),
    ] {
        let line = if line == "TIMEOUT" { format!("{V2} --timeout 5s") } else { line.to_owned() };
        let mut snapshots = snapshots.into_iter().map(named);
        let first = Script::of(snapshots.next().unwrap()).on(context).given(given).previews(Danger::None);
        let output = snapshots.fold(first, Script::then).run(&line).await;
        text.push_str(&format!("== {line}\n{}{}\n", output.text, output.error));
    }
    text
}

/// The commands in a text: those in backticks, those of lines that begin with `next`, and those in JSON.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        if let Ok(json) = serde_json::from_str::<serde_json::Value>(line) {
            let next = json["next"].as_array().into_iter().flatten();
            found.extend(next.filter_map(|next| next["command"].as_str().map(str::to_owned)));
        } else if let Some(next) = line.trim_start().strip_prefix("next ") {
            found.extend(next.rsplit_once("   (").map(|(command, _)| command.trim().to_owned()));
        } else {
            let quoted = line.split('`').skip(1).step_by(2);
            found.extend(quoted.filter(|text| text.starts_with("rolldeck ")).map(str::to_owned));
        }
    }
    found
}

#[tokio::test(start_paused = true)]
async fn every_command_that_is_offered_is_quoted_and_names_the_cluster() {
    let text = printed(NAMES[0], Some(GIVEN), named).await;
    let offered = commands(&text);
    for words in [
        "undo",
        "resume",
        "drive",
        "step",
        "status",
        "prewarm --retry",
        "prewarm --cancel",
        "prewarm --image",
        "prewarm --node",
    ] {
        let is_offered = |command: &String| {
            let plain = shlex::split(command).unwrap_or_default().join(" ");
            words.split(' ').all(|word| plain.split(' ').any(|part| part == word))
        };
        assert!(offered.iter().any(is_offered), "no `{words}` among {offered:#?}\n{text}");
    }
    for command in &offered {
        let words = shlex::split(command).unwrap_or_else(|| panic!("a shell does not take {command}"));
        let after = |flag: &str| words.iter().position(|word| word == flag).map(|at| words[at + 1].as_str());
        assert_eq!(after("-n"), Some(NAMES[1]), "{command}");
        assert!(!words.iter().any(|word| word == "touch"), "{command}");
        assert_eq!(after("--context"), Some(NAMES[0]), "{command}");
        assert_eq!((after("--kubeconfig"), after("--as")), (Some("/etc/my edge"), Some("jane doe")), "{command}");
        if words[1] != "status" {
            assert_eq!(words.last().unwrap(), &format!("ds/{}", NAMES[2]), "{command}");
        }
        if let Some(node) = after("--node") {
            assert_eq!(node, "n;touch pwned", "{command}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn where_a_name_cannot_be_quoted_no_command_names_it() {
    let text = printed("prod\u{1b}[2J\u{202e}eu", Some(""), |snapshot| snapshot).await;
    let offered = commands(&text);
    assert!(!offered.is_empty() && offered.iter().all(|command| !command.contains("--context")), "{offered:#?}");
    assert!(text.contains("no command, as a name in it has characters"), "{text}");
    assert!(text.contains("`rolldeck undo` rolls back"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn where_a_flag_that_was_given_cannot_be_quoted_no_command_is_whole() {
    let text = printed("prod-eu", None, |snapshot| snapshot).await;
    let offered = commands(&text);
    assert!(!offered.is_empty() && offered.iter().all(|command| !command.contains("ds/agent")), "{offered:#?}");
    assert!(text.contains("no command, as a name in it has characters"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn in_a_pod_there_is_no_context_to_name() {
    let text = printed(crate::driver::IN_CLUSTER, Some(""), |snapshot| snapshot).await;
    let offered = commands(&text);
    assert!(!offered.is_empty() && offered.iter().all(|command| !command.contains("--context")), "{offered:#?}");
    assert!(!text.contains("no command, as a name"), "{text}");
}
