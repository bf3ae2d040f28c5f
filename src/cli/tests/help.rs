//! Help, completions, and command lines that make no sense.

use clap::CommandFactory;

use super::super::args::{Cli, EXIT_CODE_TABLE};
use super::super::parse;
use super::script;
use super::script::{Script, rollout};
use insta::assert_snapshot;

/// A newcomer asks `help`, as other tools have it; exit codes are a topic of its own.
#[tokio::test]
async fn help_is_a_command_too() {
    let script = Script::of(rollout());
    let codes = script.run("help exit-codes").await.text;
    for line in EXIT_CODE_TABLE {
        assert!(codes.contains(line.1), "{codes}");
    }
    assert!(script.run("help drive").await.text.contains("--take-over"));
    assert!(script.run("help").await.text.contains("rolldeck [OPTIONS]"));
    let unknown = script.run("help frobnicate").await;
    assert_eq!(unknown.code, 2);
    assert!(unknown.error.contains("there is no help for `frobnicate`"), "{}", unknown.error);
}

#[test]
fn help_says_what_can_be_done() {
    assert_snapshot!("help", script::help(&[]));
    let commands = Cli::command();
    let names: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
    assert!(names.contains(&"log") && names.contains(&"prewarm"), "{names:?}");
    for command in names {
        assert_snapshot!(format!("help-{command}"), script::help(&[command]));
    }
}

/// The flags that no document names, and why.
const NOT_IN_THE_DOCUMENTS: [(&str, &str); 3] = [
    ("reason", "`pause` takes the same words without a flag"),
    ("case", "of `simulate`, for those who develop rolldeck"),
    ("save", "of `simulate`, for those who develop rolldeck"),
];

#[test]
fn the_documents_name_every_flag() {
    let documents = concat!(
        include_str!("../../../README.md"),
        include_str!("../../../docs/command-line.md"),
        include_str!("../../../docs/operations.md"),
        include_str!("../../../docs/prewarming.md"),
        include_str!("../../../docs/reading.md"),
        include_str!("../../../docs/safety.md"),
        include_str!("../../../docs/settings.md"),
    );
    let is_named = |flag: &str| {
        documents.match_indices(flag).any(|(at, _)| {
            let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '-';
            !documents[..at].ends_with(goes_on) && !documents[at + flag.len()..].starts_with(goes_on)
        })
    };
    let all = Cli::command();
    let args = all.get_arguments().chain(all.get_subcommands().flat_map(clap::Command::get_arguments));
    let mut unnamed: Vec<&str> = args
        .filter(|arg| {
            let short = arg.get_short().is_some_and(|short| is_named(&format!("-{short}")));
            !short && !arg.get_long().is_none_or(|long| is_named(&format!("--{long}")))
        })
        .filter_map(clap::Arg::get_long)
        .collect();
    unnamed.sort_unstable();
    unnamed.dedup();
    let mut left_out = NOT_IN_THE_DOCUMENTS.map(|(flag, _)| flag);
    left_out.sort_unstable();
    assert_eq!(unnamed, left_out);
}

#[test]
fn as_a_plugin_it_is_called_kubectl_rolldeck() {
    let said = parse(["/usr/local/bin/kubectl-rolldeck", "step"].map(Into::into)).unwrap_err().to_string();
    assert!(said.contains("Usage: kubectl rolldeck step"), "{said}");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_asked() {
    for (line, why) in [
        ("set-image ds/agent registry/agent:v2", "names no container"),
        ("set-image ds/agent agent=Bad:Image:", "is not an image reference"),
        ("select ds/agent zone=a,,b", "empty condition"),
        ("select ds/agent", "required"),
        ("step ds/agent --to 10 --partition 5", "cannot be used with"),
        ("step ds/agent --to many", "neither a count"),
        ("step ds/agent --to -5", "`-5` is negative: neither a count, from 0, nor a percentage, from `0%` to `100%`"),
        ("tune ds/agent --max-unavailable -1", "`-1` is negative"),
        ("prewarm ds/agent --max-pulling -1", "`-1` is negative"),
        ("prewarm ds/agent --max-pulls -1", "a similar argument exists: '--max-pulling'"),
        ("tune ds/agent --soak -5s", "`-5s` is no value for `--soak`: it must not be negative"),
        ("tune ds/agent --soak -5s", "Usage: rolldeck tune "),
        ("undo ds/agent --to-revision -1", "is not the number of a revision, from 1"),
        ("status ds/agent --timeout -1", "`-1` is not a duration"),
        ("log ds/agent --since soon", "write `30s`, `5m` or `1h30m`"),
        ("simulate --runs 0", "`0` is not a count from 1: write `1000`"),
        ("simulate --runs x", "`x` is not a count from 1: write `1000`"),
        ("drive ds/agent --dry-run", "`drive` has no `--dry-run`, but adopt, "),
        ("status ds/agent --theme nope", "`status` has no `--theme`: it is for the console, as in `rolldeck --theme`"),
        ("tune ds/agent --steps 0", "step `0` updates no node: a step is one node or more"),
        ("status deploy/agent", "rolls out DaemonSets, not `deploy`"),
        ("ds/agent status", "the DaemonSet comes after the command"),
        ("drive ds/agent --timeout soon", "not a duration"),
        ("tune ds/agent", "--max-unavailable"),
        ("tune ds/agent", "Usage: rolldeck tune "),
        ("status -A --nodes", "`--nodes` is for one DaemonSet: name it"),
        ("tune ds/agent --max-unavailable 150%", "neither a count (`3`) nor a percentage"),
        ("tune ds/agent --max-unavailable all", "or `default`"),
        ("tune ds/agent --soak 10", "write `30s`"),
        ("tune ds/agent --on-drift fight", "possible values: report, enforce"),
        ("tune ds/agent --strict=perhaps", "possible values: true, false"),
        ("drive ds/agent --keep --finish release", "cannot be used with"),
        ("prewarm ds/agent --image registry/agent:v2", "names no container"),
        ("prewarm ds/agent --image agent=agent:v2 --revision 3", "cannot be used with"),
        (
            "prewarm ds/agent --cancel --node ipc-001",
            "leave out `--node` to cancel what is being pre-warmed, or `--cancel` to begin: `--node` says what to pre-warm",
        ),
        (
            "prewarm ds/agent --retry --image agent=agent:v2",
            "leave out `--image` to pull again what failed, or `--retry`",
        ),
        ("prewarm ds/agent --pause --resume", "cannot be used with"),
        ("prewarm ds/agent --next-step -l zone=a", "cannot be used with"),
        ("prewarm ds/agent --max-pulling few", "or `default`"),
        ("prewarm ds/agent --max-pulling 0%", "nothing is pulled"),
        ("demo --speed 0", "not a factor"),
        ("diagnose ds/agent --node ipc-001", "`diagnose` has no `--node`, but `prewarm` has one"),
        ("--timeout 3s status ds/agent", "put `--timeout` behind the command: `rolldeck status … --timeout 3s`"),
        ("--until=held drive ds/agent", "put `--until` behind the command: `rolldeck drive … --until held`"),
        ("--keep drive ds/agent", "put `--keep` behind the command: `rolldeck drive … --keep`"),
        ("--timeout 3s status ds/agent", "Usage: rolldeck status "),
        ("-w status ds/agent", "put `-w` behind the command: `rolldeck status … -w`"),
        ("-w status ds/agent", "Usage: rolldeck status "),
        ("-y undo ds/agent", "put `-y` behind the command: `rolldeck undo … -y`"),
        ("-l zone=a prewarm ds/agent", "put `-l` behind the command: `rolldeck prewarm … -l zone=a`"),
        ("-lzone=a prewarm ds/agent", "put `-l` behind the command: `rolldeck prewarm … -l zone=a`"),
        ("-wn edge status ds/agent", "put `-w` behind the command: `rolldeck status … -w`"),
        ("undo ds/agent -l zone=a", "`undo` has no `-l`, but `prewarm` has one"),
        ("-x pause ds/agent", "Usage: rolldeck pause "),
        ("pause ds/agent -x", "`pause` has no `-x`: `rolldeck pause --help` lists what it has"),
        ("step ds/agent -5", "unexpected argument '-5' found"),
        ("--soak 2m pause ds/agent", "`pause` has no `--soak`, but adopt, "),
        ("pause ds/agent --soak 2m", "`pause` has no `--soak`, but adopt, "),
        ("pause ds/agent --frobnicate", "`pause` has no `--frobnicate`: `rolldeck pause --help` lists what it has"),
        ("step ds/agent --partitoin 3", "'--partition'"),
        ("step ds/agent 10", "`step` takes no `10` after the DaemonSet: did you mean `--to 10`?"),
        ("step ds/agent 10%", "did you mean `--to 10%`?"),
        ("undo ds/agent 2", "did you mean `--to-revision 2`?"),
        ("history ds/agent 2", "did you mean `--revision 2`?"),
        ("tune ds/agent soak=2m", "did you mean `--soak 2m`?"),
        ("set ds/agent soak 2m", "`tune` takes no `soak` after the DaemonSet: did you mean `--soak`?"),
        ("undo ds/agent ds/agent", "unexpected argument 'ds/agent'"),
    ] {
        let line = std::iter::once("rolldeck").chain(line.split(' ')).map(Into::into);
        let error = parse(line).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_misspelt_command_is_taken_for_no_daemonset() {
    for (line, why) in [
        (
            "statsu",
            "there is no command `statsu`: did you mean `rolldeck status`? (a DaemonSet of that name: `rolldeck ds/statsu`)",
        ),
        ("statsu ds/agent", "did you mean `rolldeck status`?"),
        ("-n edge histroy ds/agent", "did you mean `rolldeck history`?"),
        ("histroy ds/agent -n edge", "did you mean `rolldeck history`?"),
        ("Status", "did you mean `rolldeck status`?"),
        ("get ds", "did you mean `rolldeck status`?"),
        ("rollout status ds/agent", "leave out `rollout`"),
        ("restart ds/agent", "there is no command `restart`: rolldeck has no restart of its own"),
        ("rollout restart ds/agent", "`kubectl rollout restart ds/NAME`, `rolldeck resume ds/NAME`"),
        ("set image ds/agent agent=x:v2", "did you mean `rolldeck set-image`?"),
        ("frobnicate ds/agent", "there is no command `frobnicate`: `rolldeck --help` lists the commands"),
        ("completion bash", "did you mean `rolldeck completions`?"),
    ] {
        let line = std::iter::once("rolldeck").chain(line.split(' ')).map(Into::into);
        let error = parse(line).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(why), "{error}");
    }
    for line in ["agent", "ds/statsu", "-n statsu agent", "agent --plain", "status agent", "status statsu"] {
        let line = std::iter::once("rolldeck").chain(line.split(' ')).map(Into::into);
        assert!(parse(line).is_ok());
    }
    let plugin = parse(["kubectl-rolldeck", "statsu"].map(Into::into)).unwrap_err().to_string();
    assert!(plugin.contains("did you mean `kubectl rolldeck status`?"), "{plugin}");
    let flag = parse(["rolldeck", "agent", "--contxt"].map(Into::into)).unwrap_err().to_string();
    assert!(flag.contains("'--context'"), "{flag}");
}

/// The variable itself cannot be set here, as other tests run in this process.
#[test]
fn a_file_that_is_named_has_a_name() {
    let error = parse(["rolldeck", "status", "--config", ""].map(Into::into)).unwrap_err();
    assert!(error.to_string().contains("`--config` names no file"), "{error}");
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let output = tokio::runtime::Runtime::new()
            .unwrap()
            .block_on(Script::of(rollout()).run(&format!("completions {shell}")));
        assert!(
            output.text.contains("ROLLDECK_COMPLETE") && output.text.contains("rolldeck"),
            "{shell}: {}",
            output.text
        );
    }
}
