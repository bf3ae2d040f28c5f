//! The part of OpenAPI v3 that kubectl needs to write without `--validate=false`.
//!
//! Before kubectl writes, it looks for a `fieldValidation` parameter of the kind's PATCH operation. If kubectl finds one, it leaves
//! validation to the server. In the same document kubectl looks for strategic merge schemas; without them it uses its built-in ones. So
//! one path for each kind is enough.

use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::sim::world::kind::{Kind, ResourceScope};

use super::discovery::GIT_VERSION;
use super::status::json_response;

/// The document at a path below `openapi`, if there is one.
pub(super) fn document(parts: &[&str]) -> Option<Response> {
    let document = match parts {
        ["v3"] => {
            let at = |path: &str| json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={GIT_VERSION}")});
            let paths: Map<String, Value> = group_paths().map(|path| (path.clone(), at(&path))).collect();
            json!({ "paths": paths })
        }
        ["v3", path @ ..] => {
            let path = path.join("/");
            group_paths().any(|known| known == path).then(|| group_document(&path))?
        }
        _ => return None,
    };
    Some(json_response(StatusCode::OK, &document))
}

fn group_path(kind: Kind) -> String {
    let words = kind.words();
    if words.group.is_empty() { "api/v1".to_owned() } else { format!("apis/{}/{}", words.group, words.version) }
}

fn group_paths() -> impl Iterator<Item = String> {
    let mut paths: Vec<String> = Kind::ALL.into_iter().map(group_path).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter()
}

fn group_document(path: &str) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for kind in Kind::ALL.into_iter().filter(|kind| group_path(*kind) == path) {
        let words = kind.words();
        let namespaced = if words.scope == ResourceScope::Namespaced { "namespaces/{namespace}/" } else { "" };
        let named = json!({"group": words.group, "version": words.version, "kind": words.kind});
        let query =
            |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
        let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation", "force"].map(query).to_vec();
        paths.insert(
            format!("/{path}/{namespaced}{}/{{name}}", words.plural),
            json!({"patch": {
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": named,
                "parameters": parameters,
                "responses": {"200": {"description": "OK"}},
            }}),
        );
        schemas.insert(
            format!("io.k8s.api.{}", words.kind),
            json!({"type": "object", "x-kubernetes-group-version-kind": [named]}),
        );
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "rolldeck's simulated cluster", "version": GIT_VERSION},
        "paths": paths,
        "components": {"schemas": schemas},
    })
}
