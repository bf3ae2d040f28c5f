//! What becomes of a watch when one of its objects cannot be read.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::cluster::scripted::{Says, ScriptedServer};
use crate::cluster::watch::{Subject, WatchSource, watch};
use crate::engine::model::event::{Event, WatchHealth, Watched};

/// Restarted this many times, or unreadable where that is no number.
fn pod(name: &str, version: &str, restarts: &Value) -> Value {
    json!({
        "metadata": {"namespace": "edge", "name": name, "uid": format!("uid-{name}"), "resourceVersion": version},
        "status": {"containerStatuses": [{"name": "agent", "restartCount": restarts}]},
    })
}

fn event(name: &str, version: &str, count: &Value) -> Value {
    json!({
        "metadata": {"namespace": "edge", "name": name, "resourceVersion": version},
        "involvedObject": {"name": "agent-x", "uid": "u"}, "reason": "Pulled", "message": name, "count": count,
    })
}

fn line(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

fn end_of_list(version: &str) -> Value {
    let annotations = json!({"k8s.io/initial-events-end": "true"});
    json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version, "annotations": annotations}}})
}

fn bad() -> Value {
    json!("three")
}

/// What was told, in brief.
fn brief(event: &Event) -> String {
    match event {
        Event::Pod(fact) => format!("{} {}", fact.name, fact.containers[0].restarts),
        Event::DaemonSet(fact) => fact.name.to_string(),
        Event::PodGone(uid, _) => format!("-{uid}"),
        Event::Cluster(fact) => format!("{} {}", fact.message, fact.count),
        Event::Skipped(Watched::Events, why) => format!("skipped {why}"),
        Event::Listing(_) => "listing".into(),
        Event::Listed(_, version) => format!("listed {}", version.unwrap_or_default()),
        Event::Watch(_, WatchHealth::Live) => "live".into(),
        Event::Watch(_, WatchHealth::Down { why, .. }) => format!("down: {why}"),
        other => panic!("{other:?}"),
    }
}

/// Plays `script` and gives what was told until `last` was, and what the server was asked.
async fn run<S: Subject<Out = Event>>(subject: S, script: Vec<Says>, last: &str) -> (Vec<String>, Vec<String>) {
    let server = ScriptedServer::new(script).await;
    let (out, mut told) = mpsc::channel(1);
    let source = WatchSource { path: "/x".into(), labels: None, fields: None };
    let task = tokio::spawn(watch(server.http.clone(), source, subject, out));
    let mut events: Vec<String> = Vec::new();
    let telling = async {
        while events.last().is_none_or(|said| said != last) {
            let event = told.recv().await.expect("the watch goes on");
            if !matches!(event, Event::Heard(..)) {
                events.push(brief(&event));
            }
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), telling).await;
    assert!(in_time.is_ok(), "no {last} after {events:?}");
    drop(told);
    task.await.unwrap();
    (events, server.lines())
}

fn without_position(text: &str) -> String {
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_pod_that_cannot_be_read_keeps_its_watch_down_until_it_can() {
    let script = vec![
        Says::Lines(vec![
            line("ADDED", &pod("a", "1", &json!(0))),
            line("ADDED", &pod("b", "2", &json!(0))),
            end_of_list("5"),
            line("MODIFIED", &pod("a", "6", &bad())),
            line("MODIFIED", &pod("b", "7", &json!(1))),
        ]),
        // Taken up after what could not be read: the server does not send it again, and it is down still.
        Says::LinesAndMore(vec![
            line("MODIFIED", &pod("b", "8", &json!(2))),
            line("MODIFIED", &pod("a", "9", &json!(3))),
            line("MODIFIED", &pod("b", "10", &json!(4))),
        ]),
    ];
    let (events, asked) = run(Pods::default(), script, "b 4").await;
    let events: Vec<String> = events.iter().map(|event| without_position(event)).collect();
    let down = r#"down: edge/a cannot be read: invalid type: string "three", expected a number"#;
    assert_eq!(events, ["listing", "a 0", "b 0", "listed 5", "live", down, "b 1", "b 2", "a 3", "live", "b 4"]);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[1].contains("resourceVersion=7"), "{asked:?}");
}

#[tokio::test]
async fn a_list_with_a_pod_that_cannot_be_read_is_not_complete_until_it_can() {
    let streamed = vec![Says::LinesAndMore(vec![
        line("ADDED", &pod("a", "1", &bad())),
        line("ADDED", &pod("b", "2", &json!(0))),
        end_of_list("5"),
        line("MODIFIED", &pod("b", "6", &json!(1))),
        line("MODIFIED", &pod("a", "7", &json!(2))),
    ])];
    let (events, _) = run(Pods::default(), streamed, "live").await;
    let events: Vec<String> = events.iter().map(|event| without_position(event)).collect();
    let down = r#"down: edge/a cannot be read: invalid type: string "three", expected a number"#;
    assert_eq!(events, ["listing", "b 0", down, "b 1", "a 2", "listed 7", "live"], "what it did not name is not gone");

    let not_known = json!({"kind": "Status", "code": 400, "reason": "BadRequest", "message": "unknown parameter"});
    let items = [pod("a", "1", &bad()), pod("b", "2", &json!(0))];
    let paged = vec![
        Says::Json(400, not_known),
        Says::Json(200, json!({"metadata": {"resourceVersion": "5"}, "items": items})),
        Says::LinesAndMore(vec![line("MODIFIED", &pod("a", "7", &json!(2)))]),
    ];
    let (events, asked) = run(Pods::default(), paged, "live").await;
    assert_eq!(
        events.iter().map(|event| without_position(event)).collect::<Vec<_>>()[2..],
        [down, "a 2", "listed 7", "live"]
    );
    assert!(asked[2].contains("resourceVersion=5"), "it waits for what comes after the list: {asked:?}");
}

#[tokio::test]
async fn a_pod_that_cannot_be_read_is_gone_when_it_is_deleted() {
    let script = vec![Says::LinesAndMore(vec![
        end_of_list("5"),
        line("ADDED", &pod("a", "6", &bad())),
        line("DELETED", &pod("a", "7", &bad())),
        line("ADDED", &pod("b", "8", &json!(1))),
    ])];
    let events = run(Pods::default(), script, "b 1").await.0;
    assert!(events[3].starts_with("down: edge/a cannot be read"), "{events:?}");
    assert_eq!(events[4..], ["-uid-a", "live", "b 1"]);
}

#[tokio::test]
async fn a_daemonset_that_is_not_understood_is_named_and_not_taken_to_be_gone() {
    let daemonset = |version: &str, operator: &str| {
        let expression = json!({"key": "app", "operator": operator});
        json!({
            "metadata": {"namespace": "edge", "name": "agent", "uid": "u", "resourceVersion": version},
            "spec": {"selector": {"matchExpressions": [expression]}},
        })
    };
    let script = vec![Says::LinesAndMore(vec![
        line("ADDED", &daemonset("1", "Near")),
        end_of_list("5"),
        line("MODIFIED", &daemonset("6", "Exists")),
    ])];
    let shared = crate::cluster::last_observed::LastObserved::new();
    let workload: crate::cluster::workload::SharedWorkload = std::sync::Arc::new(crate::cluster::native::Native);
    let (events, _) = run(TheDaemonSet::new(shared, workload), script, "live").await;
    assert!(events[1].starts_with("down: edge/agent cannot be read: ") && events[1].contains("Near"), "{events:?}");
    assert_eq!([&*events[0], &*events[2], &*events[3], &*events[4]], ["listing", "agent", "listed 6", "live"]);
}

#[tokio::test]
async fn an_event_that_cannot_be_read_is_skipped_and_said() {
    let script = vec![
        Says::Lines(vec![
            line("ADDED", &event("one", "1", &json!(-1))),
            line("ADDED", &event("two", "2", &bad())),
            end_of_list("5"),
            line("ADDED", &event("three", "6", &bad())),
        ]),
        Says::LinesAndMore(vec![line("ADDED", &event("four", "7", &json!(4)))]),
    ];
    let (events, asked) = run(ClusterEvents::of_pods("agent"), script, "four 4").await;
    let events: Vec<String> = events.iter().map(|event| without_position(event)).collect();
    let skipped =
        |name: &str| format!(r#"skipped edge/{name} cannot be read: invalid type: string "three", expected a number"#);
    let (two, three) = (skipped("two"), skipped("three"));
    assert_eq!(events, ["listing", "one 1", &two, "listed 5", "live", &three, "four 4"], "the watch was never down");
    assert!(asked[1].contains("resourceVersion=6"), "it is not asked for again: {asked:?}");
}
