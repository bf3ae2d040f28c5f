//! A halt that names no node is printed without a place.

use super::script::Script;
use crate::engine::fake_cluster::{HALTED, halted_without_nodes};
use crate::engine::model::command::{Command, Refusal};
use crate::engine::model::driver::DriverView;
use crate::engine::report::snapshot::Snapshot;

#[tokio::test]
async fn a_halt_without_nodes_is_printed_without_a_place() {
    let script = Script::of(halted_without_nodes().0);
    let text = script.run("status ds/agent --nodes").await.text;
    assert!(text.contains(&format!("ago: {HALTED}, 6 of 6 updated")), "{text}");
    assert!(text.contains(&format!("ago  halted: {HALTED}\n")), "{text}");
    for open in ["()", "( )", " on \n", ", ,", ": \n"] {
        assert!(!text.contains(open), "{open:?} is in {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&script.json("status ds/agent -o json").await).unwrap();
    assert_eq!((&json["halt"]["why"], &json["halt"]["nodes"]), (&HALTED.into(), &serde_json::json!([])), "{json}");
}

/// What a refusal names can be pasted: the whole command, with context and namespace.
#[tokio::test]
async fn a_refusal_names_its_commands_in_full() {
    let halted = || halted_without_nodes().0;
    let offered = Script::of(halted()).run("status ds/agent").await.text;
    let whole = |name: &str| {
        let line = offered.lines().find_map(|line| line.split_once(&format!("rolldeck {name} ")))?;
        Some(format!("rolldeck {name} {}", line.1))
    };
    let resume = whole("resume").unwrap();
    assert!(resume.contains("--context prod-eu -n edge ds/agent"), "{offered}");
    let refusal = |why: &str| Refusal::NotNow(why.into());
    let why = "halted: crash loop on 1 node; `resume` goes on past it, `undo` goes back";
    let said = Script::of(halted()).refuses(refusal(why)).run("step ds/agent --yes").await.error;
    assert!(said.contains(&format!("Hint: {resume}")), "{said}\nof {offered}");
    let said = Script::of(halted()).refuses(refusal("no such revision")).run("step ds/agent --yes").await.error;
    assert!(!said.contains("Hint"), "{said}");
}

/// What a drive is refused for is answered by a line that can be run, as for a command that only records.
#[tokio::test]
async fn a_drive_that_is_refused_names_what_helps_in_full() {
    let refusal = Refusal::NotNow("it is halted: `resume` goes on past that".to_owned());
    let halted = Snapshot { driver: DriverView::Nobody, ..halted_without_nodes().0 };
    let script = Script::of(halted).refuses_only(|asked| matches!(asked, Command::Step(_)), refusal);
    let resume = "\nHint: rolldeck resume --context prod-eu -n edge ds/agent   (";
    for line in ["drive ds/agent --to 10%", "step ds/agent --to 10%"] {
        let output = script.run(line).await;
        assert_eq!(output.code, 6, "{line}: {}", output.error);
        assert!(output.error.contains(resume), "{line}: {}", output.error);
    }
}
