//! The permissions of a rollout, as the API server states them (`SelfSubjectAccessReview`).
//!
//! The permissions are asked for before anything is written, so that a console can name missing rights and does not fail half-way.

use std::time::Duration;

use futures::future::join_all;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::failure::Failure;
use super::http::{Call, Http};
use super::workload::{SharedWorkload, Workload};
use crate::engine::model::Str;
use crate::engine::model::event::{Event, Permission, Right};
use crate::engine::model::record::lease_name;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// The API group of Leases.
const LEASES: &str = "coordination.k8s.io";
const TIMEOUT: Duration = Duration::from_secs(10);
/// The interval between reviews; roles change rarely.
const AGAIN: Duration = Duration::from_secs(600);
/// The interval after a review that failed.
const RETRY: Duration = Duration::from_secs(20);

/// The part of a review that is read.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ReviewJson {
    status: ReviewStatus,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ReviewStatus {
    allowed: bool,
}

/// Asks for every right of a rollout, and again after [`AGAIN`].
pub(super) async fn watch(http: Http, workload: SharedWorkload, namespace: Str, name: Str, out: mpsc::Sender<Event>) {
    loop {
        let permissions = Right::ALL.map(|right| {
            let attributes = resource_attributes(right, &*workload, &namespace, &name);
            let http = &http;
            async move { (right, ask(http, attributes).await) }
        });
        let rights = join_all(permissions).await;
        let all_known = rights.iter().all(|(_, permission)| *permission != Permission::Unknown);
        if out.send(Event::Rights(rights)).await.is_err() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(if all_known { AGAIN } else { RETRY }) => {}
            () = out.closed() => return,
        }
    }
}

/// The `resourceAttributes` of the review for a right.
fn resource_attributes(right: Right, workload: &dyn Workload, namespace: &str, name: &str) -> Value {
    let (verb, group, resource, object) = match right {
        Right::PatchDaemonSet => ("patch", workload.group(), workload.plural(), Some(name.to_owned())),
        Right::DeletePods => ("delete", "", "pods", None),
        Right::CreateLease => ("create", LEASES, "leases", None),
        Right::UpdateLease => ("update", LEASES, "leases", Some(lease_name(name))),
        Right::CreatePods => ("create", "", "pods", None),
        Right::ListStatefulSets => ("list", "apps", "statefulsets", None),
        Right::CreateStatefulSets => ("create", "apps", "statefulsets", None),
        Right::DeleteStatefulSets => ("delete", "apps", "statefulsets", None),
        Right::CreateEvent => ("create", "", "events", None),
    };
    let mut attributes = json!({"namespace": namespace, "verb": verb, "group": group, "resource": resource});
    if let Some(object) = object {
        attributes["name"] = object.into();
    }
    attributes
}

async fn ask(http: &Http, attributes: Value) -> Permission {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let call = Call { method: Method::POST, body: review.to_string().into_bytes(), ..Call::get(REVIEWS, TIMEOUT) };
    let answer = http.call(call).await.and_then(|body| {
        serde_json::from_slice::<ReviewJson>(&body).map_err(|error| Failure::Malformed(error.to_string()))
    });
    match answer {
        Ok(ReviewJson { status: ReviewStatus { allowed: true } }) => Permission::Allowed,
        Ok(_) => Permission::Denied,
        Err(_) => Permission::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cluster::native::Native;
    use crate::engine::model::event::Watched;

    /// A verb on a resource, as `daemonsets.apps`.
    type Grant = (String, String);

    /// What is read besides what is watched: the logs of containers, on the page of a node.
    const READ_BESIDES: [(&str, &str); 1] = [("pods/log", "get")];

    /// The resource of a watched kind.
    fn resource_of(watched: Watched) -> &'static str {
        match watched {
            Watched::DaemonSet => "daemonsets.apps",
            Watched::Revisions => "controllerrevisions.apps",
            Watched::Pods | Watched::WarmPods => "pods",
            Watched::Nodes => "nodes",
            Watched::Events => "events",
            Watched::Lease => "leases.coordination.k8s.io",
        }
    }

    fn resource(group: &str, plural: &str) -> String {
        if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
    }

    fn needed() -> BTreeSet<Grant> {
        let reads = Watched::ALL.into_iter().flat_map(|watched| ["get", "list", "watch"].map(|verb| (watched, verb)));
        let reads = reads.map(|(watched, verb)| (resource_of(watched).to_owned(), verb.to_owned()));
        let asked = Right::ALL.into_iter().map(|right| {
            let asked = resource_attributes(right, &Native, "edge", "agent");
            let of = |field: &str| asked[field].as_str().unwrap().to_owned();
            (resource(&of("group"), &of("resource")), of("verb"))
        });
        let besides = READ_BESIDES.map(|(resource, verb)| (resource.to_owned(), verb.to_owned()));
        reads.chain(asked).chain(besides).collect()
    }

    /// The items of `key: [a, b]`.
    fn items<'t>(line: &'t str, key: &str) -> Option<Vec<&'t str>> {
        let list = line.trim_start_matches([' ', '-']).strip_prefix(key)?.strip_prefix(": [")?.strip_suffix(']')?;
        Some(list.split(", ").map(|item| item.trim_matches('"')).collect())
    }

    #[test]
    fn the_roles_to_apply_grant_what_is_needed_and_nothing_else() {
        let (mut groups, mut resources, mut granted) = (Vec::new(), Vec::new(), BTreeSet::new());
        for line in include_str!("../../deploy/rbac.yaml").lines() {
            if let Some(found) = items(line, "apiGroups") {
                groups = found;
            } else if let Some(found) = items(line, "resources") {
                resources = found.into_iter().map(|plural| resource(groups[0], plural)).collect();
            } else if let Some(verbs) = items(line, "verbs") {
                assert!(groups.len() == 1, "{line}");
                let of = |resource: &String| verbs.iter().map(|verb| (resource.clone(), (*verb).to_owned())).collect();
                granted.extend(resources.iter().flat_map::<Vec<Grant>, _>(of));
            }
        }
        assert_eq!(granted, needed());
    }

    #[test]
    fn the_readme_names_what_is_needed_and_nothing_else() {
        const VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
        let readme = include_str!("../../README.md");
        let rows = readme.split_once("## Permissions").unwrap().1.split_once("\n## ").unwrap().0.lines();
        let mut named = BTreeSet::new();
        for (resource, words) in rows.filter_map(|row| row.strip_prefix("| `")?.split_once('`')) {
            let words: Vec<&str> = words.split(|c: char| !c.is_ascii_alphabetic()).collect();
            let verbs = VERBS.iter().filter(|verb| words.contains(verb));
            named.extend(verbs.map(|verb| (resource.to_owned(), (*verb).to_owned())));
        }
        assert_eq!(named, needed());
    }
}
