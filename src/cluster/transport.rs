//! The HTTP client, with kube's authentication and TLS, over connections that notice when the other end is gone.
//!
//! A watch may be silent for a long time, and a VPN that goes away closes no connection. Without keep-alive a dead watch would
//! count as live until the kernel gives its connection up, which takes many minutes.

mod credentials;
pub(super) mod proxy;
mod streams;

use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};

use http::{Request, Uri};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ClientBuilder, ConfigExt};
use rustls::pki_types::ServerName;
use tower::{BoxError, Service};

use super::departure::{Tracked, tracked};
use super::failure::{Failure, root_cause};
use credentials::Certificate;
pub(super) use credentials::Issued;
pub(super) use credentials::{Credential, Hidden};
use proxy::Proxy;
use streams::StreamClient;

/// After this long without traffic the kernel sends a keep-alive probe.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(8);
/// The interval between further probes.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(3);
/// After this many unanswered probes the connection is closed.
const KEEPALIVE_TRIES: u32 = 3;
/// How long an idle connection for calls is kept open.
const KEPT_OPEN: Duration = Duration::from_secs(600);
/// How often the modification times of client certificate files are checked.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// How requests reach the API server: the connections, and the credentials that go with each request. Cheap to clone.
#[derive(Clone)]
pub(super) struct Transport(Arc<TransportShared>);

struct TransportShared {
    /// Without what is obtained anew for requests.
    config: kube::Config,
    proxy: Option<Proxy>,
    credential: Credential,
    /// What must not be in any error.
    hidden: Hidden,
    current: RwLock<Current>,
}

/// The connections in use, and what they were made with.
struct Current {
    client: kube::Client,
    certificate: Option<Arc<Certificate>>,
    files: Vec<Option<SystemTime>>,
    looked_at: std::time::Instant,
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
        let client = client(config.clone(), certificate.as_deref(), proxy.as_ref())?;
        let current = Current { client, certificate, files: changed_at(&config), looked_at: std::time::Instant::now() };
        Ok(Self(Arc::new(TransportShared { config, proxy, credential, hidden, current: RwLock::new(current) })))
    }

    /// Connections for `config` without a proxy and with the credentials that it names and that never change.
    ///
    /// # Errors
    /// As [`Transport::new`].
    #[cfg(test)]
    pub(super) fn plain(config: kube::Config) -> Result<Self, kube::Error> {
        Self::new(config, None, Credential::Fixed(None), &Issued::nothing(), Hidden::default())
    }

    /// The failure without the secrets that are known: servers, proxies and plugins repeat what they are given.
    pub(super) fn without_secrets(&self, failure: Failure) -> Failure {
        failure.map_texts(|text| self.0.hidden.removed_from(&text))
    }

    /// What a request is sent with, and over which connections. Waits `patience` at most for credentials.
    ///
    /// # Errors
    /// [`Failure::Credentials`]: there are none now; nothing was sent.
    pub(super) async fn ready(&self, patience: Duration) -> Result<(kube::Client, Issued), Failure> {
        let issued = self.0.credential.issued(patience).await?;
        Ok((self.client_for(&issued)?, issued))
    }

    /// The same after `refused` was answered with 401; `None` where there is nothing else to try.
    pub(super) async fn anew(&self, refused: &Issued, patience: Duration) -> Option<(kube::Client, Issued)> {
        let issued = self.0.credential.anew(refused, patience).await?;
        Some((self.client_for(&issued).ok()?, issued))
    }

    fn client_for(&self, issued: &Issued) -> Result<kube::Client, Failure> {
        let TransportShared { config, proxy, current, .. } = &*self.0;
        {
            let current = current.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            let recent = current.looked_at.elapsed() < LOOK_AGAIN;
            if current.certificate == issued.certificate && (recent || current.files == changed_at(config)) {
                return Ok(current.client.clone());
            }
        }
        let files = changed_at(config);
        let made = client(config.clone(), issued.certificate.as_deref(), proxy.as_ref());
        let made = made.map_err(|error| Failure::Credentials(root_cause(&error)))?;
        let mut current = current.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        *current = Current {
            client: made.clone(),
            certificate: issued.certificate.clone(),
            files,
            looked_at: std::time::Instant::now(),
        };
        Ok(made)
    }
}

/// When the files with the client certificate and its key were changed last.
fn changed_at(config: &kube::Config) -> Vec<Option<SystemTime>> {
    let auth = &config.auth_info;
    let paths = [&auth.client_certificate, &auth.client_key].into_iter().flatten().map(PathBuf::from);
    paths.map(|path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()).collect()
}

/// A client for `config`, which adds no credentials by itself.
fn client(
    mut config: kube::Config,
    certificate: Option<&Certificate>,
    proxy: Option<&Proxy>,
) -> Result<kube::Client, kube::Error> {
    if let Some(Certificate { certificate, key }) = certificate {
        use base64::Engine as _;
        let encoded = |pem: &str| base64::engine::general_purpose::STANDARD.encode(pem);
        config.auth_info.client_certificate_data = Some(encoded(certificate));
        config.auth_info.client_key_data = Some(encoded(key).into());
    }
    match proxy {
        None => finish(&config, tcp(&config)),
        Some(Proxy::Http(intercept)) => finish(&config, tunnel(intercept, tcp(&config))),
        Some(Proxy::Https(intercept)) => {
            // The proxy's certificate is checked against the roots of this machine, not against the cluster's.
            let roots = kube::Config::new(intercept.uri().clone());
            finish(&config, tunnel(intercept, roots.rustls_https_connector_with_connector(tcp(&config))?))
        }
        Some(Proxy::Socks(intercept)) => {
            let socks = SocksV5::new(intercept.uri().clone(), tcp(&config));
            let socks = match intercept.raw_auth() {
                Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
                None => socks,
            };
            finish(&config, socks)
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

fn tunnel<C>(intercept: &Intercept, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(intercept.uri().clone(), connector);
    match intercept.basic_auth() {
        Some(auth) => tunnel.with_auth(auth.clone()),
        None => tunnel,
    }
}

/// TLS, authentication and the server's address around what makes connections: streams and lists over connections of their
/// own, everything else over one.
fn finish<C>(config: &kube::Config, connector: C) -> Result<kube::Client, kube::Error>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let tls = config.rustls_client_config()?;
    let name = config.tls_server_name.as_deref();
    let connections = |version| with_tls(tls.clone(), connector.clone(), name, version);
    let streams = StreamClient::new(connections(HttpVersion::Http1)?, connections(HttpVersion::Http2Only)?);
    let calls: legacy::Client<_, Tracked> = legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(KEPT_OPEN)
        // A connection that broke silently would otherwise lose one write after another.
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

/// What a connection may speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HttpVersion {
    /// One request at a time: a list of thousands holds up nothing else.
    Http1,
    /// Any number at once, where the server knows it; else one at a time.
    Http2,
    /// Any number at once: nothing else is offered.
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

/// Whether the answer is a stream that stays open, or a list that may be long.
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
    use crate::cluster::watch::{NotUnderstood, Source, Subject, watch};
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
        let source = Source { path: "/x".into(), labels: None, fields: None };
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
