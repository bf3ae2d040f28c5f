//! Lists all objects of a namespace, of whatever kind.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::fixture::RolloutFixture;

/// Name and uid of every object in the fixture's namespace, by resource; Events aside, which the API server deletes by age.
pub(super) fn everything(fixture: &RolloutFixture) -> BTreeMap<String, BTreeSet<(String, String)>> {
    let admin = fixture.sandbox.admin();
    let groups = admin.get("/apis").ok();
    let versions = groups["groups"].as_array().unwrap().iter().map(|group| {
        let version = group["preferredVersion"]["groupVersion"].as_str().unwrap();
        (format!(".{}", group["name"].as_str().unwrap()), format!("/apis/{version}"))
    });
    let mut found = BTreeMap::new();
    for (group, api) in std::iter::once((String::new(), "/api/v1".to_owned())).chain(versions) {
        let resources = admin.get(&api).ok();
        for resource in resources["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            let lists = resource["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "list"));
            if resource["namespaced"] == true && lists && !name.contains('/') && name != "events" {
                found.insert(format!("{name}{group}"), names(fixture, &api, name));
            }
        }
    }
    assert!(found.len() > 15, "{found:?}");
    found.retain(|_, objects| !objects.is_empty());
    found
}

fn items(fixture: &RolloutFixture, api: &str, resource: &str) -> Vec<Value> {
    let path = format!("{api}/namespaces/{}/{resource}", fixture.sandbox.namespace());
    fixture.sandbox.admin().get(&path).items()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn names(fixture: &RolloutFixture, api: &str, resource: &str) -> BTreeSet<(String, String)> {
    let of = |item: Value| (text(&item["metadata"]["name"]), text(&item["metadata"]["uid"]));
    items(fixture, api, resource).into_iter().map(of).collect()
}

/// Name and resource version of every object of a kind.
pub(super) fn versions(fixture: &RolloutFixture, api: &str, resource: &str) -> BTreeMap<String, String> {
    let of = |item: Value| (text(&item["metadata"]["name"]), text(&item["metadata"]["resourceVersion"]));
    items(fixture, api, resource).into_iter().map(of).collect()
}
