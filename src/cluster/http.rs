//! The one door to the API server: every request of ours goes through it, is counted, and fails in words.

mod failure;
mod lines;
mod traffic;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, DATE, RETRY_AFTER};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::client::Body;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;

pub(super) use failure::{Failure, root_cause, tls_cause};
pub(super) use lines::Lines;
pub use traffic::{Traffic, TrafficCount};

use super::clock::Clock;
use super::connect::{Issued, Transport};

/// As much of a refusal as is read.
const REFUSAL_LIMIT: usize = 64 * 1024;
/// A measurement of the server's clock is good to about this; smaller changes are not reported.
const SKEW_GRAIN_MILLIS: i64 = 1_500;

/// How requests reach the API server.
#[derive(Clone)]
pub(super) struct Http {
    transport: Transport,
    clock: Clock,
    traffic: Arc<Traffic>,
    skew: Arc<watch::Sender<Option<i64>>>,
    /// Cleared for the whole session when the server turns out not to know streaming lists.
    streaming_lists: Arc<AtomicBool>,
}

/// A request that is answered at once.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
    pub(super) timeout: Duration,
}

impl<'a> Call<'a> {
    pub(super) fn get(path: &'a str, timeout: Duration) -> Self {
        Self { method: Method::GET, path, content_type: "application/json", body: Vec::new(), timeout }
    }
}

impl Http {
    pub(super) fn new(transport: Transport, clock: Clock) -> Self {
        Self {
            transport,
            clock,
            traffic: Arc::default(),
            skew: Arc::new(watch::Sender::new(None)),
            streaming_lists: Arc::new(AtomicBool::new(true)),
        }
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The API server's clock minus ours, in milliseconds, as it gets known.
    pub(super) fn skew(&self) -> watch::Receiver<Option<i64>> {
        self.skew.subscribe()
    }

    pub(super) fn knows_streaming_lists(&self) -> bool {
        self.streaming_lists.load(Ordering::Relaxed)
    }

    pub(super) fn gave_up_streaming_lists(&self) {
        self.streaming_lists.store(false, Ordering::Relaxed);
    }

    /// Makes one request and reads its whole answer, within the call's timeout. The timeout begins once there are
    /// credentials: a call that waits for those in vain was not sent.
    pub(super) async fn call(&self, call: Call<'_>) -> Result<Bytes, Failure> {
        let (response, deadline) = self.answered(&call).await?;
        match tokio::time::timeout_at(deadline, response.into_body().collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) => Err(Failure::broken(&error)),
            Err(_) => Err(Failure::Timeout(call.timeout)),
        }
    }

    /// Opens a stream of lines; `timeout` is for the answer to begin.
    pub(super) async fn lines(&self, path: &str, timeout: Duration) -> Result<Lines, Failure> {
        self.traffic.watch_opened();
        let (response, _) = self.answered(&Call::get(path, timeout)).await?;
        Ok(Lines::new(response.into_body(), self.traffic.clone()))
    }

    /// Sends a request with the credentials of the moment. Where they are refused (401: nothing was done) it is sent once
    /// more with others, if there are any. Gives the accepted answer, and until when its body may take.
    async fn answered(&self, call: &Call<'_>) -> Result<(Response<Body>, Instant), Failure> {
        let (client, issued) = self.transport.ready(call.timeout).await?;
        let refused = match self.attempt(&client, &issued, call).await {
            Err(refused @ Failure::Refused { code: 401, .. }) => refused,
            answer => return answer,
        };
        match self.transport.anew(&issued, call.timeout).await {
            Some((client, issued)) => self.attempt(&client, &issued, call).await,
            None => Err(refused),
        }
    }

    async fn attempt(
        &self,
        client: &kube::Client,
        issued: &Issued,
        call: &Call<'_>,
    ) -> Result<(Response<Body>, Instant), Failure> {
        let deadline = Instant::now() + call.timeout;
        let answer = async {
            let asked_at = self.clock.now();
            let response = self.send(client, issued, call).await?;
            self.measure_skew(response.headers(), asked_at.millis());
            self.accepted(response).await
        };
        match tokio::time::timeout_at(deadline, answer).await {
            Ok(response) => Ok((response?, deadline)),
            Err(_) => Err(Failure::Timeout(call.timeout)),
        }
    }

    async fn send(&self, client: &kube::Client, issued: &Issued, call: &Call<'_>) -> Result<Response<Body>, Failure> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(call.path)
            .header(ACCEPT, "application/json")
            .header(ACCEPT_ENCODING, "identity");
        if !call.body.is_empty() {
            request = request.header(CONTENT_TYPE, call.content_type);
        }
        if let Some(header) = &issued.header {
            request = request.header(AUTHORIZATION, header.clone());
        }
        let request = request
            .body(Body::from(call.body.clone()))
            .map_err(|error| Failure::Malformed(format!("the request cannot be built: {error}")))?;
        self.traffic.requested(&call.method);
        client.send(request).await.map_err(|error| {
            self.traffic.failed();
            Failure::from_kube(&error)
        })
    }

    /// The response, if it is not a refusal.
    async fn accepted(&self, response: Response<Body>) -> Result<Response<Body>, Failure> {
        let status = response.status();
        if !status.is_client_error() && !status.is_server_error() {
            return Ok(response);
        }
        let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        if status.as_u16() == 429 {
            self.traffic.throttled();
        }
        let body = match Limited::new(response.into_body(), REFUSAL_LIMIT).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => Bytes::new(),
            Err(error) => Bytes::from(format!("(the rest of the answer is missing: {error})")),
        };
        Err(Refusal::read(&body).into_failure(status.as_u16(), asked))
    }

    /// A server's clock is known to the second, from the `Date` of an answer that came quickly. The first one is taken
    /// however long it took, for what it is worth: it is better than nothing.
    fn measure_skew(&self, headers: &HeaderMap, asked_at: i64) {
        let now = self.clock.now().millis();
        let date = headers
            .get(DATE)
            .and_then(|date| date.to_str().ok())
            .and_then(|date| jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok());
        let took = now - asked_at;
        let worth = took < 1_000 || self.skew.borrow().is_none();
        let Some(date) = date.filter(|_| worth) else { return };
        let skew = date.as_millisecond() + 500 - i64::midpoint(asked_at, now);
        // Truncated seconds alone make half a second of it: that is no skew.
        let grain = SKEW_GRAIN_MILLIS.max(took / 2 + 500);
        let skew = if skew.abs() < grain { 0 } else { skew };
        self.skew.send_if_modified(|known| {
            let news = known.is_none_or(|known| (known - skew).abs() >= SKEW_GRAIN_MILLIS);
            if news {
                *known = Some(skew);
            }
            news
        });
    }
}

/// What is read of a `Status`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Refusal {
    message: String,
    reason: String,
    code: u16,
    details: Option<RefusalDetails>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RefusalDetails {
    retry_after_seconds: Option<u64>,
}

impl Refusal {
    /// Reads a `Status`, or what a proxy in between said instead.
    fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(body);
            let line = text.trim().lines().next().unwrap_or_default();
            Self { message: line.chars().take(200).collect(), ..Self::default() }
        })
    }

    /// `code` is the HTTP status, or 0 where there is none (in a watch).
    pub(super) fn into_failure(self, code: u16, asked: Option<u64>) -> Failure {
        let code = if code == 0 { self.code } else { code };
        let asked = asked.or(self.details.and_then(|details| details.retry_after_seconds));
        let message = match (self.message.is_empty(), http::StatusCode::from_u16(code)) {
            (false, _) => self.message,
            (true, Ok(status)) => status.to_string(),
            (true, Err(_)) => format!("status {code}"),
        };
        Failure::Refused { code, reason: self.reason, message, retry_after: asked.map(Duration::from_secs) }
    }
}

/// `path` with `query` appended, percent-encoded.
pub(super) fn with_query(path: &str, query: &[(&str, &str)]) -> String {
    let mut uri = String::from(path);
    for (nth, (key, value)) in query.iter().enumerate() {
        uri.push(if nth == 0 { '?' } else { '&' });
        uri.push_str(key);
        uri.push('=');
        for byte in value.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
                _ => uri.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_encoded_for_a_query() {
        assert_eq!(
            with_query("/api/v1/pods", &[("labelSelector", "app=a,tier in (x,y)"), ("limit", "500")]),
            "/api/v1/pods?labelSelector=app%3Da%2Ctier%20in%20%28x%2Cy%29&limit=500"
        );
        assert_eq!(with_query("/version", &[]), "/version");
    }

    #[test]
    fn a_refusal_is_read_whoever_gave_it() {
        let status = br#"{"kind":"Status","message":"pods is forbidden","reason":"Forbidden","code":403}"#;
        let failure = Refusal::read(status).into_failure(403, None);
        assert!(failure.is_forbidden());
        assert_eq!(failure.to_string(), "pods is forbidden");

        let proxy = Refusal::read(b"<html>\nBad gateway").into_failure(502, None);
        assert_eq!(proxy.to_string(), "<html>");
        assert_eq!(Refusal::read(b"").into_failure(503, None).to_string(), "503 Service Unavailable");

        let busy = br#"{"message":"too many requests","details":{"retryAfterSeconds":3},"code":429}"#;
        let failure = Refusal::read(busy).into_failure(429, None);
        assert_eq!(failure.retry_after(), Some(Duration::from_secs(3)));
    }
}
