use std::sync::Mutex;

use serde_json::{Value, json};

use super::super::scripted::{Says, ScriptedServer};
use super::*;

const WIDE: &str = "GET /apis/apps/v1/daemonsets?";
const NARROW: &str = "GET /apis/apps/v1/namespaces/edge/daemonsets?";

fn refusal() -> Says {
    let message = "daemonsets.apps is forbidden: User \"ada\" cannot list resource \"daemonsets\"";
    Says::Json(
        403,
        json!({"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": message}),
    )
}

fn list() -> Says {
    let daemonset = json!({"metadata": {"namespace": "edge", "name": "agent", "uid": "uid", "resourceVersion": "3"}});
    Says::Json(200, json!({"kind": "List", "metadata": {"resourceVersion": "5"}, "items": [daemonset]}))
}

/// The answer of a server on which the DaemonSets of namespace `edge` may be listed, those of all namespaces if `is_wide`, and nothing else.
fn answer(request: &str, is_wide: bool) -> Says {
    let is_permitted = request.starts_with(NARROW) || (request.starts_with(WIDE) && is_wide);
    match (is_permitted, request.contains("sendInitialEvents"), request.contains("watch=true")) {
        (_, true, _) => Says::Json(400, Value::Null),
        (false, ..) => refusal(),
        (true, _, true) => Says::LinesAndMore(Vec::new()),
        (true, _, false) => list(),
    }
}

fn sources(collection: &str) -> FleetContext {
    let source = |path: String| WatchSource { path, labels: None, fields: None };
    let other = |kind: &str| source(format!("/{kind}"));
    FleetContext {
        daemonsets: source(format!("/apis/apps/v1/{collection}")),
        leases: other("leases"),
        revisions: other("revisions"),
        starting_pods: other("pods"),
        pulls: other("events"),
    }
}

/// Watches all namespaces, or else `edge`, on a server that gives these answers.
async fn watched(
    answer: impl FnMut(&str) -> Option<Says> + Send + 'static,
) -> (ScriptedServer, FleetWatches, mpsc::Receiver<FleetEvent>) {
    let server = ScriptedServer::answering(answer).await;
    let (out, events) = mpsc::channel(64);
    let narrow = Some(("edge".into(), sources("namespaces/edge/daemonsets")));
    let ask_every = Duration::from_millis(20);
    let watches = FleetWatches(tokio::spawn(run(server.http.clone(), sources("daemonsets"), narrow, ask_every, out)));
    (server, watches, events)
}

/// What is told of DaemonSets, up to and with the first event that is `last`.
async fn told(events: &mut mpsc::Receiver<FleetEvent>, last: fn(&FleetEvent) -> bool) -> Vec<&'static str> {
    let mut told = Vec::new();
    let telling = async {
        loop {
            let event = events.recv().await.expect("the watches go on");
            told.extend(match &event {
                FleetEvent::DaemonSetsListed => Some("listed"),
                FleetEvent::DaemonSetsHealth(WatchHealth::Live) => Some("live"),
                FleetEvent::DaemonSetsHealth(WatchHealth::Forbidden { .. }) => Some("forbidden"),
                FleetEvent::OnlyNamespace(..) => Some("one namespace"),
                FleetEvent::AllNamespaces => Some("all namespaces"),
                _ => None,
            });
            if last(&event) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), telling).await.expect("it is told");
    told
}

fn is_live(event: &FleetEvent) -> bool {
    *event == FleetEvent::DaemonSetsHealth(WatchHealth::Live)
}

#[tokio::test]
async fn one_namespace_is_shown_for_as_long_as_all_are_refused() {
    let permitted = Arc::new(Mutex::new(false));
    let is_wide = permitted.clone();
    let (server, _watches, mut events) = watched(move |request| Some(answer(request, *is_wide.lock().unwrap()))).await;
    assert_eq!(told(&mut events, is_live).await, ["one namespace", "listed", "live"]);
    let asked = || server.lines().iter().filter(|line| *line == "GET /apis/apps/v1/daemonsets?limit=1").count();
    while asked() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    *permitted.lock().unwrap() = true;
    assert_eq!(told(&mut events, is_live).await, ["listed", "all namespaces", "live"]);
}

/// An API server that starts refuses for a moment what it permits before and after.
#[tokio::test]
async fn a_refusal_after_all_namespaces_were_listed_is_told_and_narrows_nothing() {
    let mut asked = 0;
    let script = move |request: &str| {
        if !request.starts_with(WIDE) || request.contains("sendInitialEvents") {
            return Some(answer(request, true));
        }
        asked += 1;
        // The list; the watch, which ends; the watch again.
        Some(match asked {
            2 => Says::Lines(Vec::new()),
            3 => refusal(),
            _ => answer(request, true),
        })
    };
    let (server, _watches, mut events) = watched(script).await;
    assert_eq!(told(&mut events, is_live).await, ["listed", "all namespaces", "live"]);
    assert_eq!(told(&mut events, is_live).await, ["forbidden", "listed", "all namespaces", "live"]);
    assert!(!server.lines().iter().any(|line| line.starts_with(NARROW)), "{:?}", server.lines());
}
