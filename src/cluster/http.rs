//! Sends every request to the API server, counts it, and classifies failures.

mod body;
mod lines;
mod status_body;
mod traffic;
mod transfer;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, DATE, RETRY_AFTER, USER_AGENT};
use http::{Extensions, HeaderMap, Method, Request, Response};
use http_body_util::{BodyDataStream, BodyExt};
use kube::client::Body;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use body::{BodyError, is_plain, read_whole};
pub(super) use lines::Lines;
pub(super) use status_body::StatusBody;
pub use traffic::{Traffic, TrafficCount};
use transfer::ListChoice;
pub(super) use transfer::ListTransfer;

use super::clock::Clock;
use super::departure::Departure;
use super::failure::Failure;
use super::server_news::ServerNews;
use super::transport::{Issued, Transport};
use crate::engine::model::time::Timestamp;

/// By this name an audit log of the cluster tells rolldeck from other clients of the same account.
const AGENT: &str = concat!("rolldeck/", env!("CARGO_PKG_VERSION"));
/// The most bytes that are read of a refusal's body.
const REFUSAL_LIMIT: usize = 64 * 1024;
/// The most bytes that are read of any other answer, unless its [`Call`] says otherwise; compressed or not.
const ANSWER_LIMIT: usize = 16 * 1024 * 1024;
/// The precision of the measured server clock; smaller changes are not reported.
const SKEW_GRAIN_MILLIS: i64 = 1_500;

/// Replaces "no limit", which timers do not support.
const UNLIMITED: Duration = Duration::from_secs(24 * 3600);
/// How long a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// The server's distance is the shortest round trip of this many answers.
const MEASURED: usize = 5;
/// Smaller changes of the distance are not reported.
const DISTANCE_GRAIN: Duration = Duration::from_millis(50);
/// An answer after so long reports the distance again, though it is the same.
const TOLD_AGAIN: Duration = Duration::from_secs(30);

/// All but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How requests reach the API server.
#[derive(Clone)]
pub(super) struct Http {
    transport: Transport,
    clock: Clock,
    traffic: Arc<Traffic>,
    skew: Arc<watch::Sender<Option<i64>>>,
    distance: Arc<AnswerTimes>,
    news: Arc<ServerNews>,
    /// Set while a connection for writes is being made in advance.
    warming: Arc<AtomicBool>,
    /// How long the answer to a read may take, if the operator has set a limit.
    read_timeout: Option<Duration>,
    /// Cleared for the whole session when the server turns out not to support streaming lists.
    streaming_lists: Arc<AtomicBool>,
    lists: ListChoice,
}

/// A request whose answer is not a stream.
pub(super) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) accept: &'static str,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
    /// How long an answer may take, counted from the departure of the request if that is known.
    pub(super) timeout: Duration,
    /// The time after which the request must not leave.
    pub(super) leave_by: Option<Timestamp>,
    /// How many bytes the answer may have, compressed or not.
    pub(super) limit: usize,
}

impl<'a> Call<'a> {
    pub(super) fn get(path: &'a str, timeout: Duration) -> Self {
        let (json, body) = ("application/json", Vec::new());
        let (accept, content_type) = (json, json);
        Self { method: Method::GET, path, accept, content_type, body, timeout, leave_by: None, limit: ANSWER_LIMIT }
    }
}

impl Http {
    pub(super) fn new(transport: Transport, clock: Clock) -> Self {
        Self {
            transport,
            clock,
            traffic: Arc::default(),
            skew: Arc::new(watch::Sender::new(None)),
            distance: Arc::default(),
            news: Arc::default(),
            warming: Arc::default(),
            read_timeout: None,
            streaming_lists: Arc::new(AtomicBool::new(true)),
            lists: ListChoice::new(Some(ListTransfer::Streamed)),
        }
    }

    /// The same with a limit for the answers to reads; zero: no limit.
    #[must_use]
    pub(super) fn with_read_timeout(self, limit: Option<Duration>) -> Self {
        let read_timeout = limit.map(|limit| if limit.is_zero() { UNLIMITED } else { limit });
        Self { read_timeout, ..self }
    }

    /// The same with this transfer of lists; `None`: the distance of the server decides.
    pub(super) fn with_lists(self, lists: Option<ListTransfer>) -> Self {
        Self { lists: ListChoice::new(lists), ..self }
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The news about the server that every watch needs.
    pub(super) fn news(&self) -> &ServerNews {
        &self.news
    }

    /// The API server's clock minus ours, in milliseconds, as soon as it is measured.
    pub(super) fn skew(&self) -> watch::Receiver<Option<i64>> {
        self.skew.subscribe()
    }

    /// The round trip time of the server, as soon as it is measured.
    pub(super) fn round_trip(&self) -> watch::Receiver<Option<Duration>> {
        self.distance.shown.subscribe()
    }

    /// Whether to ask for lists as streams; `None` if this is to be measured and the server does not answer.
    pub(super) async fn streams_lists(&self) -> Option<bool> {
        let lists = self.lists.settle(|| self.is_answered()).await?;
        Some(lists == ListTransfer::Streamed && self.streaming_lists.load(Ordering::Relaxed))
    }

    /// Whether a small request is answered, also with a refusal. If the caller gives up, the connection remains for the next call.
    async fn is_answered(&self) -> bool {
        let http = self.clone();
        let asked = tokio::spawn(async move { http.call(Call::get("/version", CONNECT_WITHIN)).await });
        matches!(asked.await, Ok(Ok(_) | Err(Failure::Refused { .. })))
    }

    pub(super) fn gave_up_streaming_lists(&self) {
        self.streaming_lists.store(false, Ordering::Relaxed);
    }

    /// Sends one request and reads its whole answer. Without credentials nothing is sent. After a 401, or when TLS refuses
    /// the client certificate, nothing was done. The request is then sent once more with new credentials, if there are any
    /// and `leave_by` has not passed.
    pub(super) async fn call(&self, mut call: Call<'_>) -> Result<Bytes, Failure> {
        if call.method == Method::GET {
            call.timeout = self.read_timeout.unwrap_or(call.timeout);
        }
        let answer = self.call_anew(call).await;
        self.news.heard(&answer);
        answer.map_err(|failure| self.transport.without_secrets(failure))
    }

    async fn call_anew(&self, call: Call<'_>) -> Result<Bytes, Failure> {
        let (client, issued) = self.transport.ready(call.timeout).await?;
        let refused = match self.call_with((&client, &issued), &call).await {
            Err(refused) if refused.is_unauthenticated() => refused,
            answer => return answer,
        };
        match self.transport.anew(&issued, call.timeout).await? {
            Some((client, issued)) => self.call_with((&client, &issued), &call).await,
            None => Err(refused),
        }
    }

    async fn call_with(&self, by: (&kube::Client, &Issued), call: &Call<'_>) -> Result<Bytes, Failure> {
        let departure = Departure::new(self.clock, call.leave_by);
        let asked_at = self.clock.now();
        let answer = async {
            let near = self.lists.settled() == Some(ListTransfer::Streamed);
            let encoding = if near { "identity" } else { "gzip" };
            let response = self.send(by, call, encoding, Some(&departure)).await?;
            let left_at = departure.left_at().unwrap_or(asked_at);
            self.measure_skew(response.headers(), left_at.millis());
            self.distance.measured(self.clock.now().since(left_at), self.clock.now());
            let (head, body) = self.accepted(response).await?.into_parts();
            read_whole(&head.headers, body, call.limit, &self.traffic).await.map_err(|error| match error {
                BodyError::TooLong => {
                    let path = call.path.split('?').next().unwrap_or_default();
                    Failure::TooLong { what: format!("the answer to {} {path}", call.method), limit: call.limit }
                }
                BodyError::Broken(why) => Failure::Broken(why),
                BodyError::Encoding(why) => Failure::Malformed(why),
            })
        };
        let answer = in_time(answer, &departure, call.timeout, call.leave_by.map(|at| at.since(asked_at))).await;
        if departure.is_tracked() && departure.left_at().is_none() {
            self.warm_up();
        }
        match answer {
            Err(_) if departure.is_late() => Err(Failure::TooLate),
            answer => answer,
        }
    }

    /// Opens a connection for the next write. Otherwise a request that is given up while it connects takes its connection with it.
    fn warm_up(&self) {
        if self.warming.swap(true, Ordering::AcqRel) {
            return;
        }
        let http = self.clone();
        tokio::spawn(async move {
            let call = Call::get("/version", CONNECT_WITHIN);
            if let Ok((client, issued)) = http.transport.ready(CONNECT_WITHIN).await {
                let _ =
                    tokio::time::timeout(CONNECT_WITHIN, http.send((&client, &issued), &call, "identity", None)).await;
            }
            http.warming.store(false, Ordering::Release);
        });
    }

    /// Opens a stream of lines. `timeout` limits the wait for the beginning of the answer. Credentials as for [`Http::call`].
    pub(super) async fn lines(&self, path: &str, timeout: Duration) -> Result<Lines, Failure> {
        let timeout = self.read_timeout.unwrap_or(timeout);
        let lines = self.lines_anew(path, timeout).await;
        self.news.heard(&lines);
        lines.map_err(|failure| self.transport.without_secrets(failure))
    }

    async fn lines_anew(&self, path: &str, timeout: Duration) -> Result<Lines, Failure> {
        self.traffic.watch_opened();
        let body = self.stream_anew(Call::get(path, timeout)).await?;
        Ok(Lines::new(body, path, self.traffic.clone()))
    }

    /// Opens a stream of bytes. `timeout` limits the wait for the beginning of the answer. Credentials as for [`Http::call`].
    pub(super) async fn bytes(&self, path: &str, timeout: Duration) -> Result<ByteStream, Failure> {
        let timeout = self.read_timeout.unwrap_or(timeout);
        let body = self.stream_anew(Call { accept: "*/*", ..Call::get(path, timeout) }).await;
        let body = body.map_err(|failure| self.transport.without_secrets(failure))?;
        Ok(ByteStream { body: body.into_data_stream(), traffic: self.traffic.clone() })
    }

    async fn stream_anew(&self, call: Call<'_>) -> Result<Body, Failure> {
        let timeout = call.timeout;
        let (client, issued) = self.transport.ready(timeout).await?;
        let refused = match self.stream((&client, &issued), &call).await {
            Err(refused) if refused.is_unauthenticated() => refused,
            answer => return answer,
        };
        match self.transport.anew(&issued, timeout).await? {
            Some((client, issued)) => self.stream((&client, &issued), &call).await,
            None => Err(refused),
        }
    }

    async fn stream(&self, by: (&kube::Client, &Issued), call: &Call<'_>) -> Result<Body, Failure> {
        let answer = async {
            let asked_at = self.clock.now();
            let response = self.send(by, call, "identity", None).await?;
            self.measure_skew(response.headers(), asked_at.millis());
            self.accepted(response).await
        };
        match tokio::time::timeout(call.timeout, answer).await {
            Ok(response) => {
                let response = response?;
                if !is_plain(response.headers()) {
                    let path = call.path.split('?').next().unwrap_or_default();
                    let why = format!("the stream of {path} comes compressed, which was not asked for");
                    return Err(Failure::Malformed(why));
                }
                Ok(response.into_body())
            }
            Err(_) => Err(Failure::Timeout(call.timeout)),
        }
    }

    async fn send(
        &self,
        (client, issued): (&kube::Client, &Issued),
        call: &Call<'_>,
        encoding: &'static str,
        departure: Option<&Departure>,
    ) -> Result<Response<Body>, Failure> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(call.path)
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, call.accept)
            .header(ACCEPT_ENCODING, encoding);
        if !call.body.is_empty() {
            request = request.header(CONTENT_TYPE, call.content_type);
        }
        if let Some(header) = &issued.header {
            request = request.header(AUTHORIZATION, header.clone());
        }
        let mut request = request
            .body(Body::from(call.body.clone()))
            .map_err(|error| Failure::Malformed(format!("the request cannot be built: {error}")))?;
        request.extensions_mut().extend(departure.cloned().map(extension).unwrap_or_default());
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
        let (head, body) = response.into_parts();
        let body = match read_whole(&head.headers, body, REFUSAL_LIMIT, &self.traffic).await {
            Ok(body) => body,
            Err(BodyError::TooLong) => Bytes::new(),
            Err(error) => Bytes::from(format!("(the rest of the answer is missing: {error})")),
        };
        Err(StatusBody::read(&body).into_failure(status.as_u16(), asked))
    }

    /// Measures the server's clock to the second, from the `Date` of answers that come quickly. The first answer always
    /// counts, because an inexact measurement is better than none.
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
        // `Date` has whole seconds, so half a second of difference is no skew.
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

/// The bytes of a streamed answer, as they arrive.
pub(super) struct ByteStream {
    body: BodyDataStream<Body>,
    traffic: Arc<Traffic>,
}

impl ByteStream {
    /// The next bytes; `None` when the server closed the stream.
    ///
    /// # Errors
    /// When the connection breaks.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        match self.body.next().await {
            Some(Ok(chunk)) => {
                self.traffic.received(chunk.len());
                Ok(Some(chunk))
            }
            Some(Err(error)) => Err(Failure::broken(&error)),
            None => Ok(None),
        }
    }
}

fn extension(departure: Departure) -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(departure);
    extensions
}

/// Limits an answer to `timeout`, counted from the departure of its request if that is known, else from now. A connection
/// may take `connects` if given, else [`CONNECT_WITHIN`].
async fn in_time<T>(
    answer: impl Future<Output = Result<T, Failure>>,
    departure: &Departure,
    timeout: Duration,
    connects: Option<Duration>,
) -> Result<T, Failure> {
    let began = Instant::now();
    let connects = connects.unwrap_or(CONNECT_WITHIN);
    let leaves_by = sleep_until(began + connects.min(timeout));
    tokio::pin!(answer, leaves_by);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = departure.left() => break,
            () = &mut leaves_by => match (departure.is_tracked(), Instant::now() >= began + connects) {
                (true, true) if connects < CONNECT_WITHIN => return Err(Failure::TooLate),
                (true, true) => return Err(Failure::Connect(format!("no connection within {} s", connects.as_secs()))),
                (true, false) => leaves_by.as_mut().reset(began + connects),
                (false, _) if Instant::now() < began + timeout => leaves_by.as_mut().reset(began + timeout),
                (false, _) => return Err(Failure::Timeout(timeout)),
            },
        }
    }
    tokio::time::timeout(timeout, answer).await.unwrap_or(Err(Failure::Timeout(timeout)))
}

/// Times from the departure of requests to their answers, as far as they are known.
#[derive(Debug, Default)]
struct AnswerTimes {
    /// The most recent times.
    last: Mutex<VecDeque<Duration>>,
    shown: watch::Sender<Option<Duration>>,
    /// When it was shown last: the same distance is told again after [`TOLD_AGAIN`], so that it is known to be the present one.
    told_at: Mutex<Timestamp>,
}

impl AnswerTimes {
    /// The shortest of the recent times is the distance: the others include the server's work, or a wait for a connection.
    fn measured(&self, took: Duration, now: Timestamp) {
        let (Ok(mut last), Ok(mut told_at)) = (self.last.lock(), self.told_at.lock()) else { return };
        if last.len() == MEASURED {
            last.pop_front();
        }
        last.push_back(took);
        let shortest = last.iter().min().copied();
        self.shown.send_if_modified(|shown| {
            let far = |a: Duration, b: Duration| a.abs_diff(b) >= DISTANCE_GRAIN.max(a / 5);
            let news = shown.zip(shortest).is_none_or(|(shown, shortest)| far(shown, shortest));
            if news {
                *shown = shortest;
            }
            let is_told = news || now.since(*told_at) >= TOLD_AGAIN;
            if is_told {
                *told_at = now;
            }
            is_told
        });
    }
}

/// `name` as one segment of a path.
pub(super) fn path_segment(name: &str) -> String {
    utf8_percent_encode(name, RESERVED).to_string()
}

/// `path` with `query` appended, percent-encoded.
pub(super) fn with_query(path: &str, query: &[(&str, &str)]) -> String {
    let mut uri = String::from(path);
    for (nth, (key, value)) in query.iter().enumerate() {
        uri.push(if nth == 0 && !path.contains('?') { '?' } else { '&' });
        uri.push_str(key);
        uri.push('=');
        uri.extend(utf8_percent_encode(value, RESERVED));
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The failure of a request that is never answered, and the time until it came.
    async fn unanswered(leave_by: Option<Duration>, tracked: bool, leaves: bool) -> (Failure, Duration) {
        let departure = Departure::new(Clock::start(), None);
        if tracked {
            departure.track();
        }
        if leaves {
            departure.leaves();
        }
        let began = Instant::now();
        let answer = std::future::pending::<Result<(), Failure>>();
        let failure = in_time(answer, &departure, Duration::from_secs(4), leave_by).await.unwrap_err();
        (failure, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_waited_for_from_when_its_request_left() {
        let soon = Some(Duration::from_millis(900));
        let (failure, after) = unanswered(soon, true, false).await;
        assert_eq!((failure, after.as_millis() / 100), (Failure::TooLate, 9), "it did not get a connection in time");
        let (failure, after) = unanswered(None, true, false).await;
        assert!(matches!(failure, Failure::Connect(_)) && after.as_secs() == 20, "{failure} {after:?}");
        let (failure, after) = unanswered(soon, true, true).await;
        assert!(matches!(failure, Failure::Timeout(_)) && after.as_secs() == 4, "{failure} {after:?}");
        // If the departure is unknown, the request may have left.
        let (failure, after) = unanswered(soon, false, false).await;
        assert!(matches!(failure, Failure::Timeout(_)) && after.as_secs() == 4, "{failure} {after:?}");
    }

    #[test]
    fn the_shortest_of_the_last_answers_is_the_distance() {
        let distance = AnswerTimes::default();
        let millis = Duration::from_millis;
        let shown = |took: u64| {
            distance.measured(millis(took), Timestamp::default());
            distance.shown.borrow().map(|shown| shown.as_millis())
        };
        assert_eq!(shown(1_800), Some(1_800), "the first had to open a connection");
        assert_eq!(shown(600), Some(600));
        assert_eq!(shown(590), Some(600), "that is no news");
        assert_eq!([2_000, 2_000, 2_000, 2_000].map(shown)[2], Some(600));
        assert_eq!(shown(2_000), Some(2_000));
    }

    #[test]
    fn selectors_are_encoded_for_a_query() {
        assert_eq!(
            with_query("/api/v1/pods", &[("labelSelector", "app=a,tier in (x,y)"), ("limit", "500")]),
            "/api/v1/pods?labelSelector=app%3Da%2Ctier%20in%20%28x%2Cy%29&limit=500"
        );
        assert_eq!(with_query("/version", &[]), "/version");
    }
}
