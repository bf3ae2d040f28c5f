//! Reviews, which answer questions about the caller: may the caller do this, what may the caller do, who is the caller.

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use super::access::{Caller, ResourceAttributes};
use super::request::Review;
use super::status::{Answer, json_response};

/// Answers a review.
///
/// # Errors
/// None so far; a review always has an answer.
pub(super) fn answer(review: Review, caller: &Caller, body: &Value) -> Answer<Response> {
    let (group, kind, _) = review.words();
    let status = match review {
        Review::Access => access(caller, &body["spec"]),
        Review::Rules => json!({
            "resourceRules": caller.rules(),
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        Review::Identity => json!({"userInfo": {"username": caller.name(), "groups": ["system:authenticated"]}}),
    };
    let mut answered = json!({
        "kind": kind, "apiVersion": format!("{group}/v1"), "metadata": {"creationTimestamp": null},
        "spec": body["spec"], "status": status,
    });
    if review == Review::Identity
        && let Some(answered) = answered.as_object_mut()
    {
        answered.remove("spec");
    }
    Ok(json_response(StatusCode::CREATED, &answered))
}

fn access(caller: &Caller, spec: &Value) -> Value {
    let attributes = &spec["resourceAttributes"];
    if attributes.is_null() {
        return json!({"allowed": true});
    }
    let text = |key: &str| attributes[key].as_str().unwrap_or_default();
    let resource = match text("subresource") {
        "" => text("resource").to_owned(),
        subresource => format!("{}/{subresource}", text("resource")),
    };
    let asked = ResourceAttributes {
        verb: text("verb"),
        group: text("group"),
        resource,
        namespace: text("namespace"),
        name: text("name"),
    };
    json!({"allowed": caller.is_allowed(&asked)})
}
