//! The discovery documents, which clients read first to learn what the server serves.
//!
//! From these documents kubectl learns that `ds` means `daemonsets.apps`, and which verbs a resource has. Both forms are served: one
//! document for each group, and the aggregated list that newer clients ask for first.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::sim::world::kind::{Kind, ResourceScope};

use super::request::Review;
use super::status::json_response;

/// The version that the server reports.
pub(super) const GIT_VERSION: &str = "v1.36.0+rolldeck.sim";

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The subresources of a kind: name, `(group/version, kind)` of the object that it takes, verbs.
pub(super) const fn subresources(
    kind: Kind,
) -> &'static [(&'static str, (&'static str, &'static str), &'static [&'static str])] {
    const STATUS: &[&str] = &["get", "patch", "update"];
    match kind {
        Kind::Node => &[("status", ("v1", "Node"), STATUS)],
        Kind::Namespace => &[("status", ("v1", "Namespace"), STATUS), ("finalize", ("v1", "Namespace"), &["update"])],
        Kind::DaemonSet => &[("status", ("apps/v1", "DaemonSet"), STATUS)],
        Kind::Pod => &[
            ("binding", ("v1", "Binding"), &["create"]),
            ("eviction", ("policy/v1", "Eviction"), &["create"]),
            ("log", ("v1", "Pod"), &["get"]),
            ("status", ("v1", "Pod"), STATUS),
        ],
        _ => &[],
    }
}

const fn categories(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Pod | Kind::DaemonSet => &["all"],
        _ => &[],
    }
}

const GROUPS: [&str; 4] = ["apps", "coordination.k8s.io", "authorization.k8s.io", "authentication.k8s.io"];

/// The document at the root, which lists the paths of the others.
pub(super) fn paths() -> Response {
    let groups = GROUPS.iter().flat_map(|name| [format!("/apis/{name}"), format!("/apis/{name}/v1")]);
    let fixed = ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"];
    let paths: Vec<String> = fixed.map(str::to_owned).into_iter().chain(groups).collect();
    json_response(StatusCode::OK, &json!({ "paths": paths }))
}

/// The document at a path of `api` or `apis`, if there is one.
pub(super) fn document(parts: &[&str], accept: &str) -> Option<Response> {
    let plain = |value: Value| Some(json_response(StatusCode::OK, &value));
    match parts {
        ["api"] => Some(aggregated(&[""], accept).unwrap_or_else(|| {
            let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]);
            json_response(
                StatusCode::OK,
                &json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}),
            )
        })),
        ["apis"] => Some(aggregated(&GROUPS, accept).unwrap_or_else(|| {
            let groups: Vec<Value> = GROUPS.iter().map(|name| group(name)).collect();
            json_response(StatusCode::OK, &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        })),
        ["apis", name] if GROUPS.contains(name) => {
            let mut group = group(name);
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            plain(group)
        }
        ["api", "v1"] => plain(resource_list("")),
        ["apis", name, "v1"] if GROUPS.contains(name) => plain(resource_list(name)),
        ["version"] => plain(json!({
            "major": "1", "minor": "36", "gitVersion": GIT_VERSION, "gitCommit": "", "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc",
            "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        })),
        _ => None,
    }
}

fn group(name: &str) -> Value {
    let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
    json!({"name": name, "versions": [version], "preferredVersion": version})
}

fn kinds_of(group: &str) -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(move |kind| kind.words().group == group)
}

fn resource_list(group: &str) -> Value {
    let mut resources = Vec::new();
    for kind in kinds_of(group) {
        let words = kind.words();
        let namespaced = words.scope == ResourceScope::Namespaced;
        let mut resource = json!({
            "name": words.plural, "singularName": words.singular, "namespaced": namespaced, "kind": words.kind,
            "verbs": VERBS,
        });
        for (key, names) in [("shortNames", words.short), ("categories", categories(kind))] {
            if !names.is_empty() {
                resource[key] = json!(names);
            }
        }
        resources.push(resource);
        for (name, (api_version, kind), verbs) in subresources(kind) {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            resources.push(json!({
                "name": format!("{}/{name}", words.plural), "singularName": "", "namespaced": namespaced,
                "kind": kind, "group": group, "version": version, "verbs": verbs,
            }));
        }
    }
    for review in Review::ALL.into_iter().filter(|review| review.words().0 == group) {
        let (_, kind, resource) = review.words();
        resources.push(json!({
            "name": resource, "singularName": kind.to_lowercase(), "namespaced": false, "kind": kind,
            "verbs": ["create"],
        }));
    }
    let group_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources})
}

/// The aggregated form, when the client asks for it.
fn aggregated(groups: &[&str], accept: &str) -> Option<Response> {
    let version = accept.split(',').find_map(|range| {
        let has = |parameter: &str| range.split(';').any(|part| part.trim() == parameter);
        let wanted = has("as=APIGroupDiscoveryList") && has("g=apidiscovery.k8s.io");
        ["v2", "v2beta1"].into_iter().find(|version| wanted && has(&format!("v={version}")))
    })?;
    let items: Vec<Value> = groups
        .iter()
        .map(|name| {
            let version = json!({"version": "v1", "resources": aggregated_resources(name), "freshness": "Current"});
            let metadata = if name.is_empty() { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": [version]})
        })
        .collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"), "metadata": {},
        "items": items,
    });
    let mut response = json_response(StatusCode::OK, &list);
    let content_type = format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    if let Ok(content_type) = HeaderValue::from_str(&content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    Some(response)
}

fn aggregated_resources(group: &str) -> Vec<Value> {
    let kinds = kinds_of(group).map(|kind| {
        let words = kind.words();
        let scope = if words.scope == ResourceScope::Namespaced { "Namespaced" } else { "Cluster" };
        let mut resource = json!({
            "resource": words.plural, "singularResource": words.singular, "scope": scope, "verbs": VERBS,
            "responseKind": {"group": words.group, "version": words.version, "kind": words.kind},
        });
        for (key, names) in [("shortNames", words.short), ("categories", categories(kind))] {
            if !names.is_empty() {
                resource[key] = json!(names);
            }
        }
        let subresources: Vec<Value> = subresources(kind)
            .iter()
            .map(|(name, (api_version, kind), verbs)| {
                let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
                json!({
                    "subresource": name, "verbs": verbs,
                    "responseKind": {"group": group, "version": version, "kind": kind},
                })
            })
            .collect();
        if !subresources.is_empty() {
            resource["subresources"] = subresources.into();
        }
        resource
    });
    let reviews = Review::ALL.into_iter().filter(|review| review.words().0 == group).map(|review| {
        let (group, kind, resource) = review.words();
        json!({
            "resource": resource, "singularResource": kind.to_lowercase(), "scope": "Cluster", "verbs": ["create"],
            "responseKind": {"group": group, "version": "v1", "kind": kind},
        })
    });
    kinds.chain(reviews).collect()
}
