//! Wrong input, completion and configuration: the program itself, against a practice cluster that another process serves.

use std::path::Path;
use std::process::Command;

use crate::support::practice::Practice;
use crate::support::program::text;

/// The words that bash offers for `line`, whose last word is not finished. Bash ends a word at `=`, and gives that as a word of its own.
fn offered_by_bash(practice: &Practice, line: &[&str]) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_rolldeck"));
    let script = r#"
        source <(rolldeck completions bash) || exit 9
        COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMP_WORDS=()
        for word in "$@"; do
            case $word in
                *=*) COMP_WORDS+=("${word%%=*}" =); [ -z "${word#*=}" ] || COMP_WORDS+=("${word#*=}") ;;
                *) COMP_WORDS+=("$word") ;;
            esac
        done
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); last=${COMP_WORDS[COMP_CWORD]#=}
        _clap_complete_rolldeck rolldeck "$last" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "-c", script, "bash"])
        .args(line)
        .env_clear()
        .env("HOME", practice.home())
        .env("PATH", format!("{}:/usr/bin:/bin", program.parent().unwrap().display()))
        .env("KUBECONFIG", practice.kubeconfig())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(output.stderr.is_empty(), "{}", text(&output));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_with_the_names_that_are_there() {
    let practice = Practice::start();
    assert_eq!(offered_by_bash(&practice, &["rolldeck", "stat"]), ["status"]);
    assert_eq!(offered_by_bash(&practice, &["rolldeck", "status", "-n", "edge", "ds/a"]), ["ds/agent"]);
    assert_eq!(offered_by_bash(&practice, &["rolldeck", "status", "-n", "e"]), ["edge"]);
    assert_eq!(offered_by_bash(&practice, &["rolldeck", "--context", "rolldeck"]), ["rolldeck-demo"]);
    let nodes = offered_by_bash(&practice, &["rolldeck", "prewarm", "-n", "edge", "ds/agent", "--node", ""]);
    assert_eq!(nodes.len(), 20, "{nodes:?}");
    let labels = offered_by_bash(&practice, &["rolldeck", "select", "-n", "edge", "ds/agent", "can"]);
    assert_eq!(labels, ["canary="]);
    for value in ["canary=", "canary=t"] {
        let values = offered_by_bash(&practice, &["rolldeck", "select", "-n", "edge", "ds/agent", value]);
        assert_eq!(values, ["true"]);
    }
    assert_eq!(
        offered_by_bash(&practice, &["rolldeck", "tune", "-n", "edge", "ds/agent", "--pace="]),
        ["fixed", "auto"]
    );
    assert_eq!(offered_by_bash(&practice, &["rolldeck", "status", "-n=ed"]), ["edge"]);
    let nothing = offered_by_bash(&practice, &["rolldeck", "status", "-n", "nowhere", "ds/a"]);
    assert_eq!(nothing, [""]);
    let without = offered_by_bash(&practice, &["rolldeck", "--kubeconfig", "/nowhere", "status", "ds/a"]);
    assert_eq!(without, [""], "a cluster that cannot be read is no error in the middle of a line");
}

#[test]
fn a_daemonset_that_is_not_there_is_said_to_be_elsewhere() {
    let practice = Practice::start();
    for (line, hint) in [
        (["pause", "ds/agent", "-n", "default"], "Hint: there is one in namespace `edge`: `-n edge`"),
        (["status", "ds/agnet", "-n", "edge"], "Hint: did you mean `ds/agent`?"),
        (["drive", "ds/agnet", "-n", "default"], "Hint: did you mean `ds/agent` in namespace `edge`: `-n edge`"),
    ] {
        let output = practice.run(&line);
        assert_eq!(output.status.code(), Some(5), "{}", text(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(hint), "{}", text(&output));
    }
    assert_eq!(practice.ok(&["status", "-A", "-o", "name"]), "daemonset.apps/agent\n");
    let wide = practice.ok(&["status", "ds/agent", "-o", "wide"]);
    assert!(wide.contains("KUBELET") && wide.contains("amd64"), "{wide}");
}

#[test]
fn a_rollout_begins_with_the_defaults_of_the_file_and_keeps_them() {
    let practice = Practice::start();
    let directory = practice.home().join(".config/rolldeck");
    std::fs::create_dir_all(&directory).unwrap();
    // `status` exits with code 3 while the rollout is held.
    let template = "jsonpath={.budgets.maxUnavailable} {.gates.soakSecs}";
    let budget = || practice.ok_or_not(&["status", "ds/agent", "-o", template]);
    let write = |text: &str| std::fs::write(directory.join("config.toml"), text).unwrap();
    write("[defaults]\nmax-unavailable = 3\nsoak = \"20s\"\n");
    let adopted = practice.ok(&["adopt", "ds/agent", "--soak", "5s"]);
    assert!(
        adopted.contains("begins with these defaults in place of rolldeck's own: max-unavailable=3 soak=20s"),
        "{adopted}"
    );
    assert_eq!(budget(), "3 5\n");
    write("[defaults]\nmax-unavailable = 1\n");
    practice.ok(&["pause", "ds/agent"]);
    assert_eq!(budget(), "3 5\n", "what is recorded stays");
    write("[defaults]\nmax-unavailabel = 1\n");
    let wrong = practice.run(&["status", "ds/agent"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(1), "{said}");
    assert!(
        said.contains(
            "config.toml:2: there is no setting `max-unavailabel` in `[defaults]`: did you mean `max-unavailable`?"
        ),
        "{said}"
    );
    let mut empty = practice.command(&["config"]);
    let output = empty.env("ROLLDECK_CONFIG", "").output().unwrap();
    assert!(text(&output).contains("config.toml:2"), "an empty variable counts as not set: {}", text(&output));
}

#[test]
fn config_says_which_keys_and_themes_the_console_would_refuse() {
    let practice = Practice::start();
    let directory = practice.home().join(".config/rolldeck");
    std::fs::create_dir_all(&directory).unwrap();
    let config = |text: &str| {
        std::fs::write(directory.join("config.toml"), text).unwrap();
        let output = practice.run(&["config"]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), output.stdout)
    };
    let (code, said, _) = config("[keys]\nmap = \"M\"\n");
    assert_eq!(code, Some(0), "{said}");
    let (code, said, shown) = config("[keys]\nmap = \"P\"\n");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("config.toml:2: `P` cannot be given to `map`: it is the key of `pause`"), "{said}");
    assert!(String::from_utf8_lossy(&shown).contains("keys.map"), "what the file says is shown all the same");
    let (code, said, _) = config("theme = \"lihgt\"\n");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("config.toml:1") && said.contains("lihgt"), "{said}");
}
