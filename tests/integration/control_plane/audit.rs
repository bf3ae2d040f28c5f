//! The audit log and the Events that kubectl shows, on real controllers; neither contains a secret.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::fixture::{DS, GOOD, MISSING, RolloutFixture, SOON, grants};
use crate::support::control_plane::{Grant, eventually};
use crate::support::program::{Operator, text};
use crate::support::terminal::Terminal;

/// Whether an operator may create Events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Events {
    Allowed,
    Forbidden,
}

/// An operator with the rights of `deploy/rbac.yaml`, or without the right to create Events; and the operator's token.
fn operator(fixture: &RolloutFixture, name: &str, events: Events) -> (Operator, String) {
    let namespace = fixture.sandbox.namespace();
    let mut grants = grants(namespace).to_vec();
    if events == Events::Forbidden {
        grants.retain(|grant| *grant != Grant::within(namespace, "create", "events"));
    }
    let user = fixture.sandbox.user(name, &grants);
    (Operator::new(user.kubeconfig(), namespace), user.token().to_owned())
}

/// An admission policy that refuses an image, and quotes the environment in the refusal; deleted when dropped.
struct Denial<'a> {
    fixture: &'a RolloutFixture,
    name: String,
}

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

impl<'a> Denial<'a> {
    fn of_missing_images(fixture: &'a RolloutFixture) -> Self {
        let namespace = fixture.sandbox.namespace();
        let name = format!("agent-env-{namespace}");
        let policy = json!({
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [{
                        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["daemonsets"],
                    }],
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                },
                "validations": [{
                    "expression": "!object.spec.template.spec.containers[0].image.endsWith('missing')",
                    "messageExpression": "'the environment is ' + object.spec.template.spec.containers[0].env[0].value",
                }],
            },
        });
        let binding = json!({"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}});
        let admin = fixture.sandbox.admin();
        admin.post(&format!("{ADMISSION}/validatingadmissionpolicies"), &policy).ok();
        admin.post(&format!("{ADMISSION}/validatingadmissionpolicybindings"), &binding).ok();
        Self { fixture, name }
    }
}

impl Drop for Denial<'_> {
    fn drop(&mut self) {
        for kind in ["validatingadmissionpolicybindings", "validatingadmissionpolicies"] {
            self.fixture.sandbox.admin().delete(&format!("{ADMISSION}/{kind}/{}", self.name));
        }
    }
}

/// The Events that rolldeck wrote about the DaemonSet, as the API server selects them.
fn printed(fixture: &RolloutFixture) -> Vec<Value> {
    let query = "fieldSelector=involvedObject.kind%3DDaemonSet%2CinvolvedObject.name%3Dagent%2Csource%3Drolldeck";
    let path = format!("{}?{query}", fixture.sandbox.path("events", ""));
    let list = fixture.sandbox.admin().get(&path).ok();
    let mut events: Vec<Value> = list["items"].as_array().cloned().unwrap_or_default();
    events.sort_by_key(|event| event["eventTime"].as_str().unwrap_or_default().to_owned());
    events
}

fn reasons(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["reason"].as_str().unwrap()).collect()
}

#[test]
fn kubectl_describe_shows_who_did_what_from_where() {
    let Some(fixture) = RolloutFixture::new("audit") else { return };
    let (operator, _) = operator(&fixture, "alice", Events::Allowed);
    let image = format!("agent={}", GOOD[1]);
    let mut ssh = operator.command(&["set-image", DS, &image, "--yes"]);
    let output = ssh.env("SSH_CONNECTION", "10.1.2.3 50022 10.0.0.1 22").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    operator.ok(&["step", DS]);
    operator.ok(&["drive", DS, "--until", "held", "--timeout", "60s"]);
    operator.ok(&["pause", DS, "--reason", "the link is down"]);
    operator.ok(&["resume", DS]);
    operator.ok(&["drive", DS, "--to", "100%", "--timeout", "120s"]);

    let events = eventually("the last of it is told", SOON, || {
        let events = printed(&fixture);
        reasons(&events).contains(&"RolloutReleased").then_some(events)
    });
    // A command stands before what follows from it, unless it took so long that it stands where it was done.
    let told = reasons(&events);
    let begins = ["RolloutImageSet", "RolloutAdopted", "RolloutTemplateChanged"];
    let took_long = ["RolloutAdopted", "RolloutTemplateChanged", "RolloutImageSet"];
    assert!(told.starts_with(&begins) || told.starts_with(&took_long), "{told:?}");
    assert_eq!(
        told[begins.len()..],
        [
            "RolloutStepped",
            "RolloutDriven",
            "RolloutDriverLeft",
            "RolloutPaused",
            "RolloutResumed",
            "RolloutStepped",
            "RolloutDriven",
            "RolloutComplete",
            "RolloutReleased",
            "RolloutDriverLeft",
        ]
    );
    let message = |reason: &str| {
        let event = events.iter().find(|event| event["reason"] == reason).unwrap();
        event["message"].as_str().unwrap().to_owned()
    };
    let set = message("RolloutImageSet");
    assert!(set.starts_with("tester@") && set.contains(": template has agent=registry.test/agent:v2"), "{set}");
    assert!(set.ends_with("(from 10.1.2.3, as test)") || set.contains("(from 10.1.2.3, as "), "{set}");
    assert!(message("RolloutPaused").contains(": paused: no update starts: the link is down (as "));
    assert!(message("RolloutComplete").starts_with("complete: all 20 nodes are at the target (driven by tester@"));
    assert!(events.iter().all(|event| event["type"] == "Normal"), "nothing was wrong");

    let described = fixture.sandbox.admin().kubectl_ok(["describe", "-n", fixture.sandbox.namespace(), DS]);
    assert!(described.contains("RolloutComplete") && described.contains("rolldeck"), "{described}");
    println!("{}", described.split("Events:").nth(1).unwrap_or_default());
}

#[test]
fn the_audit_log_has_every_deletion_and_only_its_owner_may_read_it() {
    let Some(fixture) = RolloutFixture::new("log") else { return };
    let (operator, _) = operator(&fixture, "alice", Events::Allowed);
    operator.ok(&["drive", DS, "--image", &format!("agent={}", GOOD[1]), "--to", "3", "--until", "held", "--yes"]);
    let log = operator.audit();
    let deleted = |result: &str| -> BTreeSet<String> {
        let of = |line: &&Value| line["event"] == "deletePod" && line["outcome"] == result;
        log.iter().filter(of).map(|line| line["args"]["uid"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((deleted("sent").len(), deleted("sent")), (3, deleted("done")));
    for line in &log {
        assert_eq!((&line["namespace"], &line["name"]), (&json!(fixture.sandbox.namespace()), &json!("agent")));
        assert!(line["identity"].as_str().unwrap().starts_with("tester@"), "{line}");
        assert_eq!(line["cluster"]["context"], "test");
        assert!(line["time"].as_str().is_some_and(|time| time.len() == 24 && time.ends_with('Z')), "{line}");
    }
    let file = operator.home().join(".local/state/rolldeck/audit.jsonl");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    // A deletion is logged before it is sent, so the log of a killed driver has it.
    let mut drive = operator.drive(DS, &["--to", "100%"]);
    drive.until_updated(6);
    drive.signal(Signal::KILL);
    drive.end();
    let sent = operator.audit().iter().filter(|line| line["event"] == "deletePod" && line["outcome"] == "sent").count();
    assert!(sent >= 6, "{sent}");
}

#[test]
fn an_interrupted_driver_logs_that_it_stopped_driving() {
    let Some(fixture) = RolloutFixture::new("interrupted") else { return };
    let (operator, _) = operator(&fixture, "alice", Events::Allowed);
    let mut drive = operator.drive(DS, &["--image", &format!("agent={}", GOOD[1]), "--to", "5"]);
    drive.until_updated(2);
    drive.signal(Signal::INT);
    assert_eq!(drive.end().code(), Some(130), "{}", drive.seen());
    // A process has written all of its Events before it ends.
    assert_eq!(reasons(&printed(&fixture)).last(), Some(&"RolloutDriverLeft"));
    let log = operator.audit();
    let stop: Vec<_> = log.iter().filter(|line| line["event"] == "endDriving").map(|line| &line["outcome"]).collect();
    assert_eq!(stop, ["requested", "done"]);
    assert!(log.iter().any(|line| line["event"] == "leaseGivenBack"), "{log:#?}");
    let asked = log.iter().filter(|line| line["outcome"] == "requested").count();
    let settled = log.iter().filter(|line| !line["command"].is_null() && line["outcome"] != "requested").count();
    assert_eq!(asked, settled, "each command has its end: {log:#?}");
}

#[test]
fn two_consoles_write_each_event_once_and_show_what_the_other_did() {
    let Some(fixture) = RolloutFixture::new("two") else { return };
    let (driver, _) = operator(&fixture, "alice", Events::Allowed);
    let (watcher, _) = operator(&fixture, "bob", Events::Allowed);
    // The rollout goes only to five nodes, because a whole rollout may be over before a key is pressed.
    let mut drive = driver.drive(DS, &["--image", &format!("agent={}", GOOD[1]), "--to", "5"]);
    drive.until_updated(2);
    let Some(console) = Terminal::open(&watcher, &[DS], (120, 40)) else { return };
    console.until("drives");
    console.press(&["P"]);
    console.confirm("[ Pause now ]");
    drive.until("paused by tester@");
    console.press(&["T"]);
    console.until("paused: no update starts");
    console.until("drives the rollout now");
    drive.signal(Signal::TERM);
    drive.end();
    console.until("drives no more, gave the lease back");
    console.press(&["q"]);
    console.until("it ended with 0");
    let events = printed(&fixture);
    let mut once = reasons(&events);
    once.sort_unstable();
    let mut unique = once.clone();
    unique.dedup();
    assert_eq!(once, unique, "nothing is told twice");
    assert!(once.contains(&"RolloutPaused"), "{once:?}");
    assert!(watcher.audit().iter().any(|line| line["event"] == "pause" && line["outcome"] == "done"));
    assert!(!driver.audit().iter().any(|line| line["event"] == "pause"), "each writes what happened in it");
}

#[test]
fn without_the_right_to_create_events_all_else_works_and_one_message_says_so() {
    let Some(fixture) = RolloutFixture::new("mute") else { return };
    let (operator, _) = operator(&fixture, "restricted", Events::Forbidden);
    let line = ["drive", DS, "--image", &format!("agent={}", GOOD[1]), "--to", "2", "--until", "held", "--yes"];
    let output = operator.run(&line);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let said = text(&output);
    assert_eq!(said.matches("no Events on the DaemonSet").count(), 1, "{said}");
    assert_eq!(printed(&fixture), Vec::<Value>::new());
    assert!(operator.audit().iter().any(|line| line["event"] == "setImage" && line["outcome"] == "done"));
}

#[test]
fn secrets_are_not_written_even_if_the_server_quotes_them() {
    let Some(fixture) = RolloutFixture::new("secrets") else { return };
    let secret = "hunter2-b7f1c9";
    let template = json!({
        "metadata": {"annotations": {"example.com/key": format!("{secret}-annotation")}},
        "spec": {"containers": [{"name": "agent", "env": [{"name": "DB_PASSWORD", "value": secret}]}]},
    });
    let patch = json!({"spec": {"template": template}});
    let path = format!("{}?fieldManager=test", fixture.sandbox.path("daemonsets.apps", "agent"));
    let strategic = "application/strategic-merge-patch+json";
    fixture.sandbox.admin().request_as(strategic, reqwest::Method::PATCH, &path, &patch).ok();
    fixture.until("the agent has its environment everywhere", |witness| witness.unavailable() == 0);
    let (operator, token) = operator(&fixture, "alice", Events::Allowed);
    let denial = Denial::of_missing_images(&fixture);
    eventually("the policy is honoured", SOON, || {
        let path = format!("{path}&dryRun=All");
        let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": MISSING}]}}}});
        let answer = fixture.sandbox.admin().request_as(strategic, reqwest::Method::PATCH, &path, &image);
        (answer.status == 422 && answer.body.to_string().contains(secret)).then_some(())
    });

    let refused = operator.run(&["set-image", DS, &format!("agent={MISSING}"), "--yes"]);
    assert_ne!(refused.status.code(), Some(0), "{}", text(&refused));
    // The refusal is shown from the record, where it is kept; the record may not contain a secret either.
    assert!(text(&refused).contains("the environment is ***"), "{}", text(&refused));
    assert!(!text(&refused).contains(secret), "{}", text(&refused));
    operator.ok(&["drive", DS, "--image", &format!("agent={}", GOOD[1]), "--to", "2", "--until", "held", "--yes"]);

    let log = std::fs::read_to_string(operator.home().join(".local/state/rolldeck/audit.jsonl")).unwrap();
    let events = Value::from(printed(&fixture)).to_string();
    assert!(log.contains("\"outcome\":\"failed\"") && events.contains("RolloutCommandFailed"), "{log}\n{events}");
    assert!(log.contains("the environment is ***"), "{log}");
    for hidden in [secret, token.as_str()] {
        assert!(!log.contains(hidden), "in the log: {log}");
        assert!(!events.contains(hidden), "in the Events: {events}");
    }
    drop(denial);
}

#[test]
fn a_second_console_reads_what_the_first_one_did() {
    let Some(fixture) = RolloutFixture::new("read-back") else { return };
    let (first, _) = operator(&fixture, "alice", Events::Allowed);
    let (second, _) = operator(&fixture, "bob", Events::Allowed);
    first.ok(&["set-image", DS, &format!("agent={}", GOOD[1]), "--yes"]);
    first.ok(&["pause", DS, "--reason", "the link is down"]);
    let status = eventually("it is on the other's timeline", SOON, || {
        let status = second.json(&["status", DS, "-o", "json"]);
        let timeline = status["timeline"].as_array().cloned().unwrap_or_default();
        timeline.iter().any(|line| line["reason"] == "RolloutPaused").then_some(timeline)
    });
    let paused = status.iter().find(|line| line["reason"] == "RolloutPaused").unwrap();
    assert!(paused["reportedBy"].as_str().unwrap().starts_with("tester@"), "an Event says so, nobody else: {paused}");
    assert!(paused["by"].is_null(), "{paused}");
    assert!(paused["text"].as_str().unwrap().contains("paused: no update starts: the link is down"), "{paused}");
    let times: Vec<&str> = status.iter().map(|line| line["time"].as_str().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(text(&second.run(&["status", DS])).contains("the link is down"));
}
