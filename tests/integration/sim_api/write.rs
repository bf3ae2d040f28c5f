//! Create, update, patch, delete.

use reqwest::Method;
use rolldeck::engine::model::facts::UpdateStrategy;
use rolldeck::sim::api::{ApiOptions, serve};
use rolldeck::sim::world::World;
use rolldeck::sim::world::kind::Kind;
use rolldeck::sim::world::object::{Body, Object};
use rolldeck::sim::world::scenario::Scenario;
use rolldeck::sim::world::write::{WriteOptions, WrittenPart};
use serde_json::{Value, json};

use super::support::{APPLY_PATCH, Api, DAEMON_SETS, JSON, JSON_PATCH, MAPS, MERGE_PATCH, STRATEGIC_PATCH, daemon_set};

const AGENT: &str = "/apis/apps/v1/namespaces/edge/daemonsets/agent";

async fn with_agent() -> Api {
    let api = Api::start().await;
    let (code, made) = api.post(DAEMON_SETS, &daemon_set("registry.example/agent:v1")).await;
    assert_eq!(code, 201, "{made}");
    // The simulated controller observes the DaemonSet; after that nothing changes by itself.
    let mut events = api.watch(&format!("{DAEMON_SETS}?watch=1")).await;
    while events.line().await.unwrap()["object"]["status"]["observedGeneration"] != 1 {}
    api
}

fn images(daemon_set: &Value) -> Vec<&str> {
    let containers = daemon_set["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    containers.iter().map(|container| container["image"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_new_object_gets_what_the_server_gives() {
    let api = with_agent().await;
    let (_, made) = api.get(AGENT).await;
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!(made["spec"]["revisionHistoryLimit"], 10);
    assert_eq!(
        made["spec"]["updateStrategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}})
    );
    let (code, status) = api.post(DAEMON_SETS, &daemon_set("x")).await;
    assert_eq!((code, &status["reason"]), (409, &json!("AlreadyExists")));
    let (code, status) =
        api.post("/apis/apps/v1/namespaces/nowhere/daemonsets", &json!({"metadata": {"name": "x"}})).await;
    assert_eq!((code, &status["message"]), (404, &json!("namespaces \"nowhere\" not found")), "{status}");
}

#[tokio::test]
async fn bodies_that_make_no_sense_are_refused() {
    let api = Api::start().await;
    for (body, want) in [
        (json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x"}}), 400),
        (json!({"metadata": {"name": "x", "namespace": "other"}}), 400),
        (json!({"metadata": {"name": "x", "labels": {"a": 1}}}), 400),
        (json!([1]), 400),
        (json!({"metadata": {}}), 422),
    ] {
        let (code, status) = api.post(MAPS, &body).await;
        assert_eq!((code, &status["kind"]), (want, &json!("Status")), "{body} -> {status}");
    }
    let (code, status) = api.post(DAEMON_SETS, &json!({"metadata": {"name": "x"}, "spec": {"selector": {}}})).await;
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")));
    let huge = json!({"metadata": {"name": "x"}, "data": {"k": "v".repeat(3 * 1024 * 1024)}});
    assert_eq!(api.post(MAPS, &huge).await.0, 413);
}

#[tokio::test]
async fn a_strategic_patch_merges_containers_by_name_as_kubectl_set_image_needs() {
    let api = with_agent().await;
    let patch = json!({"spec": {"template": {"spec": {
        "$setElementOrder/containers": [{"name": "agent"}, {"name": "sidecar"}],
        "containers": [{"name": "agent", "image": "registry.example/agent:v2"}],
    }}}});
    let (code, patched) = api.patch(AGENT, STRATEGIC_PATCH, &patch).await;
    assert_eq!((code, images(&patched)), (200, vec!["registry.example/agent:v2", "registry.example/sidecar:v1"]));
    assert_eq!(patched["metadata"]["generation"], 2);
    assert_eq!(patched["spec"]["template"]["spec"]["containers"][0]["env"][0]["name"], "LEVEL");
    // The patch of `kubectl rollout undo`: the whole template.
    let undo = json!({"spec": {"template": {
        "$patch": "replace", "metadata": {"labels": {"app": "agent"}},
        "spec": {"containers": [{"name": "agent", "image": "registry.example/agent:v0"}]},
    }}});
    let (_, undone) = api.patch(AGENT, STRATEGIC_PATCH, &undo).await;
    assert_eq!(images(&undone), ["registry.example/agent:v0"]);
    assert_eq!(undone["spec"]["template"].get("$patch"), None);
}

#[tokio::test]
async fn json_and_merge_patches_do_what_their_standards_say() {
    let api = with_agent().await;
    let (code, status) =
        api.patch(AGENT, JSON_PATCH, &json!([{"op": "test", "path": "/spec/minReadySeconds", "value": 3}])).await;
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")));
    let (code, _) =
        api.patch(AGENT, JSON_PATCH, &json!([{"op": "add", "path": "/spec/minReadySeconds", "value": 3}])).await;
    assert_eq!(code, 200);
    let (_, patched) = api.patch(AGENT, MERGE_PATCH, &json!({"spec": {"minReadySeconds": null}})).await;
    assert_eq!(patched["spec"].get("minReadySeconds"), None);
    let containers = json!({"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b"}]}}}});
    let (_, patched) = api.patch(AGENT, MERGE_PATCH, &containers).await;
    assert_eq!(images(&patched), ["b"], "a merge patch replaces lists");
    assert_eq!(api.patch(AGENT, JSON, &json!({})).await.0, 415);
    assert_eq!(api.patch(AGENT, MERGE_PATCH, &json!({"metadata": {"name": "other"}})).await.0, 400);
    let (code, status) =
        api.patch(AGENT, MERGE_PATCH, &json!({"spec": {"selector": {"matchLabels": {"x": "y"}}}})).await;
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")));
}

#[tokio::test]
async fn taking_a_daemon_set_over_and_giving_it_back_restores_its_strategy_to_the_byte() {
    let api = with_agent().await;
    let (_, before) = api.get(AGENT).await;
    let version = &before["metadata"]["resourceVersion"];
    let brake = json!({"metadata": {"resourceVersion": version}, "spec": {"updateStrategy": {"type": "OnDelete"}}});
    let (code, braked) = api.patch(AGENT, MERGE_PATCH, &brake).await;
    assert_eq!((code, &braked["spec"]["updateStrategy"]["type"]), (200, &json!("OnDelete")));
    assert_eq!(braked["metadata"]["annotations"]["deprecated.daemonset.template.generation"], "1");
    let back = json!({"spec": {"updateStrategy": before["spec"]["updateStrategy"]}});
    let (_, back) = api.patch(AGENT, MERGE_PATCH, &back).await;
    assert_eq!(back["spec"].to_string(), before["spec"].to_string());
}

#[tokio::test]
async fn a_version_in_a_patch_or_an_update_is_a_lock() {
    let api = with_agent().await;
    let (_, mut before) = api.get(AGENT).await;
    let label = |value: &str| json!({"metadata": {"labels": {"l": value}}});
    api.patch(AGENT, MERGE_PATCH, &label("1")).await;
    let mut stale = label("2");
    stale["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
    let (code, status) = api.patch(AGENT, MERGE_PATCH, &stale).await;
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    assert_eq!(
        status["message"],
        "Operation cannot be fulfilled on daemonsets.apps \"agent\": the object has been modified; please apply your \
         changes to the latest version and try again"
    );
    assert_eq!(api.send(Method::PUT, AGENT, JSON, &before).await.0, 409);
    before["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    let (code, put) = api.send(Method::PUT, AGENT, JSON, &before).await;
    assert_eq!((code, put["metadata"].get("labels")), (200, None), "without a version it is unconditional");
    let other_uid = json!({"metadata": {"uid": "another"}});
    assert_eq!(api.patch(AGENT, MERGE_PATCH, &other_uid).await.0, 409);
}

#[tokio::test]
async fn a_write_that_changes_nothing_has_no_version() {
    let api = with_agent().await;
    let version = api.version().await;
    let (_, agent) = api.get(AGENT).await;
    let (code, same) = api.send(Method::PUT, AGENT, JSON, &agent).await;
    assert_eq!((code, &same), (200, &agent));
    api.patch(AGENT, STRATEGIC_PATCH, &json!({"spec": {"template": agent["spec"]["template"]}})).await;
    assert_eq!(api.version().await, version);
}

#[tokio::test]
async fn status_and_the_rest_are_written_apart() {
    let api = with_agent().await;
    let both =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"minReadySeconds": 7}, "status": {"numberReady": 9}});
    let (_, main) = api.patch(AGENT, MERGE_PATCH, &both).await;
    assert_eq!((&main["spec"]["minReadySeconds"], &main["status"]["numberReady"]), (&json!(7), &json!(0)));
    let (code, status) = api
        .patch(
            &format!("{AGENT}/status"),
            MERGE_PATCH,
            &json!({"spec": {"minReadySeconds": 1}, "status": {"numberReady": 9}}),
        )
        .await;
    assert_eq!(
        (code, &status["spec"]["minReadySeconds"], &status["status"]["numberReady"]),
        (200, &json!(7), &json!(9))
    );
    assert_eq!(api.get(&format!("{AGENT}/status")).await.1["kind"], "DaemonSet");
    assert_eq!(api.get(&format!("{AGENT}/scale")).await.0, 404);
}

#[tokio::test]
async fn deletes_keep_their_preconditions() {
    let api = Api::start().await;
    let made = api.make("a", &json!({})).await;
    let path = format!("{MAPS}/a");
    for guard in [json!({"uid": "another"}), json!({"resourceVersion": "1"})] {
        let (code, status) = api.delete(&path, &json!({"preconditions": guard})).await;
        assert_eq!((code, &status["reason"]), (409, &json!("Conflict")), "{guard}");
    }
    let uid = &made["metadata"]["uid"];
    let (code, status) = api.delete(&path, &json!({"preconditions": {"uid": uid}})).await;
    assert_eq!((code, &status["status"], &status["details"]["uid"]), (200, &json!("Success"), uid));
    assert_eq!(api.delete(&path, &Value::Null).await.0, 404);
}

#[tokio::test]
async fn dry_runs_answer_and_change_nothing() {
    let api = with_agent().await;
    let (version, (_, before)) = (api.version().await, api.get(AGENT).await);
    let dry = format!("{AGENT}?dryRun=All");
    let (code, made) = api.post(&format!("{MAPS}?dryRun=All"), &json!({"metadata": {"generateName": "x-"}})).await;
    assert_eq!((code, made["metadata"]["name"].as_str().unwrap().len()), (201, 7));
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": "x"}]}}}});
    let (code, patched) = api.patch(&dry, STRATEGIC_PATCH, &image).await;
    assert_eq!((code, images(&patched)[0], &patched["metadata"]["generation"]), (200, "x", &json!(2)));
    let mut put = before.clone();
    put["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(api.send(Method::PUT, &dry, JSON, &put).await.0, 200);
    assert_eq!(api.delete(&dry, &Value::Null).await.0, 200);
    assert_eq!(api.delete(AGENT, &json!({"dryRun": ["All"]})).await.0, 200);
    let apply = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(api.patch(&format!("{dry}&fieldManager=x"), APPLY_PATCH, &apply).await.0, 200);
    assert_eq!((api.version().await, api.get(AGENT).await.1), (version, before));
    assert_eq!(api.delete(&format!("{AGENT}?dryRun=Some"), &Value::Null).await.0, 422);
}

#[tokio::test]
async fn managed_fields_name_who_wrote_template_and_strategy() {
    let api = with_agent().await;
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "agent", "image": "x:2"}]}}}});
    api.patch(&format!("{AGENT}?fieldManager=kubectl-set"), STRATEGIC_PATCH, &image).await;
    let brake = json!({"spec": {"updateStrategy": {"type": "OnDelete"}}});
    api.patch(&format!("{AGENT}?fieldManager=rolldeck"), MERGE_PATCH, &brake).await;
    let (_, agent) = api.get(AGENT).await;
    let managed = agent["metadata"]["managedFields"].as_array().unwrap();
    let of = |manager: &str| managed.iter().find(|entry| entry["manager"] == manager).unwrap();
    assert_eq!(of("rolldeck")["fieldsV1"], json!({"f:spec": {"f:updateStrategy": {"f:type": {}}}}));
    assert_eq!(
        of("kubectl-set")["fieldsV1"]["f:spec"],
        json!({"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"agent\"}": {"f:image": {}}}}}})
    );
    assert_eq!((&of("rolldeck")["operation"], &of("rolldeck")["fieldsType"]), (&json!("Update"), &json!("FieldsV1")));
    // `managedFields` also name a writer within the world, such as a GitOps tool of the scenario.
    api.server.with_world(|world| {
        let at = (Kind::DaemonSet, "edge", "agent");
        let drift = |object: &mut Object| {
            let Body::DaemonSet(daemon_set) = &mut object.body else { panic!("{object:?}") };
            std::sync::Arc::make_mut(&mut daemon_set.spec).strategy = UpdateStrategy::default();
        };
        world.modify(at, WrittenPart::Main, WriteOptions::named("argocd-controller"), drift).unwrap();
    });
    let (_, agent) = api.get(AGENT).await;
    assert!(agent["metadata"]["managedFields"].to_string().contains("argocd-controller"), "{agent}");
}

/// `managedFields` of a served node name the world's own kubelet once, whoever else wrote to the node.
#[tokio::test]
async fn managed_fields_name_the_kubelet_of_a_node_once() {
    let one_node =
        "name = \"one\"\n[[sites]]\nname = \"a\"\nlink = \"1Gbit/s\"\nnodes = [{ prefix = \"node-\", count = 1 }]\n";
    // The heartbeats of another seed are at other fractions of a second.
    for seed in 1..=3 {
        let mut world = World::new(&Scenario::parse("one.toml", one_node).unwrap(), seed);
        world.advance_by(std::time::Duration::from_secs(400));
        names_the_kubelet_once(world).await;
    }
}

async fn names_the_kubelet_once(world: World) {
    // The world stands still, so that no heartbeat comes between two writes.
    let api = Api::over(serve(world, ApiOptions { speed: 1e-6, ..ApiOptions::default() }).await.unwrap());
    let (_, nodes) = api.get("/api/v1/nodes").await;
    let path = format!("/api/v1/nodes/{}", nodes["items"][0]["metadata"]["name"].as_str().unwrap());
    let managers = |node: &Value| -> Vec<String> {
        let managed = node["metadata"]["managedFields"].as_array().unwrap();
        managed.iter().map(|entry| entry["manager"].as_str().unwrap().to_owned()).collect()
    };
    let label = |value: &str| json!({"metadata": {"labels": {"line": value}}});
    let (_, patched) = api.patch(&format!("{path}?fieldManager=ada"), MERGE_PATCH, &label("line3")).await;
    assert_eq!(managers(&patched), ["kubelet", "ada"]);
    let (_, mut node) = api.get(&path).await;
    node["metadata"]["labels"]["rack"] = json!("7");
    let (code, replaced) = api.send(Method::PUT, &format!("{path}?fieldManager=bob"), JSON, &node).await;
    assert_eq!((code, managers(&replaced)), (200, ["kubelet", "ada", "bob"].map(str::to_owned).to_vec()));
}

#[tokio::test]
async fn server_side_apply_creates_merges_conflicts_and_forces() {
    let api = Api::start().await;
    let apply = |manager: &str, extra: &str| format!("{AGENT}?fieldManager={manager}{extra}");
    let (code, made) = api.patch(&apply("gitops", ""), APPLY_PATCH, &daemon_set("x:1")).await;
    assert_eq!((code, &made["metadata"]["managedFields"][0]["operation"]), (201, &json!("Apply")));
    assert_eq!(api.patch(&apply("gitops", ""), APPLY_PATCH, &daemon_set("x:2")).await.0, 200);
    let image = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "spec": {"template": {"spec": {"containers": [{"name": "agent", "image": "x:3"}]}}},
    });
    let (code, status) = api.patch(&apply("rolldeck", ""), APPLY_PATCH, &image).await;
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    assert_eq!(
        status["details"]["causes"][0],
        json!({
            "reason": "FieldManagerConflict", "message": "conflict with \"gitops\"",
            "field": ".spec.template.spec.containers[name=\"agent\"].image",
        })
    );
    let (code, forced) = api.patch(&apply("rolldeck", "&force=true"), APPLY_PATCH, &image).await;
    assert_eq!((code, images(&forced)), (200, vec!["x:3", "registry.example/sidecar:v1"]));
    let mut without_env = daemon_set("x:3");
    without_env["spec"]["template"]["spec"]["containers"][0].as_object_mut().unwrap().remove("env");
    let (code, applied) = api.patch(&apply("gitops", ""), APPLY_PATCH, &without_env).await;
    assert_eq!((code, applied["spec"]["template"]["spec"]["containers"][0].get("env")), (200, None));
    assert_eq!(api.patch(AGENT, APPLY_PATCH, &image).await.0, 422, "an apply says who it is");
}

#[tokio::test]
async fn leases_are_taken_by_compare_and_swap() {
    let api = Api::start().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/edge/leases";
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "rolldeck-agent"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-11-21T12:00:00.123456Z", "leaseTransitions": 0},
    });
    let (_, made) = api.post(leases, &lease).await;
    assert_eq!(made["spec"]["renewTime"], "2026-11-21T12:00:00.123000Z");
    let path = format!("{leases}/rolldeck-agent");
    let mut mine = made.clone();
    mine["spec"]["holderIdentity"] = "b".into();
    assert_eq!(api.send(Method::PUT, &path, JSON, &mine).await.0, 200);
    let mut theirs = made;
    theirs["spec"]["holderIdentity"] = "c".into();
    assert_eq!(api.send(Method::PUT, &path, JSON, &theirs).await.0, 409);
    assert_eq!(api.get(&path).await.1["spec"]["holderIdentity"], "b");
    assert_eq!(api.post(leases, &lease).await.1["reason"], "AlreadyExists");
}

#[tokio::test]
async fn unknown_fields_are_kept() {
    let api = Api::start().await;
    let mut odd = daemon_set("x:1");
    odd["spec"]["futureField"] = json!({"a": [1, {"b": null}]});
    odd["spec"]["template"]["spec"]["alsoNew"] = json!("x");
    api.post(DAEMON_SETS, &odd).await;
    let (_, agent) = api.patch(AGENT, MERGE_PATCH, &json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(agent["spec"]["futureField"]["a"][0], 1);
    assert_eq!(agent["spec"]["template"]["spec"]["alsoNew"], "x");
}

#[tokio::test]
async fn yaml_and_protobuf_bodies_are_read() {
    let api = Api::start().await;
    let yaml = b"kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: from-yaml\ndata: {k: v}\n".to_vec();
    let made = api.raw(Method::POST, MAPS, &[("content-type", "application/yaml")], yaml).await;
    assert_eq!(made.status(), 201);
    // client-go sends DeleteOptions { preconditions: { uid: "other" } } like this.
    let body = b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x09\x12\x07\x0a\x05other\x1a\x00\x22\x00".to_vec();
    let kind = [("content-type", "application/vnd.kubernetes.protobuf")];
    let refused = api.raw(Method::DELETE, &format!("{MAPS}/from-yaml"), &kind, body).await;
    assert_eq!(refused.status(), 409);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let api = Api::start().await;
    api.make("a", &json!({"drop": "yes"})).await;
    api.make("b", &json!({})).await;
    let (code, _) = api.delete(&format!("{MAPS}?labelSelector=drop%3Dyes"), &Value::Null).await;
    assert_eq!(code, 200);
    let (_, list) = api.get(MAPS).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
}
