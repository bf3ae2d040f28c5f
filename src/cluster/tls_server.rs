//! A server over TLS that speaks the versions of HTTP that a test tells it to, and remembers what it was asked.
//!
//! It answers each path with a line that names it. A watch stays open after that; that of a path which begins with `/flood`
//! goes on with more than anybody takes in who does not read.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response, Version};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::CertifiedKey;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What the server speaks, whatever was negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Speaking {
    Http2Only,
    /// What was negotiated; HTTP/1.1 where nothing was.
    Both,
    /// It breaks off once the connection is open.
    Nothing,
}

/// The server.
pub(super) struct TlsServer {
    address: SocketAddr,
    certificate: Vec<u8>,
    state: Arc<ServerState>,
    _server: tokio::task::JoinSet<()>,
}

struct ServerState {
    speaking: Mutex<Speaking>,
    connections: AtomicUsize,
    seen: Mutex<Vec<(Version, String)>>,
}

impl TlsServer {
    /// Listens on `address`; its certificate is for the loopback addresses.
    pub(super) async fn start(address: &str, speaking: Speaking) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let names = ["127.0.0.1".to_owned(), "::1".to_owned()];
        let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let mut config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = match speaking {
            Speaking::Http2Only => vec![b"h2".to_vec()],
            Speaking::Both | Speaking::Nothing => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        let state = Arc::new(ServerState {
            speaking: Mutex::new(speaking),
            connections: AtomicUsize::new(0),
            seen: Mutex::default(),
        });
        let mut server = tokio::task::JoinSet::new();
        server.spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), state.clone()));
        Self { address, certificate: cert.der().to_vec(), state, _server: server }
    }

    /// A client's configuration.
    pub(super) fn config(&self) -> kube::Config {
        let mut config = kube::Config::new(self.url().parse().unwrap());
        config.default_retry = false;
        config.root_cert = Some(vec![self.certificate.clone()]);
        config
    }

    /// `https://127.0.0.1:6443`.
    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Its certificate, in DER.
    pub(super) fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// From now on it speaks this.
    pub(super) fn speak(&self, speaking: Speaking) {
        *self.state.speaking.lock().unwrap() = speaking;
    }

    /// How many connections were opened so far.
    pub(super) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// The version and path of each request so far.
    pub(super) fn seen(&self) -> Vec<(Version, String)> {
        self.state.seen.lock().unwrap().clone()
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, state: Arc<ServerState>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, state) = (acceptor.clone(), state.clone());
        connections.spawn(async move {
            state.connections.fetch_add(1, Ordering::Relaxed);
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let negotiated_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let speaking = *state.speaking.lock().unwrap();
            let service = service_fn(move |request| answer(request, state.clone()));
            let io = TokioIo::new(stream);
            let _ = match speaking {
                Speaking::Nothing => return,
                Speaking::Both if !negotiated_http2 => http1::Builder::new().serve_connection(io, service).await,
                Speaking::Both | Speaking::Http2Only => {
                    http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await
                }
            };
        });
    }
}

type Lines = StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

async fn answer(request: Request<Incoming>, state: Arc<ServerState>) -> Result<Response<Lines>, Infallible> {
    let path = request.uri().path().to_owned();
    state.seen.lock().unwrap().push((request.version(), path.clone()));
    let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let end = if watches { "\n" } else { "" };
    let line = Bytes::from(format!(r#"{{"path":"{path}"}}{end}"#));
    let first = stream::iter([line]);
    let more = stream::repeat(Bytes::from_static(&[b'x'; 64 * 1024]));
    let body = match (path.starts_with("/flood"), watches) {
        (true, _) => first.chain(more).boxed(),
        (false, true) => first.chain(stream::pending()).boxed(),
        (false, false) => first.boxed(),
    };
    Ok(Response::new(StreamBody::new(body.map(|line| Ok(Frame::data(line))).boxed())))
}
