//! What we may do, as the API server answers (`SelfSubjectAccessReview`).
//!
//! Asked before anything is tried, so that a console can say what is missing instead of failing half-way.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use super::http::{Call, Failure, Http};
use super::subjects::SharedWorkload;
use crate::engine::model::Str;
use crate::engine::model::event::{Event, Permission, Right};
use crate::engine::model::record::lease_name;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const TIMEOUT: Duration = Duration::from_secs(10);
/// Roles change rarely.
const AGAIN: Duration = Duration::from_secs(600);
/// A question that failed is asked again sooner.
const RETRY: Duration = Duration::from_secs(20);

/// What is read of a review.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Review {
    status: ReviewStatus,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ReviewStatus {
    allowed: bool,
}

/// Asks for every right of a rollout, now and then again.
pub(super) async fn watch(http: Http, workload: SharedWorkload, namespace: Str, name: Str, out: mpsc::Sender<Event>) {
    loop {
        let (lease, plural) = (lease_name(&name), workload.plural());
        let leases = "coordination.k8s.io";
        let (patch, delete, create, update, tell) = tokio::join!(
            ask(&http, &namespace, "patch", workload.group(), plural, Some(&name)),
            ask(&http, &namespace, "delete", "", "pods", None),
            ask(&http, &namespace, "create", leases, "leases", None),
            ask(&http, &namespace, "update", leases, "leases", Some(&lease)),
            ask(&http, &namespace, "create", "", "events", None),
        );
        let rights = vec![
            (Right::PatchDaemonSet, patch),
            (Right::DeletePods, delete),
            (Right::CreateLease, create),
            (Right::UpdateLease, update),
            (Right::CreateEvent, tell),
        ];
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

async fn ask(http: &Http, namespace: &str, verb: &str, group: &str, resource: &str, name: Option<&str>) -> Permission {
    let mut attributes = json!({"namespace": namespace, "verb": verb, "group": group, "resource": resource});
    if let Some(name) = name {
        attributes["name"] = name.into();
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    let call = Call {
        method: Method::POST,
        path: REVIEWS,
        content_type: "application/json",
        body: review.to_string().into_bytes(),
        timeout: TIMEOUT,
        leave_by: None,
    };
    let answer = http.call(call).await.and_then(|body| {
        serde_json::from_slice::<Review>(&body).map_err(|error| Failure::Malformed(error.to_string()))
    });
    match answer {
        Ok(Review { status: ReviewStatus { allowed: true } }) => Permission::Allowed,
        Ok(_) => Permission::Denied,
        Err(_) => Permission::Unknown,
    }
}
