//! `rolldeck history` lists the revisions that `kubectl rollout history` lists.

use rolldeck::driver::Session;
use rolldeck::engine::model::command::{Command, Preview};
use rolldeck::engine::model::config::Role;
use rolldeck::engine::report::snapshot::Phase;
use serde_json::{Value, json};

use super::driving::{image, loaded, until, updated};
use super::fixture::{DS, GOOD, MISSING, RolloutFixture, SOON, operator};
use crate::support::control_plane::{Sandbox, daemon_set, eventually, sandbox};
use crate::support::program::{Driving, Operator, text};

/// The revisions' numbers and change causes, oldest first.
type Revisions = Vec<(i64, Option<String>)>;

/// What `kubectl rollout history` lists.
fn by_kubectl(sandbox: &Sandbox) -> Revisions {
    let printed = sandbox.admin().kubectl_ok(["rollout", "history", DS, "-n", sandbox.namespace()]);
    let lines =
        printed.lines().skip_while(|line| !line.starts_with("REVISION")).skip(1).filter(|line| !line.is_empty());
    let revision = |line: &str| {
        let (number, cause) = line.split_once(char::is_whitespace).unwrap();
        let cause = cause.trim();
        (number.parse().unwrap(), (cause != "<none>").then(|| cause.to_owned()))
    };
    lines.map(revision).collect()
}

/// What `rolldeck history` lists, from the last line to the first.
fn by_rolldeck(operator: &Operator) -> Revisions {
    let listed = operator.json(&["history", DS, "-o", "json"]);
    let revisions = listed["revisions"].as_array().unwrap().iter().rev();
    let cause = |revision: &Value| revision["changeCause"].as_str().map(str::to_owned);
    revisions.map(|revision| (revision["number"].as_i64().unwrap(), cause(revision))).collect()
}

/// The template that `kubectl rollout history --revision` gives.
fn template_by_kubectl(sandbox: &Sandbox, number: i64) -> Value {
    let revision = format!("--revision={number}");
    let line = ["rollout", "history", DS, "-n", sandbox.namespace(), &revision, "-o", "json"];
    let mut object: Value = serde_json::from_str(&sandbox.admin().kubectl_ok(line)).unwrap();
    let mut template = object["spec"]["template"].take();
    // Older servers write the field as null.
    if let Some(metadata) = template["metadata"].as_object_mut() {
        metadata.remove("creationTimestamp");
    }
    template
}

#[test]
fn revisions_are_those_of_kubectl_rollout_history() {
    let Some(sandbox) = sandbox("history") else { return };
    sandbox.nodes(1);
    sandbox.create_daemon_set(daemon_set("agent", GOOD[0]));
    let operator = operator(&sandbox, sandbox.namespace());
    let kubectl = |line: &[&str]| {
        let namespace = ["-n", sandbox.namespace()];
        sandbox.admin().kubectl_ok(line.iter().copied().chain(namespace));
    };
    let newest = |number: i64| {
        eventually(&format!("revision {number}"), SOON, || {
            (by_kubectl(&sandbox).last().map(|(newest, _)| *newest) == Some(number)).then_some(())
        });
    };
    newest(1);
    let image = format!("agent={}", GOOD[1]);
    let changes: [(&str, &[&str]); 3] = [
        ("a new image", &["set", "image", DS, &image]),
        ("more to read", &["set", "env", DS, "LOG_LEVEL=debug"]),
        ("more memory", &["set", "resources", DS, "--limits=memory=256Mi"]),
    ];
    for (number, (why, change)) in (2..).zip(changes) {
        let cause = format!("kubernetes.io/change-cause={why}");
        kubectl(&["annotate", "--overwrite", DS, &cause]);
        kubectl(change);
        newest(number);
    }
    kubectl(&["rollout", "undo", DS, "--to-revision=2"]);
    newest(5);
    let listed = by_kubectl(&sandbox);
    assert_eq!(listed.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 3, 4, 5], "2 became 5");
    assert_eq!(by_rolldeck(&operator), listed);
    for (number, _) in &listed {
        let number = number.to_string();
        let whole = operator.json(&["history", DS, "--revision", &number, "-o", "json"]);
        assert_eq!(whole["template"], template_by_kubectl(&sandbox, number.parse().unwrap()), "revision {number}");
        let yaml = operator.ok(&["history", DS, "--revision", &number]);
        assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), whole["template"], "revision {number}: {yaml}");
    }

    // The difference is the fields that were set.
    let diff = operator.run(&["diff", DS, "1", "4"]);
    assert_eq!(diff.status.code(), Some(1), "{}", text(&diff));
    let printed = text(&diff);
    for line in [
        format!("containers[agent].image: {} → {}", GOOD[0], GOOD[1]),
        "containers[agent].env[LOG_LEVEL]: added debug".to_owned(),
        "containers[agent].resources.limits.memory: added 256Mi".to_owned(),
    ] {
        assert!(printed.contains(&line), "{line}\n{printed}");
    }
    for (sign, image) in [('-', GOOD[0]), ('+', GOOD[1])] {
        let is_it = |line: &str| line.starts_with(sign) && line.ends_with(&format!("image: {image}"));
        assert!(printed.lines().any(is_it), "{sign} {image}\n{printed}");
    }
    assert!(!printed.contains('\u{1b}'), "a pipe has no colours: {printed}");
    let described = |number: &str| {
        let revision = format!("--revision={number}");
        sandbox.admin().kubectl_ok(["rollout", "history", DS, "-n", sandbox.namespace(), &revision])
    };
    assert!(described("4").contains("LOG_LEVEL") && !described("5").contains("LOG_LEVEL"));
    let back = operator.json(&["diff", DS, "4", "5", "-o", "json"]);
    let paths: Vec<&Value> = back["changes"].as_array().unwrap().iter().map(|change| &change["path"]).collect();
    assert!(paths.contains(&&json!("containers[agent].env[LOG_LEVEL]")), "{back}");
    assert!(!paths.contains(&&json!("containers[agent].image")), "{back}");
    let same = operator.run(&["diff", DS, "5", "5"]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same));
    let gone = operator.run(&["diff", DS, "2"]);
    assert_eq!(gone.status.code(), Some(5), "{}", text(&gone));
    assert!(text(&gone).contains("there is no revision `2`; there are 5, 4, 3, 1"), "{}", text(&gone));

    // A roll back by rolldeck makes a revision as one by kubectl does, and its preview says what it changes.
    let asked = operator.json(&["undo", DS, "--to-revision", "4", "--dry-run", "-o", "json"]);
    assert_eq!(asked["preview"]["changes"], operator.json(&["diff", DS, "5", "4", "-o", "json"])["changes"], "{asked}");
    operator.ok(&["undo", DS, "--to-revision", "4", "--yes", "--timeout", "60s"]);
    newest(6);
    assert_eq!(by_rolldeck(&operator), by_kubectl(&sandbox));
}

/// With `revisionHistoryLimit: 0` the controller deletes a revision with its last pod, after which no roll back is possible. The preview warns of
/// that.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_that_cannot_be_rolled_back_in_the_end_says_so_before() {
    let Some((sandbox, _kubelet)) = super::driving::agent("no-history", 3).await else { return };
    let keeps_none = {
        let (sandbox, path) = (sandbox.clone(), sandbox.path("daemonsets.apps", "agent"));
        move || sandbox.admin().patch(&path, &json!({"spec": {"revisionHistoryLimit": 0}})).ok()
    };
    tokio::task::spawn_blocking(keeps_none).await.unwrap();
    let session = super::driving::session(sandbox.admin()).await;
    let rollout = session.open(sandbox.namespace(), "agent", Role::Driver);
    until(&rollout, "three nodes run v1", |is| loaded(is) && is.counts.available == 3).await;
    let warns = |preview: &Preview| preview.warnings.iter().any(|text| text.contains("revisionHistoryLimit is 0"));
    let command = image("registry.test/agent:v2");
    assert!(warns(&rollout.preview(command.clone()).await.unwrap()));
    rollout.command(command).await.unwrap();
    assert!(!warns(&rollout.preview(updated(2)).await.unwrap()), "while old pods are left it can be rolled back");
    rollout.command(updated(2)).await.unwrap();
    until(&rollout, "two are updated", |is| is.counts.updated == 2 && is.phase == Phase::Held).await;
    rollout.preview(Command::Undo { to: None }).await.unwrap();
    assert!(warns(&rollout.preview(updated(3)).await.unwrap()));
    rollout.command(updated(3)).await.unwrap();
    until(&rollout, "the old revision is gone", |is| is.counts.updated == 3 && is.revisions.len() == 1).await;
    let refused = rollout.preview(Command::Undo { to: None }).await.unwrap_err().to_string();
    assert!(refused.contains("the cluster keeps no earlier revision"), "{refused}");
    rollout.close().await;
}

/// The record of a halt goes with its rollout, but the Events keep it. By default an undo does not lead to a revision at which a rollout halted, even
/// if that is the newest other one.
#[test]
fn an_undo_does_not_lead_by_itself_to_a_revision_at_which_a_rollout_halted() {
    let Some(fixture) = RolloutFixture::new("halted-before") else { return };
    let operator = fixture.operator();
    let end = |mut driver: Driving, code: i32| assert_eq!(driver.end().code(), Some(code), "{}", driver.seen());
    let missing = format!("agent={MISSING}");
    end(operator.drive(DS, &["--image", &missing, "--to", "1"]), 4);
    operator.ok(&["undo", DS, "--yes"]);
    end(operator.drive(DS, &[]), 0);
    let history = operator.ok(&["history", DS]);
    println!("{history}");
    let line = |history: &str, number: &str| {
        history.lines().find(|line| line.starts_with(number)).unwrap_or_default().to_owned()
    };
    assert!(line(&history, "2 (").contains("halted ") && !history.contains("undo leads here"), "{history}");
    let refused = operator.run(&["undo", DS, "--yes"]);
    println!("{}", text(&refused));
    assert_eq!(refused.status.code(), Some(6));

    end(operator.drive(DS, &["--image", "agent=registry.test/agent:v2", "--to", "100%"]), 0);
    let history = operator.ok(&["history", DS]);
    println!("{history}");
    assert!(line(&history, "4 (").contains("current"), "{history}");
    assert!(line(&history, "3 (").contains("undo leads here"), "the template of 1: {history}");
    assert!(line(&history, "2 (").contains("halted "), "{history}");
    let json: Value = serde_json::from_str(&operator.ok(&["history", DS, "-o", "json"])).unwrap();
    let of = |number: i64| json["revisions"].as_array().unwrap().iter().find(|it| it["number"] == number).unwrap();
    assert!(of(2)["halted"]["why"].as_str().unwrap().contains("image not found"), "{json:#}");
    assert_eq!((&json["undo"], &of(3)["halted"]), (&of(3)["hash"], &Value::Null), "{json:#}");
    let preview = operator.ok(&["undo", DS, "--dry-run"]);
    println!("{preview}");
    assert!(preview.contains("Roll back to revision 3"), "{preview}");
    let again = operator.ok(&["undo", DS, "--to-revision", "2", "--dry-run"]);
    assert!(again.contains("As an Event says, the rollout halted at revision 2"), "{again}");
    let again = operator.ok(&["set-image", DS, &missing, "--dry-run"]);
    assert!(again.contains("As an Event says, the rollout halted at revision 2"), "{again}");
}

/// An image that is set again gets a new number, and the words of Events name the old one. They name its ControllerRevision as well, so that no other
/// revision is taken for it.
#[test]
fn a_revision_is_not_told_as_halted_because_another_one_halted_under_a_number_that_is_gone() {
    let Some(fixture) = RolloutFixture::new("halted-perhaps") else { return };
    let operator = fixture.operator();
    let end = |mut driver: Driving, code: i32| assert_eq!(driver.end().code(), Some(code), "{}", driver.seen());
    let (good, missing) = (format!("agent={}", GOOD[1]), format!("agent={MISSING}"));
    let back = || {
        operator.ok(&["undo", DS, "--yes"]);
        end(operator.drive(DS, &[]), 0);
    };
    end(operator.drive(DS, &["--image", &good, "--to", "1", "--until", "held"]), 0);
    back();
    end(operator.drive(DS, &["--image", &missing, "--to", "1"]), 4);
    back();
    end(operator.drive(DS, &["--image", &good, "--to", "1", "--until", "held"]), 0);
    end(operator.drive(DS, &["--image", &missing, "--to", "1"]), 4);
    let history = operator.ok(&["history", DS]);
    println!("{history}");
    let line = |image: &str| history.lines().find(|line| line.contains(image)).unwrap_or_default();
    assert!(line(MISSING).starts_with("7 (current, the template of 4, halted "), "{history}");
    assert!(line(GOOD[1]).starts_with("6 (the template of 2) "), "{history}");
    assert!(line(GOOD[0]).starts_with("5 (the template of 3, undo leads here) "), "{history}");
}

/// Somebody deletes the ControllerRevision that the rollout came from, while most pods still run it: an undo does not guess another one, and the image that
/// it had makes it anew with the same hash, so that no pod is replaced that runs it already.
#[test]
fn an_undo_does_not_guess_where_the_revision_that_the_rollout_came_from_is_deleted() {
    let Some(fixture) = RolloutFixture::new("origin-deleted") else { return };
    let (operator, sandbox) = (fixture.operator(), &fixture.sandbox);
    let end = |mut driver: Driving, code: i32| assert_eq!(driver.end().code(), Some(code), "{}", driver.seen());
    end(operator.drive(DS, &["--image", "agent=registry.test/agent:v2", "--to", "100%"]), 0);
    end(operator.drive(DS, &["--image", "agent=registry.test/agent:v3", "--to", "1", "--until", "held"]), 0);
    let json: Value = serde_json::from_str(&operator.ok(&["history", DS, "-o", "json"])).unwrap();
    let origin = json["undo"].as_str().expect("a revision to go back to").to_owned();
    let of = |number: i64| json["revisions"].as_array().unwrap().iter().find(|it| it["number"] == number).unwrap();
    assert_eq!(of(2)["hash"], *origin, "{json:#}");
    let names = ["get", "controllerrevisions", "-n", sandbox.namespace(), "-o", "name"];
    let listed = sandbox.admin().kubectl_ok(names);
    let name = listed.lines().find(|name| name.ends_with(&origin)).expect("its object is named after it");
    sandbox.admin().kubectl_ok(["delete", name, "-n", sandbox.namespace()]);
    let refused = eventually("it is seen to be gone", SOON, || {
        let answer = operator.run(&["undo", DS, "--yes"]);
        (answer.status.code() == Some(6)).then(|| text(&answer))
    });
    println!("{refused}");
    assert!(refused.contains(&origin) && refused.contains("does not keep any more"), "{refused}");
    assert!(refused.contains("`set-image`"), "{refused}");
    let status = operator.ok_or_not(&["status", DS]);
    println!("{status}");
    assert!(status.contains("? → v3"), "{status}");
    operator.ok(&["set-image", DS, "agent=registry.test/agent:v2", "--yes"]);
    let json: Value = serde_json::from_str(&operator.ok(&["history", DS, "-o", "json"])).unwrap();
    let again = json["revisions"].as_array().unwrap().iter().find(|it| it["hash"] == *origin);
    assert_eq!(again.expect("made anew")["images"][0]["image"], "registry.test/agent:v2", "{json:#}");
    let refused = text(&operator.run(&["undo", DS, "--yes"]));
    println!("{refused}");
    assert!(refused.contains("`step --to 100%` lets it go"), "{refused}");
    end(operator.drive(DS, &["--to", "100%"]), 0);
    assert!(operator.ok(&["history", DS]).lines().any(|line| line.contains("current")));
}
