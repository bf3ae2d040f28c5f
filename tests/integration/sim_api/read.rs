//! Get, list, discovery, tables.

use reqwest::Method;
use rolldeck::sim::api::{Rule, User, Users};
use serde_json::{Value, json};

use super::support::{Api, DAEMON_SETS, MAPS, MERGE_PATCH, daemon_set};

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn refusals_are_shaped_as_kubernetes_shapes_them() {
    let api = Api::start().await;
    let (code, status) = api.get(&format!("{DAEMON_SETS}/nope")).await;
    assert_eq!(code, 404);
    assert_eq!(
        status,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404,
            "message": "daemonsets.apps \"nope\" not found",
            "details": {"name": "nope", "group": "apps", "kind": "daemonsets"},
        })
    );
    for (method, path, want) in [
        (Method::GET, "/apis/apps/v1/deployments", 404),
        (Method::GET, "/nope", 404),
        (Method::POST, "/api/v1", 405),
        (Method::PUT, MAPS, 405),
        (Method::GET, "/api/v1/pods?fieldSelector=spec.x%3Dy", 400),
        (Method::GET, "/api/v1/pods?labelSelector=a%20in%20b", 400),
        (Method::GET, "/api/v1/pods?limit=x", 400),
    ] {
        let (code, status) = api.send(method, path, "application/json", &Value::Null).await;
        assert_eq!((code, &status["kind"]), (want, &json!("Status")), "{path}");
    }
}

#[tokio::test]
async fn pages_of_one_list_show_one_moment() {
    let api = Api::start().await;
    for name in ["a", "b", "c", "d", "e"] {
        api.make(name, &json!({})).await;
    }
    let (_, first) = api.get(&format!("{MAPS}?limit=2")).await;
    assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["a", "b"], &json!(3)));
    let token = first["metadata"]["continue"].as_str().unwrap();
    api.delete(&format!("{MAPS}/c"), &Value::Null).await;
    api.make("cc", &json!({})).await;
    api.patch(&format!("{MAPS}/d"), MERGE_PATCH, &json!({"data": {"k": "v"}})).await;
    let (_, second) = api.get(&format!("{MAPS}?limit=2&continue={token}")).await;
    assert_eq!(names(&second), ["c", "d"], "as it was when the list began");
    assert_eq!(second["items"][1].get("data"), None);
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let token = second["metadata"]["continue"].as_str().unwrap();
    let (_, third) = api.get(&format!("{MAPS}?limit=2&continue={token}")).await;
    assert_eq!((names(&third), third["metadata"].get("continue")), (vec!["e"], None));
    api.server.expire_watches();
    let (code, status) = api.get(&format!("{MAPS}?limit=2&continue={token}")).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    let (code, _) = api.get(&format!("{MAPS}?continue=nonsense")).await;
    assert_eq!(code, 400);
    let (_, any) = api.get(&format!("{MAPS}?limit=2&resourceVersion=0")).await;
    assert_eq!(names(&any).len(), 5, "a list of any version comes whole");
}

#[tokio::test]
async fn lists_honour_the_version_that_is_asked_for() {
    let api = Api::start().await;
    api.make("a", &json!({})).await;
    let version = api.version().await;
    api.make("b", &json!({})).await;
    let (_, then) = api.get(&format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact")).await;
    assert_eq!((names(&then), &then["metadata"]["resourceVersion"]), (vec!["a"], &json!(version.to_string())));
    let (_, now) = api.get(&format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")).await;
    assert_eq!(names(&now), ["a", "b"]);
    let (code, status) = api.get(&format!("{MAPS}?resourceVersion=999999")).await;
    assert_eq!((code, &status["details"]["causes"][0]["reason"]), (504, &json!("ResourceVersionTooLarge")));
    let (code, _) = api.get(&format!("{MAPS}?resourceVersionMatch=Exact")).await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn tables_and_metadata_are_served_to_who_asks() {
    let api = Api::start().await;
    api.post(DAEMON_SETS, &daemon_set("registry.example/agent:v1")).await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let table = api.get_as(DAEMON_SETS, accept).await;
    let columns: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(
        columns[..8],
        ["Name", "Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", "Age"]
    );
    let row = &table["rows"][0];
    assert_eq!(row["cells"][0], "agent");
    assert_eq!(row["cells"][9], "registry.example/agent:v1,registry.example/sidecar:v1");
    assert_eq!((&row["object"]["kind"], row["object"].get("spec")), (&json!("PartialObjectMetadata"), None));
    let bare = api.get_as(&format!("{DAEMON_SETS}?includeObject=None"), accept).await;
    assert_eq!(bare["rows"][0].get("object"), None);
    let one = api.get_as(&format!("{DAEMON_SETS}/agent"), accept).await;
    assert_eq!((&one["kind"], one["rows"].as_array().unwrap().len()), (&json!("Table"), 1));
    let accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let metadata = api.get_as(DAEMON_SETS, accept).await;
    assert_eq!(metadata["kind"], "PartialObjectMetadataList");
    assert_eq!(metadata["items"][0]["metadata"]["generation"], 1);
    assert_eq!(metadata["items"][0].get("spec"), None);
}

#[tokio::test]
async fn discovery_is_served_in_both_forms() {
    let api = Api::start().await;
    let (_, groups) = api.get("/apis").await;
    assert_eq!((&groups["kind"], &groups["groups"][0]["name"]), (&json!("APIGroupList"), &json!("apps")));
    let (_, apps) = api.get("/apis/apps/v1").await;
    let daemon_sets = apps["resources"].as_array().unwrap().iter().find(|it| it["name"] == "daemonsets").unwrap();
    assert_eq!((&daemon_sets["kind"], &daemon_sets["shortNames"][0]), (&json!("DaemonSet"), &json!("ds")));
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let response = api.raw(Method::GET, "/apis", &[("accept", accept)], Vec::new()).await;
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(content_type, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let list: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
    assert_eq!(list["items"][0]["versions"][0]["resources"][0]["responseKind"]["kind"], "DaemonSet");
    for path in ["/healthz", "/livez?verbose", "/readyz"] {
        assert_eq!(api.raw(Method::GET, path, &[], Vec::new()).await.text().await.unwrap(), "ok");
    }
}

#[tokio::test]
async fn users_are_kept_to_their_rules() {
    let jane =
        User { name: "jane".into(), token: "t1".into(), deny: vec![Rule::new(["list"], ["nodes"])], ..User::default() };
    let users = Users { known: vec![jane], anonymous: None };
    let api = Api::start().await;
    drop(api);
    let api = Api::with(super::support::empty_world(), users).await;
    let (code, status) = api.get("/api/v1/nodes").await;
    assert_eq!((code, &status["reason"]), (401, &json!("Unauthorized")));
    let as_jane = [("authorization", "Bearer t1"), ("content-type", "application/json")];
    let refused = api.raw(Method::GET, "/api/v1/nodes", &as_jane, Vec::new()).await;
    assert_eq!(refused.status(), 403);
    let status: Value = serde_json::from_slice(&refused.bytes().await.unwrap()).unwrap();
    assert_eq!(
        status["message"],
        "nodes is forbidden: User \"jane\" cannot list resource \"nodes\" in API group \"\" at the cluster scope"
    );
    let review = |verb: &str| json!({"spec": {"resourceAttributes": {"verb": verb, "resource": "nodes"}}}).to_string();
    for (verb, allowed) in [("list", false), ("get", true)] {
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let answer = api.raw(Method::POST, path, &as_jane, review(verb).into_bytes()).await;
        let answer: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        assert_eq!(answer["status"]["allowed"], allowed, "{verb}");
    }
    assert!(api.server.kubeconfig_for("jane").unwrap().contains("token: \"t1\""));
}
