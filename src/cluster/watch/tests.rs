use serde_json::{Value, json};

use super::super::scripted::{Says, ScriptedServer};
use super::*;
use crate::engine::model::version::is_older;

/// Tells everything as text; compares versions of objects as the watches of the DaemonSet and of the Lease do.
#[derive(Default)]
struct Plain {
    newest: Option<String>,
}

impl Subject for Plain {
    type Wire<'a> = Value;
    type Out = String;

    fn version(wire: &Value) -> &str {
        wire["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    }

    fn went_back(&self, wire: &Value) -> bool {
        self.newest.as_ref().is_some_and(|newest| name(wire) == "kept" && is_older(Self::version(wire), newest))
    }

    fn forget_versions(&mut self) {
        self.newest = None;
    }

    fn applied(&mut self, wire: Value) -> Result<Option<String>, NotUnderstood> {
        self.newest = Some(Self::version(&wire).to_owned()).filter(|_| name(&wire) == "kept");
        Ok(Some(format!("{}@{}", name(&wire), Self::version(&wire))))
    }

    fn deleted(&mut self, wire: Value) -> Option<String> {
        Some(format!("-{}", name(&wire)))
    }

    fn listing(&mut self) -> Option<String> {
        Some("listing".into())
    }

    fn listed(&mut self, _version: Option<u64>) -> Vec<String> {
        vec!["listed".into()]
    }

    fn health(&mut self, health: WatchHealth) -> Option<String> {
        Some(match health {
            WatchHealth::Loading => "loading".into(),
            WatchHealth::Live => "live".into(),
            WatchHealth::Down { why, .. } => format!("down: {why}"),
            WatchHealth::Lagging { why, .. } => format!("lagging: {why}"),
            WatchHealth::Forbidden { why } => format!("forbidden: {why}"),
        })
    }
}

fn name(wire: &Value) -> &str {
    wire["metadata"]["name"].as_str().unwrap_or_default()
}

fn object(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version}})
}

fn line(kind: &str, name: &str, version: &str) -> Value {
    // Keys are sorted here, so the type comes last; servers write it first, and both must be read.
    json!({"type": kind, "object": object(name, version)})
}

fn end_of_list(version: &str) -> Value {
    let annotations = json!({"k8s.io/initial-events-end": "true"});
    json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version, "annotations": annotations}}})
}

fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message})
}

const STREAM: &str = "GET /x?labelSelector=a%3Db&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

fn follow(version: &str) -> String {
    format!("GET /x?labelSelector=a%3Db&watch=true&resourceVersion={version}&allowWatchBookmarks=true")
}

/// Plays `script` and gives what was told until `last` was.
async fn run(script: Vec<Says>, last: &str) -> (Vec<String>, ScriptedServer) {
    let server = ScriptedServer::new(script).await;
    let (out, mut shown) = mpsc::channel(1);
    let source = WatchSource { path: "/x".into(), labels: Some("a=b".into()), fields: None };
    let task = tokio::spawn(watch(server.http.clone(), source, Plain::default(), out));
    let mut events = Vec::new();
    let telling = async {
        while events.last().is_none_or(|said| said != last) {
            events.push(shown.recv().await.expect("the watch goes on"));
        }
    };
    tokio::time::timeout(Duration::from_secs(120), telling).await.unwrap_or_else(|_| panic!("no {last} after a while"));
    drop(shown);
    tokio::time::timeout(Duration::from_secs(30), task).await.expect("ends when nobody listens").unwrap();
    (events, server)
}

#[tokio::test]
async fn lists_by_streaming_and_takes_up_a_closed_watch_where_it_was() {
    let first = vec![line("ADDED", "a", "1"), line("ADDED", "b", "2"), end_of_list("5"), line("MODIFIED", "a", "6")];
    let then = vec![line("DELETED", "b", "7"), line("ADDED", "c", "8")];
    let (events, server) = run(vec![Says::Lines(first), Says::LinesAndMore(then)], "c@8").await;
    assert_eq!(events, ["listing", "a@1", "b@2", "listed", "live", "a@6", "-b", "c@8"]);
    assert_eq!(server.lines(), [STREAM, &follow("6")]);
}

#[tokio::test]
async fn reads_pages_where_streaming_lists_are_not_known() {
    let refusal = status(422, "Invalid", "sendInitialEvents is forbidden for watch unless the gate is enabled");
    let page = |next: &str, name: &str| json!({"metadata": {"resourceVersion": "9", "continue": next}, "items": [object(name, "1")]});
    let script = vec![
        Says::Json(422, refusal),
        Says::Json(200, page("more/2", "a")),
        Says::Json(200, page("", "b")),
        Says::LinesAndMore(vec![line("MODIFIED", "b", "10")]),
    ];
    let (events, server) = run(script, "b@10").await;
    assert_eq!(events, ["listing", "a@1", "b@1", "listed", "live", "b@10"]);
    let pages = ["GET /x?labelSelector=a%3Db&limit=500", "GET /x?labelSelector=a%3Db&limit=5000&continue=more%2F2"];
    assert_eq!(server.lines(), [STREAM, pages[0], pages[1], &follow("9")]);
    assert_eq!(
        server.http.streams_lists().await,
        Some(false),
        "the other watches of the session need not find out again"
    );
}

#[tokio::test]
async fn lists_again_when_the_server_has_forgotten() {
    let gone = json!({"type": "ERROR", "object": status(410, "Expired", "too old resource version: 5 (900)")});
    let script = vec![
        Says::Lines(vec![line("ADDED", "a", "1"), end_of_list("5")]),
        Says::Lines(vec![gone]),
        Says::LinesAndMore(vec![line("ADDED", "b", "901"), end_of_list("901")]),
    ];
    let (events, server) = run(script, "b@901").await;
    let down = format!("down: {LISTS_ANEW}");
    assert_eq!(
        events,
        ["listing", "a@1", "listed", "live", &*down, "listing", "b@901"],
        "it is not live until all are listed"
    );
    assert_eq!(server.lines(), [STREAM, &follow("5"), STREAM]);
}

#[tokio::test]
async fn pages_that_expire_are_read_in_one_piece() {
    let page = json!({"metadata": {"resourceVersion": "9", "continue": "x"}, "items": [object("a", "1")]});
    let whole = json!({"metadata": {"resourceVersion": "12"}, "items": [object("a", "1"), object("b", "11")]});
    let script = vec![
        Says::Json(400, status(400, "BadRequest", "unknown parameter")),
        Says::Json(200, page),
        Says::Json(410, status(410, "Expired", "the continue token is too old")),
        Says::Json(200, whole),
        Says::LinesAndMore(vec![line("ADDED", "c", "13")]),
    ];
    let (events, server) = run(script, "c@13").await;
    assert_eq!(events, ["listing", "a@1", "listing", "a@1", "b@11", "listed", "live", "c@13"]);
    assert_eq!(server.lines()[3], "GET /x?labelSelector=a%3Db&resourceVersion=0");
}

#[tokio::test]
async fn tells_when_it_is_down_and_goes_on_without_a_new_list() {
    let script = vec![
        Says::Lines(vec![line("ADDED", "a", "1"), end_of_list("5")]),
        Says::Json(500, status(500, "InternalError", "etcd is away")),
        Says::HangsUp,
        Says::Json(200, newest("7")),
        Says::LinesAndMore(["6", "7", "8"].map(|version| line("MODIFIED", "a", version)).to_vec()),
    ];
    let (events, server) = run(script, "a@8").await;
    assert_eq!(events[..5], ["listing", "a@1", "listed", "live", "down: etcd is away"]);
    assert!(events[5].starts_with("down: the connection broke"), "{events:?}");
    assert_eq!(events[6..], ["a@6", "a@7", "live", "a@8"], "it is live once what was missed is told");
    assert_eq!(server.lines(), [STREAM, &follow("5"), NEWEST, NEWEST, &follow("5")]);
}

/// What the server is asked for after it was away: one object, for the version of the list.
const NEWEST: &str = "GET /x?labelSelector=a%3Db&limit=1";

fn newest(version: &str) -> Value {
    json!({"metadata": {"resourceVersion": version}, "items": []})
}

/// Its etcd was restored from a backup while it was away: a watch from 9 would be silent, and say nothing of that.
#[tokio::test]
async fn lists_anew_what_a_server_has_that_went_back() {
    let script = vec![
        Says::Lines(vec![line("ADDED", "a", "8"), end_of_list("9")]),
        Says::Json(503, status(503, "ServiceUnavailable", "etcd is away")),
        Says::Json(200, newest("4")),
        Says::LinesAndMore(vec![line("ADDED", "a", "2"), end_of_list("4"), line("MODIFIED", "a", "5")]),
    ];
    let server = ScriptedServer::new(script).await;
    let mut restored = server.http.news().restored();
    let (out, mut shown) = mpsc::channel(16);
    let source = WatchSource { path: "/x".into(), labels: Some("a=b".into()), fields: None };
    let task = tokio::spawn(watch(server.http.clone(), source, Plain::default(), out));
    let mut events = Vec::new();
    while events.last().is_none_or(|said| said != "a@5") {
        events.push(shown.recv().await.expect("the watch goes on"));
    }
    task.abort();
    assert_eq!(events[..5], ["listing", "a@8", "listed", "live", "down: etcd is away"]);
    assert_eq!(events[5..], ["listing", "a@2", "listed", "live", "a@5"]);
    assert_eq!(server.lines(), [STREAM, &follow("9"), NEWEST, STREAM]);
    assert!(restored.has_changed().unwrap(), "every rollout of the session is told");
    restored.mark_unchanged();
}

/// It forgets what came since, and its list is older than what was known: that list is not believed, and a second one is.
#[tokio::test]
async fn a_list_that_is_older_than_what_was_known_tells_that_the_server_went_back() {
    let gone = json!({"type": "ERROR", "object": status(410, "Expired", "too old resource version: 9 (900)")});
    let script = vec![
        Says::Lines(vec![line("ADDED", "a", "8"), end_of_list("9")]),
        Says::Lines(vec![gone]),
        Says::Lines(vec![line("ADDED", "a", "2"), end_of_list("4")]),
        Says::LinesAndMore(vec![line("ADDED", "a", "2"), end_of_list("4"), line("MODIFIED", "a", "5")]),
    ];
    let (events, server) = run(script, "a@5").await;
    assert_eq!(events[4], format!("down: {LISTS_ANEW}"));
    assert_eq!(events[5..], ["listing", "a@2", "listing", "a@2", "listed", "live", "a@5"]);
    assert_eq!(server.lines(), [STREAM, &follow("9"), STREAM, STREAM]);
}

/// Its backup was restored with a raised version, as is recommended: only the objects tell that they are older than they were.
#[tokio::test]
async fn an_object_that_is_older_than_it_was_tells_that_the_server_went_back() {
    let gone = json!({"type": "ERROR", "object": status(410, "Expired", "too old resource version: 9 (900)")});
    let restored = || vec![line("ADDED", "kept", "5"), end_of_list("1000")];
    let script = vec![
        Says::Lines(vec![line("ADDED", "kept", "8"), end_of_list("9")]),
        Says::Lines(vec![gone]),
        Says::Lines(restored()),
        Says::LinesAndMore([restored(), vec![line("MODIFIED", "kept", "1001")]].concat()),
    ];
    let (events, server) = run(script, "kept@1001").await;
    assert_eq!(events[4], format!("down: {LISTS_ANEW}"));
    assert_eq!(events[5..], ["listing", "listing", "kept@5", "listed", "live", "kept@1001"]);
    assert_eq!(server.lines(), [STREAM, &follow("9"), STREAM, STREAM]);
}

/// The same where other writes have raised the versions past what was seen before the watch is back: it would go on, and tell of changes since then alone.
#[tokio::test]
async fn an_object_that_is_older_tells_that_the_server_went_back_where_a_watch_goes_on() {
    let newest = json!({"metadata": {"resourceVersion": "1000"}, "items": [object("kept", "5")]});
    let script = vec![
        Says::Lines(vec![line("ADDED", "kept", "8"), end_of_list("9")]),
        Says::Json(503, status(503, "ServiceUnavailable", "etcd is away")),
        Says::Json(200, newest),
        Says::LinesAndMore(vec![line("ADDED", "kept", "5"), end_of_list("1000"), line("MODIFIED", "kept", "1001")]),
    ];
    let (events, server) = run(script, "kept@1001").await;
    assert_eq!(events[5..], ["listing", "kept@5", "listed", "live", "kept@1001"]);
    assert_eq!(server.lines(), [STREAM, &follow("9"), NEWEST, STREAM]);
}

/// An API server that starts knows no roles yet. A minute is too long then, as nothing is seen meanwhile.
#[tokio::test]
async fn what_was_permitted_before_is_asked_for_again_soon() {
    let script = vec![
        Says::Lines(vec![line("ADDED", "a", "1"), end_of_list("5")]),
        Says::Json(403, status(403, "Forbidden", "RBAC: clusterrole \"a\" not found")),
        Says::LinesAndMore(vec![line("ADDED", "a", "1"), end_of_list("5"), line("MODIFIED", "a", "6")]),
    ];
    let began = std::time::Instant::now();
    let (events, _server) = run(script, "a@6").await;
    assert_eq!(events[4..6], ["forbidden: RBAC: clusterrole \"a\" not found", "listing"]);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn says_what_is_forbidden() {
    let refusal = || status(403, "Forbidden", "nodes is forbidden: User \"eve\" cannot list resource \"nodes\"");
    let script = vec![Says::Json(403, refusal()), Says::Json(403, refusal())];
    let last = "forbidden: nodes is forbidden: User \"eve\" cannot list resource \"nodes\"";
    let (events, server) = run(script, last).await;
    assert_eq!(events, [last]);
    assert_eq!(server.lines(), [STREAM, "GET /x?labelSelector=a%3Db&limit=500"], "the list is asked too");
    assert_eq!(server.http.streams_lists().await, Some(true));
}

#[tokio::test]
async fn a_line_that_is_none_ends_the_watch_and_is_told() {
    let script = vec![Says::Lines(vec![json!({"type": "ADDED"})])];
    let server = ScriptedServer::new(script).await;
    let (out, mut shown) = mpsc::channel(1);
    let source = WatchSource { path: "/x".into(), labels: None, fields: None };
    let task = tokio::spawn(watch(server.http.clone(), source, Plain::default(), out));
    assert_eq!(shown.recv().await.as_deref(), Some("listing"));
    assert!(shown.recv().await.is_some_and(|said| said.starts_with("down: a line of a watch cannot be read")));
    drop(shown);
    task.await.unwrap();
}

#[tokio::test]
async fn a_line_without_end_is_given_up_at_its_limit_and_the_watch_goes_on() {
    let script = vec![
        Says::Lines(vec![line("ADDED", "a", "1"), end_of_list("5")]),
        Says::Endless,
        Says::Json(200, newest("6")),
        Says::LinesAndMore(["6", "7"].map(|version| line("MODIFIED", "a", version)).to_vec()),
    ];
    let (events, server) = run(script, "a@7").await;
    assert_eq!(events[..4], ["listing", "a@1", "listed", "live"]);
    let down = "down: a line of the watch of /x is longer than 16 MiB";
    assert!(events[4].starts_with(down), "{events:?}");
    assert_eq!(events[5..], ["a@6", "live", "a@7"]);
    let streamed = server.http.traffic().count().streamed;
    assert!((16 << 20..18 << 20).contains(&streamed), "no more of it is read: {streamed} bytes");
}

#[tokio::test]
async fn pages_grow_to_a_megabyte_where_objects_are_small() {
    let page = |next: &str, objects: usize| {
        let items: Vec<Value> = (0..objects)
            .map(|nth| json!({"metadata": {"name": format!("{nth}"), "resourceVersion": "1"}, "filler": "x".repeat(460)}))
            .collect();
        Says::Json(200, json!({"metadata": {"resourceVersion": "9", "continue": next}, "items": items}))
    };
    let refusal = Says::Json(400, status(400, "BadRequest", "unknown parameter"));
    let script = vec![refusal, page("x", 500), page("", 1), Says::LinesAndMore(vec![line("ADDED", "last", "10")])];
    let (_, server) = run(script, "last@10").await;
    let second = server.lines()[2].clone();
    let limit = second.split("limit=").nth(1).and_then(|rest| rest.split('&').next()?.parse::<usize>().ok());
    assert!(limit.is_some_and(|limit| (1_900..2_100).contains(&limit)), "half a kilobyte each: {second}");
}

/// A page of this many megabytes beside its objects.
fn long_page(megabytes: usize, next: &str, names: &[&str]) -> Value {
    let mut items: Vec<Value> = names.iter().map(|name| object(name, "1")).collect();
    items[0]["filler"] = "x".repeat(megabytes << 20).into();
    json!({"metadata": {"resourceVersion": "9", "continue": next}, "items": items})
}

#[tokio::test]
async fn a_page_that_is_too_long_is_asked_for_in_smaller_ones() {
    let script = vec![
        Says::Json(400, status(400, "BadRequest", "unknown parameter")),
        Says::Json(200, long_page(1, "x", &["a"])),
        Says::Json(200, long_page(17, "", &["b", "c"])),
        Says::Json(200, long_page(10, "y", &["b"])),
        Says::Json(200, long_page(1, "", &["c"])),
        Says::LinesAndMore(vec![line("ADDED", "d", "10")]),
    ];
    let (events, server) = run(script, "d@10").await;
    assert_eq!(events, ["listing", "a@1", "b@1", "c@1", "listed", "live", "d@10"], "nothing twice, nothing lost");
    let page = |query: &str| format!("GET /x?labelSelector=a%3Db&limit={query}");
    let pages = ["500", "500&continue=x", "100&continue=x", "100&continue=y"].map(page);
    assert_eq!(server.lines()[1..5], pages);
}

#[tokio::test]
async fn an_object_that_is_too_long_by_itself_is_an_error_with_path_and_limit() {
    let mut script = vec![Says::Json(400, status(400, "BadRequest", "unknown parameter"))];
    script.extend((0..5).map(|_| Says::Endless));
    let last = "down: the answer to GET /x is longer than 16 MiB, and no more of it is read; is it the API server that answers?";
    let (events, server) = run(script, last).await;
    assert_eq!(events, [last]);
    let limits = [500, 100, 20, 4, 1].map(|limit| format!("GET /x?labelSelector=a%3Db&limit={limit}"));
    assert_eq!(server.lines()[1..], limits);
}

#[tokio::test]
async fn a_list_in_one_piece_may_be_longer_than_a_page() {
    let page = json!({"metadata": {"resourceVersion": "9", "continue": "x"}, "items": [object("a", "1")]});
    let script = vec![
        Says::Json(400, status(400, "BadRequest", "unknown parameter")),
        Says::Json(200, page),
        Says::Json(410, status(410, "Expired", "the continue token is too old")),
        Says::Json(200, long_page(20, "", &["a", "b"])),
        Says::LinesAndMore(vec![line("ADDED", "c", "13")]),
    ];
    let (events, _server) = run(script, "c@13").await;
    assert_eq!(events, ["listing", "a@1", "listing", "a@1", "b@1", "listed", "live", "c@13"]);
}

/// Tells nothing but that it hears.
struct Ears;

impl Subject for Ears {
    type Wire<'a> = Value;
    type Out = &'static str;

    fn version(wire: &Value) -> &str {
        Plain::version(wire)
    }

    fn applied(&mut self, wire: Value) -> Result<Option<&'static str>, NotUnderstood> {
        // A node's heartbeat, which means nothing, or not.
        Ok((name(&wire) != "beat").then_some("news"))
    }

    fn deleted(&mut self, _wire: Value) -> Option<&'static str> {
        Some("gone")
    }

    fn listing(&mut self) -> Option<&'static str> {
        None
    }

    fn listed(&mut self, _version: Option<u64>) -> Vec<&'static str> {
        Vec::new()
    }

    fn health(&mut self, _health: WatchHealth) -> Option<&'static str> {
        None
    }

    fn heard(&mut self, version: Option<u64>) -> Option<&'static str> {
        assert!(version.is_some(), "a sign of life says how far the watch has come");
        Some("heard")
    }
}

#[tokio::test]
async fn a_sign_of_life_is_told_when_there_is_nothing_else_and_not_for_each() {
    let mut heartbeats: Vec<Value> = (0..500).map(|nth| line("MODIFIED", "beat", &(100 + nth).to_string())).collect();
    heartbeats.push(line("MODIFIED", "a", "900"));
    let script = vec![
        Says::Lines(vec![line("ADDED", "a", "1"), end_of_list("5")]),
        Says::Lines(Vec::new()),
        Says::LinesAndMore(heartbeats),
    ];
    let server = ScriptedServer::new(script).await;
    let (out, mut shown) = mpsc::channel(64);
    let source = WatchSource { path: "/x".into(), labels: None, fields: None };
    let task = tokio::spawn(watch(server.http.clone(), source, Ears, out));
    let mut events = Vec::new();
    while events.iter().filter(|said| **said == "news").count() < 2 {
        events.push(shown.recv().await.unwrap());
    }
    assert_eq!(
        events,
        ["news", "heard", "heard", "news"],
        "listed, and told something; not for five hundred heartbeats, nor for an answer that brought nothing"
    );
    drop(shown);
    task.await.unwrap();
}

/// Behind a load balancer another server answers by now: the one to which this watch is open says nothing, and its connection works.
#[tokio::test]
async fn a_watch_that_was_silent_is_opened_anew_once_a_request_is_answered_after_one_was_not() {
    let script = vec![
        Says::LinesAndMore(vec![line("ADDED", "a", "1"), end_of_list("5")]),
        Says::LinesAndMore(vec![line("MODIFIED", "a", "6")]),
    ];
    let server = ScriptedServer::new(script).await;
    let (out, mut shown) = mpsc::channel(16);
    let source = WatchSource { path: "/x".into(), labels: Some("a=b".into()), fields: None };
    let task = tokio::spawn(watch(server.http.clone(), source, Plain::default(), out));
    let mut events = Vec::new();
    while events.last().is_none_or(|said| said != "live") {
        events.push(shown.recv().await.expect("the watch goes on"));
    }
    tokio::time::sleep(IN_DOUBT + Duration::from_millis(50)).await;
    server.http.news().heard(&Err::<(), _>(Failure::Timeout(Duration::from_secs(4))));
    server.http.news().heard(&Ok(()));
    // By itself it would be asked anew after [`SILENCE`].
    let shown = tokio::time::timeout(SILENCE / 2, shown.recv()).await;
    assert_eq!(shown.ok().flatten().as_deref(), Some("a@6"), "at once");
    task.abort();
    assert_eq!(server.lines(), [STREAM, &follow("5")]);
}

/// One that is silent although it sent bookmarks has missed what came meanwhile: it is down until that is told. Nothing for a second ends that, too.
#[tokio::test]
async fn a_watch_that_was_silent_is_down_until_what_it_missed_is_told() {
    let bookmark = json!({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "6"}}});
    let script = vec![
        Says::LinesAndMore(vec![line("ADDED", "a", "1"), end_of_list("5"), bookmark, line("MODIFIED", "a", "7")]),
        Says::Json(200, newest("900")),
        Says::LinesAndMore(["8", "9"].map(|version| line("MODIFIED", "a", version)).to_vec()),
    ];
    let server = ScriptedServer::new(script).await;
    let (out, mut shown) = mpsc::channel(16);
    let source = WatchSource { path: "/x".into(), labels: Some("a=b".into()), fields: None };
    let task = tokio::spawn(watch(server.http.clone(), source, Plain::default(), out));
    let mut events = Vec::new();
    while events.last().is_none_or(|said| said != "a@7") {
        events.push(shown.recv().await.expect("the watch goes on"));
    }
    tokio::time::sleep(IN_DOUBT + Duration::from_millis(50)).await;
    server.http.news().heard(&Err::<(), _>(Failure::Timeout(Duration::from_secs(4))));
    server.http.news().heard(&Ok(()));
    events.clear();
    while events.last().is_none_or(|said| said != "live") {
        events.push(shown.recv().await.expect("the watch goes on"));
    }
    task.abort();
    assert_eq!(events, [&*format!("down: {WAS_SILENT}"), "a@8", "a@9", "live"]);
}
