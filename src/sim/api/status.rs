//! Refusals, shaped as the API server shapes them: a `Status` object and the HTTP code that goes with it.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::sim::world::error::ApiError;
use crate::sim::world::kind::Kind;

/// A refused request: the code, the reason and the message of its answer.
#[derive(Clone, Debug)]
pub(super) struct ApiRefusal {
    code: StatusCode,
    reason: String,
    message: String,
    details: Value,
}

/// The answer to a request, or its refusal.
pub(super) type Answer<T = Response> = Result<T, ApiRefusal>;

impl ApiRefusal {
    fn new(code: StatusCode, reason: &str, message: impl Into<String>) -> Self {
        Self { code, reason: reason.to_owned(), message: message.into(), details: Value::Null }
    }

    fn about(mut self, group: &str, resource: &str, name: &str) -> Self {
        self.details = json!({"kind": resource});
        if !name.is_empty() {
            self.details["name"] = name.into();
        }
        if !group.is_empty() {
            self.details["group"] = group.into();
        }
        self
    }

    /// The request makes no sense.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The token is not known.
    pub(super) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// The user may not do this; `what` completes `… is forbidden: `.
    pub(super) fn forbidden(group: &str, resource: &str, name: &str, what: &str) -> Self {
        let qualified = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        let named = if name.is_empty() { qualified } else { format!("{qualified} \"{name}\"") };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", format!("{named} is forbidden: {what}"))
            .about(group, resource, name)
    }

    /// There is no such path.
    pub(super) fn no_such_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
    }

    /// The resource does not support this method.
    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    /// The apply would change fields that other managers own.
    pub(super) fn apply_conflict(message: String, causes: &[Value]) -> Self {
        let mut error = Self::new(StatusCode::CONFLICT, "Conflict", message);
        error.details = json!({"causes": causes});
        error
    }

    /// The resource version lies in the future.
    pub(super) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let mut error = Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message);
        error.details = json!({
            "retryAfterSeconds": 1,
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        });
        error
    }

    /// The body's type is not one that this method takes.
    pub(super) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// A patch that could not be applied.
    pub(super) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
    }

    /// Makes a 400 a 422: the patch itself could be read, but the patched object has the wrong shape.
    pub(super) fn of_patch(self) -> Self {
        if self.code == StatusCode::BAD_REQUEST { Self::unprocessable(self.message) } else { self }
    }

    /// The body is larger than any object may be.
    pub(super) fn too_large_body(error: &dyn std::fmt::Display) -> Self {
        let message = format!("Request entity is too large: limit is 3145728: {error}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// The server asks to come back later.
    pub(super) fn too_many_requests(retry_after_secs: u64) -> Self {
        let message = "the server has received too many requests and has asked us to try again later";
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message);
        error.details = json!({"retryAfterSeconds": retry_after_secs});
        error
    }

    /// The API server is not available.
    pub(super) fn unavailable() -> Self {
        let message = "the server is currently unable to handle the request";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// A 500 without a reason, as the API server sends it for some errors in patches.
    pub(super) fn unexplained(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// Something is broken on our side.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        let message = format!("Internal error occurred: {}", message.into());
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// The `Status` object.
    pub(super) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code.as_u16(),
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.as_str().into();
        }
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}

impl From<ApiError> for ApiRefusal {
    fn from(error: ApiError) -> Self {
        let code = StatusCode::from_u16(error.reason.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut refusal = Self::new(code, &error.reason.to_string(), error.message);
        if let Some((kind, name)) = error.about {
            let words = kind.words();
            // Errors of validation name the kind in their details; all other errors name the resource.
            let resource = if error.causes.is_empty() { words.plural } else { words.kind };
            refusal = refusal.about(words.group, resource, &name);
        }
        if !error.causes.is_empty() {
            let causes = error.causes.iter();
            refusal.details["causes"] = causes
                .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
                .collect();
        }
        if let Some(secs) = error.retry_after_secs {
            refusal.details["retryAfterSeconds"] = secs.into();
        }
        refusal
    }
}

impl IntoResponse for ApiRefusal {
    fn into_response(self) -> Response {
        let mut response = json_response(self.code, &self.status());
        if let Some(secs) = self.details.get("retryAfterSeconds").and_then(Value::as_u64) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(secs));
        }
        response
    }
}

/// The `Status` of a successful write whose answer has no object.
pub(super) fn success(kind: Kind, name: &str, uid: Option<&str>) -> Value {
    let words = kind.words();
    let mut details = json!({"name": name, "kind": words.plural});
    if !words.group.is_empty() {
        details["group"] = words.group.into();
    }
    if let Some(uid) = uid {
        details["uid"] = uid.into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

/// `value` as the body of an answer.
pub(super) fn json_response(code: StatusCode, value: &Value) -> Response {
    bytes_response(code, value.to_string().into_bytes())
}

/// JSON text as the body of an answer.
pub(super) fn bytes_response(code: StatusCode, json: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(json));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
