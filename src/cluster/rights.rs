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
            let attributes = attributes(right, &*workload, &namespace, &name);
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
fn attributes(right: Right, workload: &dyn Workload, namespace: &str, name: &str) -> Value {
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
