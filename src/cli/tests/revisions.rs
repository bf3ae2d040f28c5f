//! `history` and `diff`.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::script::{Script, rollout};
use crate::engine::model::rollout_event::{EventOutcome, RevisionHalt, RolloutEvent, RolloutEventKind, Visibility};
use crate::engine::report::snapshot::{RevisionView, Snapshot};

/// Every node is at the target, so nothing is rolled out any more.
fn complete() -> Snapshot {
    Snapshot { from: None, ..rollout() }
}

#[tokio::test]
async fn history_lists_revisions() {
    assert_snapshot!(Script::of(rollout()).run("history ds/agent").await.text, @r#"
    REVISION              PODS  AGE  IMAGES                               ON NODES                               CHANGE-CAUSE
    15 (current)          38    10m  agent=registry.example/agent:v1.9.0  38 of 120, 1 would pull, 81 not known  ticket 4711
    14 (undo leads here)  82    3d   agent=registry.example/agent:v1.8.2  82 of 120, 1 would pull, 37 not known
    "#);
}

#[tokio::test]
async fn history_has_no_column_for_causes_that_nobody_set() {
    let mut snapshot = rollout();
    let revisions = snapshot.revisions.iter().cloned();
    snapshot.revisions = revisions.map(|revision| RevisionView { change_cause: None, ..revision }).collect();
    let text = Script::of(snapshot).run("history ds/agent").await.text;
    let head = text.lines().next().unwrap_or_default();
    assert!(head.ends_with("ON NODES") && text.contains("82 of 120"), "{text}");
}

#[tokio::test]
async fn a_halt_stays_known_at_its_revision() {
    let mut snapshot = rollout();
    let halted = RevisionHalt { at: snapshot.at, why: "crash loop on 1 node".into(), from_event: true };
    let revisions = snapshot.revisions.iter().cloned();
    snapshot.revisions = revisions.map(|revision| RevisionView { halted: Some(halted.clone()), ..revision }).collect();
    let listed = Script::of(snapshot).run("history ds/agent").await.text;
    assert!(listed.contains("14 (halted 0s ago, undo leads here)"), "{listed}");
}

#[tokio::test]
async fn diff_says_what_the_nodes_still_get() {
    let script = Script::of(rollout());
    let came = script.run("diff ds/agent").await;
    assert_snapshot!(came.text);
    assert_eq!((came.code, came.error.as_str()), (1, ""));
    let other = Script::of(complete()).run("diff ds/agent").await;
    assert_eq!(other.text, came.text, "with every node at the target: from the revision before");
    for line in ["diff ds/agent 14", "diff ds/agent 14 15", "diff ds/agent hash14 agent-hash15"] {
        assert_eq!(script.run(line).await.text, came.text, "{line}");
    }
    let ascii = script.run("diff ds/agent --ascii").await.text;
    assert!(ascii.is_ascii() && ascii.contains("image: registry.example/agent:v1.8.2 -> "), "{ascii}");
}

#[tokio::test]
async fn the_same_revision_is_no_difference() {
    let came = Script::of(rollout()).run("diff ds/agent 15").await;
    assert_eq!(
        came.text,
        "edge/agent on prod-eu: from revision 15 (38 pods, current) to revision 15 (38 pods, current)\n  the templates are the same\n"
    );
    assert_eq!(came.code, 0);
}

#[tokio::test]
async fn a_revision_that_is_not_there_says_which_are() {
    let script = Script::of(rollout());
    for (line, why) in [
        ("diff ds/agent 12", "there is no revision `12`; there are 15, 14"),
        ("diff ds/agent 14 hash16", "there is no revision `hash16`; there are 15, 14"),
        ("diff ds/agent hash", "more than one revision's hash begins with `hash`"),
        ("history ds/agent --revision 16", "there is no revision `16`; there are 15, 14"),
    ] {
        let came = script.run(line).await;
        assert!(came.error.contains(why), "{line}: {}", came.error);
        assert_eq!((came.code, came.text.as_str()), (5, ""), "{line}");
    }
    let gone = RevisionView { number: None, template: None, hash: "0ld".into(), ..rollout().revisions[1].clone() };
    let came = Script::of(Snapshot { from: Some(gone), ..rollout() }).run("diff ds/agent").await;
    assert!(came.error.contains("run revision 0ld, which is not in the history any more"), "{}", came.error);
}

/// As with `git diff` and `kubectl diff`: where nothing is there to compare with, nothing differs.
#[tokio::test]
async fn one_revision_alone_differs_from_nothing() {
    let revisions = rollout().revisions[..1].into();
    let script = Script::of(Snapshot { revisions, ..complete() });
    let came = script.run("diff ds/agent").await;
    assert_eq!(
        (came.code, came.text.as_str()),
        (0, "edge/agent on prod-eu: revision 15 (38 pods, current) is the only one: nothing to compare it with\n"),
        "{}",
        came.error
    );
    let json: Value = serde_json::from_str(&script.run("diff ds/agent -o json").await.text).unwrap();
    assert_eq!((&json["from"], &json["to"]["number"], &json["changes"]), (&Value::Null, &15.into(), &json!([])));
    assert_eq!(script.run("diff ds/agent 14").await.code, 5, "one that is named is not there");
}

/// Exit code 1 says that there are differences, and never that something went wrong.
#[tokio::test]
async fn what_goes_wrong_is_not_taken_for_a_difference() {
    let mut down = super::script::loading();
    super::script::watches_down(&mut down, "connection refused");
    let script = Script::of(down);
    tokio::time::pause();
    assert_eq!(script.run("history ds/agent").await.code, 1);
    let came = script.run("diff ds/agent").await;
    assert_eq!(came.code, 2, "{}", came.error);
    assert!(came.error.contains("connection refused"), "{}", came.error);
}

#[tokio::test]
async fn diff_is_a_value_for_programs_in_json_and_in_yaml() {
    let script = Script::of(rollout());
    assert_snapshot!(script.json("diff ds/agent -o json").await);
    let json: Value = serde_json::from_str(&script.run("diff ds/agent -o json").await.text).unwrap();
    let came = script.run("diff ds/agent -o yaml").await;
    assert_eq!(serde_saphyr::from_str::<Value>(&came.text).unwrap(), json);
    assert_eq!(came.code, 1);
}

#[tokio::test]
async fn history_prints_the_whole_template_of_a_revision() {
    let script = Script::of(rollout());
    let came = script.run("history ds/agent --revision 14").await;
    assert_snapshot!(came.text);
    assert_eq!(came.code, 0);
    let template = rollout().revisions[1].template.clone().unwrap();
    assert_eq!(serde_saphyr::from_str::<Value>(&came.text).unwrap(), *template.json(), "it is YAML, with comments");
    for format in ["json", "yaml"] {
        let text = script.run(&format!("history ds/agent --revision hash14 -o {format}")).await.text;
        let value: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(value["template"], *template.json(), "{format}");
        assert_eq!((&value["kind"], &value["revision"]["number"]), (&json!("Revision"), &json!(14)), "{format}");
    }
}

/// The list and the state are asked for often: they have no templates.
#[tokio::test]
async fn templates_are_in_no_other_answer() {
    let script = Script::of(rollout());
    for line in ["history ds/agent -o json", "status ds/agent --nodes -o json", "status ds/agent -o yaml"] {
        let text = script.run(line).await.text;
        assert!(!text.contains("LOG_LEVEL"), "{line}: {text}");
    }
}

#[tokio::test]
async fn every_command_answers_in_yaml() {
    let script = Script::of(rollout());
    for command in ["status ds/agent", "status", "history ds/agent", "step ds/agent --dry-run"] {
        let json: Value = serde_json::from_str(&script.run(&format!("{command} -o json")).await.text).unwrap();
        let yaml: Value = serde_saphyr::from_str(&script.run(&format!("{command} -o yaml")).await.text).unwrap();
        assert_eq!(yaml, json, "{command}");
    }
}

/// A roll back gives the revision that it goes to a new number, and the cluster forgets the one before.
#[tokio::test]
async fn a_revision_that_was_gone_back_to_is_told_by_both_numbers() {
    let back = RolloutEvent {
        at: rollout().at,
        by: None,
        kind: RolloutEventKind::TemplateChanged { from: Some(14), to: Some(13), images: Vec::new() },
        outcome: EventOutcome::Done,
        command: None,
        said: None,
        visibility: Visibility::Cluster,
        revision: Some("hash15".into()),
    };
    let snapshot = Snapshot { timeline: vec![back].into(), ..rollout() };
    assert_eq!(
        snapshot.called_ambiguously("13").as_deref(),
        Some("there is no revision 13 any more: it is revision 15 (the template of 13)")
    );
    let status = Script::of(snapshot.clone()).run("status ds/agent").await.text;
    assert!(status.contains("template changed: revision 14 → that of revision 13 (now 15)"), "{status}");
    let prewarm = Script::of(snapshot.clone()).run("prewarm ds/agent --revision 12").await;
    assert_eq!(prewarm.code, 5);
    assert!(prewarm.error.contains("no revision 12; there are 15 (the template of 13), 14"), "{}", prewarm.error);
    let prewarm = Script::of(snapshot.clone()).run("prewarm ds/agent --revision 13 --dry-run").await;
    assert_ne!(prewarm.code, 5, "13 is 15 by now: {}", prewarm.error);
    let script = Script::of(snapshot);
    let listed = script.run("history ds/agent").await.text;
    assert!(listed.contains("15 (current, the template of 13)  38 "), "{listed}");
    let value: Value = serde_json::from_str(&script.run("history ds/agent -o json").await.text).unwrap();
    assert_eq!(
        (&value["revisions"][0]["earlierNumbers"], value["revisions"][1].get("earlierNumbers")),
        (&json!([13]), None)
    );
    let status = script.run("status ds/agent").await.text;
    assert!(status.contains("rev 14 → 15 (the template of 13)\n"), "{status}");
    // Whoever remembers the old number means that one.
    let came = script.run("diff ds/agent 14 13").await;
    assert!(came.text.contains("to revision 15 (38 pods, current, the template of 13)\n"), "{}", came.text);
    assert_eq!(Script::of(rollout()).run("diff ds/agent 14 13").await.code, 5, "where it is not known");
}

#[tokio::test]
async fn digits_are_a_number_or_else_the_beginning_of_a_hash() {
    let mut snapshot = rollout();
    let mut revisions = snapshot.revisions.to_vec();
    (revisions[0].hash, revisions[1].hash) = ("55c9".into(), "15ab".into());
    snapshot.to = Some(revisions[0].clone());
    snapshot.revisions = revisions.into();
    let script = Script::of(snapshot.clone());
    for (called, said) in [
        ("55", "there is no revision 55: `55` begins the hash of revision 15, 55c9"),
        ("55c", ""),
        ("15", "`15` is taken for the number of a revision; the hash of revision 14, 15ab, begins with it, too"),
    ] {
        let came = script.run(&format!("diff ds/agent 14 {called}")).await;
        assert!(came.text.contains("to revision 15 (38 pods"), "{called}: {} {}", came.text, came.error);
        assert_eq!(snapshot.called_ambiguously(called).unwrap_or_default(), said, "{called}");
    }
}
