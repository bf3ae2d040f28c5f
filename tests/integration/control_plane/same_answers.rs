//! The simulated API answers writes as Kubernetes' own API server does: the tests send the same requests to both, and compare objects and refusals.

use reqwest::Method;
use rolldeck::sim::api::{ApiOptions, Server, serve};
use rolldeck::sim::world::World;
use rolldeck::sim::world::scenario::Scenario;
use serde_json::{Value, json};

use crate::support::control_plane::{Sandbox, sandbox};

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Both servers, with the same namespace.
struct Pair {
    real: Sandbox,
    simulated: Server,
    _runtime: tokio::runtime::Runtime,
}

impl Pair {
    fn new(name: &str) -> Option<Self> {
        let real = sandbox(name)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let simulated = runtime.block_on(serve(World::new(&Scenario::new("empty"), 1), ApiOptions::default())).unwrap();
        let pair = Self { real, simulated, _runtime: runtime };
        let namespace = json!({"metadata": {"name": pair.real.namespace()}});
        let url = format!("{}/api/v1/namespaces", pair.simulated.url());
        pair.real.admin().request_as(JSON, Method::POST, &url, &namespace).ok();
        Some(pair)
    }

    /// Sends a request about the DaemonSet `agent` (or, in a POST, about all) to both; the answers must be the same.
    fn same(&self, what: &str, content: &str, method: &Method, query: &str, body: &Value) {
        let name = if *method == Method::POST { "" } else { "/agent" };
        let path = format!("/apis/apps/v1/namespaces/{}/daemonsets{name}{query}", self.real.namespace());
        let admin = self.real.admin();
        let real = admin.request_as(content, method.clone(), &path, body);
        let url = format!("{}{path}", self.simulated.url());
        let simulated = admin.request_as(content, method.clone(), &url, body);
        let output =
            format!("{what}\nreal: {} {}\nsimulated: {} {}", real.status, real.body, simulated.status, simulated.body);
        assert_eq!((real.status, essence(&real.body)), (simulated.status, essence(&simulated.body)), "{output}");
    }

    fn patches(&self, content: &str, patches: &[(&str, Value)]) {
        for (what, patch) in patches {
            self.same(what, content, &Method::PATCH, "?fieldManager=test", patch);
        }
    }
}

/// The part of an answer that must be the same: of an object all fields but those that differ between any two servers, of a refusal its reason.
fn essence(answer: &Value) -> Value {
    if answer["kind"] == "Status" {
        // A client acts on the causes of an apply's conflict: the other manager and the field. The causes of other refusals are for people.
        let conflicts = if answer["reason"] == "Conflict" { &answer["details"]["causes"] } else { &Value::Null };
        return json!({"reason": answer["reason"], "causes": conflicts});
    }
    let metadata = &answer["metadata"];
    let applied: Vec<&Value> = metadata["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| entry["operation"] == "Apply")
        .map(|entry| &entry["fieldsV1"])
        .collect();
    json!({
        "spec": answer["spec"], "labels": metadata["labels"], "annotations": metadata["annotations"],
        "finalizers": metadata["finalizers"], "generation": metadata["generation"], "applied": applied,
    })
}

fn agent() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "labels": {"team": "edge", "old": "yes"}, "annotations": {"note": "x"}},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {
                    "nodeSelector": {"nobody": "has-this"},
                    "containers": [
                        {
                            "name": "agent", "image": "registry.test/agent:1", "args": ["--a", "--b"],
                            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                            "ports": [{"containerPort": 80, "name": "web"}],
                            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                        },
                        {"name": "sidecar", "image": "registry.test/sidecar"},
                    ],
                    "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}],
                    "volumes": [{"name": "data", "emptyDir": {}}],
                },
            },
        },
    })
}

fn pod(spec: &Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

#[test]
fn strategic_merge_patches_come_out_the_same() {
    let Some(pair) = Pair::new("strategic") else { return };
    pair.same("create", JSON, &Method::POST, "?fieldManager=test", &agent());
    pair.patches(STRATEGIC, &[
        ("an image", pod(&json!({"containers": [{"name": "agent", "image": "registry.test/agent:2"}]}))),
        ("a null", json!({"metadata": {"labels": {"old": null, "never": null}, "annotations": {"more": "y"}}})),
        ("an env more, one other", pod(&json!({"containers": [{"name": "agent", "env": [{"name": "C", "value": "3"}, {"name": "A", "value": "9"}]}]}))),
        ("an env less", pod(&json!({"containers": [{"name": "agent", "env": [{"name": "B", "$patch": "delete"}]}]}))),
        ("a port renamed, one more", pod(&json!({"containers": [{"name": "agent", "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}]}]}))),
        ("args are atomic", pod(&json!({"containers": [{"name": "agent", "args": ["--c"]}]}))),
        ("tolerations are atomic", pod(&json!({"tolerations": [{"key": "c", "operator": "Exists"}]}))),
        ("an order", pod(&json!({"$setElementOrder/containers": [{"name": "sidecar"}, {"name": "agent"}], "containers": [{"name": "agent", "image": "registry.test/agent:3"}]}))),
        ("an order with a stranger", pod(&json!({"$setElementOrder/containers": [{"name": "agent"}, {"name": "new"}], "containers": [{"name": "new", "image": "registry.test/new:1"}]}))),
        ("a container less", pod(&json!({"containers": [{"name": "new", "$patch": "delete"}]}))),
        ("another source for a volume", pod(&json!({"volumes": [{"name": "data", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x", "type": ""}}]}))),
        ("finalizers", json!({"metadata": {"finalizers": ["example.com/a", "example.com/b"]}})),
        ("a finalizer more", json!({"metadata": {"finalizers": ["example.com/c"]}})),
        ("finalizers less", json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/c", "example.com/b"]}})),
        ("the brake", json!({"spec": {"updateStrategy": {"type": "OnDelete"}}})),
        ("a percentage", json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}}})),
        ("no strategy at all", json!({"spec": {"updateStrategy": null}})),
        (
                "a replaced list",
                pod(&json!({"containers": [{"name": "agent", "env": [{"name": "D", "value": "4"}, {"$patch": "replace"}]}]})),
            ),
        ("a replaced object", json!({"metadata": {"labels": {"$patch": "replace", "only": "this"}}})),
        ("nothing", json!({})),
        ("no merge key", pod(&json!({"containers": [{"image": "x"}]}))),
        ("an unknown directive", pod(&json!({"containers": [{"name": "agent", "$patch": "swap"}]}))),
        ("an order that is none", pod(&json!({"$setElementOrder/containers": [{"name": "agent"}], "containers": [{"name": "sidecar", "image": "y"}]}))),
        ("keys that are not retained", pod(&json!({"volumes": [{"name": "data", "$retainKeys": ["name"], "emptyDir": {}}]}))),
        ("a selector", json!({"spec": {"selector": {"matchLabels": {"app": "other"}}}})),
        ("another name", json!({"metadata": {"name": "other"}})),
        ("a stale version", json!({"metadata": {"resourceVersion": "1"}})),
        ("a label that is a number", json!({"metadata": {"labels": {"a": 1}}})),
    ]);
    let undo = json!({"spec": {"template": {"$patch": "replace", "metadata": {"labels": {"app": "agent"}}, "spec": agent()["spec"]["template"]["spec"]}}});
    pair.patches(STRATEGIC, &[("a whole template", undo)]);
}

#[test]
fn other_patches_and_updates_come_out_the_same() {
    let Some(pair) = Pair::new("patches") else { return };
    pair.same("create", JSON, &Method::POST, "?fieldManager=test", &agent());
    pair.same("create again", JSON, &Method::POST, "", &agent());
    pair.patches(
        MERGE,
        &[
            ("labels", json!({"metadata": {"labels": {"a": "b", "old": null}}})),
            ("a list", pod(&json!({"tolerations": [{"key": "z", "operator": "Exists"}]}))),
            ("the brake", json!({"spec": {"updateStrategy": {"type": "OnDelete"}}})),
            (
                "back",
                json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}}}),
            ),
            ("an unknown strategy", json!({"spec": {"updateStrategy": {"type": "Never"}}})),
            ("no container", pod(&json!({"containers": []}))),
            ("no list", pod(&json!({"containers": "none"}))),
            ("not an object", json!([1])),
        ],
    );
    pair.patches(JSON_PATCH, &[
        ("an addition", json!([{"op": "add", "path": "/spec/minReadySeconds", "value": 3}])),
        ("a test that holds", json!([{"op": "test", "path": "/spec/minReadySeconds", "value": 3}, {"op": "remove", "path": "/spec/minReadySeconds"}])),
        ("a test that does not", json!([{"op": "test", "path": "/spec/minReadySeconds", "value": 3}])),
        ("a removal of nothing", json!([{"op": "remove", "path": "/spec/nothing"}])),
        ("nonsense", json!({"op": "add"})),
    ]);
    let mut other = agent();
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.test/agent:7".into();
    pair.same("a replacement", JSON, &Method::PUT, "?fieldManager=test", &other);
    other["metadata"]["resourceVersion"] = "1".into();
    pair.same("a stale replacement", JSON, &Method::PUT, "", &other);
    pair.same("a dry run", MERGE, &Method::PATCH, "?dryRun=All", &json!({"spec": {"minReadySeconds": 9}}));
    pair.same("a false dry run", MERGE, &Method::PATCH, "?dryRun=Some", &json!({}));
    pair.same("a patch of no kind", JSON, &Method::PATCH, "", &json!({}));
    pair.same("a false uid", JSON, &Method::DELETE, "", &json!({"preconditions": {"uid": "another"}}));
}

#[test]
fn applies_come_out_the_same() {
    let Some(pair) = Pair::new("applies") else { return };
    let apply = |what: &str, manager: &str, config: &Value| {
        pair.same(what, APPLY, &Method::PATCH, &format!("?fieldManager={manager}"), config);
    };
    let part = |spec: Value| json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec});
    apply("a creation", "gitops", &agent());
    let mut less = agent();
    less["metadata"]["labels"] = json!({"team": "edge"});
    less["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "A", "value": "1"}]);
    apply("less of it", "gitops", &less);
    let image =
        part(json!({"template": {"spec": {"containers": [{"name": "agent", "image": "registry.test/agent:2"}]}}}));
    apply("anothers field", "rolldeck", &image);
    pair.same("by force", APPLY, &Method::PATCH, "?fieldManager=rolldeck&force=true", &image);
    apply("what was taken away", "gitops", &less);
    apply("a strategy of one's own", "rolldeck", &part(json!({"updateStrategy": {"type": "OnDelete"}})));
    apply("a strategy given up", "rolldeck", &part(json!({"minReadySeconds": 4})));
    pair.same("nobody", APPLY, &Method::PATCH, "", &image);
}

#[test]
fn events_are_accepted_refused_and_selected_the_same() {
    let Some(pair) = Pair::new("events") else { return };
    let namespace = pair.real.namespace();
    let base = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "agent.1"},
        "involvedObject": {
            "apiVersion": "apps/v1", "kind": "DaemonSet", "namespace": namespace, "name": "agent", "uid": "u1",
        },
        "type": "Warning", "reason": "RolloutHalted", "action": "Halted", "message": "halted",
        "source": {"component": "rolldeck"}, "reportingComponent": "rolldeck.io/console",
        "reportingInstance": "ada@bastion/1f00c3a9", "count": 1, "eventTime": "2026-11-21T12:00:00.123000Z",
        "firstTimestamp": "2026-11-21T12:00:00Z", "lastTimestamp": "2026-11-21T12:00:00Z",
    });
    let with = |name: &str, change: Value| {
        let mut event = base.clone();
        event["metadata"]["name"] = json!(name);
        for (field, value) in change.as_object().unwrap() {
            event[field] = value.clone();
        }
        event
    };
    let long = "x".repeat(1_025);
    let undated = json!({"eventTime": null, "action": null, "reportingComponent": null, "reportingInstance": null});
    let elsewhere = json!({"involvedObject": {"kind": "DaemonSet", "namespace": "default", "name": "agent"}});
    for (what, event) in [
        ("ours", base.clone()),
        ("the same again", base.clone()),
        ("one without a date", with("agent.2", undated)),
        ("one about another namespace", with("agent.3", elsewhere.clone())),
        ("the same without a date", {
            let mut event = with("agent.12", elsewhere);
            event["eventTime"] = Value::Null;
            event
        }),
        ("one about no namespace", with("agent.4", json!({"involvedObject": {"kind": "Node", "name": "n1"}}))),
        ("no action", with("agent.5", json!({"action": ""}))),
        ("no instance", with("agent.6", json!({"reportingInstance": ""}))),
        ("no reporter", with("agent.7", json!({"reportingComponent": ""}))),
        ("no reason", with("agent.8", json!({"reason": ""}))),
        ("a long message", with("agent.9", json!({"message": long}))),
        ("a long instance", with("agent.10", json!({"reportingInstance": "x".repeat(129)}))),
        ("one of a controller", with("agent.11", json!({"source": {"component": "daemonset-controller"}}))),
    ] {
        let path = pair.real.path("events", "");
        let admin = pair.real.admin();
        let real = admin.request_as(JSON, Method::POST, &path, &event);
        let simulated = admin.request_as(JSON, Method::POST, &format!("{}{path}", pair.simulated.url()), &event);
        let output =
            format!("{what}\nreal: {} {}\nsimulated: {} {}", real.status, real.body, simulated.status, simulated.body);
        assert_eq!((real.status, said(&real.body)), (simulated.status, said(&simulated.body)), "{output}");
    }
    for selector in ["source=rolldeck", "reportingComponent=rolldeck.io/console", "reason=RolloutHalted,type=Warning"] {
        let selector = selector.replace('=', "%3D").replace(',', "%2C").replace('/', "%2F");
        let path = format!("{}?fieldSelector={selector}", pair.real.path("events", ""));
        let names = |url: &str| {
            let mut names: Vec<String> =
                pair.real.admin().get(url).items().iter().map(|event| event["metadata"]["name"].to_string()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&path), names(&format!("{}{path}", pair.simulated.url())), "{selector}");
    }
}

/// The text fields of an event; of a refusal its reason.
fn said(event: &Value) -> Value {
    let fields = ["involvedObject", "type", "reason", "action", "message", "source", "count"];
    let times = ["eventTime", "firstTimestamp", "lastTimestamp", "reportingComponent", "reportingInstance"];
    if event["kind"] == "Status" {
        return json!({"refused": event["reason"]});
    }
    fields.into_iter().chain(times).map(|field| (field.to_owned(), event[field].clone())).collect()
}
