//! Answers an HTTP request: finds the caller, the target and the verb, checks that the caller may do this, and calls the function that
//! answers.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures::stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::engine::model::time::Timestamp;

use super::access::{Caller, ResourceAttributes};
use super::discovery;
use super::faults::ApiFailure;
use super::request::{ApiRequest, ObjectPath, Query, RequestTarget, target};
use super::shared::Shared;
use super::status::{Answer, ApiRefusal};
use super::{compress, log, openapi, read, review, write};

/// The largest body that is read, as in Kubernetes.
const LARGEST_BODY: usize = 3 * 1024 * 1024;

/// Answers any request. The `Date` header has the time of the served world, because clients compare the ages of objects with it.
pub(super) async fn handle(State(shared): State<Arc<Shared>>, request: http::Request<Body>) -> Response {
    let mut response = match answer(&shared, request).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    };
    if let Some(date) = http_date(shared.now()) {
        response.headers_mut().insert(header::DATE, date);
    }
    response
}

/// An instant as HTTP writes it, to the second.
fn http_date(at: Timestamp) -> Option<HeaderValue> {
    let at = jiff::Timestamp::from_millisecond(at.millis()).ok()?;
    jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok()?.parse().ok()
}

async fn answer(shared: &Arc<Shared>, request: http::Request<Body>) -> Answer {
    let (head, body) = request.into_parts();
    let caller = shared.users.caller(&head.headers)?;
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let agent = text(header::USER_AGENT).split(['/', ' ']).next().unwrap_or_default().to_owned();
    let target = target(head.uri.path())?;
    let body = axum::body::to_bytes(body, LARGEST_BODY).await.map_err(|error| ApiRefusal::too_large_body(&error))?;
    let request = ApiRequest {
        query: Query::of(&head.uri)?,
        accept: accepted(&head.headers),
        accepts_gzip: compress::is_accepted(&head.headers),
        content_type: text(header::CONTENT_TYPE).to_owned(),
        agent,
        method: head.method,
        body,
    };
    match target {
        RequestTarget::Other(parts) => other(&parts, &request),
        RequestTarget::Review(review) if request.method == Method::POST => {
            review::answer(review, &caller, &request.json()?)
        }
        RequestTarget::Review(_) => Err(ApiRefusal::method_not_allowed()),
        RequestTarget::Objects(path) => objects(shared, &caller, &path, &request).await,
    }
}

fn accepted(headers: &HeaderMap) -> String {
    let all: Vec<&str> = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    all.join(",")
}

fn other(parts: &[String], request: &ApiRequest) -> Answer {
    if request.method != Method::GET {
        return Err(ApiRefusal::method_not_allowed());
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let found = match parts.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => Some((StatusCode::OK, "ok").into_response()),
        [] => Some(discovery::paths()),
        ["openapi", rest @ ..] => openapi::document(rest),
        parts => discovery::document(parts, &request.accept),
    };
    found.ok_or_else(ApiRefusal::no_such_path)
}

/// The verb by which Kubernetes knows a request.
fn verb(path: &ObjectPath, request: &ApiRequest) -> Answer<&'static str> {
    let collection = path.name.is_empty();
    Ok(match (request.method.as_str(), collection) {
        ("GET", true) if request.query.is_set("watch") => "watch",
        ("GET", true) => "list",
        // A watch at the path of one object is an old form that clients may still use.
        ("GET", false) if request.query.is_set("watch") => "watch",
        ("GET", false) => "get",
        ("POST", true) => "create",
        ("POST", false) if !path.subresource.is_empty() => "create",
        ("PUT", false) => "update",
        ("PATCH", false) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        _ => return Err(ApiRefusal::method_not_allowed()),
    })
}

async fn objects(shared: &Arc<Shared>, caller: &Caller, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let words = path.kind.words();
    let resource = match path.subresource.as_str() {
        "" => words.plural.to_owned(),
        subresource => format!("{}/{subresource}", words.plural),
    };
    let verb = verb(path, request)?;
    let asked = ResourceAttributes { verb, group: words.group, resource, namespace: &path.namespace, name: &path.name };
    caller.check(&asked)?;
    let failure = shared.faults.meet(&asked);
    match failure {
        Some(ApiFailure::TooManyRequests { retry_after_secs }) => {
            return Err(ApiRefusal::too_many_requests(retry_after_secs.into()));
        }
        Some(ApiFailure::InternalError) => return Err(ApiRefusal::internal("a fault was injected")),
        Some(ApiFailure::Unavailable) => return Err(ApiRefusal::unavailable()),
        Some(ApiFailure::LostRequest) => return Ok(broken_connection()),
        Some(ApiFailure::Delay(span)) => tokio::time::sleep(span).await,
        Some(ApiFailure::LostAnswer) | None => {}
    }
    let mut answer = dispatch(shared, verb, path, request);
    if verb == "list"
        && request.accepts_gzip
        && let Ok(response) = answer
    {
        answer = Ok(compress::compressed(response).await);
    }
    if failure == Some(ApiFailure::LostAnswer) { Ok(broken_connection()) } else { answer }
}

fn dispatch(shared: &Arc<Shared>, verb: &str, path: &ObjectPath, request: &ApiRequest) -> Answer {
    let known = discovery::subresources(path.kind).iter().find(|(name, ..)| *name == path.subresource);
    match (known, path.subresource.as_str()) {
        (_, "") => {}
        (Some((_, _, verbs)), _) if verbs.contains(&verb) => {}
        (Some(_), _) => return Err(ApiRefusal::method_not_allowed()),
        (None, _) => return Err(ApiRefusal::no_such_path()),
    }
    match (verb, path.subresource.as_str()) {
        ("list" | "watch", _) => read::collection(shared, path, request),
        ("get", "log") => log::read(shared, path, request),
        ("get", _) => read::get(shared, path, request),
        ("create", "") => write::create(shared, path, request),
        ("create", "eviction") => write::evict(shared, path, request),
        ("create", "binding") => write::bind(shared, path, request),
        ("update", "finalize") => write::finalize(shared, path, request),
        ("update", _) => write::update(shared, path, request),
        ("patch", _) => write::patch(shared, path, request),
        ("delete", "") => write::delete(shared, path, request),
        ("deletecollection", "") => write::delete_collection(shared, path, request),
        _ => Err(ApiRefusal::method_not_allowed()),
    }
}

/// An answer whose connection breaks before its first byte.
fn broken_connection() -> Response {
    let broken = Err::<Bytes, _>(std::io::Error::other("the connection broke"));
    Response::new(Body::from_stream(stream::iter([broken])))
}
