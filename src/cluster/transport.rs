//! The HTTP client, with kube's authentication and TLS, over connections that detect when the other end is gone.
//!
//! A watch may be silent for a long time, and a VPN that goes away closes no connection. Without keep-alive a dead watch
//! would count as live until the kernel gives up its connection, which takes many minutes.

mod credentials;
mod identity;
mod inline;
mod issued;
mod own_authority;
pub(super) mod proxy;
mod streams;
mod through;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::{Request, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ClientBuilder, ConfigExt};
use rustls::pki_types::ServerName;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tower::{BoxError, Service};

use super::departure::{Tracked, tracked};
use super::failure::{Failure, proxy_cause, root_cause};
pub(super) use credentials::Credential;
use identity::{Certificate, IdentityFiles};
pub(super) use inline::{InlineText, ReadInline};
pub(super) use issued::{Hidden, Issued};
use proxy::{Proxy, ProxyProtocol};
use streams::StreamClient;
use through::{Through, tls_to_proxy, tunnel};

/// After this long without traffic the kernel sends a keep-alive probe.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(8);
/// The interval between further probes.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(3);
/// After this many unanswered probes the connection is closed.
const KEEPALIVE_TRIES: u32 = 3;
/// How long an idle connection for calls is kept open.
const KEPT_OPEN: Duration = Duration::from_secs(600);
/// How often the files of a client certificate are checked for changes.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How requests reach the API server: the connections, and the credentials that go with each request. Cheap to clone.
#[derive(Clone)]
pub(super) struct Transport(Arc<TransportShared>);

struct TransportShared {
    /// Without what is obtained anew for requests.
    config: kube::Config,
    proxy: Option<Proxy>,
    credential: Credential,
    /// The secrets that no error may contain.
    hidden: Hidden,
    current: Mutex<Current>,
}

/// The connections in use, and the certificate that they were made with.
struct Current {
    client: kube::Client,
    /// The number of this set of connections; it increases with each new set.
    number: u64,
    certificate: Option<Arc<Certificate>>,
    files: IdentityFiles,
    looked_at: std::time::Instant,
}

/// How thoroughly the files of a client certificate are checked for changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FileCheck {
    /// Check at intervals. Files that do not match each other are being replaced; the connections in use stay valid meanwhile.
    NowAndThen,
    /// Check at once, because the connections in use are not accepted any more. Files that do not match each other are an error.
    AtOnce,
}

impl Transport {
    /// Connections for `config`, through `proxy`, with `credential` on each request.
    ///
    /// # Errors
    /// When TLS cannot be set up, or what the kubeconfig names cannot be read.
    pub(super) fn new(
        config: kube::Config,
        proxy: Option<Proxy>,
        credential: Credential,
        first: &Issued,
        hidden: Hidden,
    ) -> Result<Self, kube::Error> {
        let certificate = first.certificate.clone();
        let files = IdentityFiles::of(&config);
        let client = client(config.clone(), certificate.as_deref(), proxy.as_ref())?;
        let current = Current { client, number: 1, certificate, files, looked_at: std::time::Instant::now() };
        Ok(Self(Arc::new(TransportShared { config, proxy, credential, hidden, current: Mutex::new(current) })))
    }

    /// Connections for `config` without a proxy and with the credentials that it names and that never change.
    ///
    /// # Errors
    /// As [`Transport::new`].
    #[cfg(test)]
    pub(super) fn plain(config: kube::Config) -> Result<Self, kube::Error> {
        Self::new(config, None, Credential::Fixed(None), &Issued::nothing(), Hidden::default())
    }

    /// The failure without known secrets: servers, proxies and plugins repeat values that were sent to them.
    pub(super) fn without_secrets(&self, failure: Failure) -> Failure {
        failure.map_texts(|text| self.0.hidden.removed_from(&text))
    }

    /// The client and the credentials for a request. Waits at most `patience` for credentials.
    ///
    /// # Errors
    /// [`Failure::Credentials`]: there are none now; nothing was sent.
    pub(super) async fn ready(&self, patience: Duration) -> Result<(kube::Client, Issued), Failure> {
        let issued = self.0.credential.issued(patience).await?;
        self.over_connections(issued, FileCheck::NowAndThen)
    }

    /// The same after the server did not accept `refused`; `None` if there is nothing else to try.
    ///
    /// # Errors
    /// [`Failure::Credentials`]: the files of the client certificate have changed and cannot be used, as they are. A refusal: there are other credentials,
    /// and they are not for this cluster.
    pub(super) async fn anew(
        &self,
        refused: &Issued,
        patience: Duration,
    ) -> Result<Option<(kube::Client, Issued)>, Failure> {
        let other = self.0.credential.anew(refused, patience).await.map_err(|why| Failure::Refused {
            code: 401,
            reason: "Unauthorized".to_owned(),
            message: format!("Unauthorized; {why}"),
            retry_after: None,
        })?;
        let is_other = other.is_some();
        let (client, issued) = self.over_connections(other.unwrap_or_else(|| refused.clone()), FileCheck::AtOnce)?;
        Ok((is_other || issued.connections != refused.connections).then_some((client, issued)))
    }

    fn over_connections(&self, mut issued: Issued, look: FileCheck) -> Result<(kube::Client, Issued), Failure> {
        let TransportShared { config, proxy, .. } = &*self.0;
        let mut current = self.current();
        let same_certificate = current.certificate == issued.certificate;
        let files = if same_certificate && look == FileCheck::NowAndThen && current.looked_at.elapsed() < LOOK_AGAIN {
            current.files.clone()
        } else {
            current.looked_at = std::time::Instant::now();
            IdentityFiles::of(config)
        };
        if !same_certificate || current.files != files {
            match client(config.clone(), issued.certificate.as_deref(), proxy.as_ref()) {
                Ok(made) => {
                    let (certificate, looked_at) = (issued.certificate.clone(), std::time::Instant::now());
                    *current = Current { client: made, number: current.number + 1, certificate, files, looked_at };
                }
                // The next check tries again, because the files still differ from those in use.
                Err(_) if same_certificate && look == FileCheck::NowAndThen => {}
                Err(error) => return Err(unusable(&error)),
            }
        }
        issued.connections = current.number;
        Ok((current.client.clone(), issued))
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.0.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The reason why no connection can be made with the present credentials.
fn unusable(error: &kube::Error) -> Failure {
    match proxy_cause(error) {
        Some(failure) => Failure::Proxy(failure.clone()),
        None => Failure::Credentials(root_cause(error)),
    }
}

/// The client certificate for TLS: this one, or else the one that `config` names.
///
/// # Errors
/// Which certificate cannot be used, and why.
fn certified(config: &kube::Config, certificate: Option<&Certificate>) -> Result<Option<CertifiedKey>, String> {
    let certified = match certificate {
        Some(certificate) => certificate.certified().map(Some),
        None => Certificate::of(&config.auth_info)
            .and_then(|named| named.map(|certificate| certificate.certified()).transpose()),
    };
    certified.map_err(|why| match IdentityFiles::of(config).named() {
        Some(files) => format!("client certificate {files}: {why}"),
        None => format!("client certificate: {why}"),
    })
}

/// A client for `config` that adds no credentials itself.
fn client(
    mut config: kube::Config,
    certificate: Option<&Certificate>,
    proxy: Option<&Proxy>,
) -> Result<kube::Client, kube::Error> {
    let certified = certified(&config, certificate).map_err(|why| kube::Error::Service(why.into()))?;
    // kube's own code refuses certificates that API servers accept (`identity.rs`).
    let auth = &mut config.auth_info;
    (auth.client_certificate, auth.client_certificate_data) = (None, None);
    (auth.client_key, auth.client_key_data) = (None, None);
    let certified = certified.as_ref();
    let Some(proxy) = proxy else { return finish(&config, certified, &tcp(&config)) };
    let intercept = &proxy.intercept;
    match proxy.protocol {
        ProxyProtocol::Http => finish(&config, certified, &Through::new(tunnel(intercept, tcp(&config)), proxy)),
        ProxyProtocol::Https => {
            let to_proxy = tls_to_proxy(proxy, config.root_cert.as_deref(), tcp(&config));
            let to_proxy = to_proxy.map_err(|failure| kube::Error::Service(failure.into()))?;
            finish(&config, certified, &Through::new(tunnel(intercept, to_proxy), proxy))
        }
        ProxyProtocol::Socks => {
            let socks = SocksV5::new(intercept.uri().clone(), tcp(&config));
            let socks = match intercept.raw_auth() {
                Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
                None => socks,
            };
            finish(&config, certified, &Through::new(socks, proxy))
        }
    }
}

fn tcp(config: &kube::Config) -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(config.connect_timeout);
    tcp.set_keepalive(Some(KEEPALIVE_AFTER));
    tcp.set_keepalive_interval(Some(KEEPALIVE_EVERY));
    tcp.set_keepalive_retries(Some(KEEPALIVE_TRIES));
    #[cfg(any(target_os = "android", target_os = "linux"))]
    tcp.set_tcp_user_timeout(Some(KEEPALIVE_AFTER + KEEPALIVE_EVERY * KEEPALIVE_TRIES));
    tcp
}

/// Wraps `connector` with TLS, authentication and the server's address. Streams and lists use connections of their own; all
/// other requests share one.
fn finish<C>(
    config: &kube::Config,
    certified: Option<&CertifiedKey>,
    connector: &C,
) -> Result<kube::Client, kube::Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let mut tls = config.rustls_client_config()?;
    if let Some(verifier) = own_authority::verifier(config).map_err(|why| kube::Error::Service(why.into()))? {
        tls.dangerous().set_certificate_verifier(verifier);
    }
    if let Some(certified) = certified {
        tls.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified.clone()));
    }
    let name = config.tls_server_name.as_deref();
    let connections = |version| with_tls(tls.clone(), connector.clone(), name, version);
    let streams = StreamClient::new(connections(HttpVersion::Http1)?, connections(HttpVersion::Http2Only)?);
    let calls: legacy::Client<_, Tracked> = legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(KEPT_OPEN)
        // Without this, a connection that broke silently would lose one write after another.
        .http2_keep_alive_interval(KEEPALIVE_EVERY)
        .http2_keep_alive_timeout(KEEPALIVE_EVERY * 2)
        .build(connections(HttpVersion::Http2)?);
    let http = tower::service_fn(move |request: Request<Body>| {
        let (streams, calls) = (streams.clone(), calls.clone());
        async move {
            if is_stream(request.uri()) {
                streams.request(request).await
            } else {
                calls.request(tracked(request)).await.map_err(BoxError::from)
            }
        }
    });
    let builder = ClientBuilder::new(http, config.default_namespace.clone()).with_layer(&config.extra_headers_layer()?);
    Ok(match config.auth_layer()? {
        Some(auth) => builder.with_layer(&auth).with_layer(&config.base_uri_layer()).build(),
        None => builder.with_layer(&config.base_uri_layer()).build(),
    })
}

/// The HTTP versions that a connection may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HttpVersion {
    /// One request at a time, so that a list of thousands delays no other request.
    Http1,
    /// Any number of requests at once if the server supports it; otherwise one at a time.
    Http2,
    /// Any number of requests at once; no other version is offered.
    Http2Only,
}

fn with_tls<C>(
    tls: rustls::ClientConfig,
    connector: C,
    name: Option<&str>,
    version: HttpVersion,
) -> Result<HttpsConnector<C>, kube::Error> {
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = name {
        let name = ServerName::try_from(name.to_owned()).map_err(|error| kube::Error::Service(error.into()))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(match version {
        HttpVersion::Http1 => builder.enable_http1().wrap_connector(connector),
        HttpVersion::Http2 => builder.enable_http1().enable_http2().wrap_connector(connector),
        HttpVersion::Http2Only => builder.enable_http2().wrap_connector(connector),
    })
}

/// Whether the answer is a stream that stays open, or a potentially long list.
fn is_stream(uri: &http::Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|part| part == "watch=true" || part.starts_with("limit=") || part == "resourceVersion=0")
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::time::Instant;

    use serde_json::Value;
    use socket2::{SockFilter, SockRef};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;
    use crate::cluster::clock::Clock;
    use crate::cluster::http::Http;
    use crate::cluster::watch::{NotUnderstood, Subject, WatchSource, watch};
    use crate::engine::model::event::WatchHealth;

    /// Tells nothing but how it is.
    struct Healths;

    impl Subject for Healths {
        type Wire<'a> = Value;
        type Out = WatchHealth;

        fn version(wire: &Value) -> &str {
            wire["metadata"]["resourceVersion"].as_str().unwrap_or_default()
        }

        fn applied(&mut self, _wire: Value) -> Result<Option<WatchHealth>, NotUnderstood> {
            Ok(None)
        }

        fn deleted(&mut self, _wire: Value) -> Option<WatchHealth> {
            None
        }

        fn listing(&mut self) -> Option<WatchHealth> {
            None
        }

        fn listed(&mut self, _version: Option<u64>) -> Vec<WatchHealth> {
            Vec::new()
        }

        fn health(&mut self, health: WatchHealth) -> Option<WatchHealth> {
            Some(health)
        }
    }

    /// `ret #0`: a packet filter that drops whatever arrives, acknowledgements included. No FIN, no RST: a VPN that went
    /// away, a cable that was pulled.
    fn black_hole<S: std::os::fd::AsFd>(socket: &S) {
        SockRef::from(socket).attach_filter(&[SockFilter::new(0x06, 0, 0, 0)]).unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_connection_that_falls_silent_is_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config = kube::Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
        config.default_retry = false;
        config.connect_timeout = Some(Duration::from_secs(10));
        let http = Http::new(Transport::plain(config).unwrap(), Clock::start());
        let (out, mut events) = mpsc::channel(8);
        let source = WatchSource { path: "/x".into(), labels: None, fields: None };
        let task = tokio::spawn(watch(http, source, Healths, out));

        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        let line = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        let answer =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{line}\n\r\n", line.len() + 1);
        stream.write_all(answer.as_bytes()).await.unwrap();
        assert_eq!(events.recv().await, Some(WatchHealth::Live));

        black_hole(&stream);
        black_hole(&listener);
        let began = Instant::now();
        let down = tokio::time::timeout(Duration::from_secs(60), events.recv()).await.expect("it is never noticed");
        let noticed = began.elapsed();
        println!("a connection without a word is noticed after {noticed:.1?}: {down:?}");
        assert!(matches!(down, Some(WatchHealth::Down { .. })), "{down:?}");
        assert!(noticed < Duration::from_secs(25), "{noticed:?}");
        drop(events);
        task.abort();
    }
}
