//! Watches.

use rolldeck::sim::world::write::WriteOptions;
use serde_json::{Value, json};

use super::support::{Api, End, MAPS, MERGE_PATCH, config_map, event};

fn version_of(line: &Value) -> u64 {
    line["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_watch_without_a_version_begins_with_the_present_objects() {
    let api = Api::start().await;
    api.make("a", &json!({})).await;
    for start in ["", "&resourceVersion=0"] {
        let mut events = api.watch(&format!("{MAPS}?watch=1{start}")).await;
        assert_eq!(events.next().await, event("ADDED", "a"));
        api.patch(&format!("{MAPS}/a"), MERGE_PATCH, &json!({"data": {"k": start}})).await;
        assert_eq!(events.next().await, event("MODIFIED", "a"));
    }
}

#[tokio::test]
async fn a_watch_tells_every_change_after_its_version_once_and_in_order() {
    let api = Api::start().await;
    api.make("old", &json!({})).await;
    let version = api.version().await;
    api.make("before", &json!({})).await;
    let mut events = api.watch(&format!("{MAPS}?watch=true&resourceVersion={version}")).await;
    api.patch(&format!("{MAPS}/before"), MERGE_PATCH, &json!({"data": {"k": "v"}})).await;
    // The patch changes nothing, so the watch tells nothing.
    api.patch(&format!("{MAPS}/before"), MERGE_PATCH, &json!({"data": {"k": "v"}})).await;
    api.delete(&format!("{MAPS}/before"), &Value::Null).await;
    let mut last = version;
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        let line = events.line().await.unwrap();
        assert_eq!(line["type"], kind);
        assert!(version_of(&line) > last, "{line}");
        last = version_of(&line);
        assert_eq!((&line["object"]["kind"], &line["object"]["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
    }
    assert_eq!(last, api.version().await, "a deletion has a version of its own");
}

#[tokio::test]
async fn objects_enter_and_leave_a_selection() {
    let api = Api::start().await;
    let version = api.version().await;
    let mut events = api.watch(&format!("{MAPS}?watch=1&resourceVersion={version}&labelSelector=tier%3Dedge")).await;
    api.make("in", &json!({"tier": "edge"})).await;
    api.make("out", &json!({"tier": "core"})).await;
    let tier = |tier: &str| json!({"metadata": {"labels": {"tier": tier}}});
    api.patch(&format!("{MAPS}/out"), MERGE_PATCH, &tier("edge")).await;
    api.patch(&format!("{MAPS}/in"), MERGE_PATCH, &tier("core")).await;
    api.delete(&format!("{MAPS}/in"), &Value::Null).await;
    api.delete(&format!("{MAPS}/out"), &Value::Null).await;
    assert_eq!(events.next().await, event("ADDED", "in"));
    assert_eq!(events.next().await, event("ADDED", "out"));
    let left = events.line().await.unwrap();
    assert_eq!((&left["type"], &left["object"]["metadata"]["name"]), (&json!("DELETED"), &json!("in")));
    assert_eq!(left["object"]["metadata"]["labels"]["tier"], "edge", "as it last was inside");
    assert_eq!(events.next().await, event("DELETED", "out"), "`in` was outside when it was deleted");
}

#[tokio::test]
async fn a_field_selector_watches_one_object() {
    let api = Api::start().await;
    let version = api.version().await;
    let query = format!("watch=1&resourceVersion={version}&fieldSelector=metadata.name%3Db");
    let mut events = api.watch(&format!("{MAPS}?{query}")).await;
    api.make("a", &json!({})).await;
    api.make("b", &json!({})).await;
    assert_eq!(events.next().await, event("ADDED", "b"));
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let api = Api::start().await;
    api.make("a", &json!({})).await;
    api.make("b", &json!({})).await;
    let options = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events = api.watch(&format!("{MAPS}?{options}&resourceVersion=")).await;
    assert_eq!(events.next().await, event("ADDED", "a"));
    assert_eq!(events.next().await, event("ADDED", "b"));
    let bookmark = events.line().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["kind"], "ConfigMap");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(version_of(&bookmark), api.version().await);
    api.make("c", &json!({})).await;
    assert_eq!(events.next().await, event("ADDED", "c"));
}

#[tokio::test]
async fn initial_events_of_nothing_are_a_bookmark() {
    let api = Api::start().await;
    let options = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let line = api.watch(&format!("{MAPS}?{options}")).await.line().await.unwrap();
    assert_eq!(line["type"], "BOOKMARK");
}

#[tokio::test]
async fn options_that_contradict_each_other_are_refused() {
    let api = Api::start().await;
    for query in [
        "sendInitialEvents=true&allowWatchBookmarks=true",
        "sendInitialEvents=true&resourceVersionMatch=Exact&allowWatchBookmarks=true",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch=NotOlderThan&resourceVersion=1",
    ] {
        let (code, status) = api.get(&format!("{MAPS}?watch=1&{query}")).await;
        assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{query}");
    }
}

#[tokio::test]
async fn a_watch_ends_when_its_time_is_up_and_says_how_far_it_came() {
    let api = Api::start().await;
    let version = api.version().await;
    let mut quiet = api.watch(&format!("{MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=1")).await;
    let query = format!("watch=1&resourceVersion={version}&timeoutSeconds=1&allowWatchBookmarks=true");
    let mut marked = api.watch(&format!("{MAPS}?{query}")).await;
    api.post("/api/v1/namespaces", &json!({"metadata": {"name": "other"}})).await;
    let bookmark = marked.line().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(marked.line().await, Err(End::Clean));
    assert_eq!(quiet.line().await, Err(End::Clean));
}

#[tokio::test]
async fn a_version_that_was_forgotten_is_gone_when_a_watch_begins_with_it() {
    let api = Api::start().await;
    let version = api.version().await;
    api.make("a", &json!({})).await;
    api.server.expire_watches();
    let (code, status) = api.get(&format!("{MAPS}?watch=1&resourceVersion={version}")).await;
    assert_eq!((code, &status["reason"], &status["code"]), (410, &json!("Expired"), &json!(410)));
    assert!(status["message"].as_str().unwrap().starts_with(&format!("too old resource version: {version} (")));
    let (code, _) = api.get(&format!("{MAPS}?watch=1&resourceVersion=999999")).await;
    assert_eq!(code, 410, "a version of another life of the server");
}

#[tokio::test]
async fn a_watch_that_falls_behind_is_told_in_its_stream() {
    let api = Api::start().await;
    let version = api.version().await;
    let mut behind = api.watch(&format!("{MAPS}?watch=1&resourceVersion={version}")).await;
    api.server.with_world(|world| {
        for name in ["a", "b", "c"] {
            world.create(config_map(name), WriteOptions::named("test")).unwrap();
        }
        world.keep_changes(1);
    });
    let line = behind.line().await.unwrap();
    assert_eq!(line["type"], "ERROR");
    let status = &line["object"];
    assert_eq!(
        (&status["kind"], &status["code"], &status["reason"]),
        (&json!("Status"), &json!(410), &json!("Expired"))
    );
    assert_eq!(behind.line().await, Err(End::Clean));
}

#[tokio::test]
async fn open_watches_can_be_expired_and_cut() {
    let api = Api::start().await;
    let version = api.version().await;
    let path = format!("{MAPS}?watch=1&resourceVersion={version}");
    let mut expired = api.watch(&path).await;
    api.server.expire_watches();
    assert_eq!(expired.line().await.unwrap()["object"]["code"], 410);
    let mut cut = api.watch(&path).await;
    api.server.cut_watches();
    assert_eq!(cut.line().await, Err(End::Broken));
    let mut last = api.watch(&path).await;
    drop(api.server);
    assert_eq!(last.line().await, Err(End::Broken), "a server that is dropped leaves no watch open");
}

#[tokio::test]
async fn a_burst_arrives_whole() {
    let api = Api::start().await;
    let version = api.version().await;
    let mut events = api.watch(&format!("{MAPS}?watch=1&resourceVersion={version}")).await;
    api.server.with_world(|world| {
        for nth in 0..2_000 {
            world.create(config_map(&format!("m{nth:04}")), WriteOptions::named("test")).unwrap();
        }
    });
    for nth in 0..2_000 {
        assert_eq!(events.next().await, event("ADDED", &format!("m{nth:04}")));
    }
}
