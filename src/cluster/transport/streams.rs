//! The connections for watches and lists: over HTTP/1.1 each has its own, unless the server supports only HTTP/2.
//!
//! Many watches over one HTTP/2 connection delay each other: a lost packet delays all of them, and a list of thousands fills
//! the window that they share. Go servers choose HTTP/2 whenever it is offered, so it is not offered. A server or load
//! balancer that supports only HTTP/2 is detected by trying:
//!
//! ```text
//!   Unknown ── HTTP/1.1 is answered ──▶ Http1
//!      └────── HTTP/1.1 fails on an open connection, HTTP/2 is answered ──▶ Http2Only
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use http::{Method, Request, Response, Version};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::Connection;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use tower::{BoxError, Service};

use super::KEEPALIVE_EVERY;
use crate::cluster::departure::{Tracked, tracked};
use crate::cluster::failure::tls_cause;

/// How many bytes of one answer may be sent before they are read here, over HTTP/2.
const STREAM_WINDOW: u32 = 4 * 1024 * 1024;
/// The same for all answers of a connection. The window is so large that an unread watch delays no other. A console has a dozen watches.
const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;

/// How much of an answer is read at once, over HTTP/1.1. A connection keeps a buffer of the largest read for as long as its watch is open, and would
/// read 400 KiB at once while it lists.
const READ_AT_ONCE: usize = 64 * 1024;

/// The known protocol of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Speaks {
    Unknown,
    Http1,
    Http2Only,
}

/// The connections. Cheap to clone.
pub(super) struct StreamClient<C> {
    http1: legacy::Client<HttpsConnector<C>, Tracked>,
    http2: legacy::Client<HttpsConnector<C>, Tracked>,
    speaks: Arc<AtomicU8>,
}

impl<C: Clone> Clone for StreamClient<C> {
    fn clone(&self) -> Self {
        Self { http1: self.http1.clone(), http2: self.http2.clone(), speaks: self.speaks.clone() }
    }
}

impl<C> StreamClient<C>
where
    C: Service<http::Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    /// `http1` makes connections on which nothing but HTTP/1.1 is offered, `http2` those for nothing but HTTP/2.
    pub(super) fn new(http1: HttpsConnector<C>, http2: HttpsConnector<C>) -> Self {
        let http2 = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .http2_only(true)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(KEEPALIVE_EVERY)
            .http2_keep_alive_timeout(KEEPALIVE_EVERY * 2)
            .build(http2);
        let http1 = legacy::Client::builder(TokioExecutor::new()).http1_max_buf_size(READ_AT_ONCE).build(http1);
        Self { http1, http2, speaks: Arc::new(AtomicU8::new(Speaks::Unknown as u8)) }
    }

    /// Sends a request whose answer may be long or never end.
    pub(super) async fn request(&self, request: Request<Body>) -> Result<Response<Incoming>, BoxError> {
        if self.speaks() == Speaks::Http2Only {
            let answer = self.over_http2(request).await;
            if answer.is_err() {
                // The server may have been replaced by another one.
                self.speaks.store(Speaks::Unknown as u8, Ordering::Relaxed);
            }
            return answer;
        }
        let again = copy_of(&request);
        let failure = match self.http1.request(tracked(request)).await {
            Ok(answer) => {
                self.speaks.store(Speaks::Http1 as u8, Ordering::Relaxed);
                return Ok(answer);
            }
            Err(failure) => failure,
        };
        let Some(again) = again.filter(|_| self.speaks() != Speaks::Http1 && may_be_refused_version(&failure)) else {
            return Err(failure.into());
        };
        match self.over_http2(again).await {
            Ok(answer) => {
                // If another request was answered over HTTP/1.1 meanwhile, the version was not the reason.
                let (from, to) = (Speaks::Unknown as u8, Speaks::Http2Only as u8);
                let _ = self.speaks.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
                Ok(answer)
            }
            // The version is not the reason, so the failure over HTTP/1.1 tells more.
            Err(_) => Err(failure.into()),
        }
    }

    async fn over_http2(&self, mut request: Request<Body>) -> Result<Response<Incoming>, BoxError> {
        *request.version_mut() = Version::HTTP_2;
        self.http2.request(tracked(request)).await.map_err(BoxError::from)
    }

    fn speaks(&self) -> Speaks {
        match self.speaks.load(Ordering::Relaxed) {
            known if known == Speaks::Http1 as u8 => Speaks::Http1,
            known if known == Speaks::Http2Only as u8 => Speaks::Http2Only,
            _ => Speaks::Unknown,
        }
    }
}

/// A copy of the request for a second attempt, if it uses TLS and changes nothing. Only TLS settles the version before HTTP/2 is spoken.
fn copy_of(request: &Request<Body>) -> Option<Request<Body>> {
    if *request.method() != Method::GET || request.uri().scheme_str() != Some("https") {
        return None;
    }
    let mut copy = Request::new(Body::empty());
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

/// Whether a request may have failed because of the version of HTTP: TLS failed without a common protocol, or an open
/// connection answered with something else than HTTP/1.1.
fn may_be_refused_version(failure: &legacy::Error) -> bool {
    !failure.is_connect() || tls_cause(failure).is_some()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Version;

    use crate::cluster::clock::Clock;
    use crate::cluster::http::{Call, Http};
    use crate::cluster::tls_server::{Speaking, TlsServer};
    use crate::cluster::transport::Transport;

    const SOON: Duration = Duration::from_secs(10);

    async fn client_of(server: &TlsServer) -> Http {
        Http::new(Transport::plain(server.config()).unwrap(), Clock::start())
    }

    async fn first_line(http: &Http, path: &str) -> String {
        let mut lines = http.lines(path, SOON).await.unwrap();
        let line = lines.next(SOON).await.unwrap().map(<[u8]>::to_vec);
        String::from_utf8(line.unwrap()).unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn watches_and_lists_come_over_http2_where_nothing_else_is_spoken() {
        let server = TlsServer::start("127.0.0.1:0", Speaking::Http2Only).await;
        let http = client_of(&server).await;
        assert_eq!(first_line(&http, "/one?watch=true").await, r#"{"path":"/one"}"#);
        let connections = server.connections();
        let body = http.call(Call::get("/list?limit=500", SOON)).await.unwrap();
        assert_eq!(body, r#"{"path":"/list"}"#);
        // Twelve at once, none of which is read: they hold up no other.
        let mut open = Vec::new();
        for nth in 0..12 {
            open.push(http.lines(&format!("/flood{nth}?watch=true"), SOON).await.unwrap());
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(first_line(&http, "/two?watch=true").await, r#"{"path":"/two"}"#);
        assert_eq!(server.connections(), connections, "what the server speaks is tried once");
        assert!(server.seen().iter().all(|(version, _)| *version == Version::HTTP_2), "{:?}", server.seen());
        drop(open);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn watches_and_lists_come_over_http1_where_both_are_spoken() {
        let server = TlsServer::start("127.0.0.1:0", Speaking::Both).await;
        let http = client_of(&server).await;
        assert_eq!(first_line(&http, "/one?watch=true").await, r#"{"path":"/one"}"#);
        http.call(Call::get("/list?limit=500", SOON)).await.unwrap();
        http.call(Call::get("/call", SOON)).await.unwrap();
        let seen: Vec<_> = server.seen();
        let versions: Vec<Version> = seen.iter().map(|(version, _)| *version).collect();
        assert_eq!(versions, [Version::HTTP_11, Version::HTTP_11, Version::HTTP_2], "{seen:?}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_breaks_off_is_not_taken_for_one_of_http2() {
        let server = TlsServer::start("127.0.0.1:0", Speaking::Nothing).await;
        let http = client_of(&server).await;
        let failure = http.lines("/one?watch=true", SOON).await.err().unwrap();
        // Whether the request was on its way by then is a matter of chance.
        let said = failure.to_string();
        assert!(said.starts_with("the connection broke") || said.starts_with("cannot connect"), "{said}");
        server.speak(Speaking::Both);
        assert_eq!(first_line(&http, "/two?watch=true").await, r#"{"path":"/two"}"#);
        assert_eq!(server.seen().last().unwrap().0, Version::HTTP_11);
    }
}
