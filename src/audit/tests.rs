mod no_secret;

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::log::WAITING;
use super::*;
use crate::engine::model::command::{Command, CommandId, Early, Step, Takeover};
use crate::engine::model::config::Role;
use crate::engine::model::facts::Severity;
use crate::engine::model::printable::is_printable;
use crate::engine::model::printable::tests::HOSTILE;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::released_strategy::ReleasedStrategy;
use crate::engine::model::rollout_event::{EventOutcome, RolloutEvent, RolloutEventKind, Visibility, telling};
use crate::engine::model::time::Timestamp;

fn subject() -> EntrySubject {
    let origin = Origin {
        from: Place { host: "bastion-3".into(), ssh: Some("10.1.2.3".into()), ..Place::default() },
        cluster: AuditedCluster {
            context: "prod-eu".into(),
            server: "api.example:6443".into(),
            user: Some("joe".into()),
            ..AuditedCluster::default()
        },
    };
    EntrySubject {
        origin: origin.into(),
        secrets: Secrets::new(|| vec!["opaque-token".to_owned()]),
        namespace: "edge".into(),
        name: "agent".into(),
        identity: "joe@bastion-3/1f00c3a9".into(),
        role: Role::Driver,
    }
}

fn rollout_event(kind: RolloutEventKind, outcome: EventOutcome, said: Option<&str>) -> RolloutEvent {
    RolloutEvent {
        at: Timestamp::from_millis(1_800_000_000_123),
        by: Some("joe@bastion-3".into()),
        kind,
        outcome,
        command: Some(CommandId(3)),
        said: said.map(Into::into),
        visibility: Visibility::Cluster,
        revision: None,
    }
}

fn line(kind: RolloutEventKind, outcome: EventOutcome, said: Option<&str>) -> Value {
    serde_json::from_slice(&subject().line(&rollout_event(kind, outcome, said), None)).unwrap()
}

#[test]
fn a_line_says_who_what_when_from_where() {
    let paused = RolloutEventKind::Command(Command::Pause { why: Some("link down".into()) });
    let paused = rollout_event(paused, EventOutcome::Done, Some("paused: no update starts"));
    let text = String::from_utf8(subject().line(&paused, Some(&"0f-1".into()))).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        text,
        format!(
            "{}{}{}{}\n",
            r#"{"time":"2027-01-15T08:00:00.123Z","identity":"joe@bastion-3/1f00c3a9","from":{"host":"bastion-3","ssh":"10.1.2.3"},"#,
            r#""cluster":{"context":"prod-eu","server":"api.example:6443","user":"joe"},"#,
            format_args!(
                r#""version":"{version}","namespace":"edge","name":"agent","uid":"0f-1","by":"joe@bastion-3","event":"pause","#
            ),
            r#""args":{"why":"link down"},"outcome":"done","command":3,"message":"paused: no update starts: link down"}"#
        )
    );
}

/// A report reads events and the audit log, and learns the same of the template and of the record from either.
#[test]
fn a_line_tells_of_the_template_what_its_event_tells() {
    let told = telling();
    assert!(told.iter().any(|(_, facts)| facts.made_by_others.is_some()));
    for (event, facts) in told {
        let line = LogLine::parse(String::from_utf8(subject().line(&event, None)).unwrap()).unwrap();
        assert_eq!(line.facts(), facts, "{event}");
    }
}

#[test]
fn arguments_are_always_an_object() {
    for (kind, name, args) in [
        (RolloutEventKind::Command(Command::Resume), "resume", Value::Null),
        (RolloutEventKind::Command(Command::Step(Step::Next)), "step", json!({"to": "next"})),
        (
            RolloutEventKind::Command(Command::Step(Step::Updated(IntOrPercent::Percent(50)))),
            "step",
            json!({"to": {"updated": "50%"}}),
        ),
        (
            RolloutEventKind::Command(Command::SetImage(
                [("agent".to_owned(), "a.example/agent:v2".parse().unwrap())].into(),
            )),
            "setImage",
            json!({"images": {"agent": "a.example/agent:v2"}}),
        ),
        (RolloutEventKind::Command(Command::Release(Early::Accept)), "release", json!({"early": "accept"})),
        (RolloutEventKind::Command(Command::Drive(Takeover::Ask)), "drive", json!({"takeover": "ask"})),
        (RolloutEventKind::Command(Command::Undo { to: Some(3) }), "undo", json!({"to": 3})),
        (
            RolloutEventKind::Released { strategy: ReleasedStrategy::Original },
            "released",
            json!({"strategy": "original"}),
        ),
        (
            RolloutEventKind::DeletePod { node: "n1".into(), pod: "agent-1".into(), uid: "u".into() },
            "deletePod",
            json!({"node": "n1", "pod": "agent-1", "uid": "u"}),
        ),
    ] {
        let line = line(kind, EventOutcome::Done, None);
        assert_eq!((line["event"].as_str(), &line["args"]), (Some(name), &args));
    }
}

#[test]
fn a_refusal_says_why_and_secrets_of_servers_do_not_come_through() {
    let why = "change the template: Invalid value: \"hunter2-x\": opaque-token at https://joe:hunter2@proxy/";
    let line = line(RolloutEventKind::Command(Command::Adopt), EventOutcome::Failed, Some(why));
    assert_eq!(line["error"], "change the template: Invalid value: ***: *** at https://***@proxy/");
    assert_eq!(line["message"], format!("failed: adopt: {}", line["error"].as_str().unwrap()));
}

#[test]
fn a_line_and_an_event_hold_nothing_that_steers_a_terminal() {
    let asked = rollout_event(
        RolloutEventKind::Command(Command::Pause { why: Some(HOSTILE.into()) }),
        EventOutcome::Failed,
        Some(HOSTILE),
    );
    let line = String::from_utf8(subject().line(&asked, None)).unwrap();
    assert!(line.trim_end().chars().all(is_printable), "{line:?}");
    let value: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&value["error"], &value["args"]["why"]), (&HOSTILE.into(), &HOSTILE.into()), "JSON keeps the value");
    let text = subject().event_text(&asked);
    assert!(text.message.chars().chain(text.from.chars()).all(is_printable), "{text:?}");
    assert!(text.message.contains("a?]0;x"), "{text:?}");
}

/// A one-shot command holds the lease for its own write, and drives nothing.
#[test]
fn an_event_says_who_drives_or_who_did_it() {
    let adopted = rollout_event(RolloutEventKind::Adopted, EventOutcome::Done, None);
    let from = |role| EntrySubject { role, ..subject() }.event_text(&RolloutEvent { by: None, ..adopted.clone() }).from;
    assert_eq!(from(Role::Driver), " (driven by joe@bastion-3)");
    assert_eq!(from(Role::OneShot), " (by joe@bastion-3)");
}

#[tokio::test]
async fn lines_are_on_disk_when_it_is_flushed_and_read_back_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state").join("audit.jsonl");
    let log = Log::to(path.clone());
    let subject = subject();
    for outcome in [EventOutcome::Requested, EventOutcome::Done] {
        let visibility = if outcome == EventOutcome::Requested { Visibility::Log } else { Visibility::Cluster };
        let adopted = rollout_event(RolloutEventKind::Command(Command::Adopt), outcome, Some("adopted"));
        log.write(subject.line(&RolloutEvent { visibility, ..adopted }, None));
    }
    let other = EntrySubject { name: "other".into(), ..subject };
    log.write(other.line(
        &rollout_event(RolloutEventKind::Released { strategy: ReleasedStrategy::Original }, EventOutcome::Done, None),
        None,
    ));
    log.flushed(Duration::from_secs(5)).await;
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
    assert_eq!(*log.complaint().borrow(), None);

    let asked = |filter: &LogFilter| {
        read(&path, filter)
            .unwrap()
            .lines
            .iter()
            .map(|line| line.text("message").unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let named = LogFilter { name: Some("agent".into()), ..LogFilter::default() };
    assert_eq!(asked(&named), ["adopted"]);
    assert_eq!(asked(&LogFilter { all: true, ..named.clone() }), ["requested: adopt", "adopted"]);
    let elsewhere = LoggedCluster { context: "elsewhere".into(), ..LoggedCluster::default() };
    assert_eq!(asked(&LogFilter { cluster: Some(elsewhere), ..named.clone() }), Vec::<String>::new());
    let later = Some(Timestamp::from_millis(1_800_000_000_124));
    assert_eq!(asked(&LogFilter { since: later, ..named }), Vec::<String>::new());
    assert_eq!(read(&dir.path().join("none"), &LogFilter::default()).unwrap(), LogRead::default());
}

/// A report of a rollout marks bad news by what the log says.
#[tokio::test]
async fn a_line_that_is_read_back_is_bad_news_if_its_event_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let log = Log::to(path.clone());
    let events = [
        (RolloutEventKind::DroveMeanwhile { by: None }, EventOutcome::Done),
        (RolloutEventKind::RecordDeleted, EventOutcome::Done),
        (RolloutEventKind::LeaseAcquired, EventOutcome::Done),
        (RolloutEventKind::Command(Command::Adopt), EventOutcome::Failed),
        (RolloutEventKind::Command(Command::Adopt), EventOutcome::Done),
    ];
    let events = events.map(|(kind, outcome)| rollout_event(kind, outcome, None));
    for event in &events {
        log.write(subject().line(event, None));
    }
    log.flushed(Duration::from_secs(5)).await;
    let lines = read(&path, &LogFilter::default()).unwrap().lines;
    let read: Vec<Severity> = lines.iter().map(LogLine::severity).collect();
    assert_eq!(read, events.each_ref().map(RolloutEvent::severity));
    assert_eq!(read.iter().filter(|severity| **severity == Severity::Warning).count(), 3);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_is_reported_once_and_delays_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let log = Log::to(file.join("audit.jsonl"));
    let mut complaint = log.complaint();
    let line = subject().line(
        &rollout_event(RolloutEventKind::Released { strategy: ReleasedStrategy::Original }, EventOutcome::Done, None),
        None,
    );
    for _ in 0..10 * WAITING {
        log.write(line.clone());
    }
    complaint.changed().await.unwrap();
    let said = complaint.borrow_and_update().clone().unwrap();
    assert!(said.contains("cannot be written") && said.contains("--audit-log"), "{said}");
    log.flushed(Duration::from_secs(5)).await;
    assert!(!complaint.has_changed().unwrap(), "once is enough");
}

#[tokio::test]
async fn lines_that_did_not_fit_are_counted_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let log = Log::to(path.clone());
    log.lost.store(7, Ordering::Relaxed);
    log.write(subject().line(
        &rollout_event(RolloutEventKind::Released { strategy: ReleasedStrategy::Original }, EventOutcome::Done, None),
        None,
    ));
    log.flushed(Duration::from_secs(5)).await;
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("{\"args\":{\"count\":7},\"event\":\"linesLost\"}\n"), "{text}");
}

/// A line of the log with these fields of its own.
fn logged(uid: Option<&str>, cluster: &Value, message: &str) -> String {
    let mut line = json!({
        "time": "2026-11-21T14:30:05Z", "cluster": cluster, "namespace": "edge", "name": "agent", "message": message,
    });
    if let Some(uid) = uid {
        line["uid"] = uid.into();
    }
    line.to_string()
}

#[test]
fn lines_of_a_cluster_are_told_from_those_of_another_whose_context_has_the_same_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let on = |context: &str, server: &str| json!({"context": context, "server": server});
    let lines = [
        logged(Some("ours"), &on("kubernetes-admin@kubernetes", "a:6443"), "ours"),
        logged(Some("ours"), &on("renamed", "tunnel:1"), "ours, by another way"),
        logged(Some("theirs"), &on("kubernetes-admin@kubernetes", "b:6443"), "theirs"),
        logged(Some("before"), &on("kubernetes-admin@kubernetes", "a:6443"), "an earlier one of this name"),
        logged(None, &on("renamed", "a:6443"), "ours, of an older rolldeck"),
        logged(None, &on("kubernetes-admin@kubernetes", "b:6443"), "theirs, of an older rolldeck"),
        logged(None, &json!({"context": "kubernetes-admin@kubernetes"}), "no address is known"),
        logged(
            Some("ours"),
            &json!({"context": "x", "server": "z:1", "practice": true}),
            "practice has uids of its own",
        ),
    ];
    fs::write(&path, lines.join("\n")).unwrap();
    let messages = |cluster: LoggedCluster| {
        let read = read(&path, &LogFilter { cluster: Some(cluster), ..LogFilter::default() }).unwrap();
        let messages: Vec<String> = read.lines.iter().map(|line| line.text("message").unwrap().to_owned()).collect();
        (messages, read.elsewhere.into_iter().collect::<Vec<_>>())
    };
    let here = LoggedCluster {
        uid: Some("ours".into()),
        server: "a:6443".to_owned(),
        context: "kubernetes-admin@kubernetes".to_owned(),
    };
    let (told, elsewhere) = messages(here.clone());
    assert_eq!(told, ["ours", "ours, by another way", "ours, of an older rolldeck", "no address is known"]);
    assert_eq!(elsewhere, ["b:6443"], "under the same name of a context");
    // Without a DaemonSet, as for `log`: the address of the server tells.
    let (told, _) = messages(LoggedCluster { uid: None, ..here });
    let want = ["ours", "an earlier one of this name", "ours, of an older rolldeck", "no address is known"];
    assert_eq!(told, want);
    // A context that is in no kubeconfig any more is a name, and nothing else.
    let (told, elsewhere) = messages(LoggedCluster { context: "renamed".to_owned(), ..LoggedCluster::default() });
    assert_eq!(told, ["ours, by another way", "ours, of an older rolldeck"]);
    assert!(elsewhere.is_empty());
}
