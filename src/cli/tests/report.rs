//! `report`: the text, the page, and what the audit log adds.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::Value;

use super::script::{Script, at, held_by_nobody, rollout};

/// One line of the audit log of this rollout.
fn audited(secs: i64, rest: &str) -> String {
    let time = at(secs);
    format!(
        r#"{{"time":"{time}","identity":"ada@b/1","cluster":{{"context":"prod-eu"}},"namespace":"edge","name":"agent",{rest}}}"#
    )
}

#[tokio::test]
async fn the_text_is_printed_and_the_page_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (page, log) = (dir.path().join("night.html"), dir.path().join("audit.jsonl"));
    let lines = [
        audited(100, r#""by":"ada@b","event":"setImage","outcome":"done","message":"image agent=agent:v1.9.0""#),
        audited(110, r#""event":"deletePod","args":{"node":"ipc-001","pod":"p","uid":"u"},"outcome":"done","detail":true,"message":"x""#),
        audited(300, r#""event":"halted","outcome":"done","severity":"warning","message":"halted: image not found on 1 node (ipc-017)""#),
        r#"{"time":"2026-11-21T14:31:00Z","cluster":{"context":"test"},"namespace":"edge","name":"agent","message":"elsewhere"}"#.to_owned(),
    ];
    std::fs::write(&log, lines.join("\n")).unwrap();
    std::fs::set_permissions(&log, PermissionsExt::from_mode(0o600)).unwrap();
    let script = Script::of(rollout());
    let line = format!("report ds/agent --html {} --audit-log {}", page.display(), log.display());
    let came = script.run(&line).await;
    assert_eq!((came.code, came.error.as_str()), (0, ""));
    assert_snapshot!(came.text);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("image agent=agent:v1.9.0") && html.contains("ipc-017") && !html.contains("elsewhere"));
    assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn programs_get_json_and_no_page() {
    let script = Script::of(rollout());
    let json: serde_json::Value =
        serde_json::from_str(&script.run("report ds/agent -o json --audit-log none").await.text).unwrap();
    assert_eq!((&json["kind"], &json["name"]), (&"RolloutReport".into(), &"agent".into()));
    let yaml = script.run("report ds/agent -o yaml --audit-log none").await.text;
    assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&yaml).unwrap(), json);
    let html = script.run("report ds/agent --html - --audit-log none").await.text;
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"), "{html}");
}

#[tokio::test]
async fn a_page_that_cannot_be_written_is_an_error_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("none").join("a.html");
    let came =
        Script::of(rollout()).run(&format!("report ds/agent --html {} --audit-log none", nowhere.display())).await;
    assert!(came.error.contains("cannot write the page to") && came.error.contains("--html -"), "{}", came.error);
    assert_ne!(came.code, 0);
}

#[tokio::test]
async fn the_story_is_that_of_one_daemonset_in_one_cluster() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let of = |uid: &str, context: &str, message: &str| {
        let time = at(300);
        format!(
            r#"{{"time":"{time}","cluster":{{"context":"{context}","server":"a:6443"}},"namespace":"edge","name":"agent","uid":"{uid}","by":"ada@b","event":"pause","outcome":"done","message":"{message}"}}"#
        )
    };
    // A context of another cluster has the same name, and that of this one had another name then.
    let lines = [of("0f-other", "prod-eu", "paused elsewhere"), of("0f-agent", "as-it-was-called", "paused here")];
    std::fs::write(&log, lines.join("\n")).unwrap();
    std::fs::set_permissions(&log, PermissionsExt::from_mode(0o600)).unwrap();
    let line = format!("report ds/agent -o json --audit-log {}", log.display());
    let json = Script::of(rollout()).run(&line).await.text;
    assert!(json.contains("paused here") && !json.contains("paused elsewhere"), "{json}");
    assert!(json.contains(r#""uid": "0f-agent""#), "{json}");
}

/// Who takes over reads in the report how it can go on, in the words and with the commands that `status` has.
#[tokio::test]
async fn a_report_names_the_commands_by_which_it_can_go_on() {
    let script = Script::of(held_by_nobody());
    let json = async |line: &str| -> Value { serde_json::from_str(&script.json(line).await).unwrap() };
    let (report, status) =
        (json("report ds/agent -o json --audit-log none").await, json("status ds/agent -o json").await);
    assert_eq!(report["next"], status["next"]);
    let page = script.run("report ds/agent --html - --audit-log none").await.text;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let text = script.run(&format!("report ds/agent --html {} --audit-log none", file.display())).await.text;
    let section = text.split("\nHow it can go on\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let status = script.run("status ds/agent").await.text;
    let offered: Vec<&str> = status.lines().filter_map(|line| line.strip_prefix("  next     ")).collect();
    assert!(!offered.is_empty(), "{status}");
    assert_eq!(section.lines().map(str::trim_start).collect::<Vec<_>>(), offered);
    assert!(
        page.contains("How it can go on") && page.contains("rolldeck step --context prod-eu -n edge ds/agent"),
        "{page}"
    );
}
